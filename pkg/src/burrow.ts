/** The native API: a store of JSON documents under namespaces, searched by meaning. */
import { customEmbed, embedConfig } from "./custom.js";
import { aborted, BurrowError, throwIfAborted } from "./errors.js";
import { findHome, type Home } from "./home.js";
import { encodeOperation, encodeOperations, reviveResult } from "./operations.js";
import { readDestroy, readObject, readOpen, readReindex } from "./options.js";
import { Persistence } from "./persistence.js";
import { guarded } from "./progress.js";
import { gone } from "./rpc.js";
import type { CustomEmbed, EmbedConfig, StoreConfig, StoreService } from "./service.js";
import type {
  Document,
  EmbedFunction,
  GetOptions,
  IndexOptions,
  Item,
  ListNamespacesOptions,
  Namespace,
  OpenOptions,
  Operation,
  OperationResult,
  PutOptions,
  ReindexOptions,
  SearchOptions,
  SearchPage,
  Stats,
} from "./types.js";
import { loadDestroy } from "./wasm.js";

interface Index {
  config: { embed: EmbedConfig } & Pick<StoreConfig, "fields" | "dims" | "parallel">;
  custom: CustomEmbed | undefined;
}

/** What can cross of the index options, and the function that cannot. */
function readIndex(index: IndexOptions | false | undefined): Index {
  if (index === undefined || index === false) return { config: { embed: { kind: "none" } }, custom: undefined };
  const config: Index["config"] = { embed: embedConfig(index) };
  if (index.fields !== undefined) config.fields = index.fields;
  if (index.dims !== undefined) config.dims = index.dims;
  if (index.parallel !== undefined) config.parallel = index.parallel;
  return { config, custom: customEmbed(index.embed) };
}

/** A store of JSON documents. Open one per database and keep it. */
export class Burrow {
  /** The database's name. */
  readonly name: string;

  private readonly service: StoreService;
  private closing: Promise<void> | undefined;

  private constructor(
    name: string,
    private readonly home: Home,
    private readonly persistence: Persistence | undefined,
  ) {
    this.name = name;
    this.service = home.store;
  }

  /**
   * Opens a store; the first open with a built-in model downloads and installs it.
   *
   * @throws {@link BurrowError} `model_load` when the model cannot be had, `model_mismatch` when the index was made by
   * another model (`reindex: true` embeds anew), `schema_too_new`, `storage_blocked`, `aborted`, `invalid_argument`.
   */
  static async open(given: OpenOptions = {}): Promise<Burrow> {
    const options = readOpen(given);
    throwIfAborted(options.signal);
    const name = options.name ?? "burrow";
    const { config, custom } = readIndex(options.index);
    const store: StoreConfig = { ...config, name, storage: storageOf(options.storage) };
    if (options.ttl !== undefined) store.ttl = options.ttl;
    if (options.reindex !== undefined) store.reindex = options.reindex;
    const home = await findHome(options);
    try {
      await home.store.open(store, guarded(options.onProgress), custom, options.signal);
      return new Burrow(name, home, store.storage === "indexeddb" ? Persistence.request() : undefined);
    } catch (error) {
      home.leave();
      throw options.signal?.aborted === true ? aborted(options.signal.reason) : error;
    }
  }

  /**
   * Deletes a database with everything in it. What is not there is no error.
   *
   * @throws {@link BurrowError} `storage_blocked` when it is open elsewhere and stays so. The browser does not take the
   * request back: the database goes as soon as the other lets go of it.
   */
  static async destroy(name: string, options: Pick<OpenOptions, "wasm"> = {}): Promise<void> {
    const checked = readDestroy(name, options);
    await loadDestroy(checked.name, checked.wasm);
  }

  /**
   * Stores a document, replacing what was there; `null` deletes. When it resolves, the write is durable.
   *
   * @throws {@link BurrowError} `invalid_namespace`, `invalid_key`, `invalid_document`, `invalid_argument`,
   * `embedding`, `quota_exceeded`, `closed`; nothing was stored then.
   */
  async put(namespace: Namespace, key: string, value: Document | null, options: PutOptions = {}): Promise<void> {
    await this.run({ ...readObject(options, "put"), op: "put", namespace, key, value });
  }

