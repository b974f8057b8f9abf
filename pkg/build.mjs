// The TypeScript half of the package: src → dist. The wasm half (dist/wasm) is there before, by `cargo xtask build`.
//
// Output stays one file per module, so that `new URL(…, import.meta.url)` is where bundlers look for it. Three things
// are added: comlink beside it (the worker must load without a bundler and without an import map), and the modules and
// the worker as text, each a chunk of its own that is only loaded where their addresses lead nowhere.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const root = fileURLToPath(new URL(".", import.meta.url));
const dist = `${root}dist`;

function clean() {
  if (!existsSync(dist)) return;
  for (const name of readdirSync(dist)) if (name !== "wasm") rmSync(`${dist}/${name}`, { recursive: true });
}

function compile() {
  const tsc = fileURLToPath(new URL("node_modules/typescript/bin/tsc", import.meta.url));
  execFileSync(process.execPath, [tsc, "-p", root], { stdio: "inherit" });
}

function vendorComlink() {
  mkdirSync(`${dist}/vendor`, { recursive: true });
  const source = readFileSync(`${root}node_modules/comlink/dist/esm/comlink.mjs`, "utf8");
  writeFileSync(`${dist}/vendor/comlink.js`, source.replace(/\n\/\/# sourceMappingURL=.*\n?$/, "\n"));
  cpSync(`${root}node_modules/comlink/dist/esm/comlink.d.ts`, `${dist}/vendor/comlink.d.ts`);
  cpSync(`${root}node_modules/comlink/dist/esm/protocol.d.ts`, `${dist}/vendor/protocol.d.ts`);
  const rpc = readFileSync(`${dist}/rpc.js`, "utf8");
  const local = rpc.replace('from "comlink"', 'from "./vendor/comlink.js"');
  if (local === rpc) throw new Error("dist/rpc.js does not import comlink as expected");
  writeFileSync(`${dist}/rpc.js`, local);
}

function inlineModule(wasm, name) {
  const base64 = readFileSync(`${dist}/wasm/${wasm}`).toString("base64");
  writeFileSync(`${dist}/inline/${name}.js`, `export const base64 = "${base64}";\n`);
}

async function inlineWorker() {
  const entry = `${dist}/worker.js`;
  const result = await build({ entryPoints: [entry], bundle: true, format: "esm", minify: true, write: false });
  writeFileSync(`${dist}/inline/worker.js`, `export const source = ${JSON.stringify(result.outputFiles[0].text)};\n`);
}

function copyDeclarations() {
  mkdirSync(`${dist}/inline`, { recursive: true });
  for (const name of readdirSync(`${root}src/inline`)) cpSync(`${root}src/inline/${name}`, `${dist}/inline/${name}`);
}

clean();
compile();
vendorComlink();
copyDeclarations();
inlineModule("burrow_bg.wasm", "burrow");
inlineModule("burrow_relaxed_bg.wasm", "burrow_relaxed");
await inlineWorker();
