/** Node, Deno and Bun: `main.mjs PACK…`, one line of JSON per pack. */
import { readFile } from "node:fs/promises";

import * as burrow from "burrow-memory";
import { vectorsOf } from "./embed.mjs";

for (const path of process.argv.slice(2)) {
  const pack = new Uint8Array(await readFile(path));
  console.log(JSON.stringify(await vectorsOf(burrow, pack)));
}
