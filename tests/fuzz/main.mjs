// Mangled packs and ONNX files, through the built package in Node: `cargo xtask fuzz`.
//
// Whatever the bytes are, loading them ends in vectors of finite numbers or in a BurrowError whose code says that the
// file is at fault; never in `internal`, which is what a trap of the module would be; and the good file loads after it.
//
// usage: node main.mjs [--minutes N | --runs N] [--seed N] [pack] [onnx]
import assert from "node:assert/strict";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { BurrowError, Embedder } from "../../pkg/dist/node.js";
import { mangled } from "./mangle.mjs";
import { TARGETS } from "./targets.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: "string" }, runs: { type: "string" }, seed: { type: "string" } },
});

/** What a file can be blamed for. */
const CODES = ["corrupted", "model_load", "invalid_argument", "embedding"];

/** The code of the error, or `vectors`. */
async function outcome(source) {
  let embedder;
  try {
    embedder = await Embedder.load(source);
    const vectors = await embedder.embed(["", "the cat sat on the mat", "one two three ".repeat(200)]);
    for (const vector of vectors) assert.ok(vector.every(Number.isFinite), "a vector that is not a number");
    return "vectors";
  } catch (error) {
    if (!(error instanceof BurrowError)) throw error;
    assert.ok(CODES.includes(error.code), `${error.code}: ${error.message} (${error.cause})`);
    return error.code;
  } finally {
    await embedder?.close();
  }
}

async function fuzz(name) {
  const { seeds, source, seal, usual } = await TARGETS[name]();
  const found = {};
  let runs = 0;
  const property = fc.asyncProperty(mangled(seeds, seal), async ({ bytes }) => {
    const code = await outcome(source(bytes));
    found[code] = (found[code] ?? 0) + 1;
    if (runs++ % 200 === 0) assert.equal(await outcome(source(seeds[0])), "vectors", "the good file");
  });
  const limit = options.minutes === undefined ? undefined : Number(options.minutes) * 60_000;
  const started = performance.now();
  await fc.assert(property, {
    numRuns: limit === undefined ? Number(options.runs ?? usual) : 1e9,
    ...(limit !== undefined && { interruptAfterTimeLimit: limit }),
    ...(options.seed !== undefined && { seed: Number(options.seed) }),
  });
  const outcomes = Object.entries(found).map(([code, count]) => `${code} ${count}`);
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`${name}: ${runs} files in ${seconds} s: ${outcomes.join(", ")}`);
}

let [passed, failed] = [0, 0];
for (const name of positionals.length === 0 ? Object.keys(TARGETS) : positionals) {
  try {
    await fuzz(name);
    passed++;
  } catch (error) {
    console.error(error);
    failed++;
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
