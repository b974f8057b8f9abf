/** Serving a folder and driving Chromium over it, for the hosts that are pages. */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

/** Milliseconds for a browser to start and for a page to report: busy machines are slow. */
const PATIENCE = 180_000;

/**
 * Serves a folder as hosts of single-page apps do: what is not there is answered with `index.html` and status 200,
 * so that a missing wasm file is HTML and no honest 404. `mounts` are other folders, by the path that they appear under.
 */
export async function serve(folder, requests = [], mounts = {}) {
  const place = (path) => {
    const mount = Object.keys(mounts).find((prefix) => path.startsWith(prefix));
    return mount === undefined ? join(folder, path) : join(mounts[mount], path.slice(mount.length));
  };
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname));
    requests.push(path);
    const found = path === "/" ? undefined : await readFile(place(path)).catch(() => undefined);
    const type = found === undefined ? "text/html" : (TYPES[extname(path)] ?? "application/octet-stream");
    response.writeHead(200, { "content-type": type, "cache-control": "no-store" });
    response.end(found ?? (await readFile(join(folder, "index.html"))));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, requests, close };
}

/** Chromium from the distribution; `CHROMIUM` names another one. The driver is the package's own dev dependency. */
async function launch() {
  const require = createRequire(new URL("../../pkg/package.json", import.meta.url));
  const { chromium } = require("playwright-core");
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    timeout: PATIENCE,
  });
}

/**
 * Opens a page twice in one profile (the second time is a reload) and gives what it reported as
 * `globalThis.outcome` each time. Anything the page complains of is a failure.
 */
export async function visitTwice(url) {
  const browser = await launch();
  try {
    const page = await (await browser.newContext()).newPage();
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(String(error.stack)));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type()))
        complaints.push(`${message.text()} (${message.location().url})`);
    });
    await page.goto(url, { timeout: PATIENCE });
    const first = await outcome(page, complaints);
    await page.reload({ timeout: PATIENCE });
    return [first, await outcome(page, complaints)];
  } finally {
    await browser.close();
  }
}

async function outcome(page, complaints) {
  const report = await page
    .waitForFunction(() => globalThis.outcome, undefined, { timeout: PATIENCE })
    .then(() => page.evaluate(() => globalThis.outcome))
    .catch((error) => ({ error: String(error) }));
  const failure = [report.error, ...complaints].filter(Boolean).join("\n");
  if (failure !== "") throw new Error(failure);
  return report.value;
}

/** A database that the first visit fills and the second finds again. */
export function kept([first, second]) {
  if (first.kept.before !== 0 || second.kept.before !== 2) {
    throw new Error(`the second visit did not find the first one's database: ${JSON.stringify([first, second])}`);
  }
  const { wasm, runs, reason } = second.kept;
  return `${wasm}, ${runs}${reason === undefined ? "" : ` (${reason})`}`;
}

/** The same, with the store in a worker. */
export function keptInWorker(visits) {
  const note = kept(visits);
  if (visits[1].kept.runs !== "worker") throw new Error(`the store is not in a worker: ${note}`);
  return note;
}
