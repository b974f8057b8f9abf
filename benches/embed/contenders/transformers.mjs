// transformers.js, text to vector, as its documentation has it. In a browser it runs its own ONNX Runtime Web, on one
// thread here; in Node it runs ONNX Runtime's native library, also on one thread, which is another class of weight.
import { watchMemories } from "./ort.mjs";

/** @param {{ code: Record<string, string>, model: string, dtype: string, hub: string }} options */
export async function load({ code, model, dtype, hub }) {
  const memories = watchMemories();
  const { env, pipeline } = await import(code.transformers);
  env.remoteHost = hub;
  env.allowLocalModels = false;
  env.useBrowserCache = false;
  // The native library reads a file, so in Node the model goes through the cache on disk, as it does by default.
  if (code.transformersCache) env.cacheDir = code.transformersCache;
  const options = { dtype };
  if (code.transformersWasm) {
    env.backends.onnx.wasm.wasmPaths = code.transformersWasm;
    env.backends.onnx.wasm.numThreads = 1;
    options.device = "wasm";
  } else {
    options.session_options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
  }
  const extract = await pipeline("feature-extraction", `Xenova/${model}`, options);
  return {
    run: ({ texts }) => extract(texts, { pooling: "cls", normalize: true }),
    vectors: (tensor) => tensor.tolist().map((row) => Float32Array.from(row)),
    wasmBytes: () => memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0),
    about: { version: env.version, engine: code.transformersWasm ? "wasm, 1 thread" : "native, 1 thread" },
  };
}
