/**
 * Random histories, applied to both stores, must leave both with the same answers.
 *
 * The operations keep to what both promise: see `differences.test.ts` for the rest. Every document has one text, so
 * that the reference's leftover vectors are always replaced; the order of items without scores is a matter of
 * milliseconds in one store and of insertion in the other, so that they are compared as sets.
 */
import type { BaseStore, SearchItem } from "@langchain/langgraph-checkpoint";
import { afterEach, expect, it } from "vitest";

import { closeAll, LetterEmbeddings, openBurrow, openReference } from "./support.js";

afterEach(closeAll);

/** Mulberry32: small, seeded, good enough to choose with. */
function choices(seed: number) {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n: number): number => Math.floor(next() * n);
  const one = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  return { below, one };
}

const namespaces = [["a"], ["a", "b"], ["a", "b", "c"], ["ab"], ["z"]];
const words = ["sun", "moon", "constable", "Anna", "banana", "star sun", "q"];

type Change = (store: BaseStore) => Promise<unknown>;

function change({ below, one }: ReturnType<typeof choices>): Change {
  const namespace = one(namespaces);
  const key = one(["k1", "k2", "k3"]);
  const value = { text: one(words), n: below(4), tag: one(["red", "blue", null]) };
  if (below(4) === 0) return (store) => store.delete(namespace, key);
  return (store) => store.put(namespace, key, value);
}

function question({ below, one }: ReturnType<typeof choices>): (store: BaseStore) => Promise<SearchItem[]> {
  const prefix = one([[], ...namespaces]);
  const filter = one<Record<string, unknown> | undefined>([
    undefined,
    { n: below(4) },
    { n: { $gte: below(4) } },
    { n: { $lt: below(4) }, tag: { $ne: "red" } },
    { tag: { $in: ["red", null] } },
    { tag: null },
  ]);
  const query = one([undefined, ...words]);
  return (store) => store.search(prefix, { limit: 100, ...(filter && { filter }), ...(query && { query }) });
}

const plain = (items: SearchItem[]): string[] =>
  items
    .map(({ namespace, key, value, score }) =>
      JSON.stringify([score?.toFixed(4), namespace, key, value.text, value.n, value.tag]),
    )
    .sort();

const falling = (items: SearchItem[]): boolean =>
  items.every((item, i) => i === 0 || (item.score ?? 0) <= (items[i - 1]?.score ?? 0) + 1e-6);

it.each(Array.from({ length: 40 }, (_, seed) => seed))("history %i", async (seed) => {
  const random = choices(seed);
  const index = () => ({ embeddings: new LetterEmbeddings(), fields: ["text"] });
  const reference = await openReference(index());
  const burrow = await openBurrow(index());
  for (let round = 0; round < 6; round++) {
    for (let i = 0; i < 5; i++) {
      const step = change(random);
      await step(reference);
      await step(burrow);
    }
    const ask = question(random);
    const found = await ask(burrow);
    expect(plain(found)).toEqual(plain(await ask(reference)));
    expect(falling(found)).toBe(true);
  }
  const live = new Set((await reference.search([], { limit: 100 })).map((item) => JSON.stringify(item.namespace)));
  expect((await burrow.listNamespaces()).map((namespace) => JSON.stringify(namespace)).sort()).toEqual(
    [...live].sort(),
  );
});
