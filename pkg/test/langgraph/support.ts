/**
 * The two stores that the LangGraph tests compare, and the embeddings that both use.
 *
 * Expected values come from the reference: every test in `parity/` runs against LangGraph's own
 * `InMemoryStore` and against `BurrowStore`, so that a value which the reference does not give fails too.
 */
import { Embeddings } from "@langchain/core/embeddings";
import { type BaseStore, InMemoryStore, type Item, type SearchItem } from "@langchain/langgraph-checkpoint";

import { BurrowStore } from "../../src/langgraph.js";

/** Counts letters: deterministic, and near when texts share letters. */
export class LetterEmbeddings extends Embeddings {
  readonly dims = 26;
  readonly documents: string[][] = [];
  readonly queries: string[] = [];
  /** Fails the next `embedDocuments` with this. */
  failure: Error | undefined;

  constructor() {
    super({});
  }

  override async embedQuery(text: string): Promise<number[]> {
    this.queries.push(text);
    return letters(text);
  }

  override async embedDocuments(texts: string[]): Promise<number[][]> {
    this.documents.push([...texts]);
    const failure = this.failure;
    this.failure = undefined;
    if (failure) throw failure;
    return texts.map(letters);
  }
}

function letters(text: string): number[] {
  const counts = Array.from({ length: 26 }, () => 0);
  for (const letter of text.toLowerCase().replaceAll(/[^a-z]/g, "")) {
    const i = letter.charCodeAt(0) - 97;
    counts[i] = (counts[i] ?? 0) + 1;
  }
  return counts;
}

/** Two axes only: "sun" lies on one, everything else on the other, so that scores are exactly 1 and 0. */
export class SunEmbeddings extends LetterEmbeddings {
  override readonly dims = 2 as 26;

  override async embedQuery(text: string): Promise<number[]> {
    this.queries.push(text);
    return axis(text);
  }

  override async embedDocuments(texts: string[]): Promise<number[][]> {
    await super.embedDocuments(texts);
    return texts.map(axis);
  }
}

const axis = (text: string): number[] => (text === "sun" ? [1, 0] : [0, 1]);

/** How a test opens a store: with embeddings over `fields`, or with none. */
export type Opener = (index?: { embeddings: LetterEmbeddings; fields?: string[] }) => Promise<BaseStore>;

const opened: BurrowStore[] = [];

/** A name for the database of one test. */
const freshName = (): string => `langgraph-test-${crypto.randomUUID()}`;

export const openReference: Opener = async (index) =>
  index ? new InMemoryStore({ index: { dims: index.embeddings.dims, ...index } }) : new InMemoryStore();

export const openBurrow = async (index?: { embeddings: LetterEmbeddings; fields?: string[] }): Promise<BurrowStore> => {
  const store = await BurrowStore.open({
    name: freshName(),
    storage: "memory",
    ...(index && { index: { dims: index.embeddings.dims, ...index } }),
  });
  opened.push(store);
  return store;
};

/** Both stores, for `describe.each`. */
export const stores: { name: string; open: Opener }[] = [
  { name: "InMemoryStore, the reference", open: openReference },
  { name: "BurrowStore", open: openBurrow },
];

/** For `afterEach`: closes what the test opened. */
export async function closeAll(): Promise<void> {
  await Promise.all(opened.splice(0).map((store) => store.stop()));
}

export const keys = (items: Item[]): string[] => items.map((item) => item.key);

/** Scores by key, to five digits: the reference computes in double precision, Burrow in single. */
export const scores = (items: SearchItem[]): Record<string, number | undefined> =>
  Object.fromEntries(items.map(({ key, score }) => [key, score === undefined ? undefined : Number(score.toFixed(5))]));

/** Puts one item into each namespace. */
export async function putAll(store: BaseStore, namespaces: string[][]): Promise<void> {
  for (const [i, namespace] of namespaces.entries()) await store.put(namespace, `key${i}`, { i });
}
