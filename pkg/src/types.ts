/**
 * The public types. Times are `Date`, durations are minutes, sizes are bytes, scores say what they measure.
 */

/** A JSON document: an object at the top, nested up to 100 levels. */
export type Document = { [field: string]: unknown };

/** A path of labels, outermost first: `["users", "u42", "preferences"]`. */
export type Namespace = string[];

/** A stored document. A copy: changing it never changes the store. */
export interface Item<T extends Document = Document> {
  namespace: Namespace;
  key: string;
  value: T;
  /** First put of this incarnation; an overwrite keeps it. */
  createdAt: Date;
  /** Last put. */
  updatedAt: Date;
  /** From this instant on the item does not exist; absent when it never expires. */
  expiresAt?: Date;
}

/** An item that a search found. */
export interface Hit<T extends Document = Document> extends Item<T> {
  /** What the hits are ranked by; absent when there was no query. */
  score?: number;
  /** Cosine of the query and the item's best vector, −1…1; absent without vectors. */
  similarity?: number;
  /** The best match is a text that was longer than the model reads: its end is not in the index. */
  truncated?: boolean;
}

/** One page of a search. */
export interface SearchPage<T extends Document = Document> {
  items: Hit<T>[];
  /** Whether there are more matches after this page. */
  hasMore: boolean;
}

/**
 * Conditions on a document's fields, all of which must hold. A plain value matches by JSON equality; a nested object
 * partially. Operators: `$eq $ne $gt $gte $lt $lte $in $nin $exists`, and `$and $or $not` between filters.
 */
export type Filter = { [field: string]: unknown };

/** How a search ranks. Only `semantic` is there so far; the others are refused as `invalid_argument`. */
export type SearchMode = "semantic" | "lexical" | "hybrid";

export interface PutOptions {
  /** Minutes to live, fractions allowed; `null` never expires; absent takes the store's `defaultTtl`. */
  ttl?: number | null;
  /** `false` stores without vectors; paths replace the store's `fields` for this item. */
  index?: false | string[];
}

export interface GetOptions {
  /** Whether reading restarts the item's time to live; the store's `refreshOnRead` unless given. */
  refreshTtl?: boolean;
}

export interface SearchOptions {
  /** Finds by meaning; empty is no query: then the newest come first. */
  query?: string;
  filter?: Filter;
  /** Items per page, 10 unless given. */
  limit?: number;
  /** Items to skip, 0 unless given. */
  offset?: number;
  mode?: SearchMode;
  /** Least raw `score`. Unrelated sentences reach 0.3–0.6 with bge models. */
  minScore?: number;
  refreshTtl?: boolean;
  /** What to do with items that have no vectors: leave out (default) or append, unscored. */
  unscored?: "omit" | "append";
  /** How items come that the score does not tell apart: last written first (default), or first made first. */
  order?: "updated" | "created";
}

export interface ListNamespacesOptions {
  /** Labels at the start; `*` matches one label. */
  prefix?: string[];
  /** Labels at the end; `*` matches one label. */
  suffix?: string[];
  /** Longer namespaces are cut to this many labels and listed once. */
  maxDepth?: number;
  /** 100 unless given. */
  limit?: number;
  /** 0 unless given. */
  offset?: number;
}

/** One operation of a batch. */
export type Operation =
  | ({ op: "put"; namespace: Namespace; key: string; value: Document | null; reservedRoot?: boolean } & PutOptions)
  | ({ op: "get"; namespace: Namespace; key: string } & GetOptions)
  | ({ op: "search"; prefix: Namespace } & SearchOptions)
  | { op: "delete"; namespace: Namespace; key: string }
  | ({ op: "listNamespaces" } & ListNamespacesOptions);

/** The answer to one operation. */
export type OperationResult<O extends Operation> = O extends { op: "get" }
  ? Item | null
  : O extends { op: "search" }
    ? SearchPage
    : O extends { op: "listNamespaces" }
      ? Namespace[]
      : null;

/** Models whose URL, size, hash and rules are known. */
export type Preset = "bge-small-en-v1.5" | "bge-small-zh-v1.5" | "all-MiniLM-L6-v2" | "e5-small-v2";

/** A model to load. What is given overrides the preset. */
export interface ModelSource {
  preset?: Preset;
  /** `int8` (default): a quarter of the memory and faster. */
  precision?: "int8" | "f32";
  /** Where the ONNX file is. */
  url?: string | URL;
  /** Where its `tokenizer.json` is; next to the model unless given. */
  tokenizerUrl?: string | URL;
  /** The files themselves instead of URLs. */
  files?: { model: Uint8Array | Blob; tokenizer: Uint8Array | Blob };
  /** A pack made beforehand: loads without the installer. */
  pack?: string | URL | Uint8Array | Blob;
  /** Hex SHA-256 of the model file or pack; a file that differs is refused. */
  sha256?: string;
  pooling?: "cls" | "mean";
  queryPrefix?: string;
  documentPrefix?: string;
  lowercase?: boolean;
  /** Longer texts are cut. */
  maxTokens?: number;
}

