// Serves code and models to pages and to Node, from one address. Pages are isolated (COOP, COEP), which the threads of
// ONNX Runtime need; everything may be kept by the browser's cache, as on a real site.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { hubFile, MODELS } from "./models.mjs";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".wasm": "application/wasm",
};
const HEADERS = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-resource-policy": "same-origin",
};

/** Starts it; `models` is the folder of model files. */
export async function serve(models) {
  const folders = {
    "/pkg/": join(ROOT, "pkg/dist"),
    "/models/": models,
    "/hub/Xenova/": models,
    "/": join(ROOT, "benches"),
  };
  const server = createServer((request, response) => {
    answer(request, response, folders).catch((error) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(request, response, folders) {
  const path = normalize(decodeURIComponent(new URL(request.url, "http://host").pathname));
  const virtual = hubFileOf(path);
  if (virtual !== undefined) return send(response, 200, ".json", virtual);
  const file = fileOf(path, folders);
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) return send(response, 404, ".txt", "not found");
  response.writeHead(200, { ...headers(extname(file)), "content-length": found.size });
  if (request.method === "HEAD") return response.end();
  createReadStream(file).pipe(response);
}

/** `/hub/Xenova/NAME/resolve/main/onnx/model.onnx` is where a hub has it; here all files of a model lie together. */
function fileOf(path, folders) {
  const prefix = Object.keys(folders).find((prefix) => path.startsWith(prefix));
  const rest = path.slice(prefix.length).replace("/resolve/main/onnx/", "/").replace("/resolve/main/", "/");
  return join(folders[prefix], rest);
}

function hubFileOf(path) {
  const [, model, name] = /^\/hub\/Xenova\/([^/]+)\/resolve\/main\/([^/]+)$/.exec(path) ?? [];
  return model in MODELS ? hubFile(model, name) : undefined;
}

function headers(extension) {
  const type = TYPES[extension] ?? "application/octet-stream";
  // Models are kept by each engine's own cache; kept twice they would only fill the disk.
  const cache = type === "application/octet-stream" ? "no-store" : "max-age=3600";
  return { ...HEADERS, "content-type": type, "cache-control": cache };
}

function send(response, status, extension, body) {
  response.writeHead(status, headers(extension));
  response.end(body);
}
