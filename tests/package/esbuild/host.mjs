/**
 * esbuild, which follows no `new URL(…, import.meta.url)`: neither wasm nor worker files come along. The store must
 * work all the same, and say where it runs.
 */
import { copyFile } from "node:fs/promises";
import { join } from "node:path";

import { kept, serve, visitTwice } from "../browser.mjs";

export default async function esbuild({ dir, load }) {
  const { build } = await load("esbuild/lib/main.js");
  const outdir = join(dir, "dist");
  await build({
    absWorkingDir: dir,
    entryPoints: ["main.js"],
    bundle: true,
    splitting: true,
    format: "esm",
    outdir,
    logLevel: "silent",
  });
  await copyFile(join(dir, "index.html"), join(outdir, "index.html"));
  const site = await serve(outdir);
  try {
    return kept(await visitTwice(site.url));
  } finally {
    await site.close();
  }
}
