// Memory, of processes as the system counts it: resident size beyond what the empty host took, and its highest point.
//
// In Chromium it is the page's process, workers and code included, beyond the same page before it did anything; what
// IndexedDB and blobs keep is the browser's. In Node it is a
// process per engine, collected before it is looked at, since a file's bytes linger until then. Linux only: elsewhere
// only the size of the wasm memories is known.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { launch } from "../../tests/harness/chromium.mjs";
import { DTYPE, ONNX_FILE, packName } from "./models.mjs";
import { nodeHost, startProcess } from "./node.mjs";

const MODEL = "bge-small-en-v1.5";
const LONG = "memory ".repeat(510).trim();

export async function memoryUse(url, inChromium) {
  const rows = [];
  for (const precision of ["int8", "f32"]) {
    for (const engine of ["burrow", "ort", "transformers"]) rows.push(await engineInNode(url, engine, precision));
  }
  if (!inChromium || !existsSync("/proc/self/clear_refs")) return rows;
  for (const [what, source] of INSTALLS) rows.push(await installInPage(url, what, source));
  return rows;
}

/** One short and one longest text, so that scratch memory has reached its full size. */
async function engineInNode(url, engine, precision) {
  const { code, models, hub } = nodeHost(url, false);
  const options = {
    burrow: { build: "simd128", pack: `${models}/packs/${packName(MODEL, precision)}` },
    ort: { threads: 1, onnx: `${models}/${MODEL}/${ONNX_FILE[precision]}` },
    transformers: { model: MODEL, dtype: DTYPE[precision], hub },
  };
  const { call, stop } = await startProcess(["--expose-gc"]);
  try {
    const empty = await call("resident");
    await call("load", { engine, code, ...options[engine] });
    const ids = Array.from({ length: 512 }, (_, i) => (i === 0 ? 101 : i === 511 ? 102 : 3638));
    for (const input of [
      { texts: ["memory"], ids: [[101, 3638, 102]] },
      { texts: [LONG], ids: [ids] },
    ]) {
      await call("embed", { input });
    }
    const resident = (await call("resident")) - empty;
    return { what: `${MODEL} ${precision}, Node, ${engine}`, wasm: (await call("wasmBytes")) || undefined, resident };
  } finally {
    stop();
  }
}

const INSTALLS = [
  ["the published int8 file", { preset: MODEL, url: `/models/${MODEL}/${ONNX_FILE.int8}` }],
  ["the f32 file, as f32", { preset: MODEL, precision: "f32", url: `/models/${MODEL}/${ONNX_FILE.f32}` }],
  ["an int8 pack", { pack: `/models/packs/${packName(MODEL, "int8")}` }],
  ["an f32 pack", { pack: `/models/packs/${packName(MODEL, "f32")}` }],
];

async function installInPage(url, what, source) {
  const browser = await launch();
  try {
    const page = await browser.open(`${url}/embed/pages/install.html`);
    await page.native.waitForFunction(() => globalThis.install);
    const cdp = await browser.native.browser().newBrowserCDPSession();
    const renderers = await pagesOf(cdp);
    const before = new Map(renderers.map((pid) => [pid, resident(pid)]));
    for (const pid of renderers) writeFileSync(`/proc/${pid}/clear_refs`, "5"); // the highest point starts anew
    const stats = await page.run("return globalThis.install(argument);", source);
    if (stats.engine !== "encoder") throw new Error(`${what} runs on ${stats.engine}: ${stats.reason}`);
    await page.native.requestGC();
    const grown = (pid, field) => resident(pid, field) - before.get(pid);
    const pid = renderers.reduce((a, b) => (grown(a, "VmHWM") > grown(b, "VmHWM") ? a : b));
    return { what: `${MODEL}, installed in a page from ${what}`, resident: grown(pid), peak: grown(pid, "VmHWM") };
  } finally {
    await browser.close();
  }
}

async function pagesOf(cdp) {
  const { processInfo } = await cdp.send("SystemInfo.getProcessInfo");
  return processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
}

function resident(pid, field = "VmRSS") {
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(kilobytes) * 1024;
}
