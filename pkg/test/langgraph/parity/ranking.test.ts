/** What LangGraph.js's own tests pin about searches that rank, on `BurrowStore` and on the reference alike: see `support.ts`. */
import type { BaseStore, Operation } from "@langchain/langgraph-checkpoint";
import { afterEach, describe, expect, it } from "vitest";

import { closeAll, keys, LetterEmbeddings, SunEmbeddings, scores, stores } from "../support.js";

afterEach(closeAll);

describe.each(stores)("$name", ({ open }) => {
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
