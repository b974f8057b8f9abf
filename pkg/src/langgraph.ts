/**
 * LangGraph's long-term memory on Burrow: `BurrowStore` goes wherever `InMemoryStore` goes.
 *
 * It is a translation and nothing else. LangGraph's operations become Burrow's, and all semantics live there. Where
 * LangGraph.js's own tests pin a behaviour that differs from Burrow's native API, the translation asks for that
 * behaviour explicitly:
 *
 * | LangGraph.js                                              | asked of Burrow as                          |
 * |-----------------------------------------------------------|---------------------------------------------|
 * | a query ranks by meaning alone                            | `mode: "semantic"`                          |
 * | items without vectors follow the ranked ones, unscored    | `unscored: "append"`                        |
 * | unranked items come in the order in which they were made  | `order: "created"`                          |
 * | `batch()` may write below the root `langgraph`            | `reservedRoot: true`                        |
 * | a query on a store without embeddings lists instead       | the batch again without its queries, warned |
 * | a refused namespace is an `InvalidNamespaceError`         | checked here with LangGraph's own function  |
 *
 * Inside a graph, LangGraph hands out a wrapper (`runtime.store`, `getStore(config)`) that gathers the operations of
 * one tick into one `batch()`. Released versions of the wrapper drop `index` on `put` and throw on `listNamespaces()`;
 * {@link unwrapStore} gets the store itself back.
 *
 * @module
 */
import {
  BaseStore,
  type GetOperation,
  type IndexConfig,
  InvalidNamespaceError,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
  validateNamespace,
} from "@langchain/langgraph-checkpoint";

import { Burrow } from "./burrow.js";
import { isArray } from "./document.js";
import { BurrowError, describe } from "./errors.js";
import { isObject, readObject } from "./options.js";
import type { IndexOptions, Operation as NativeOperation, OpenOptions, SearchMode } from "./types.js";

/** The index as LangGraph spells it, or as Burrow does. */
export type BurrowStoreIndex = IndexOptions | LangGraphIndex | false;

/** LangGraph's `IndexConfig`; the vectors' length need not be declared. */
export type LangGraphIndex = Omit<IndexConfig, "dims"> & { dims?: number };

/** The options of `Burrow.open`, with LangGraph's `index: { dims, embeddings, fields }` accepted too. */
export interface BurrowStoreOptions extends Omit<OpenOptions, "index"> {
  index?: BurrowStoreIndex;
}

/** What a put may say beyond LangGraph's own arguments. */
export interface PutOptions {
  /** Minutes until the item is gone; `null` never. Default: the store's `ttl.defaultTtl`. */
  ttl?: number | null;
}

/** LangGraph's search options and Burrow's. */
export interface SearchOptions {
  filter?: Record<string, unknown>;
  limit?: number;
  offset?: number;
  query?: string;
  /** Default `"semantic"`, as LangGraph ranks. */
  mode?: SearchMode;
  /** Hits below this raw score are left out. Items without a score are kept. */
  minScore?: number;
  /** Whether returned items start their time to live anew. Default: the store's `ttl.refreshOnRead`. */
  refreshTtl?: boolean;
}

/** A LangGraph `BaseStore` that keeps its items in a Burrow. */
export class BurrowStore extends BaseStore {
  /** The store underneath, with the whole native API. */
  readonly burrow: Burrow;
  #owned = false;
  #warned = false;
  #indexConfig: LangGraphIndex | undefined;

  /** Wraps an open Burrow, which stays its caller's to close. */
  constructor(burrow: Burrow) {
    super();
    this.burrow = burrow;
  }

  /** Opens a Burrow and wraps it; {@link stop} closes it. */
  static async open(options: BurrowStoreOptions = {}): Promise<BurrowStore> {
    const { index, ...rest } = readObject(options, "open") as BurrowStoreOptions;
    const burrow = await Burrow.open(index === undefined ? rest : { ...rest, index: nativeIndex(index) });
    const store = new BurrowStore(burrow);
    store.#owned = true;
    if (isLangGraphIndex(index)) store.#indexConfig = index;
    return store;
  }

  /** The `index` that {@link open} was given, when it was LangGraph's. */
  get indexConfig(): LangGraphIndex | undefined {
    return this.#indexConfig;
  }

