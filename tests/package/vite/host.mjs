/**
 * Vite without any configuration: the dev server, which pre-bundles dependencies and so moves them away from their
 * wasm files, and the build. Both also with the wasm's URL given explicitly.
 */
import { join } from "node:path";

import { keptInWorker, serve, visitTwice } from "../browser.mjs";

const visited = async (url) => keptInWorker(await visitTwice(url));

export default async function vite({ dir, load }) {
  const { build, createServer } = await load("vite/dist/node/index.js");
  const config = { root: dir, configFile: false, logLevel: "silent" };
  const notes = [];

  const server = await createServer({ ...config, server: { port: 0, host: "127.0.0.1" } });
  await server.listen();
  try {
    const url = server.resolvedUrls.local[0];
    notes.push(`dev ${await visited(url)}`, `dev, URL given ${await visited(`${url}?url`)}`);
  } finally {
    await server.close();
  }

  await build(config);
  const built = await serve(join(dir, "dist"));
  try {
    notes.push(`build ${await visited(built.url)}`, `build, URL given ${await visited(`${built.url}?url`)}`);
  } finally {
    await built.close();
  }
  return notes.join("; ");
}
