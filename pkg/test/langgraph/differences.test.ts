/**
 * Where `BurrowStore` differs from `InMemoryStore` on purpose. Each test shows both sides, so that it fails too when
 * the reference changes its mind; the reason stands in the name or above the test.
 */
import { afterEach, describe, expect, it, vi } from "vitest";

import { closeAll, keys, LetterEmbeddings, openBurrow, openReference, SunEmbeddings, scores } from "./support.js";

afterEach(closeAll);
afterEach(() => vi.restoreAllMocks());

const pair = async (index?: () => { embeddings: LetterEmbeddings; fields?: string[] }) => ({
  reference: await openReference(index?.()),
  burrow: await openBurrow(index?.()),
});

const sunIndex = () => ({ embeddings: new SunEmbeddings(), fields: ["text"] });

describe("items", () => {
  it("are copies: changing a returned or a passed object changes nothing that is stored", async () => {
    const { reference, burrow } = await pair();
    for (const store of [reference, burrow]) {
      const value = { list: [1] };
      await store.put(["n"], "a", value);
      value.list.push(2);
      const item = await store.get(["n"], "a");
      item?.value.list.push(3);
    }
    expect((await reference.get(["n"], "a"))?.value).toEqual({ list: [1, 2, 3] });
    expect((await burrow.get(["n"], "a"))?.value).toEqual({ list: [1] });
  });

  // The reference keeps a reference to whatever it was given; a store that outlives the page cannot.
  it.each([
    ["a function", { f: () => 1 }],
    ["a bigint", { n: 1n }],
    ["NaN", { n: Number.NaN }],
    ["a Date", { at: new Date(0) }],
    ["an array at the top", [1] as unknown as Record<string, unknown>],
    ["undefined", undefined as unknown as Record<string, unknown>],
  ])("refuse %s, which JSON cannot hold", async (_, value) => {
    const { reference, burrow } = await pair();
    await reference.put(["n"], "a", value);
    await expect(burrow.put(["n"], "a", value)).rejects.toMatchObject({
      name: "BurrowError",
      code: "invalid_document",
    });
    expect(await burrow.get(["n"], "a")).toBeNull();
  });

  it("refuse an empty key", async () => {
    const { reference, burrow } = await pair();
    await reference.put(["n"], "", { a: 1 });
    await expect(burrow.put(["n"], "", { a: 1 })).rejects.toMatchObject({ code: "invalid_key" });
  });

  it("move updatedAt forward on every overwrite, by a millisecond at least", async () => {
    const burrow = await openBurrow();
    const times: number[] = [];
    for (const v of [1, 2, 3]) {
      await burrow.put(["n"], "a", { v });
      times.push((await burrow.get(["n"], "a"))?.updatedAt.getTime() ?? 0);
    }
    expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
  });
});

describe("namespaces", () => {
  it("exist while they have an item", async () => {
    const { reference, burrow } = await pair();
    for (const store of [reference, burrow]) {
      await store.put(["gone"], "a", { v: 1 });
      await store.delete(["gone"], "a");
    }
    expect(await reference.listNamespaces()).toEqual([["gone"]]);
    expect(await burrow.listNamespaces()).toEqual([]);
  });

  it("sort label by label and by code unit, not by the locale", async () => {
    const { reference, burrow } = await pair();
    for (const store of [reference, burrow]) {
      for (const namespace of [["b"], ["B"], ["a", "z"]]) await store.put(namespace, "k", { v: 1 });
    }
    expect(await reference.listNamespaces()).toEqual([["a", "z"], ["b"], ["B"]]);
    expect(await burrow.listNamespaces()).toEqual([["B"], ["a", "z"], ["b"]]);
  });
});

