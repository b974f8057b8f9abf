/** The seven hosts: each takes the paths of packs and gives `{ build, vectors }` for each. */
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";

import { launch } from "../../harness/browsers.mjs";
import { serve } from "../browser.mjs";
import { startWorker } from "../workerd/bundle.mjs";

const lines = (output) =>
  output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

export const node = async ({ run }, packs) => lines(await run(process.execPath, ["main.mjs", ...packs]));

export const deno = async ({ bin }, packs) =>
  lines(
    await bin("deno", [
      "run",
      "--node-modules-dir=manual",
      "--no-prompt",
      "--allow-read",
      "--allow-env",
      "main.mjs",
      ...packs,
    ]),
  );

export async function bun({ bin, run }, packs) {
  await run(process.execPath, ["node_modules/bun/install.js"]);
  return lines(await bin("bun", ["run", "main.mjs", ...packs]));
}

export async function workerd(tools, packs) {
  const worker = await startWorker(tools);
  try {
    const results = [];
    for (const pack of packs) {
      const response = await worker.dispatchFetch("http://worker/", { method: "POST", body: await readFile(pack) });
      if (!response.ok) throw new Error(await response.text());
      results.push(await response.json());
    }
    return results;
  } finally {
    await worker.dispose();
  }
}

/** A page that gets the installed package and the packs from one server. */
const browser =
  (name) =>
  async ({ dir }, packs) => {
    const server = await serve(dir, [], { "/packs/": dirname(packs[0]) });
    const host = await launch(name);
    try {
      const page = await host.open(`${server.url}index.html`);
      const results = [];
      for (const pack of packs) results.push(await page.run(IN_PAGE, `/packs/${basename(pack)}`));
      await page.close();
      return results;
    } finally {
      await host.close();
      await server.close();
    }
  };

const IN_PAGE = `
  const burrow = await import("/node_modules/burrow-memory/dist/index.js");
  const { vectorsOf } = await import("/embed.mjs");
  return vectorsOf(burrow, new URL(argument, location.href).href);`;

export const chromium = browser("chromium");
export const firefox = browser("firefox");
export const webkit = browser("webkit");
