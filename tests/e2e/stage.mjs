// What every end-to-end test stands on: one server and one browser for a file of tests, and functions that run in the
// page.
import { after, before } from "node:test";
import { launch } from "../harness/browsers.mjs";
import { serve } from "./server.mjs";

/** Starts the server and a browser before a file's tests, ends both after. */
export function stage(browserName) {
  const here = { server: undefined, browser: undefined };
  before(async () => {
    here.server = await serve();
    here.browser = await launch(browserName);
  });
  after(async () => {
    await here.browser?.close();
    await here.server?.close();
  });
  return here;
}

/** Opens the test page and waits until the package is loaded. */
export async function openPage({ server, browser }, path = "/") {
  const page = await browser.open(server.url + path);
  return { ...page, call: (body, argument) => call(page, body, argument), ready: () => ready(page) };
}

/** Runs a function in the page. It is sent as text: it sees its argument and the page, nothing of this file. */
export async function call(page, body, argument) {
  await ready(page);
  try {
    return await page.run(`return (${body})(argument);`, argument);
  } catch (error) {
    error.message += page.log.length > 0 ? `\nthe page said:\n${page.log.join("\n")}` : "";
    throw error;
  }
}

function ready(page) {
  return page.run(`
    while (!globalThis.e2e) await new Promise((resolve) => setTimeout(resolve, 20));
  `);
}
