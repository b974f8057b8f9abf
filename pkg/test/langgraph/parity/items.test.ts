/** What LangGraph.js's own tests pin about items and batches, on `BurrowStore` and on the reference alike: see `support.ts`. */
import type { BaseStore, Operation } from "@langchain/langgraph-checkpoint";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { closeAll, stores } from "../support.js";

afterEach(closeAll);

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
});
