// Burrow's encoder beside ONNX Runtime Web and transformers.js: `cargo xtask bench embed`.
//
// usage: node main.mjs [--json] [--quick] [--host chromium|node|all] [--only speed,cold,memory] MODELS
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { startChromium } from "./chromium.mjs";
import { coldStarts } from "./cold.mjs";
import { memoryUse } from "./memory.mjs";
import { MODELS, PRECISIONS, packName } from "./models.mjs";
import { nodeBuilds, runInNode } from "./node.mjs";
import { ROOT, serve } from "./server.mjs";
import { printCell, printHead, printReport } from "./table.mjs";
import { makeInput, readCorpus } from "./texts.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    host: { type: "string", default: "all" },
    clock: { type: "string", default: "wall" },
    only: { type: "string", default: "speed,cold,memory" },
    model: { type: "string", multiple: true, default: Object.keys(MODELS) },
    tokens: { type: "string", default: "16,64,256,512" },
    batch: { type: "string", default: "1,8" },
  },
});
const [models] = positionals;
if (options.clock === "cpu" && options.host !== "node") throw new Error("--clock cpu needs --host node");
const FULL = { least: 5, most: 25, budget: 6000 };
const QUICK = { least: 3, most: 5, budget: 1500 };
const rounds = options.quick ? QUICK : FULL;
const numbers = (list) => list.split(",").map(Number);
const parts = options.only.split(",");

/** Tokenised once, by Burrow in this process; all engines get the same texts or the same ids. */
async function makeInputs(model) {
  const burrow = await import("../../pkg/dist/wasm/burrow.js");
  burrow.initSync({ module: await WebAssembly.compile(await readFile(`${ROOT}/pkg/dist/wasm/burrow_bg.wasm`)) });
  const encoder = new burrow.Encoder(await readFile(`${models}/packs/${packName(model, "int8")}`));
  const tokenize = (text) => Array.from(encoder.tokenize(text, "document"));
  const { documents } = readCorpus(`${ROOT}/benches/retrieval`, MODELS[model].corpus);
  return numbers(options.tokens).flatMap((tokens) =>
    numbers(options.batch).map((batch) => makeInput(documents, MODELS[model].language, tokenize, tokens, batch)),
  );
}

async function speed(hosts) {
  const results = [];
  const tell = (cell) => options.json || printCell(cell);
  for (const model of options.model) {
    const inputs = await makeInputs(model);
    for (const precision of PRECISIONS) {
      for (const host of hosts) {
        options.json || printHead(host.name, model, precision);
        results.push(await host.run({ model, precision, inputs, rounds, clock: options.clock }, tell));
      }
    }
  }
  return results;
}

async function hostsFor(url, chromium) {
  const hosts = [];
  if (chromium) hosts.push({ name: "Chromium", run: (plan, tell) => chromium.run("matrix", plan, tell) });
  if (options.host === "chromium") return hosts;
  for (const relaxed of await nodeBuilds()) {
    hosts.push({
      name: relaxed ? "Node, flag for relaxed SIMD" : "Node",
      run: (plan, tell) => runInNode(url, relaxed, plan, tell),
    });
  }
  return hosts;
}

async function main() {
  const server = await serve(models);
  const chromium = options.host === "node" ? undefined : await startChromium(server.url);
  try {
    const report = { rounds, speed: [], cold: [], memory: [] };
    if (parts.includes("speed")) report.speed = await speed(await hostsFor(server.url, chromium));
    if (parts.includes("cold") && chromium) report.cold = await coldStarts(server.url, options.quick ? 3 : 9);
    if (parts.includes("memory")) report.memory = await memoryUse(server.url, chromium !== undefined);
    if (options.json) console.log(JSON.stringify(report));
    else printReport(report);
  } finally {
    await chromium?.close();
    await server.close();
  }
}

await main();
