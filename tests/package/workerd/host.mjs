/**
 * workerd, which compiles no WebAssembly at run time: the package's `workerd` entry imports its wasm files as modules.
 * The worker is bundled as wrangler does it, wasm files kept beside the bundle as `CompiledWasm`.
 */
import { copyFile, mkdir } from "node:fs/promises";
import { basename, join } from "node:path";

/** Leaves `import x from "./x.wasm"` an import, of a copy beside the output. */
const keepWasm = (out) => ({
  name: "keep-wasm",
  setup(build) {
    build.onResolve({ filter: /\.wasm$/ }, async ({ path, resolveDir, pluginData }) => {
      if (pluginData === keepWasm) return undefined;
      const found = await build.resolve(path, { resolveDir, kind: "import-statement", pluginData: keepWasm });
      await copyFile(found.path, join(out, basename(found.path)));
      return { path: `./${basename(found.path)}`, external: true };
    });
  },
});

export default async function workerd({ dir, load }) {
  const out = join(dir, "out");
  await mkdir(out, { recursive: true });
  const { build } = await load("esbuild/lib/main.js");
  await build({
    absWorkingDir: dir,
    entryPoints: ["worker.mjs"],
    outfile: join(out, "worker.js"),
    bundle: true,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker", "browser"],
    plugins: [keepWasm(out)],
    logLevel: "silent",
  });
  const { Miniflare } = await load("miniflare/dist/src/index.js");
  const worker = new Miniflare({
    modulesRoot: out,
    scriptPath: join(out, "worker.js"),
    modules: true,
    modulesRules: [
      { type: "ESModule", include: ["**/*.js"] },
      { type: "CompiledWasm", include: ["**/*.wasm"] },
    ],
    compatibilityDate: "2026-04-01",
  });
  try {
    const response = await worker.dispatchFetch("http://worker/");
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return `workerd, ${JSON.parse(text).wasm}`;
  } finally {
    await worker.dispose();
  }
}
