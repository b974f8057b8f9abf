// onnxruntime-web on its wasm backend. It gets token ids; neither tokenising nor pooling is in its time.

/** @param {{ code: Record<string, string>, threads: number, onnx: string }} options */
export async function load({ code, threads, onnx, read }) {
  const memories = watchMemories();
  const ort = await import(code.ort);
  ort.env.wasm.numThreads = threads;
  if (code.ortFolder) ort.env.wasm.wasmPaths = code.ortFolder;
  const session = await ort.InferenceSession.create(await read(onnx), { executionProviders: ["wasm"] });
  return {
    run: async ({ ids }) => (await session.run(feeds(ort, ids))).last_hidden_state,
    vectors: ({ data, dims: [texts, tokens, width] }) =>
      Array.from({ length: texts }, (_, i) => unit(data.slice(i * tokens * width, i * tokens * width + width))),
    wasmBytes: () => memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0),
    about: { version: ort.env.versions.web ?? ort.env.versions.common, threads: ort.env.wasm.numThreads },
  };
}

/** All texts of a measurement have the same number of tokens, so nothing of it is padding. */
function feeds(ort, ids) {
  const dims = [ids.length, ids[0].length];
  const tensor = (fill) => new ort.Tensor("int64", BigInt64Array.from(ids.flatMap((row) => row.map(fill))), dims);
  return { input_ids: tensor((id) => BigInt(id)), attention_mask: tensor(() => 1n), token_type_ids: tensor(() => 0n) };
}

export function unit(vector) {
  const length = Math.hypot(...vector);
  return vector.map((x) => x / length);
}

/** The memories that are made from now on: an engine that keeps its own to itself is measured all the same. */
export function watchMemories() {
  const memories = [];
  const Original = WebAssembly.Memory;
  WebAssembly.Memory = new Proxy(Original, {
    construct(target, argumentsList) {
      const memory = new target(...argumentsList);
      memories.push(memory);
      return memory;
    },
  });
  for (const name of ["instantiate", "instantiateStreaming"]) {
    const original = WebAssembly[name];
    WebAssembly[name] = async (...given) => {
      const result = await original(...given);
      const exports = (result.instance ?? result).exports;
      for (const value of Object.values(exports)) if (value instanceof Original) memories.push(value);
      return result;
    };
  }
  return memories;
}
