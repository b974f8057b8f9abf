// What int8 costs in retrieval, and whether the encoder computes what tract does: `cargo xtask bench quality`.
//
// usage: node main.mjs [--json] [--model NAME]… MODELS
import { parseArgs } from "node:util";
import { startChromium } from "../embed/chromium.mjs";
import { MODELS } from "../embed/models.mjs";
import { serve } from "../embed/server.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    model: { type: "string", multiple: true, default: Object.keys(MODELS) },
  },
});

function printRow({ name, overlap, ndcg, f32, cosineMin, cosineMedian }) {
  const cells = [
    overlap?.toFixed(3),
    ndcg?.toFixed(1),
    f32 === undefined ? undefined : signed(ndcg - f32),
    cosineMin?.toFixed(6),
    cosineMedian?.toFixed(6),
  ];
  console.log(`  ${name.padEnd(42)}${cells.map((cell) => (cell ?? "").padStart(11)).join("")}`);
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

async function main() {
  const server = await serve(positionals[0]);
  const chromium = await startChromium(server.url);
  const results = [];
  try {
    for (const model of options.model) {
      const corpus = `${server.url}/retrieval/${MODELS[model].corpus}.json.gz`;
      const titles = ["top 10", "nDCG@10", "to f32", "cosine min", "median"].map((title) => title.padStart(11));
      if (!options.json) console.log(`\n${`${model}, ${MODELS[model].corpus}`.padEnd(44)}${titles.join("")}`);
      results.push(await chromium.run("quality", { model, corpus }, (row) => options.json || printRow(row)));
    }
    if (options.json) console.log(JSON.stringify({ results }));
  } finally {
    await chromium.close();
    await server.close();
  }
}

await main();
