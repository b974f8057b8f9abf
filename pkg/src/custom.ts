/**
 * Embedders that the application brings: a function, or LangChain's `Embeddings`. They stay where the application
 * is; the store's home calls them across the border.
 */
import { aborted, BurrowError, describe, throwIfAborted } from "./errors.js";
import { MAX_DIMS, readSource } from "./options.js";
import type { CustomEmbed, EmbedConfig } from "./service.js";
import type { Embeddings, EmbedFunction, IndexOptions, ModelSource } from "./types.js";

type Embed = IndexOptions["embed"];

function isEmbeddings(embed: Embed): embed is Embeddings {
  const { embedDocuments, embedQuery } = (embed || {}) as Partial<Embeddings>;
  return typeof embedDocuments === "function" && typeof embedQuery === "function";
}

/**
 * The name under which custom vectors are kept. Class and function names change with every minified build, so only
 * what the application or the provider calls its model counts.
 */
function customFingerprint(index: IndexOptions): string {
  const { model, modelName } = index.embed as { model?: unknown; modelName?: unknown };
  const name = [index.id, model, modelName].find((candidate) => typeof candidate === "string" && candidate !== "");
  return `custom:${(name as string | undefined) ?? "unnamed"}`;
}

/** What can cross of an embedder. */
export function embedConfig(index: IndexOptions): EmbedConfig {
  const { embed } = index;
  if (embed === false) return { kind: "none" };
  if (typeof embed === "string") return { kind: "model", source: { preset: embed } as ModelSource };
  if (typeof embed === "function" || isEmbeddings(embed)) {
    const config: EmbedConfig = { kind: "custom", fingerprint: customFingerprint(index) };
    return index.dims === undefined ? config : { ...config, dims: index.dims };
  }
  if (typeof embed === "object" && embed !== null) return { kind: "model", source: plainSource(embed as ModelSource) };
  throw new BurrowError(
    "invalid_argument",
    "index.embed is a preset's name, a model source, a function, LangChain Embeddings, or false",
  );
}

/** A `URL` cannot cross to a worker, and a relative one means something else there. */
export function plainSource(source: ModelSource): ModelSource {
  const base = (globalThis as { location?: { href?: string } }).location?.href;
  const absolute = (url: string | URL) => {
    try {
      return new URL(url, base).href;
    } catch {
      return String(url); // Without a page there is nothing to be relative to: the core says so.
    }
  };
  const plain = readSource(source);
  if (plain.url !== undefined) plain.url = absolute(plain.url);
  if (plain.tokenizerUrl !== undefined) plain.tokenizerUrl = absolute(plain.tokenizerUrl);
  if (typeof plain.pack === "string" || plain.pack instanceof URL) plain.pack = absolute(plain.pack);
  return plain;
}

/** The application's embedder as the home calls it; `undefined` for built-in models. */
export function customEmbed(embed: Embed): CustomEmbed | undefined {
  const call = typeof embed === "function" ? embed : isEmbeddings(embed) ? langchain(embed) : undefined;
  if (call === undefined) return undefined;
  return async (texts, kind, signal) => {
    try {
      throwIfAborted(signal);
      const answer = call(texts, signal === undefined ? { kind } : { kind, signal });
      const vectors = await orAborted(answer, signal);
      return { vectors: check(vectors, texts.length) };
    } catch (error) {
      // An abort of its own (a time limit, perhaps) is its failure; only the caller's is an abort.
      if (signal?.aborted === true) throw aborted(signal.reason);
      if (error instanceof BurrowError) throw error;
      throw new BurrowError("embedding", `The embedder failed: ${describe(error)}`, { cause: error });
    }
  };
}

/** An embedder need not listen to the signal; whoever aborted is answered all the same. */
async function orAborted<T>(answer: T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return answer;
  let stop: (() => void) | undefined;
  const fired = new Promise<never>((_, reject) => {
    stop = () => reject(aborted(signal.reason));
    signal.addEventListener("abort", stop, { once: true });
    // The call itself may have aborted; racing hears a failure of the answer all the same.
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([answer, fired]);
  } finally {
    if (stop !== undefined) signal.removeEventListener("abort", stop);
  }
}

function langchain(embeddings: Embeddings): EmbedFunction {
  return async (texts, { kind }) =>
    kind === "query" ? Promise.all(texts.map((text) => embeddings.embedQuery(text))) : embeddings.embedDocuments(texts);
}

function check(vectors: ArrayLike<number>[], count: number): Float32Array[] {
  if (!Array.isArray(vectors) || vectors.length !== count) {
    const got = Array.isArray(vectors) ? `${vectors.length} vectors` : typeof vectors;
    throw new BurrowError("embedding", `The embedder gave ${got} for ${count} texts`);
  }
  return Array.from(vectors, (vector: unknown, position) => {
    if (!isVector(vector)) {
      throw new BurrowError("embedding", `The embedder's vector ${position} is not an array of finite numbers`);
    }
    return Float32Array.from(vector);
  });
}

/** Checked before it is copied: `Float32Array.from` makes numbers of null, dates and empty strings. */
function isVector(vector: unknown): vector is ArrayLike<number> {
  if (typeof vector !== "object" || vector === null) return false;
  const { length } = vector as ArrayLike<unknown>;
  if (!(length >= 1 && length <= MAX_DIMS)) return false;
  return Array.from(vector as ArrayLike<unknown>).every(
    (number) => typeof number === "number" && Number.isFinite(Math.fround(number)),
  );
}
