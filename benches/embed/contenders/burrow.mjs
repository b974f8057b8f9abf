// Burrow's built package, as it is shipped: the wasm module and its glue. Time includes tokenising and pooling.

/** @param {{ code: Record<string, string>, build: "simd128" | "relaxed", pack: string }} options */
export async function load({ code, build, pack, read }) {
  const burrow = await import(code.burrow);
  const module = await WebAssembly.compile(await read(code[build]));
  const exports = burrow.initSync({ module });
  const encoder = new burrow.Encoder(await read(pack));
  const { dims } = JSON.parse(encoder.info());
  return {
    run: ({ texts }) => encoder.embed(texts, "document"),
    vectors: ({ vectors }) =>
      Array.from({ length: vectors.length / dims }, (_, i) => vectors.slice(i * dims, (i + 1) * dims)),
    wasmBytes: () => exports.memory.buffer.byteLength,
    tokenize: (text) => Array.from(encoder.tokenize(text, "document")),
    about: { version: burrow.version(), build },
  };
}
