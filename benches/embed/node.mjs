// Node as a host: an engine is a child process, so that its memory is its own.
import { fork } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { caller } from "./calls.mjs";
import { runMatrix } from "./matrix.mjs";
import { ROOT } from "./server.mjs";

const require = createRequire(import.meta.url);
const file = (path) => pathToFileURL(join(ROOT, path)).href;

/** This Node as it is, or with the flag that its V8 needs for the relaxed build. */
export function nodeHost(url, relaxed) {
  const flags = relaxed ? ["--experimental-wasm-relaxed-simd"] : [];
  return {
    name: `Node ${process.version.slice(1)}${relaxed ? " with --experimental-wasm-relaxed-simd" : ""}`,
    builds: relaxed ? ["relaxed"] : ["simd128"],
    code: {
      burrow: file("pkg/dist/wasm/burrow.js"),
      simd128: `${url}/pkg/wasm/burrow_bg.wasm`,
      relaxed: `${url}/pkg/wasm/burrow_relaxed_bg.wasm`,
      ort: pathToFileURL(require.resolve("onnxruntime-web").replace(/\.js$/, ".mjs")).href,
      transformers: import.meta.resolve("@huggingface/transformers"),
      transformersCache: join(ROOT, "target/transformers"),
    },
    models: `${url}/models`,
    hub: `${url}/hub/`,
    start: () => startProcess(flags),
  };
}

/** Newer Nodes have relaxed SIMD without a flag, and no flag of that name. */
export async function nodeBuilds() {
  const { peak } = await import("./peak.mjs");
  return (await peak(true)) === undefined ? [false, true] : [false];
}

export function runInNode(url, relaxed, plan, tell) {
  return runMatrix(nodeHost(url, relaxed), plan, tell);
}

export async function startProcess(flags) {
  const child = fork(fileURLToPath(new URL("contenders/host.mjs", import.meta.url)), {
    execArgv: flags,
    serialization: "advanced",
  });
  const { call, fail } = caller(
    (message) => child.send(message),
    (answer) => child.on("message", answer),
  );
  child.on("exit", (code, signal) => fail(new Error(`an engine's process ended with ${code ?? signal}`)));
  return { call, pid: child.pid, stop: () => child.kill() };
}