/** Vectors from elsewhere, one per text, in order. */
export type EmbedFunction = (
  texts: string[],
  options: { kind: TextKind; signal?: AbortSignal },
) => Promise<ArrayLike<number>[]> | ArrayLike<number>[];

/** LangChain's `Embeddings`, as far as it is used here. */
export interface Embeddings {
  embedDocuments(texts: string[]): Promise<number[][]>;
  embedQuery(text: string): Promise<number[]>;
}

/** A question, or something to be found. */
export type TextKind = "query" | "document";

export interface IndexOptions {
  /** Preset, model source, function, LangChain `Embeddings`, or `false` for no vectors. */
  embed: Preset | (string & {}) | ModelSource | EmbedFunction | Embeddings | false;
  /** Which parts of a document are embedded; `["$"]`, the whole document, unless given. */
  fields?: string[];
  /** Declared vector length; opening fails when the model's differs. */
  dims?: number;
  /** Names a custom embedder, so that its vectors are never mixed with another's. */
  id?: string;
  /** Instances that embed in parallel when there is much to do; a small number of the device's cores unless given. */
  parallel?: number;
}

export interface TtlOptions {
  /** Minutes, for puts that do not say. */
  defaultTtl?: number | null;
  /** Whether reads restart the clock; `true` unless given. */
  refreshOnRead?: boolean;
  /** How often the space of expired items is given back; 60 unless given, `null` never by itself. */
  sweepIntervalMinutes?: number | null;
}

/** A step of something slow. `loaded` and `total` are bytes when downloading, texts or items otherwise; `total` 0 is unknown. */
export interface ProgressEvent {
  phase: "download" | "verify" | "compile" | "vouch" | "index" | "reindex" | "storage";
  loaded: number;
  total: number;
  /** For a person, where there is something to say. */
  message?: string;
}

/** Where WebAssembly comes from, when the default place does not work: URL, response, module or bytes. */
export type WasmSource = string | URL | Response | Promise<Response> | WebAssembly.Module | BufferSource;

export interface WasmOptions {
  /** The small module: store and encoder. */
  burrow?: WasmSource;
  /** The large module, needed only to install a model from an ONNX file. */
  installer?: WasmSource;
}

export interface OpenOptions {
  /** Database name; `"burrow"` unless given. */
  name?: string;
  /**
   * `"indexeddb"` where there is one, unless given. When the browser refuses it (private window), the store works in
   * memory and says so: `stats().storage`, a progress event and one console warning.
   */
  storage?: "indexeddb" | "memory";
  index?: IndexOptions | false;
  ttl?: TtlOptions;
  /** Runs in a Web Worker, in a page: `true` unless given. */
  worker?: boolean;
  /** Overrides where WebAssembly is loaded from. */
  wasm?: WasmSource | WasmOptions;
  /** Opens although the index was made by another model, and embeds everything anew. */
  reindex?: boolean;
  onProgress?: (event: ProgressEvent) => void;
  /** Gives up opening: downloads and indexing stop, what was fetched is kept for the next time. */
  signal?: AbortSignal;
}

export interface ReindexOptions extends Partial<IndexOptions> {
  onProgress?: (event: ProgressEvent) => void;
  signal?: AbortSignal;
}

/** How the model runs. */
export interface ModelStats {
  id: string;
  fingerprint: string;
  dims?: number;
  precision?: "int8" | "f32";
  maxTokens?: number;
  /** `encoder`: the fast path. `tract`: the general engine, see `reason`. `custom`: the application's. */
  engine: "encoder" | "tract" | "custom";
  /** Least cosine between both engines over the probe texts at install. */
  vouched?: { cosine: number; probes: number };
  /** Why the fast path is not used. */
  reason?: string;
  /** Whether the model is kept on the device for the next open. */
  cached?: boolean;
  /** Instances that are running. */
  instances?: number;
}

export interface Stats {
  /** Live items. */
  items: number;
  /** Vectors in the index. */
  vectors: number;
  /** Reads since the open that answered without moving the expiry of their items, because the storage failed. */
  failedRefreshes?: number;
  storage: {
    kind: "indexeddb" | "memory";
    /** Whether a reload finds the data. */
    durable: boolean;
    /** Whether the browser promised not to evict; absent where it cannot be asked. */
    persisted?: boolean;
    /** Why it is memory although IndexedDB was wanted. */
    reason?: string;
  };
  model: ModelStats | null;
  worker: {
    /** Where the store runs. */
    runs: "worker" | "here";
    /** Why not in a worker although one was wanted. */
    reason?: string;
  };
  build: { version: string; wasm: "relaxed-simd" | "simd128" | "custom" };
  /** What else the store tells of itself. */
  [more: string]: unknown;
}
