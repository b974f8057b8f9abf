// Cold start: from opening a page to the first vector, when an earlier visit has left the model on the device. Each
// engine keeps it in its own way (Burrow: IndexedDB, transformers.js: the Cache API); scripts and wasm come from the
// browser's HTTP cache for both. Visits alternate.
import { launch } from "../../tests/harness/chromium.mjs";
import { DTYPE } from "./models.mjs";
import { median } from "./rounds.mjs";

const MODEL = "bge-small-en-v1.5";

export async function coldStarts(url, visits) {
  const results = [];
  for (const precision of ["int8", "f32"]) results.push(await compare(url, precision, visits));
  return results;
}

async function compare(url, precision, visits) {
  const browser = await launch();
  try {
    const query = new URLSearchParams({ model: MODEL, precision, dtype: DTYPE[precision] });
    const open = (page) => visit(browser, `${url}/embed/pages/${page}.html?${query}`);
    await open("cold-burrow");
    await open("cold-transformers");
    const pairs = [];
    for (let i = 0; i < visits; i++) {
      const burrow = await open("cold-burrow");
      const transformers = await open("cold-transformers");
      if (!burrow.cached || !transformers.cached) throw new Error("a model was not kept from the first visit");
      pairs.push({ burrow: burrow.ms, transformers: transformers.ms });
    }
    const of = (pick) => median(pairs.map(pick));
    return {
      model: MODEL,
      precision,
      visits,
      ms: { burrow: of((pair) => pair.burrow), transformers: of((pair) => pair.transformers) },
      ratio: of((pair) => pair.burrow / pair.transformers),
    };
  } finally {
    await browser.close();
  }
}

async function visit(browser, url) {
  const page = await browser.open(url);
  try {
    await page.native.waitForFunction(() => globalThis.outcome, undefined, { timeout: 120_000 });
    const outcome = await page.native.evaluate(() => globalThis.outcome);
    if (outcome.error) throw new Error(`${url}: ${outcome.error}\n${page.log.join("\n")}`);
    return outcome;
  } finally {
    await page.close();
  }
}
