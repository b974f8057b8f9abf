/** A service worker refuses `import()`: everything here, and all that the package imports, is imported statically. */
import * as burrow from "./node_modules/burrow-memory/dist/index.js";

import { scenario, visit } from "./scenario.mjs";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("message", (event) => event.waitUntil(run(event.source)));

async function run(page) {
  try {
    const memory = await scenario(burrow);
    page.postMessage({ value: { memory, kept: await visit(burrow) } });
  } catch (error) {
    page.postMessage({ error: `${error.stack}\n${error.cause ?? ""}` });
  }
}