describe("batch", () => {
  // Operations apply in order; the reference answers all reads from before the batch.
  it("lets a read see the writes before it", async () => {
    const { reference, burrow } = await pair();
    const operations = () => [
      { namespace: ["n"], key: "a", value: { v: 1 } },
      { namespace: ["n"], key: "a" },
      { namespacePrefix: ["n"] },
    ];
    const before = (await reference.batch(operations())) as unknown[];
    expect([before[1], before[2]]).toEqual([null, []]);
    const inOrder = (await burrow.batch(operations())) as unknown[];
    expect(inOrder[1]).toMatchObject({ key: "a", value: { v: 1 } });
    expect(inOrder[2]).toMatchObject([{ key: "a" }]);
  });

  // The reference answers such a list with nothing at all, so that later answers slip by one.
  it("answers a list without match conditions at its place", async () => {
    const { reference, burrow } = await pair();
    const operations = () => [
      { limit: 10, offset: 0 },
      { namespace: ["n"], key: "a" },
    ];
    for (const store of [reference, burrow]) await store.put(["n"], "a", { v: 1 });
    expect(await reference.batch(operations())).toHaveLength(1);
    expect(await burrow.batch(operations())).toMatchObject([[["n"]], { key: "a" }]);
  });

  it("refuses what is no operation, by name", async () => {
    const { reference, burrow } = await pair();
    const nonsense = [{ frobnicate: true }] as unknown as [{ namespace: string[]; key: string }];
    expect(await reference.batch(nonsense)).toEqual([]);
    await expect(burrow.batch(nonsense)).rejects.toThrow("frobnicate");
  });

  it("writes nothing when one of its operations fails", async () => {
    const burrow = await openBurrow();
    const failing = burrow.batch([
      { namespace: ["n"], key: "a", value: { v: 1 } },
      { namespacePrefix: ["n"], filter: { v: { $near: 1 } } },
    ]);
    await expect(failing).rejects.toMatchObject({ code: "invalid_filter", details: { position: 1 } });
    expect(await burrow.get(["n"], "a")).toBeNull();
  });

  it("embeds only the last put of a key", async () => {
    const embeddings = new SunEmbeddings();
    const burrow = await openBurrow({ embeddings, fields: ["text"] });
    await burrow.batch([
      { namespace: ["n"], key: "a", value: { text: "moon" } },
      { namespace: ["n"], key: "a", value: { text: "last" }, index: false },
    ]);
    expect(embeddings.documents).toEqual([]);
    expect(scores(await burrow.search(["n"], { query: "sun" }))).toEqual({ a: undefined });
  });
});

describe("filters", () => {
  const search = async (filter: Record<string, unknown>) => {
    const { reference, burrow } = await pair();
    for (const store of [reference, burrow]) {
      await store.put(["n"], "number", { v: 10, nested: { a: 1, b: 2 }, list: ["x", "y"], on: "2026-01-02" });
      await store.put(["n"], "text", { v: "high", on: "2025-12-31" });
      await store.put(["n"], "null", { v: null });
      await store.put(["n"], "none", {});
    }
    return {
      reference: async () => keys(await reference.search(["n"], { filter })).sort(),
      burrow: async () => keys(await burrow.search(["n"], { filter })).sort(),
    };
  };

  // The reference compares `Number(value)`: null is 0, so that "less than 5" finds what has no number.
  it("compare numbers with numbers only", async () => {
    const found = await search({ v: { $lt: 5 } });
    expect(await found.reference()).toEqual(["null"]);
    expect(await found.burrow()).toEqual([]);
  });

  it("compare strings with strings, so that ISO dates work", async () => {
    const found = await search({ on: { $gte: "2026-01-01" } });
    expect(await found.reference()).toEqual([]);
    expect(await found.burrow()).toEqual(["number"]);
  });

  it("match lists by content and nested objects in part", async () => {
    const nested = await search({ nested: { a: 1 } });
    expect(await nested.reference()).toEqual([]);
    expect(await nested.burrow()).toEqual(["number"]);
    const list = await search({ list: ["x", "y"] });
    expect(await list.reference()).toEqual([]);
    expect(await list.burrow()).toEqual(["number"]);
  });

  it("combine with $or, $and and $not", async () => {
    const found = await search({ $or: [{ v: 10 }, { v: "high" }] });
    expect(await found.reference()).toEqual([]);
    expect(await found.burrow()).toEqual(["number", "text"]);
  });

  it("refuse an operator that does not exist, by name", async () => {
    const found = await search({ v: { $regex: "h.*" } });
    expect(await found.reference()).toEqual([]);
    await expect(found.burrow()).rejects.toMatchObject({
      code: "invalid_filter",
      message: expect.stringContaining("$regex"),
    });
  });
});

