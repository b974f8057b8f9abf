/** What LangGraph.js's own tests pin about searches that list: no query, filters, on `BurrowStore` and on the reference alike: see `support.ts`. */
import { afterEach, describe, expect, it } from "vitest";

import { closeAll, keys, LetterEmbeddings, scores, stores } from "../support.js";

afterEach(closeAll);

describe.each(stores)("$name", ({ open }) => {
  describe("search without a query", () => {
    it("lists in the order in which items were made, without scores", async () => {
      const store = await open();
      await store.put(["test"], "123", { value: 1 });
      await store.put(["test"], "456", { value: 2 });
      const items = await store.search(["test"]);
      expect(items.map(({ key, value, score }) => [key, value, score])).toEqual([
        ["123", { value: 1 }, undefined],
        ["456", { value: 2 }, undefined],
      ]);
    });

    it("covers what is below a prefix by whole labels, and everything for the empty one", async () => {
      const store = await open();
      await store.put(["t", "acme"], "a", { v: 1 });
      await store.put(["t", "acme", "x"], "b", { v: 1 });
      await store.put(["t", "acme-corp"], "c", { v: 1 });
      expect(keys(await store.search(["t", "acme"])).sort()).toEqual(["a", "b"]);
      expect(keys(await store.search([])).sort()).toEqual(["a", "b", "c"]);
    });

    it("gives ten items by default and pages through all", async () => {
      const store = await open();
      await store.batch(Array.from({ length: 25 }, (_, i) => ({ namespace: ["n"], key: `k${100 + i}`, value: { i } })));
      expect(await store.search(["n"])).toHaveLength(10);
      const pages = [];
      for (const offset of [0, 10, 20, 30]) pages.push(await store.search(["n"], { offset, limit: 10 }));
      expect(pages.map((page) => page.length)).toEqual([10, 10, 5, 0]);
      expect(new Set(keys(pages.flat())).size).toBe(25);
      expect(await store.search(["n"], { limit: 0 })).toEqual([]);
    });

    it("treats an empty query as none", async () => {
      const embeddings = new LetterEmbeddings();
      const store = await open({ embeddings, fields: ["text"] });
      await store.put(["n"], "a", { text: "abc" });
      expect(scores(await store.search(["n"], { query: "" }))).toEqual({ a: undefined });
      expect(embeddings.queries).toEqual([]);
    });
  });

  describe("filters", () => {
    const documents = {
      red: { color: "red", score: 4.5, tags: "a" },
      rose: { color: "red", score: 3 },
      green: { color: "green", score: 4, done: true },
      blue: { color: "blue", score: 3.5, done: false, note: null },
    };

    it.each<[Record<string, unknown>, string[]]>([
      [{ color: "red" }, ["red", "rose"]],
      [{ color: "red", score: 3 }, ["rose"]],
      [{ score: "3" }, []],
      [{ done: false }, ["blue"]],
      [{ note: null }, ["blue"]],
      [{ color: { $eq: "green" } }, ["green"]],
      [{ color: { $ne: "red" } }, ["blue", "green"]],
      [{ done: { $ne: true } }, ["blue", "red", "rose"]],
      [{ score: { $gt: 3.5 } }, ["green", "red"]],
      [{ score: { $gte: 3.5 } }, ["blue", "green", "red"]],
      [{ score: { $lt: 3.5 } }, ["rose"]],
      [{ score: { $lte: 3.5 } }, ["blue", "rose"]],
      [{ score: { $gt: 3, $lt: 4.5 } }, ["blue", "green"]],
      [{ color: { $in: ["green", "blue"] } }, ["blue", "green"]],
      [{ color: { $nin: ["green", "blue"] } }, ["red", "rose"]],
      [{ tags: { $nin: ["a"] } }, ["blue", "green", "rose"]],
      [{ color: { $in: [] } }, []],
      [{ missing: "x" }, []],
    ])("%j", async (filter, expected) => {
      const store = await open();
      for (const [key, value] of Object.entries(documents)) await store.put(["n"], key, value);
      expect(keys(await store.search(["n"], { filter })).sort()).toEqual(expected);
    });

    it("filter before they count a page", async () => {
      const store = await open();
      for (const [key, value] of Object.entries(documents)) await store.put(["n"], key, value);
      expect(keys(await store.search(["n"], { filter: { color: "red" }, offset: 1, limit: 1 }))).toEqual(["rose"]);
    });
  });

  describe("a query without embeddings", () => {
    it("lists unscored", async () => {
      const store = await open();
      await store.put(["n"], "a", { text: "sun" });
      expect(scores(await store.search(["n"], { query: "sun" }))).toEqual({ a: undefined });
    });
  });
});
