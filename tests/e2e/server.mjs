// The server of the end-to-end tests: several folders under one address, every request counted, and faults on demand.
//
// It answers ranges and gives the MIME types that browsers insist on. A fault replaces the answer to one path until it
// is cleared: what a broken mirror, a single-page app or a dying connection would send.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { homedir } from "node:os";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The folder of model files, served at `/models/`. */
export const MODELS =
  process.env.BURROW_MODELS || join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "burrow", "models");
const MOUNTS = {
  "/pkg/": join(ROOT, "pkg/dist"),
  "/models/": MODELS,
  "/demo/pkg/": join(ROOT, "pkg/dist"),
  "/demo/models/": MODELS,
  "/demo/": join(ROOT, "www"),
  "/": join(ROOT, "tests/e2e/pages"),
};
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".onnx": "application/octet-stream",
};

/** Starts it on a free port of this machine. */
export async function serve() {
  const requests = [];
  const faults = new Map();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://host").pathname);
    requests.push(path);
    answer(request, response, path, faults.get(path)).catch((error) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** Paths asked for since the last `forget`, in order. */
    requests,
    forget: () => requests.splice(0),
    /** `{ status, html, cutAt, sendOnly, flipAt }`: see `answer`. */
    fault: (path, fault) => faults.set(path, fault),
    clear: () => faults.clear(),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  };
}

async function answer(request, response, path, fault = {}) {
  if (fault.status) return end(response, fault.status, "text/plain", "no such file");
  if (fault.html) return end(response, 200, TYPES[".html"], "<!doctype html><title>app</title>");
  const file = find(path);
  const size =
    file &&
    (await stat(file).then(
      (found) => (found.isFile() ? found.size : undefined),
      () => undefined,
    ));
  if (size === undefined) return end(response, 404, "text/plain", "not found");
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  const start = range ? Number(range[1]) : 0;
  // A server that holds a shorter file says so, and means it.
  const whole = Math.min(size, fault.cutAt ?? size);
  const last = range?.[2] ? Math.min(Number(range[2]), whole - 1) : whole - 1;
  if (start > last) return end(response, 416, "text/plain", "");
  response.writeHead(range ? 206 : 200, {
    "content-type": TYPES[extname(file)] ?? "application/octet-stream",
    "content-length": last - start + 1,
    "accept-ranges": "bytes",
    "cache-control": "no-store",
    "access-control-allow-origin": "*",
    ...(range ? { "content-range": `bytes ${start}-${last}/${whole}` } : {}),
  });
  await send(response, file, start, last, fault);
}

/** `sendOnly` bytes and then silence; `flipAt` one byte that is not the file's. */
async function send(response, file, start, last, { sendOnly, flipAt }) {
  let at = start;
  for await (const chunk of createReadStream(file, { start, end: last, highWaterMark: 1 << 16 })) {
    if (flipAt !== undefined && flipAt >= at && flipAt < at + chunk.length) chunk[flipAt - at] ^= 1;
    at += chunk.length;
    if (!response.write(chunk)) await new Promise((resolve) => onceAny(response, ["drain", "close"], resolve));
    if (response.destroyed) return;
    if (sendOnly !== undefined && at - start >= sendOnly) return;
  }
  response.end();
}

function onceAny(emitter, names, act) {
  const once = () => {
    for (const name of names) emitter.off(name, once);
    act();
  };
  for (const name of names) emitter.on(name, once);
}

function find(path) {
  const mount = Object.keys(MOUNTS).find((prefix) => path.startsWith(prefix));
  const rest = normalize(path.slice(mount.length) || "index.html");
  const inside = rest.startsWith("..")
    ? undefined
    : join(MOUNTS[mount], rest.endsWith("/") ? `${rest}index.html` : rest);
  return inside;
}

function end(response, status, type, body) {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" });
  response.end(body);
}
