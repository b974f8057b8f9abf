/** A real model, from the bytes of its files: installed, vouched for, and used to search by meaning. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { Burrow } from "burrow-memory";
import { check } from "./scenario.mjs";

const folder = join(process.argv[2], "bge-small-en-v1.5");
const [model, tokenizer] = await Promise.all(
  ["model_quantized.onnx", "tokenizer.json"].map(async (name) => new Uint8Array(await readFile(join(folder, name)))),
);
const embed = { preset: "bge-small-en-v1.5", files: { model, tokenizer } };

const phases = new Set();
const burrow = await Burrow.open({
  storage: "memory",
  index: { embed, fields: ["text"] },
  onProgress: ({ phase }) => phases.add(phase),
});
const memories = {
  food: "The user loves sushi and is allergic to peanuts.",
  code: "The user writes TypeScript in a dark editor.",
  pet: "The user's dog is called Biscuit.",
};
for (const [key, text] of Object.entries(memories)) await burrow.put(["users", "ada"], key, { text });
// Cosines of the f32 model in Python's onnxruntime 1.32.0, CLS pooling; int8 may differ a little.
for (const [query, best, cosine] of [
  ["Which foods should be avoided?", "food", 0.5272],
  ["Which programming language is used?", "code", 0.5952],
  ["What is the name of the pet?", "pet", 0.6514],
]) {
  const { items } = await burrow.search(["users"], { query });
  const found = items.map(({ key, score }) => [key, score]);
  check(items.length === 3 && items[0].key === best, `"${query}" finds ${best} first`, found);
  check(Math.abs(items[0].score - cosine) < 0.03, `"${query}" scores ${cosine}`, found);
}
const { model: running } = await burrow.stats();
check(running?.dims === 384, "the model's vectors have 384 numbers", running);
await burrow.close();

console.log(JSON.stringify({ engine: running.engine, phases: [...phases] }));
