/** A worker's script, bundled as wrangler does it: wasm files are kept beside the bundle, as `CompiledWasm`. */
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

/** Bundles `worker.mjs` of a host's folder; gives the folder of the result. */
async function bundleWorker({ dir, load }) {
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
  return out;
}

/** Starts workerd on it. */
export async function startWorker({ dir, load }) {
  const out = await bundleWorker({ dir, load });
  const { Miniflare } = await load("miniflare/dist/src/index.js");
  return new Miniflare({
    modulesRoot: out,
    scriptPath: join(out, "worker.js"),
    modules: true,
    modulesRules: [
      { type: "ESModule", include: ["**/*.js"] },
      { type: "CompiledWasm", include: ["**/*.wasm"] },
    ],
    compatibilityDate: "2026-04-01",
  });
}
