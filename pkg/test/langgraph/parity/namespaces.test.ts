/** What LangGraph.js's own tests pin about namespaces, on `BurrowStore` and on the reference alike: see `support.ts`. */
import { InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import { afterEach, describe, expect, it } from "vitest";

import { closeAll, keys, putAll, stores } from "../support.js";

afterEach(closeAll);

describe.each(stores)("$name", ({ open }) => {
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
});
