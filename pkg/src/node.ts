/** The entry for Node, Deno and Bun: files are read as files, since `fetch` refuses their addresses. */
import { readFile } from "node:fs/promises";

import { setPlatform } from "./compile.js";

setPlatform({ readFile: async (url) => new Uint8Array(await readFile(url)) });

export * from "./index.js";
