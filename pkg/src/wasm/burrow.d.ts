/** The store's wasm module, as `src/web` exports it. The build puts the generated glue at this place in `dist`. */

export interface EmbedderHandle {
  readonly fingerprint: string;
  readonly dims?: number | undefined;
  embed(
    texts: string[],
    kind: "query" | "document",
    signal?: AbortSignal,
  ): Promise<{ vectors: Float32Array[]; truncated?: boolean[] }>;
}

export type CoreProgress = (phase: string, loaded: number, total: number) => void;

export class Store {
  private constructor();
  static open(
    optionsJson: string,
    embedder?: EmbedderHandle,
    onProgress?: CoreProgress,
    signal?: AbortSignal,
  ): Promise<Store>;
  static destroy(name: string): Promise<void>;
  execute(operationJson: string): Promise<string>;
  batch(operationsJson: string): Promise<string>;
  reindex(
    optionsJson: string,
    embedder?: EmbedderHandle,
    onProgress?: CoreProgress,
    signal?: AbortSignal,
  ): Promise<void>;
  stats(): Promise<string>;
  sweep(): Promise<number>;
  close(): Promise<void>;
  free(): void;
}

export class Encoder {
  constructor(pack: Uint8Array);
  info(): string;
  embed(texts: string[], kind: string): { vectors: Float32Array; truncated: Uint8Array };
  tokenize(text: string, kind: string): Uint32Array;
  free(): void;
}

/** A pack that arrives in pieces. */
export class ArrivingPack {
  constructor(size: number);
  push(piece: Uint8Array): void;
  sha256(): string;
  /** Uses it up. */
  open(): Encoder;
  free(): void;
}

export class ModelCache {
  private constructor();
  static open(): Promise<ModelCache>;
  complete(id: string): Promise<{ received: number; chunks: number; meta: string } | undefined>;
  chunk(id: string, index: number): Promise<Uint8Array>;
  /** Makes a whole partial download the complete model `id`. */
  promote(partial: string, id: string, metaJson: string): Promise<void>;
  delete(id: string): Promise<void>;
  list(): Promise<string>;
  /** What is there of a download that was cut off. */
  partial(id: string): Promise<{ received: number; chunks: number; meta: string } | undefined>;
  partialChunk(id: string, index: number): Promise<Uint8Array>;
  append(id: string, offset: number, chunk: Uint8Array, metaJson: string): Promise<void>;
  close(): Promise<void>;
  free(): void;
}

export function resolveModel(sourceJson: string): string;
/** Lower-case hex, where the host has no `crypto.subtle`. */
export function sha256(bytes: Uint8Array): string;
export function version(): string;

export default function init(options: { module_or_path: WebAssembly.Module }): Promise<unknown>;
export function initSync(options: { module: WebAssembly.Module }): unknown;
