/** A real model, from the bytes of its files: installed, vouched for, and used to search by meaning. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { Burrow, Embedder } from "burrow-memory";
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
for (const [query, best] of [
  ["What does the user like to eat?", "food"],
  ["Which programming language is used?", "code"],
  ["What is the name of the pet?", "pet"],
]) {
  const { items } = await burrow.search(["users"], { query });
  check(
    items[0]?.key === best && items.length === 3,
    `"${query}" finds ${best} first`,
    items.map(({ key, score }) => [key, score]),
  );
}
const { model: running } = await burrow.stats();
check(running?.dims === 384, "the model's vectors have 384 numbers", running);
await burrow.close();

const embedder = await Embedder.load(embed);
const [vector] = await embedder.embed(["hello"], { kind: "query" });
check(Math.abs(Math.hypot(...vector) - 1) < 1e-5, "vectors have unit length", Math.hypot(...vector));
await embedder.close?.();
console.log(JSON.stringify({ engine: running.engine, phases: [...phases] }));