describe("search", () => {
  it.each([{ limit: -1 }, { offset: -1 }, { limit: 1.5 }])("refuses %j", async (options) => {
    const { reference, burrow } = await pair();
    await expect(reference.search(["n"], options)).resolves.toBeInstanceOf(Array);
    await expect(burrow.search(["n"], options)).rejects.toMatchObject({ code: "invalid_argument" });
  });

  // Released versions of the reference repeat the first items without vectors on every page.
  it.each([
    [0, ["indexed-1", "indexed-2"]],
    [1, ["indexed-2", "unindexed-1"]],
    [2, ["unindexed-1", "unindexed-2"]],
    [3, ["unindexed-2", "unindexed-3"]],
    [4, ["unindexed-3", "unindexed-4"]],
    [5, ["unindexed-4"]],
    [6, []],
  ])("pages once through scored and unscored items, at offset %i", async (offset, expected) => {
    const burrow = await openBurrow(sunIndex());
    for (const [key, text, index] of [
      ["unindexed-1", "sun", false],
      ["indexed-1", "sun", undefined],
      ["unindexed-2", "sun", false],
      ["indexed-2", "moon", undefined],
      ["unindexed-3", "sun", false],
      ["unindexed-4", "sun", false],
    ] as const) {
      await burrow.put(["n"], key, { text }, index);
    }
    expect(keys(await burrow.search(["n"], { query: "sun", offset, limit: 2 }))).toEqual(expected);
  });

  // Released versions of the reference keep vectors of texts that are gone.
  it("forgets the vectors of what was deleted or is no longer in the document", async () => {
    const { reference, burrow } = await pair(() => ({ embeddings: new SunEmbeddings(), fields: ["texts[*]"] }));
    for (const store of [reference, burrow]) {
      await store.put(["n"], "deleted", { texts: ["sun"] });
      await store.delete(["n"], "deleted");
      await store.put(["n"], "deleted", { texts: ["sun"] }, false);
      await store.put(["n"], "shorter", { texts: ["moon", "sun"] });
      await store.put(["n"], "shorter", { texts: ["moon"] });
    }
    expect(scores(await reference.search(["n"], { query: "sun" }))).toEqual({ deleted: 1, shorter: 1 });
    expect(scores(await burrow.search(["n"], { query: "sun" }))).toEqual({ deleted: undefined, shorter: 0 });
  });

  it("indexes any text, such as the name of an object's own method", async () => {
    const { reference, burrow } = await pair(() => ({ embeddings: new LetterEmbeddings(), fields: ["text"] }));
    await expect(reference.put(["n"], "a", { text: "constructor" })).rejects.toThrow();
    await burrow.put(["n"], "a", { text: "constructor" });
    expect(scores(await burrow.search(["n"], { query: "constructor" }))).toEqual({ a: 1 });
  });

  it("embeds only texts that changed", async () => {
    const embeddings = new SunEmbeddings();
    const burrow = await openBurrow({ embeddings, fields: ["texts[*]"] });
    await burrow.put(["n"], "a", { texts: ["sun", "moon"] });
    await burrow.put(["n"], "a", { texts: ["moon", "star"] });
    expect(embeddings.documents).toEqual([["sun", "moon"], ["star"]]);
  });

  it("warns once, and lists, when a query finds no embedder", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const burrow = await openBurrow();
    await burrow.put(["n"], "a", { text: "sun" });
    const [put, found] = (await burrow.batch([
      { namespace: ["n"], key: "b", value: { text: "moon" } },
      { namespacePrefix: ["n"], query: "sun", filter: { text: "moon" } },
    ])) as unknown[];
    expect(put).toBeNull();
    expect(found).toMatchObject([{ key: "b" }]);
    await burrow.search(["n"], { query: "moon" });
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn.mock.calls[0]?.[0]).toContain("no embedder");
  });
});
