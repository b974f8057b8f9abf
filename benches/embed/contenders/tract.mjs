// tract, in the package's installer: the general engine that the encoder is measured by. Right, not fast.

/** @param {{ code: Record<string, string>, model: string, models: string }} options */
export async function load({ code, model, models, read }) {
  const [burrow, tract] = [await import(code.burrow), await import(code.installer)];
  burrow.initSync({ module: await WebAssembly.compile(await read(code.simd128)) });
  const exports = tract.initSync({ module: await WebAssembly.compile(await read(code.installerWasm)) });
  const url = `${models}/${model}/model.onnx`;
  const installer = new tract.Installer(burrow.resolveModel(JSON.stringify({ preset: model, precision: "f32", url })));
  installer.tokenizer(await read(`${models}/${model}/tokenizer.json`));
  installer.modelChunk(await read(url));
  installer.verify();
  installer.compile();
  return {
    run: ({ texts }) => installer.embed(texts, "document"),
    vectors: ({ vectors }, { texts }) => {
      const dims = vectors.length / texts.length;
      return texts.map((_, i) => vectors.slice(i * dims, (i + 1) * dims));
    },
    wasmBytes: () => exports.memory.buffer.byteLength,
    about: { version: burrow.version() },
  };
}