  /** Reads a document; `null` when there is none, or it has expired. */
  async get<T extends Document = Document>(
    namespace: Namespace,
    key: string,
    options: GetOptions = {},
  ): Promise<Item<T> | null> {
    return (await this.run({ ...readObject(options, "get"), op: "get", namespace, key })) as Item<T> | null;
  }

  /**
   * Finds documents in a namespace and below it: by meaning when there is a query, else the newest first.
   *
   * @throws {@link BurrowError} `no_index` for a query on a store without an embedder, `invalid_filter`,
   * `invalid_argument`.
   */
  async search<T extends Document = Document>(prefix: Namespace, options: SearchOptions = {}): Promise<SearchPage<T>> {
    return (await this.run({ ...readObject(options, "search"), op: "search", prefix })) as SearchPage<T>;
  }

  /** Removes a document and its vectors. What is not there is no error. */
  async delete(namespace: Namespace, key: string): Promise<void> {
    await this.run({ op: "delete", namespace, key });
  }

  /** Namespaces that have a live item, sorted label by label. */
  async listNamespaces(options: ListNamespacesOptions = {}): Promise<Namespace[]> {
    return this.run({ ...readObject(options, "listNamespaces"), op: "listNamespaces" });
  }

  /**
   * Applies operations in order, all or none; each read sees the earlier writes of its batch.
   *
   * @throws {@link BurrowError} as the failing operation would, with `details.position`.
   */
  async batch<const O extends readonly Operation[]>(
    operations: O,
  ): Promise<{ -readonly [I in keyof O]: OperationResult<O[I]> }> {
    this.assertOpen();
    const text = encodeOperations(operations);
    // The application may change its array while it waits.
    const asked = [...operations];
    const raw = JSON.parse(await this.service.batch(text)) as unknown[];
    const results = asked.map((operation, position) => reviveResult(operation, raw[position]));
    return results as { -readonly [I in keyof O]: OperationResult<O[I]> };
  }

  /**
   * Embeds everything anew, with another model or other fields where given. Searches go on meanwhile, on the old
   * index; the new one takes its place in one step.
   *
   * @throws {@link BurrowError} `invalid_argument`, `model_load`, `embedding`, `aborted`, `conflict` while another
   * reindex is under way, `closed`; the old index stays then.
   */
  async reindex(given: ReindexOptions = {}): Promise<void> {
    this.assertOpen();
    const options = readReindex(given);
    throwIfAborted(options.signal);
    const { embed, onProgress, signal, ...rest } = options;
    const { config, custom } = readIndex({ ...rest, embed: embed === undefined ? false : embed });
    const { embed: chosen, ...change } = config;
    const asked = embed === undefined ? change : { ...change, embed: chosen };
    await this.service.reindex(asked, guarded(onProgress), custom, signal);
  }

  /** Counts, and how the store works: storage, model, worker, build. Whatever is not as asked for says so here. */
  async stats(): Promise<Stats> {
    this.assertOpen();
    const stats = (await this.service.stats()) as Stats;
    const persisted = stats.storage.durable ? this.persistence?.granted : undefined;
    const storage = persisted === undefined ? stats.storage : { ...stats.storage, persisted };
    return { ...stats, storage, worker: this.home.worker };
  }

  /**
   * Waits for the writes that the database is at work on, then lets go of everything. Calls that still wait for the
   * embedder, and later ones, reject with `closed`; nothing of them was stored.
   */
  close(): Promise<void> {
    this.closing ??= gone(this.service.close()).finally(() => this.home.leave());
    return this.closing;
  }

  private async run<O extends Operation>(operation: O): Promise<OperationResult<O>> {
    this.assertOpen();
    return reviveResult(operation, JSON.parse(await this.service.execute(encodeOperation(operation))));
  }

  private assertOpen(): void {
    if (this.closing !== undefined) throw new BurrowError("closed", `The store ${JSON.stringify(this.name)} is closed`);
  }
}

function storageOf(wanted: OpenOptions["storage"]): StoreConfig["storage"] {
  const there = typeof indexedDB !== "undefined";
  if (wanted === undefined) return there ? "indexeddb" : "memory";
  if (wanted === "indexeddb" && !there) {
    throw new BurrowError("storage_unavailable", 'There is no IndexedDB here; use storage: "memory"');
  }
  return wanted;
}

export type { EmbedFunction };