  /** Applies operations in order, all or none; each read sees the writes before it. */
  override async batch<Op extends readonly Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const translated = translateAll(operations);
    const results = await this.#run(translated);
    return translated.map((op, i) => answer(op, results[i])) as OperationResults<Op>;
  }

  /** Stores or replaces an item. `index` and `options.ttl` are the item's own. */
  override async put(
    namespace: string[],
    key: string,
    value: Record<string, unknown>,
    index?: false | string[],
    options: PutOptions = {},
  ): Promise<void> {
    checkNamespace(namespace);
    const { ttl } = readObject(options, "put") as PutOptions;
    await this.batch([{ namespace, key, value, ...given({ index, ttl }) } as PutOperation]);
  }

  /** Items below a prefix: ranked by meaning when there is a query, else in the order in which they were made. */
  override async search(namespacePrefix: string[], options: SearchOptions = {}): Promise<SearchItem[]> {
    const [items = []] = await this.batch([{ namespacePrefix, ...readObject(options, "search") } as SearchOperation]);
    return items;
  }

  /** Namespaces that have a live item, sorted label by label. */
  override async listNamespaces(options: Parameters<BaseStore["listNamespaces"]>[0] = {}): Promise<string[][]> {
    const read = readObject(options, "listNamespaces") as typeof options;
    for (const path of [read.prefix, read.suffix]) if (path !== undefined) assertArray(path);
    return super.listNamespaces(read);
  }

  /** Reads an item; `null` when there is none. */
  override async get(namespace: string[], key: string): Promise<Item | null> {
    assertArray(namespace);
    return super.get(namespace, key);
  }

  /** Removes an item. What is not there is no error. */
  override async delete(namespace: string[], key: string): Promise<void> {
    assertArray(namespace);
    await super.delete(namespace, key);
  }

  /** Nothing to do: an open store is a started one. */
  override start(): void {}

  /** Closes the Burrow that {@link open} opened, after the writes under way. One that was passed in stays open. */
  override async stop(): Promise<void> {
    if (this.#owned) await this.burrow.close();
  }

  async #run(operations: NativeOperation[]): Promise<unknown[]> {
    try {
      return await this.burrow.batch(operations);
    } catch (error) {
      if (!(error instanceof BurrowError)) throw error;
      if (error.code === "invalid_namespace") throw invalidNamespace(error);
      if (error.code !== "no_index") throw error;
      this.#warnUnindexed();
      // Nothing of the failed batch was written, so that all of it can be asked again.
      return await this.burrow.batch(operations.map(withoutQuery));
    }
  }

  #warnUnindexed(): void {
    if (this.#warned) return;
    this.#warned = true;
    console.warn(
      "BurrowStore: a search has a query, but the store has no embedder: items are listed unscored. " +
        "Open it with `index: { embed }` to rank them.",
    );
  }
}

/**
 * The {@link BurrowStore} behind what LangGraph hands to tools and nodes.
 *
 * ```ts
 * const remember = tool(async ({ text }, runtime) => {
 *   const store = unwrapStore(runtime.store);
 *   await store.put(["users", userId], crypto.randomUUID(), { text }, ["text"]);
 * }, …);
 * ```
 *
 * Throws `invalid_argument` when the graph runs without a store or with another kind.
 */
export function unwrapStore(store: unknown): BurrowStore {
  let inner = store;
  while (isBatchedWrapper(inner)) inner = inner.store;
  if (inner instanceof BurrowStore) return inner;
  const found = inner === null || inner === undefined ? "none" : (inner.constructor?.name ?? typeof inner);
  throw new BurrowError(
    "invalid_argument",
    `No BurrowStore here (found: ${found}). Pass one as \`store\` to createAgent() or compile().`,
  );
}

function isBatchedWrapper(store: unknown): store is { store: unknown } {
  return (
    typeof store === "object" &&
    store !== null &&
    "store" in store &&
    (store as { lg_name?: unknown }).lg_name === "AsyncBatchedStore"
  );
}

function isLangGraphIndex(index: BurrowStoreIndex | undefined): index is LangGraphIndex {
  return typeof index === "object" && index !== null && "embeddings" in index;
}

function nativeIndex(index: BurrowStoreIndex): IndexOptions | false {
  if (!isLangGraphIndex(index)) return index;
  const { embeddings, ...rest } = index;
  if ("embed" in rest) {
    throw new BurrowError("invalid_argument", "`index` has both `embed` and `embeddings`: give one.");
  }
  return { ...rest, embed: embeddings };
}

/** LangGraph's own check, which takes for granted that a namespace is an array. */
function checkNamespace(namespace: string[], options: Parameters<typeof validateNamespace>[1] = {}): void {
  assertArray(namespace);
  validateNamespace(namespace, options);
}

function assertArray(namespace: unknown): void {
  if (isArray(namespace)) return;
  throw new InvalidNamespaceError('A namespace is an array of labels, such as ["users", "u42"].');
}

/** A batch as Burrow's; whatever cannot be read of it is refused with its place. */
function translateAll(operations: readonly Operation[]): NativeOperation[] {
  if (!isArray(operations as unknown)) throw new BurrowError("invalid_argument", "A batch is an array of operations");
  return Array.from(operations, (op: Operation, position) => {
    try {
      return translate(op);
    } catch (error) {
      if (error instanceof BurrowError || error instanceof InvalidNamespaceError) throw error;
      const message = `Operation ${position} cannot be read: ${describe(error)}`;
      throw new BurrowError("invalid_argument", message, { details: { position }, cause: error });
    }
  });
}

