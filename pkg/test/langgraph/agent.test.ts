/**
 * Inside LangGraph: what `createAgent` and graphs hand to tools and nodes is a wrapper around the store. Its released
 * versions drop `index` and throw on `listNamespaces()`; `unwrapStore` gets the store back.
 */
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { getStore, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { AsyncBatchedStore, InMemoryStore } from "@langchain/langgraph-checkpoint";
import { AIMessage, createAgent, fakeModel, type ToolRuntime, tool } from "langchain";
import { afterEach, describe, expect, it } from "vitest";

import { BurrowError } from "../../src/errors.js";
import { type BurrowStore, unwrapStore } from "../../src/langgraph.js";
import { closeAll, keys, openBurrow, openReference, SunEmbeddings, scores } from "./support.js";

afterEach(closeAll);

const memories = ["users", "ada", "memories"];

const text = (name: string) => ({
  name,
  description: `${name} something about the user`,
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const,
});

const remember = tool(async (input: { text: string }, runtime: ToolRuntime) => {
  await unwrapStore(runtime.store).put(memories, crypto.randomUUID(), input, ["text"]);
  return "remembered";
}, text("remember"));

const recall = tool(async (input: { text: string }, runtime: ToolRuntime) => {
  const store = unwrapStore(runtime.store);
  const found = await store.search(memories, { query: input.text, limit: 1 });
  const namespaces = await store.listNamespaces({ prefix: ["users"] });
  return JSON.stringify({ texts: found.map((item) => item.value.text), namespaces });
}, text("recall"));

async function say(
  store: BurrowStore,
  thread: string,
  call: { name: string; args: { text: string } },
): Promise<string> {
  const agent = createAgent({
    model: fakeModel().respondWithTools([call]).respond(new AIMessage("done")),
    tools: [remember, recall],
    store,
    checkpointer: new MemorySaver(),
  });
  const { messages } = await agent.invoke(
    { messages: [new HumanMessage("hello")] },
    { configurable: { thread_id: thread } },
  );
  expect(messages.at(-1)?.content).toBe("done");
  const answer = messages.find((message) => ToolMessage.isInstance(message));
  return String(answer?.content);
}

describe("an agent", () => {
  it("recalls in thread B what it was told in thread A", async () => {
    const store = await openBurrow({ embeddings: new SunEmbeddings(), fields: ["elsewhere"] });
    expect(await say(store, "A", { name: "remember", args: { text: "moon" } })).toBe("remembered");
    expect(await say(store, "A", { name: "remember", args: { text: "sun" } })).toBe("remembered");
    const answer = await say(store, "B", { name: "recall", args: { text: "sun" } });
    expect(JSON.parse(answer)).toEqual({ texts: ["sun"], namespaces: [memories] });
    // `index` reached the store: the store's own field is not in these documents.
    expect(scores(await store.search(memories, { query: "sun" }))).toEqual(
      Object.fromEntries((await store.search(memories)).map(({ key, value }) => [key, value.text === "sun" ? 1 : 0])),
    );
  });

  it("keeps users apart through nodes that use the wrapper as it is", async () => {
    const store = await openBurrow({ embeddings: new SunEmbeddings(), fields: ["text"] });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("remember", async (state, config) => {
        const wrapped = getStore(config);
        const user = String(config.configurable?.user);
        await wrapped?.put(["users", user], "last", { text: String(state.messages.at(-1)?.content) });
        const own = await wrapped?.search(["users", user], { query: "sun" });
        return { messages: [new AIMessage(JSON.stringify(own?.map(({ value, score }) => [value.text, score])))] };
      })
      .addEdge(START, "remember")
      .compile({ store });
    const tell = async (user: string, content: string) => {
      const { messages } = await graph.invoke({ messages: [new HumanMessage(content)] }, { configurable: { user } });
      return JSON.parse(String(messages.at(-1)?.content)) as unknown;
    };
    expect(await tell("ada", "sun")).toEqual([["sun", 1]]);
    expect(await tell("bob", "moon")).toEqual([["moon", 0]]);
    expect(keys(await store.search(["users", "ada"]))).toEqual(["last"]);
  });
});

describe("unwrapStore", () => {
  it("gets a BurrowStore out of any number of wrappers", async () => {
    const store = await openBurrow();
    expect(unwrapStore(store)).toBe(store);
    expect(unwrapStore(new AsyncBatchedStore(store))).toBe(store);
  });

  it("says what it found instead", async () => {
    const other = await openReference();
    expect(other).toBeInstanceOf(InMemoryStore);
    for (const [found, name] of [
      [other, "InMemoryStore"],
      [new AsyncBatchedStore(other), "InMemoryStore"],
      [undefined, "none"],
      [null, "none"],
    ] as const) {
      expect(() => unwrapStore(found)).toThrow(BurrowError);
      expect(() => unwrapStore(found)).toThrow(name);
    }
  });

  it("is needed: the wrapper drops index and cannot list", async () => {
    const store = await openBurrow({ embeddings: new SunEmbeddings(), fields: ["text"] });
    const wrapped = new AsyncBatchedStore(store);
    wrapped.start();
    try {
      await expect(wrapped.listNamespaces()).rejects.toThrow();
      await unwrapStore(wrapped).put(["n"], "direct", { text: "sun" }, false);
      expect(scores(await wrapped.search(["n"], { query: "sun" }))).toEqual({ direct: undefined });
      expect(await unwrapStore(wrapped).listNamespaces()).toEqual([["n"]]);
    } finally {
      await wrapped.stop();
    }
  });

  it("shares one batch among the operations of a tick, and one embedding call", async () => {
    const embeddings = new SunEmbeddings();
    const store = await openBurrow({ embeddings, fields: ["text"] });
    const wrapped = new AsyncBatchedStore(store);
    wrapped.start();
    try {
      await Promise.all(["sun", "moon", "sun"].map((text, i) => wrapped.put(["n"], `k${i}`, { text })));
      expect(embeddings.documents).toEqual([["sun", "moon"]]);
      expect(scores(await wrapped.search(["n"], { query: "sun" }))).toEqual({ k0: 1, k1: 0, k2: 1 });
    } finally {
      await wrapped.stop();
    }
  });
});

describe("start and stop", () => {
  it("close what open() opened, once the writes under way are done", async () => {
    const store = await openBurrow();
    store.start();
    const writing = store.put(["n"], "a", { v: 1 });
    await store.stop();
    await expect(writing).resolves.toBeUndefined();
    await expect(store.get(["n"], "a")).rejects.toMatchObject({ code: "closed" });
    await store.stop();
  });
});
