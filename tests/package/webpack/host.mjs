/** webpack without loaders or plugins. */
import { copyFile } from "node:fs/promises";
import { join } from "node:path";

import { keptInWorker, serve, visitTwice } from "../browser.mjs";

export default async function webpack({ dir, load }) {
  const { default: bundler } = await load("webpack/lib/index.js");
  const out = join(dir, "dist");
  const compiler = bundler({
    context: dir,
    mode: "production",
    entry: "./main.js",
    output: { path: out, filename: "main.js" },
  });
  const stats = await new Promise((resolve, reject) =>
    compiler.run((error, done) => (error ? reject(error) : resolve(done))),
  );
  if (stats.hasErrors()) throw new Error(stats.toString({ all: false, errors: true, warnings: true }));
  await copyFile(join(dir, "index.html"), join(out, "index.html"));
  const site = await serve(out);
  try {
    return keptInWorker(await visitTwice(site.url));
  } finally {
    await site.close();
  }
}