/** One of LangGraph's operations as Burrow's. The kinds are told apart as `InMemoryStore` does. */
function translate(op: Operation): NativeOperation {
  if (typeof op !== "object" || op === null) {
    throw new BurrowError("invalid_argument", `An operation of a store is an object, not ${describe(op)}`);
  }
  if ("namespacePrefix" in op) return translateSearch(op);
  if ("namespace" in op && "value" in op) return translatePut(op);
  if ("namespace" in op && "key" in op) return translateGet(op);
  if ("matchConditions" in op || "limit" in op) return translateList(op);
  throw new BurrowError(
    "invalid_argument",
    `Not an operation of a store: it has the fields ${Object.keys(op).join(", ")}`,
  );
}

function translateGet(op: GetOperation): NativeOperation {
  checkNamespace(op.namespace, { allowReservedRoot: true });
  return { op: "get", namespace: op.namespace, key: op.key, ...given(extras(op, "refreshTtl")) };
}

function translatePut(op: PutOperation): NativeOperation {
  checkNamespace(op.namespace, { allowReservedRoot: true });
  const { namespace, key, value, index } = op;
  return {
    op: "put",
    namespace,
    key,
    value,
    reservedRoot: true,
    ...given({ index: index ?? undefined, ...extras(op, "ttl") }),
  };
}

function translateSearch(op: SearchOperation): NativeOperation {
  checkNamespace(op.namespacePrefix, { allowEmpty: true, allowReservedRoot: true });
  const { namespacePrefix: prefix, filter, limit = 10, offset = 0, query } = op;
  const ranked = query ? { query, mode: "semantic" as const, unscored: "append" as const } : {};
  return {
    op: "search",
    prefix,
    limit,
    offset,
    order: "created",
    ...ranked,
    ...given({ filter, ...extras(op, "mode", "minScore", "refreshTtl") }),
  };
}

function translateList(op: ListNamespacesOperation): NativeOperation {
  const conditions = op.matchConditions ?? [];
  if (!isArray(conditions as unknown) || conditions.some((condition) => !isObject(condition))) {
    throw new BurrowError("invalid_argument", "matchConditions is an array of { matchType, path }");
  }
  for (const { path } of conditions) checkNamespace(path, { allowEmpty: true, allowReservedRoot: true });
  const prefix = combined(conditions, "prefix");
  const suffix = combined(conditions, "suffix");
  // Two conditions that exclude each other leave nothing to list.
  if (prefix === null || suffix === null) return { op: "listNamespaces", limit: 0 };
  // Burrow lists 100 unless told; a raw operation without a limit lists all.
  const { maxDepth, limit = Number.MAX_SAFE_INTEGER, offset } = op;
  return { op: "listNamespaces", limit, ...given({ prefix, suffix, maxDepth, offset }) };
}

/**
 * All conditions of one kind as one path: a namespace matches it exactly when it matches each of them. `undefined`
 * when there is none, `null` when no namespace can match all.
 */
function combined(conditions: MatchCondition[], matchType: MatchCondition["matchType"]): string[] | null | undefined {
  let merged: string[] | undefined;
  for (const condition of conditions) {
    if (condition.matchType !== "prefix" && condition.matchType !== "suffix") {
      throw new BurrowError("invalid_argument", `Unsupported match type: ${String(condition.matchType)}`);
    }
    if (condition.matchType !== matchType) continue;
    const path = matchType === "prefix" ? condition.path : condition.path.toReversed();
    const both = merged === undefined ? path : intersected(merged, path);
    if (both === null) return null;
    merged = both;
  }
  return matchType === "prefix" ? merged : merged?.toReversed();
}

function intersected(a: string[], b: string[]): string[] | null {
  const [long, short] = a.length >= b.length ? [a, b] : [b, a];
  const labels: string[] = [];
  for (const [i, label] of long.entries()) {
    const other = short[i] ?? "*";
    if (label !== "*" && other !== "*" && label !== other) return null;
    labels.push(label === "*" ? other : label);
  }
  return labels;
}

function answer(op: NativeOperation, result: unknown): unknown {
  return op.op === "search" ? (result as { items: SearchItem[] }).items : result;
}

function withoutQuery(op: NativeOperation): NativeOperation {
  if (op.op !== "search") return op;
  const { query, mode, unscored, minScore, ...listing } = op;
  return listing;
}

function invalidNamespace(error: BurrowError): InvalidNamespaceError {
  return Object.assign(new InvalidNamespaceError(error.message), { cause: error });
}

/** Burrow's own fields of an operation that LangGraph's types do not know. */
function extras(op: object, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(op).filter(([name]) => names.includes(name)));
}

/** Without what is undefined. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as typeof fields as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
