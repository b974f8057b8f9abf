/** A store opened and closed at bad moments, and values at the edge of what can be held. */
import { describe, expect, it } from "vitest";

import { Burrow } from "../src/burrow.js";
import { BurrowError } from "../src/errors.js";
import type { EmbedFunction, OpenOptions } from "../src/types.js";

const letters: EmbedFunction = (texts) => texts.map((text) => [1, text.length % 7]);
const open = (options: OpenOptions = {}) =>
  Burrow.open({ storage: "memory", index: { embed: letters, fields: ["text"] }, ...options });

/** `"ok"`, or the code; anything foreign is thrown on. */
const outcome = (call: Promise<unknown>) =>
  call.then(
    () => "ok",
    (error: unknown) => {
      if (error instanceof BurrowError) return error.code;
      throw error;
    },
  );

describe("a store", () => {
  it("rejects every call after close with `closed`, and closes twice", async () => {
    const store = await open();
    await store.close();
    const calls = [store.put(["a"], "k", {}), store.get(["a"], "k"), store.search([]), store.delete(["a"], "k")];
    const others = [store.listNamespaces(), store.batch([]), store.reindex(), store.stats()];
    expect(new Set(await Promise.all([...calls, ...others].map(outcome)))).toEqual(new Set(["closed"]));
    expect(await outcome(store.close())).toBe("ok");
  });

  it("gives up a reindex whose embedder listens to no signal, and can be closed", async () => {
    const store = await open();
    await store.put(["a"], "k", { text: "x" });
    const controller = new AbortController();
    const deaf: EmbedFunction = () => {
      controller.abort();
      return new Promise(() => undefined);
    };
    expect(await outcome(store.reindex({ embed: deaf, id: "deaf", signal: controller.signal }))).toBe("aborted");
    expect((await store.search([], { query: "x" })).items).toHaveLength(1);
    expect(await outcome(store.close())).toBe("ok");
  });

  it("is not destroyed by what is no name", async () => {
    for (const name of [undefined, null, 1, {}, [], "", "\ud800"]) {
      expect(await outcome(Burrow.destroy(name as unknown as string))).toBe("invalid_argument");
    }
  });

  it("has a batch's answers, although the array was emptied meanwhile", async () => {
    const store = await open();
    await store.put(["a"], "k", { text: "x", zero: -0 });
    const operations = [{ op: "get" as const, namespace: ["a"], key: "k" }];
    const batch = store.batch(operations);
    operations.length = 0;
    const value = (await batch)[0]?.value;
    expect(value).toEqual({ text: "x", zero: -0 });
    expect(Object.is(value?.["zero"], -0)).toBe(true);
    await store.close();
  });
});
