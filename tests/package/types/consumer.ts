/** What an application writes, with the strictest settings. */
import type { BaseStore } from "@langchain/langgraph-checkpoint";
import { Burrow, BurrowError, Embedder, type Hit, type Item } from "burrow-memory";
import { BurrowStore, unwrapStore } from "burrow-memory/langgraph";

interface Preference {
  [field: string]: unknown;
  text: string;
}

export async function use(signal: AbortSignal): Promise<string[]> {
  const burrow = await Burrow.open({
    name: "app",
    storage: "memory",
    index: { embed: "bge-small-en-v1.5", fields: ["text"] },
    ttl: { defaultTtl: 60 },
    onProgress: ({ phase, loaded, total }) => console.log(phase.toUpperCase(), loaded / total),
    signal,
  });
  await burrow.put(["users"], "k", { text: "x" }, { ttl: null, index: ["text"] });
  const item: Item<Preference> | null = await burrow.get<Preference>(["users"], "k");
  const page = await burrow.search<Preference>(["users"], {
    query: "x",
    filter: { text: { $ne: "y" } },
    mode: "semantic",
  });
  const hits: Hit<Preference>[] = page.items;
  const [put, namespaces] = await burrow.batch([
    { op: "put", namespace: ["a"], key: "k", value: null },
    { op: "listNamespaces", maxDepth: 1 },
  ]);
  put satisfies null;
  const labels: string[][] = namespaces;
  // @ts-expect-error an unknown option is a mistake
  await burrow.search(["users"], { limits: 3 });
  // @ts-expect-error a document is an object
  await burrow.put(["users"], "k", "text");
  return [
    ...labels.flat(),
    ...hits.map((hit) => `${hit.value.text} ${hit.score?.toFixed(2)}`),
    item?.createdAt.toISOString() ?? "",
  ];
}

export async function embed(): Promise<Float32Array[]> {
  const embedder = await Embedder.load("bge-small-zh-v1.5");
  return embedder.embed(["你好"], { kind: "document" });
}

export async function remember(runtime: { store?: BaseStore }): Promise<BaseStore> {
  await unwrapStore(runtime.store).put(["users"], "k", { text: "x" }, ["text"], { ttl: 5 });
  return BurrowStore.open({ index: { dims: 2, embed: async (texts) => texts.map(() => [1, 0]) } });
}

export const code = (error: unknown): string => (error instanceof BurrowError ? error.code : "unknown");
