/**
 * What the application hands over besides documents, checked before anything is done with it.
 *
 * TypeScript promises nothing at run time. A misspelt option that is passed over is a store that silently lacks an
 * index; a wrong type that gets as far as WebAssembly traps there, and a trapped instance is lost for every store of
 * the thread. So each object is read once, field by field, into a copy: what was checked is what is used. Whatever the
 * application's own getters or proxies throw while they are read is refused with the same code, and kept as `cause`.
 */
import { isPlain, isWellFormed } from "./document.js";
import type { EmbedOptions, LoadOptions } from "./embedder.js";
import { BurrowError, isSignal } from "./errors.js";
import type { IndexOptions, ModelSource, OpenOptions, ReindexOptions, TtlOptions, WasmOptions } from "./types.js";

/** Whether a value will do, and what would. */
interface Rule {
  fits: (value: unknown) => boolean;
  wants: string;
}

/** A rule for every field; the compiler sees to it that none is forgotten. */
type Rules<T> = Record<keyof T, Rule>;

/** More instances than any device has cores for are a mistake, and each holds a model. */
const MAX_PARALLEL = 64;
/** Longer vectors come from no model. */
export const MAX_DIMS = 65_536;

/** A string that UTF-8 can hold: half of a surrogate pair would become another character on the way. */
const isText = (value: unknown) => typeof value === "string" && isWellFormed(value);
const whole = (most: number): Rule => ({
  fits: (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most,
  wants: `a whole number from 1 to ${most}`,
});
const BOOLEAN: Rule = { fits: (value) => typeof value === "boolean", wants: "true or false" };
const TEXT: Rule = { fits: isText, wants: "a string" };
const NAME: Rule = { fits: (value) => isText(value) && value !== "", wants: "a non-empty string" };
const CALLBACK: Rule = { fits: (value) => typeof value === "function", wants: "a function" };
const SIGNAL: Rule = { fits: isSignal, wants: "an AbortSignal" };
const OBJECT: Rule = { fits: isPlainObject, wants: "a plain object" };
const PATHS: Rule = { fits: isTexts, wants: "an array of field paths" };
const URLS: Rule = { fits: (value) => isText(value) || value instanceof URL, wants: "a URL" };
const BYTES: Rule = { fits: isBytes, wants: "a Uint8Array or a Blob" };
const WASM: Rule = {
  fits: (value) => (typeof value === "string" ? value !== "" : isObject(value)),
  wants: "a URL, a Response, a WebAssembly.Module, or bytes",
};

const TTL: Rules<TtlOptions> = {
  defaultTtl: { fits: isMinutes, wants: "minutes above 0, or null for ever" },
  refreshOnRead: BOOLEAN,
  sweepIntervalMinutes: { fits: isMinutes, wants: "minutes above 0, or null for never" },
};

const OPEN: Rules<OpenOptions> = {
  name: NAME,
  storage: { fits: (value) => value === "indexeddb" || value === "memory", wants: '"indexeddb" or "memory"' },
  index: { fits: (value) => value === false || isPlainObject(value), wants: "a plain object, or false for no vectors" },
  ttl: OBJECT,
  worker: BOOLEAN,
  wasm: WASM,
  reindex: BOOLEAN,
  onProgress: CALLBACK,
  signal: SIGNAL,
};

const INDEX: Rules<IndexOptions> = {
  // Told apart where it is used. A revoked proxy throws here already, where that is a refusal.
  embed: {
    fits: (value) => !Array.isArray(value),
    wants: "a preset's name, a model source, a function, LangChain Embeddings, or false",
  },
  fields: PATHS,
  dims: whole(MAX_DIMS),
  id: NAME,
  parallel: whole(MAX_PARALLEL),
};

const REINDEX: Rules<ReindexOptions> = { ...INDEX, onProgress: CALLBACK, signal: SIGNAL };

const LOAD: Rules<LoadOptions> = {
  worker: BOOLEAN,
  wasm: WASM,
  onProgress: CALLBACK,
  signal: SIGNAL,
  parallel: whole(MAX_PARALLEL),
};

const EMBED: Rules<EmbedOptions> = {
  kind: { fits: (value) => value === "query" || value === "document", wants: '"query" or "document"' },
  signal: SIGNAL,
};

const SOURCE: Rules<ModelSource> = {
  preset: TEXT,
  precision: TEXT,
  url: URLS,
  tokenizerUrl: URLS,
  files: OBJECT,
  pack: { fits: (value) => URLS.fits(value) || isBytes(value), wants: "a URL, a Uint8Array or a Blob" },
  sha256: TEXT,
  pooling: TEXT,
  queryPrefix: TEXT,
  documentPrefix: TEXT,
  lowercase: BOOLEAN,
  maxTokens: { fits: Number.isFinite, wants: "a number" },
};

/** The options of `Burrow.open`. */
export function readOpen(given: unknown): OpenOptions {
  const options = read<OpenOptions>(given, OPEN, "open");
  if (options.index !== undefined && options.index !== false) options.index = readIndexOptions(options.index);
  if (options.ttl !== undefined) options.ttl = read<TtlOptions>(options.ttl, TTL, "ttl");
  return withWasm(options);
}

/** The options of `Burrow.reindex`. */
export function readReindex(given: unknown): ReindexOptions {
  return read<ReindexOptions>(given, REINDEX, "reindex");
}

/** The options of `Burrow.destroy`. */
export function readDestroy(name: unknown, given: unknown): { name: string; wasm?: OpenOptions["wasm"] } {
  if (!NAME.fits(name)) throw new BurrowError("invalid_argument", "A store's name is a non-empty string");
  return { ...withWasm(read<Pick<OpenOptions, "wasm">>(given, { wasm: WASM }, "destroy")), name: name as string };
}

/** The options of `Embedder.load`. */
export function readLoad(given: unknown): LoadOptions {
  return withWasm(read<LoadOptions>(given, LOAD, "load"));
}

/** The options of `Embedder.embed`. */
export function readEmbed(given: unknown): EmbedOptions {
  return read<EmbedOptions>(given, EMBED, "embed");
}

/** A model to load, as an object. */
export function readSource(given: unknown): ModelSource {
  const source = read<ModelSource>(given, SOURCE, "model");
  if (source.files !== undefined) source.files = readFiles(source.files);
  return source;
}

/** The options of a single operation: the core knows their names and meanings, here only that it is an object. */
export function readObject(given: unknown, what: string): Record<string, unknown> {
  return read(given, undefined, what);
}

/** Both modules by name, or one of them by itself. */
function withWasm<T extends Pick<OpenOptions, "wasm">>(options: T): T {
  const { wasm } = options;
  if (!isPlainObject(wasm)) return options;
  return { ...options, wasm: read<WasmOptions>(wasm, { burrow: WASM, installer: WASM }, "wasm") };
}

function readIndexOptions(given: unknown): IndexOptions {
  const index = read<IndexOptions>(given, INDEX, "index");
  if (index.embed === undefined) {
    throw refused("index.embed is missing: name a model, or open without `index`", "embed");
  }
  return index;
}

type Files = NonNullable<ModelSource["files"]>;

function readFiles(given: unknown): Files {
  const files = read<Files>(given, { model: BYTES, tokenizer: BYTES }, "files");
  for (const name of ["model", "tokenizer"] as const) {
    if (files[name] === undefined) throw refused(`files.${name} is missing: ${BYTES.wants}`, name);
  }
  return files;
}

/** A copy of the given object, without what is undefined. */
function read<T extends object>(given: unknown, rules: Rules<T> | undefined, what: string): T {
  if (given === undefined) return {} as T;
  try {
    if (!isPlainObject(given)) throw refused(`The options of ${what} are a plain object, not ${found(given)}`, what);
    const fields = Object.entries(given as object).filter(([, value]) => value !== undefined);
    for (const [name, value] of fields) if (rules !== undefined) check(rules, name, value, what);
    return Object.fromEntries(fields) as T;
  } catch (error) {
    if (error instanceof BurrowError) throw error;
    throw new BurrowError("invalid_argument", `The options of ${what} cannot be read`, { cause: error });
  }
}

function check<T>(rules: Rules<T>, name: string, value: unknown, what: string): void {
  if (!Object.hasOwn(rules, name)) {
    throw refused(`${what} has no option ${JSON.stringify(name)}; it has ${Object.keys(rules).join(", ")}`, name);
  }
  const { fits, wants } = rules[name as keyof T];
  if (!fits(value)) throw refused(`${what}.${name} is ${wants}, not ${found(value)}`, name);
}

function refused(message: string, argument: string): BurrowError {
  return new BurrowError("invalid_argument", message, { details: { argument } });
}

/** What a value is, for a message. Never runs the value's own code. */
function found(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string") {
    return value.length > 40 ? "a long string" : isWellFormed(value) ? JSON.stringify(value) : "a broken string";
  }
  if (typeof value !== "object") return `a ${typeof value}`;
  return Array.isArray(value) ? "an array" : "an object of another kind";
}

/** Neither null nor an array. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPlainObject(value: unknown): boolean {
  return isObject(value) && isPlain(value);
}

/** Whether a value is an array of strings. A hole is none; `every` would pass over it. */
export function isTexts(value: unknown): value is string[] {
  if (!Array.isArray(value)) return false;
  for (const text of value) if (!isText(text)) return false;
  return true;
}

function isBytes(value: unknown): boolean {
  return value instanceof Uint8Array || value instanceof Blob;
}

function isMinutes(value: unknown): boolean {
  return value === null || (typeof value === "number" && Number.isFinite(value) && value > 0);
}
