/**
 * What LangGraph.js's own tests pin, on `BurrowStore` and on the reference alike: see `support.ts`.
 */
import { type BaseStore, InvalidNamespaceError, type Operation } from "@langchain/langgraph-checkpoint";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { closeAll, keys, LetterEmbeddings, SunEmbeddings, scores, stores } from "./support.js";

afterEach(closeAll);

const putAll = async (store: BaseStore, namespaces: string[][]): Promise<void> => {
  for (const [i, namespace] of namespaces.entries()) await store.put(namespace, `key${i}`, { i });
};

describe.each(stores)("$name", ({ open }) => {
  describe("items", () => {
    let store: BaseStore;
    beforeEach(async () => {
      store = await open();
    });

    it("gets what was put, with its times as dates", async () => {
      const before = Date.now();
      await store.put(["users", "ada"], "language", { text: "Answer in English", depth: { n: [1, null, "x"] } });
      const item = await store.get(["users", "ada"], "language");
      expect(item).toEqual({
        namespace: ["users", "ada"],
        key: "language",
        value: { text: "Answer in English", depth: { n: [1, null, "x"] } },
        createdAt: expect.any(Date),
        updatedAt: expect.any(Date),
      });
      expect(item?.createdAt.getTime()).toBeGreaterThanOrEqual(before);
      expect(item?.createdAt.getTime()).toBeLessThanOrEqual(Date.now());
    });

    it("gives null for what is not there", async () => {
      await store.put(["users"], "here", { a: 1 });
      expect(await store.get(["users"], "elsewhere")).toBeNull();
      expect(await store.get(["nobody"], "here")).toBeNull();
    });

    it("replaces the whole document and keeps createdAt", async () => {
      await store.put(["users"], "k", { old: true, kept: false });
      const first = await store.get(["users"], "k");
      const createdAt = first?.createdAt.getTime();
      await store.put(["users"], "k", { new: true });
      const second = await store.get(["users"], "k");
      expect(second?.value).toEqual({ new: true });
      expect(second?.createdAt.getTime()).toBe(createdAt);
      expect(second?.updatedAt.getTime()).toBeGreaterThanOrEqual(createdAt ?? 0);
    });

    it("resolves put and delete to nothing, and deletes what is not there without complaint", async () => {
      expect(await store.put(["users"], "k", { a: 1 })).toBeUndefined();
      expect(await store.delete(["users"], "k")).toBeUndefined();
      expect(await store.delete(["users"], "k")).toBeUndefined();
      expect(await store.delete(["nobody"], "k")).toBeUndefined();
      expect(await store.get(["users"], "k")).toBeNull();
    });

    it("deletes by a put of null", async () => {
      await store.put(["users"], "k", { a: 1 });
      await store.batch([{ namespace: ["users"], key: "k", value: null }]);
      expect(await store.get(["users"], "k")).toBeNull();
    });
  });

  describe("namespaces that are refused", () => {
    const refused: [string, string[]][] = [
      ["the empty one", []],
      ["a period", ["the", "thing.about"]],
      ["a colon", ["tenant:alice", "files"]],
      ["NUL", ["a\0b"]],
      ["an empty label", ["some", ""]],
      ["the reserved root", ["langgraph", "foo"]],
      ["a number", ["users", 42 as unknown as string]],
    ];

    it.each(refused)("put refuses %s", async (_, namespace) => {
      const store = await open();
      await expect(store.put(namespace, "k", { a: 1 })).rejects.toThrow(InvalidNamespaceError);
      await expect(store.put(namespace, "k", { a: 1 })).rejects.toMatchObject({ name: "InvalidNamespaceError" });
    });

    it.each(refused.filter(([name]) => name !== "the reserved root"))(
      "a raw batch refuses %s",
      async (_, namespace) => {
        const store = await open();
        await expect(store.batch([{ namespace, key: "k", value: { a: 1 } }])).rejects.toThrow(InvalidNamespaceError);
        await expect(store.batch([{ namespace, key: "k", value: null }])).rejects.toThrow(InvalidNamespaceError);
        await expect(store.batch([{ namespace, key: "k" }])).rejects.toThrow(InvalidNamespaceError);
      },
    );

    it.each(["thing.about", "a:b", "a\0b", ""])("reads and lists refuse the label %j", async (label) => {
      const store = await open();
      await expect(store.get(["users", label], "k")).rejects.toThrow(InvalidNamespaceError);
      await expect(store.delete(["users", label], "k")).rejects.toThrow(InvalidNamespaceError);
      await expect(store.search(["users", label])).rejects.toThrow(InvalidNamespaceError);
      await expect(store.listNamespaces({ prefix: [label] })).rejects.toThrow(InvalidNamespaceError);
      await expect(store.listNamespaces({ suffix: [label] })).rejects.toThrow(InvalidNamespaceError);
    });

    it("lets a raw batch use the reserved root, and reads find it there", async () => {
      const store = await open();
      await store.batch([{ namespace: ["langgraph", "foo"], key: "bar", value: { a: 1 } }]);
      expect((await store.get(["langgraph", "foo"], "bar"))?.value).toEqual({ a: 1 });
      expect(keys(await store.search(["langgraph", "foo"]))).toEqual(["bar"]);
      await store.delete(["langgraph", "foo"], "bar");
      expect(await store.get(["langgraph", "foo"], "bar")).toBeNull();
    });

    it("allows the reserved word below the root", async () => {
      const store = await open();
      await store.put(["foo", "langgraph"], "bar", { a: 1 });
      expect(keys(await store.search(["foo", "langgraph"]))).toEqual(["bar"]);
    });
  });

  describe("listNamespaces", () => {
    it("matches prefixes and suffixes, cuts at maxDepth, pages", async () => {
      const store = await open();
      await putAll(store, [
        ["a", "b", "c"],
        ["a", "b", "d", "e"],
        ["a", "b", "d", "i"],
        ["a", "b", "f"],
        ["a", "c", "f"],
        ["b", "a", "f"],
        ["users", "123"],
      ]);
      const below = [
        ["a", "b", "c"],
        ["a", "b", "d", "e"],
        ["a", "b", "d", "i"],
        ["a", "b", "f"],
      ];
      expect(await store.listNamespaces({ prefix: ["a", "b"] })).toEqual(below);
      expect(await store.listNamespaces({ prefix: ["a", "b"], limit: 2 })).toEqual(below.slice(0, 2));
      expect(await store.listNamespaces({ prefix: ["a", "b"], offset: 2 })).toEqual(below.slice(2));
      expect(await store.listNamespaces({ suffix: ["f"] })).toEqual([
        ["a", "b", "f"],
        ["a", "c", "f"],
        ["b", "a", "f"],
      ]);
      expect(await store.listNamespaces({ prefix: ["a"], suffix: ["f"] })).toEqual([
        ["a", "b", "f"],
        ["a", "c", "f"],
      ]);
      expect(await store.listNamespaces({ prefix: ["a", "b"], maxDepth: 3 })).toEqual([
        ["a", "b", "c"],
        ["a", "b", "d"],
        ["a", "b", "f"],
      ]);
      expect(await store.listNamespaces({ prefix: ["none"] })).toEqual([]);
    });

    it("lets * stand for one label", async () => {
      const store = await open();
      await putAll(store, [
        ["users", "123"],
        ["users", "789", "settings"],
        ["admin", "users", "789"],
        ["guests", "456", "preferences"],
        ["admin", "users", "settings", "789"],
      ]);
      expect(await store.listNamespaces({ prefix: ["users", "*"] })).toEqual([
        ["users", "123"],
        ["users", "789", "settings"],
      ]);
      expect(await store.listNamespaces({ suffix: ["*", "preferences"] })).toEqual([["guests", "456", "preferences"]]);
      expect(await store.listNamespaces({ prefix: ["*", "users"], suffix: ["*", "settings"] })).toEqual([]);
      expect(await store.listNamespaces({ prefix: ["*", "users"], suffix: ["settings", "*"] })).toEqual([
        ["admin", "users", "settings", "789"],
      ]);
    });

    it("lists nothing in an empty store, and at most 100 by default", async () => {
      const store = await open();
      expect(await store.listNamespaces()).toEqual([]);
      await store.batch(
        Array.from({ length: 120 }, (_, i) => ({ namespace: ["n", String(1000 + i)], key: "k", value: { i } })),
      );
      expect(await store.listNamespaces()).toHaveLength(100);
      expect(await store.listNamespaces({ limit: 5, offset: 115 })).toEqual(
        [1115, 1116, 1117, 1118, 1119].map((n) => ["n", String(n)]),
      );
    });

    it("ANDs any number of match conditions", async () => {
      const store = await open();
      await putAll(store, [
        ["a", "b", "c"],
        ["a", "x", "c"],
        ["z", "b", "c"],
        ["a", "b", "d"],
      ]);
      const list = async (...matchConditions: { matchType: "prefix" | "suffix"; path: string[] }[]) =>
        (await store.batch([{ matchConditions, limit: 10, offset: 0 }]))[0];
      const prefix = (...path: string[]) => ({ matchType: "prefix" as const, path });
      const suffix = (...path: string[]) => ({ matchType: "suffix" as const, path });
      expect(await list(prefix("a"), prefix("*", "b"))).toEqual([
        ["a", "b", "c"],
        ["a", "b", "d"],
      ]);
      expect(await list(prefix("a"), prefix("z"))).toEqual([]);
      expect(await list(suffix("c"), suffix("b", "*"))).toEqual([
        ["a", "b", "c"],
        ["z", "b", "c"],
      ]);
      expect(await list(prefix("a"), suffix("b", "*"), suffix("c"))).toEqual([["a", "b", "c"]]);
      expect(await list()).toHaveLength(4);
      await expect(list({ matchType: "infix" as "prefix", path: ["a"] })).rejects.toThrow(
        "Unsupported match type: infix",
      );
    });
  });

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

  describe("search with a query", () => {
    it("ranks by cosine of the best of an item's vectors", async () => {
      const store = await open({ embeddings: new LetterEmbeddings(), fields: ["title", "body"] });
      await store.put(["n"], "both", { title: "abc", body: "xyz" });
      await store.put(["n"], "one", { title: "abd" });
      await store.put(["n"], "far", { title: "qqq" });
      const items = await store.search(["n"], { query: "abc" });
      expect(keys(items)).toEqual(["both", "one", "far"]);
      // abc·abd = 2 / (√3·√3)
      expect(scores(items)).toEqual({ both: 1, one: 0.66667, far: 0 });
    });

    it("embeds the whole document by default", async () => {
      const embeddings = new LetterEmbeddings();
      const store = await open({ embeddings });
      await store.put(["n"], "a", { text: "zebra" });
      expect(embeddings.documents).toHaveLength(1);
      expect(JSON.parse(embeddings.documents[0]?.[0] ?? "")).toEqual({ text: "zebra" });
      expect((await store.search(["n"], { query: "zebra" }))[0]?.score).toBeGreaterThan(0.5);
    });

    it("combines with filters", async () => {
      const store = await open({ embeddings: new LetterEmbeddings(), fields: ["text"] });
      await store.put(["n"], "1", { text: "red apple", color: "red", score: 4.5 });
      await store.put(["n"], "2", { text: "red car", color: "red", score: 3 });
      await store.put(["n"], "3", { text: "green apple", color: "green", score: 4 });
      const search = async (query: string, filter: object) => keys(await store.search(["n"], { query, filter }));
      expect(await search("apple", { color: "red" })).toEqual(["1", "2"]);
      expect(await search("car", { color: "red" })).toEqual(["2", "1"]);
      expect(await search("apple", { score: { $gte: 4 }, color: "green" })).toEqual(["3"]);
    });

    it("follows an item's text when it is updated", async () => {
      const store = await open({ embeddings: new SunEmbeddings(), fields: ["text"] });
      await store.put(["n"], "a", { text: "sun" });
      expect(scores(await store.search(["n"], { query: "sun" }))).toEqual({ a: 1 });
      await store.put(["n"], "a", { text: "moon" });
      expect(scores(await store.search(["n"], { query: "sun" }))).toEqual({ a: 0 });
      expect(scores(await store.search(["n"], { query: "moon" }))).toEqual({ a: 1 });
    });

    it.each<[string, false | string[] | undefined, string[], number | undefined]>([
      ["false", false, [], undefined],
      ["no paths", [], [], undefined],
      ["the default", undefined, ["moon"], 0],
      ["another path", ["other"], ["sun"], 1],
      ["a path into arrays", ["chapters[*].content"], ["sun", "star"], 1],
      ["the last of an array", ["chapters[-1].content"], ["star"], 0],
      ["several paths", ["text", "other"], ["moon", "sun"], 1],
      ["a path to nothing", ["missing"], [], undefined],
    ])("index: %s", async (_, index, texts, score) => {
      const embeddings = new SunEmbeddings();
      const store = await open({ embeddings, fields: ["text"] });
      const value = { text: "moon", other: "sun", chapters: [{ content: "sun" }, { content: "star" }] };
      await store.put(["n"], "a", value, index);
      expect(embeddings.documents).toEqual(texts.length > 0 ? [texts] : []);
      expect(scores(await store.search(["n"], { query: "sun" }))).toEqual({ a: score });
    });

    it("appends items without vectors, unscored", async () => {
      const store = await open({ embeddings: new SunEmbeddings(), fields: ["text"] });
      await store.put(["n"], "unindexed", { text: "sun" }, false);
      await store.put(["n"], "moon", { text: "moon" });
      await store.put(["n"], "sun", { text: "sun" });
      const items = await store.search(["n"], { query: "sun" });
      expect(keys(items)).toEqual(["sun", "moon", "unindexed"]);
      expect(scores(items)).toEqual({ sun: 1, moon: 0, unindexed: undefined });
    });

    it("takes one embedding call for a batch, each text once", async () => {
      const embeddings = new SunEmbeddings();
      const store = await open({ embeddings, fields: ["texts[*]"] });
      await store.batch([
        { namespace: ["n"], key: "1", value: { texts: ["sun", "moon"] } },
        { namespace: ["n"], key: "2", value: { texts: ["moon"] } },
        { namespace: ["n"], key: "3", value: { texts: ["star"] }, index: false },
      ]);
      expect(embeddings.documents).toEqual([["sun", "moon"]]);
      expect(scores(await store.search(["n"], { query: "moon" }))).toEqual({ 1: 1, 2: 1, 3: undefined });
    });

    it("asks no embedder for what is not indexed", async () => {
      const embeddings = new SunEmbeddings();
      embeddings.failure = new Error("the provider is down");
      const store = await open({ embeddings, fields: ["text"] });
      await store.put(["n"], "a", { text: "sun" }, false);
      expect((await store.get(["n"], "a"))?.value).toEqual({ text: "sun" });
    });

    it("passes an embedder's failure on and stores nothing", async () => {
      const embeddings = new SunEmbeddings();
      const store = await open({ embeddings, fields: ["text"] });
      embeddings.failure = new Error("the provider is down");
      const batch: Operation[] = [
        { namespace: ["n"], key: "a", value: { text: "sun" } },
        { namespace: ["n"], key: "b", value: { text: "sun" }, index: false },
      ];
      await expect(store.batch(batch)).rejects.toThrow("the provider is down");
      expect(await store.get(["n"], "a")).toBeNull();
      expect(await store.get(["n"], "b")).toBeNull();
    });
  });

  describe("batch", () => {
    it("answers every kind of operation at its place", async () => {
      const store = await open();
      await store.put(["n"], "a", { v: 1 });
      const operations: Operation[] = [
        { namespace: ["n"], key: "a" },
        { namespacePrefix: ["n"] },
        { namespace: ["m"], key: "b", value: { v: 2 } },
        { namespace: ["n"], key: "missing" },
      ];
      const [got, found, put, missing] = (await store.batch(operations)) as unknown[];
      expect(got).toMatchObject({ key: "a", value: { v: 1 } });
      expect(found).toMatchObject([{ key: "a" }]);
      expect(put).toBeNull();
      expect(missing).toBeNull();
      expect(await store.batch([])).toEqual([]);
    });

    it("keeps the last put of a key", async () => {
      const store = await open();
      await store.batch([
        { namespace: ["n"], key: "a", value: { v: 1 } },
        { namespace: ["n"], key: "a", value: { v: 2 } },
        { namespace: ["n"], key: "b", value: { v: 3 } },
        { namespace: ["n"], key: "b", value: null },
      ]);
      expect((await store.get(["n"], "a"))?.value).toEqual({ v: 2 });
      expect(await store.get(["n"], "b")).toBeNull();
    });
  });

  describe("a query without embeddings", () => {
    it("lists unscored", async () => {
      const store = await open();
      await store.put(["n"], "a", { text: "sun" });
      expect(scores(await store.search(["n"], { query: "sun" }))).toEqual({ a: undefined });
    });
  });

  describe("indexConfig", () => {
    it("is what the store was opened with", async () => {
      const embeddings = new SunEmbeddings();
      const store = (await open({ embeddings, fields: ["text"] })) as BaseStore & { indexConfig?: object };
      expect(store.indexConfig).toMatchObject({ dims: 2, embeddings, fields: ["text"] });
      const bare = (await open()) as BaseStore & { indexConfig?: object };
      expect(bare.indexConfig).toBeUndefined();
    });
  });
});
