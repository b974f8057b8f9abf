// What the store costs in Chromium: `cargo xtask bench store`.
//
// usage: node main.mjs [--json] [--quick] MODELS
import { parseArgs } from "node:util";
import { launch } from "../../tests/harness/chromium.mjs";
import { serve } from "../embed/server.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean", default: false }, quick: { type: "boolean", default: false } },
});
const MODEL = "bge-small-en-v1.5";
const SOURCE = { preset: MODEL, url: `/models/${MODEL}/model_quantized.onnx` };
const VISITS = options.quick ? 3 : 7;
const SIZES = options.quick ? [1000] : [1000, 10_000];

async function onPage(browser, url, call, argument) {
  const page = await browser.open(`${url}/store/page.html`);
  try {
    page.native.setDefaultTimeout(0);
    await page.native.waitForFunction(() => globalThis.bench);
    return await page.run(`return globalThis.bench.${call}(argument);`, argument);
  } finally {
    await page.close();
  }
}

/** A page for each visit: nothing but what the device keeps is left of the one before. */
async function firstVectors(browser, url) {
  const install = await onPage(browser, url, "firstVector", { source: SOURCE });
  const visits = [];
  for (let visit = 0; visit < VISITS; visit++)
    visits.push(await onPage(browser, url, "firstVector", { source: SOURCE }));
  if (visits.some(({ engine, cached }) => engine !== "encoder" || !cached)) throw new Error("the model was not kept");
  const sorted = visits.map(({ elapsed }) => elapsed).toSorted((a, b) => a - b);
  return { install: install.elapsed, again: sorted[Math.floor(sorted.length / 2)] };
}

function print({ first, sizes }) {
  const ms = (value) => `${value.toFixed(2)} ms`;
  console.log(
    `${MODEL} int8, open to first vector: ${ms(first.again)} on a later visit, ${ms(first.install)} on the first`,
  );
  for (const row of sizes) {
    const times = (ours, theirs) => `${ms(ours)} (${(ours / theirs).toFixed(2)} × by hand)`;
    console.log(`\n${row.size} items of 384 dimensions, in a worker, medians; inference left out`);
    console.log(`  fill, batches of 1000  ${times(row.filled, row.filledBare)}`);
    console.log(`  put                    ${times(row.put, row.bare)}`);
    console.log(`  search, ten best       ${times(row.search, row.loop)}`);
    console.log(`  search, nothing passes ${times(row.filtered, row.filteredBare)}`);
    console.log(`  get                    ${ms(row.get)}`);
    console.log(`  open again             ${ms(row.reopened)}`);
  }
}

const server = await serve(positionals[0]);
const browser = await launch();
try {
  const first = await firstVectors(browser, server.url);
  const sizes = [];
  for (const size of SIZES) sizes.push(await onPage(browser, server.url, "measure", { size, worker: true }));
  if (options.json) console.log(JSON.stringify({ first, sizes }));
  else print({ first, sizes });
} finally {
  await browser.close();
  await server.close();
}
