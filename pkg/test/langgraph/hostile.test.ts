/** The adapter with arguments of wrong types: its errors have a code, or are LangGraph's own for namespaces. */
import { InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import { afterAll, beforeAll, expect, it } from "vitest";

import { BurrowError } from "../../src/errors.js";
import { BurrowStore } from "../../src/langgraph.js";

const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;
const VALUES = [undefined, null, 1, 1n, "x", () => 1, Symbol("x"), cycle, [], [undefined], new Date(0), new Map()];

/** Stands where any type is declared: wrong types are the point. */
type Wrong = never;
let store: BurrowStore;
beforeAll(async () => {
  store = await BurrowStore.open({ storage: "memory" });
});
afterAll(() => store.stop());

const CALLS: Record<string, (value: Wrong) => Promise<unknown>> = {
  batch: (v) => store.batch(v),
  "batch's operation": (v) => store.batch([v]),
  "batch's get": (v) => store.batch([{ namespace: v, key: v }]),
  "batch's conditions": (v) => store.batch([{ matchConditions: v, limit: 1, offset: 0 }]),
  "put's namespace": (v) => store.put(v, "k", {}),
  "put's key": (v) => store.put(["a"], v, {}),
  "put's value": (v) => store.put(["a"], "k", v),
  "put's index": (v) => store.put(["a"], "k", { a: 1 }, v),
  "put's options": (v) => store.put(["a"], "k", { a: 1 }, undefined, v),
  "get's namespace": (v) => store.get(v, "k"),
  "get's key": (v) => store.get(["a"], v),
  "delete's namespace": (v) => store.delete(v, "k"),
  "search's prefix": (v) => store.search(v),
  "search's options": (v) => store.search(["a"], v),
  "list's options": (v) => store.listNamespaces(v),
  "list's prefix": (v) => store.listNamespaces({ prefix: v }),
};

/** What is wrong with how a call ended; nothing when it answered or was refused in good form. */
async function complaint(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (error instanceof InvalidNamespaceError) return undefined;
    if (error instanceof BurrowError && error.code !== "internal") return undefined;
    return String(error);
  }
}

it.each(Object.entries(CALLS))("%s is refused with a code, or taken", async (_, call) => {
  for (const value of VALUES) expect(await complaint(call(value as Wrong))).toBeUndefined();
  await store.put(["alive"], "k", { text: "works" });
  expect((await store.get(["alive"], "k"))?.value).toEqual({ text: "works" });
});
