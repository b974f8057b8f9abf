/**
 * What crosses between the application and the store's home. The home is a worker in a page, and the same thread
 * elsewhere; both speak this interface. Only plain data, functions at the top level and signals cross.
 */
import type { ModelSource, ProgressEvent, Stats, TextKind, TtlOptions } from "./types.js";

/** Where the vectors come from. */
export type EmbedConfig =
  | { kind: "none" }
  | { kind: "model"; source: ModelSource }
  | { kind: "custom"; fingerprint: string; dims?: number };

/** A store's options, reduced to what can cross. */
export interface StoreConfig {
  name: string;
  storage: "indexeddb" | "memory";
  embed: EmbedConfig;
  fields?: string[];
  dims?: number;
  parallel?: number;
  ttl?: TtlOptions;
  reindex?: boolean;
}

/** What a home needs to know about where it is. */
export interface HomeConfig {
  /** The compiled small module. */
  module: WebAssembly.Module;
  build: Stats["build"]["wasm"];
  /** The installer's module or its absolute URL; absent where there is none (edge workers). */
  installer?: WebAssembly.Module | string;
  /** Why there is no installer, for the error. */
  noInstaller?: string;
}

/** Vectors of one call, in order. */
export interface Embedded {
  vectors: Float32Array[];
  truncated?: boolean[];
}

export type OnProgress = (event: ProgressEvent) => void;

/** The application's own embedder. */
export type CustomEmbed = (texts: string[], kind: TextKind, signal?: AbortSignal) => Promise<Embedded>;

/** A store in its home. One home holds one store. */
export interface StoreService {
  open(config: StoreConfig, onProgress: OnProgress, custom?: CustomEmbed, signal?: AbortSignal): Promise<void>;
  execute(operation: string): Promise<string>;
  batch(operations: string): Promise<string>;
  reindex(
    change: Pick<StoreConfig, "fields" | "dims" | "parallel"> & { embed?: EmbedConfig },
    onProgress: OnProgress,
    custom?: CustomEmbed,
    signal?: AbortSignal,
  ): Promise<void>;
  stats(): Promise<Omit<Stats, "worker">>;
  close(): Promise<void>;
}

/** What a loaded model tells of itself. */
export interface ModelInfo {
  id: string;
  fingerprint: string;
  dims: number;
  maxTokens?: number;
  precision?: "int8" | "f32";
}

/** A model by itself, for `Embedder`. */
export interface EmbedService {
  load(
    source: ModelSource,
    options: { parallel?: number },
    onProgress: OnProgress,
    signal?: AbortSignal,
  ): Promise<ModelInfo>;
  embed(texts: string[], kind: TextKind, signal?: AbortSignal): Promise<Embedded>;
  stats(): Promise<Stats["model"]>;
  close(): Promise<void>;
}
