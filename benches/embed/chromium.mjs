// Chromium, from the outside: opens a page, lets it measure, hears what it has measured so far.
import { launch } from "../../tests/harness/chromium.mjs";

export async function startChromium(url) {
  const browser = await launch();
  return {
    /** Calls a measurement of `pages/bench.js`; `tell` gets its intermediate results. */
    run: (call, plan, tell) => runPage(browser, url, { call, plan }, tell),
    close: () => browser.close(),
  };
}

/** A page per model, so that one model's memory is gone before the next. */
async function runPage(browser, url, argument, tell) {
  const page = await browser.open(`${url}/embed/pages/bench.html`);
  page.native.setDefaultTimeout(0);
  page.native.on("console", (message) => {
    const text = message.text();
    if (text.startsWith("result ")) tell(JSON.parse(text.slice("result ".length)));
  });
  try {
    await page.native.waitForFunction(() => globalThis.bench);
    return await page.run("return globalThis.bench(argument);", argument);
  } catch (error) {
    error.message += `\nthe page said:\n${page.log.join("\n")}`;
    throw error;
  } finally {
    await page.close();
  }
}
