/** Finds the files that a pack is made of: a preset's, at a URL, in a folder, or beside each other. */
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";

import { download } from "./download.js";
import { BurrowError } from "./errors.js";
import type { ModelSpec } from "./source.js";
import type { Preset, ProgressEvent } from "./types.js";
import { resolveModel } from "./wasm/burrow.js";

export interface Found {
  /** For the pack's file name and for messages. */
  name: string;
  model: Uint8Array<ArrayBuffer>;
  tokenizer: Uint8Array<ArrayBuffer>;
  /** The preset whose name the path holds. */
  preset?: Preset;
}

type Tell = (event: ProgressEvent) => void;

/** f32 first: int8 is better quantised from there than read from a published int8 file. */
const MODEL_FILES = ["model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx"];

/** @throws `model_load`, `invalid_argument`. */
export async function find(given: string, tokenizer: string | undefined, tell: Tell): Promise<Found> {
  const preset = presetIn(given);
  const found = await locate(given, preset);
  const model = await read(found.model, tell);
  const rules = await read(tokenizer ?? found.tokenizer, () => undefined);
  return { name: found.name, model, tokenizer: rules, ...(preset === undefined ? {} : { preset }) };
}

interface Places {
  name: string;
  model: string;
  tokenizer: string;
}

async function locate(given: string, preset: Preset | undefined): Promise<Places> {
  if (isUrl(given)) return atUrl({ url: given }, preset);
  const kind = await stat(given).catch(() => undefined);
  if (kind?.isDirectory() === true) return inFolder(given);
  if (kind?.isFile() === true) return besideFile(given);
  if (preset === given) return atUrl({ preset }, preset);
  throw new BurrowError("invalid_argument", `${given} is no file, folder, URL or preset`);
}

/** Where the core would look for the f32 file. */
function atUrl(source: { url: string } | { preset: Preset }, preset: Preset | undefined): Places {
  const spec = JSON.parse(resolveModel(JSON.stringify({ ...source, precision: "f32" }))) as ModelSpec;
  const model = spec.model?.url ?? "";
  return { name: preset ?? nameOf(new URL(model).pathname), model, tokenizer: spec.tokenizer?.url ?? "" };
}

async function inFolder(folder: string): Promise<Places> {
  for (const file of MODEL_FILES) {
    const model = join(folder, file);
    if (await isFile(model))
      return { name: basename(resolve(folder)), model, tokenizer: join(folder, "tokenizer.json") };
  }
  throw new BurrowError("model_load", `${folder} has none of ${MODEL_FILES.join(", ")}`);
}

async function besideFile(model: string): Promise<Places> {
  const beside = join(dirname(model), "tokenizer.json");
  const above = join(dirname(dirname(resolve(model))), "tokenizer.json");
  return { name: nameOf(resolve(model)), model, tokenizer: (await isFile(beside)) ? beside : above };
}

/** A file called `model.onnx` says nothing; its folder does. */
function nameOf(path: string): string {
  const name = basename(path, extname(path));
  const folder = path
    .split("/")
    .findLast((part, at, all) => at < all.length - 1 && !["onnx", "main", "resolve", ""].includes(part));
  return name.startsWith("model") && folder !== undefined ? folder : name;
}

function presetIn(given: string): Preset | undefined {
  return (isUrl(given) ? given : resolve(given)).split(/[/\\?#]/).findLast(isPreset) as Preset | undefined;
}

function isPreset(name: string): boolean {
  try {
    resolveModel(JSON.stringify({ preset: name }));
    return true;
  } catch {
    return false;
  }
}

function isUrl(given: string): boolean {
  return /^https?:\/\//.test(given);
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

async function read(place: string, tell: Tell): Promise<Uint8Array<ArrayBuffer>> {
  if (isUrl(place)) return fetchWhole(place, tell);
  try {
    return new Uint8Array(await readFile(place));
  } catch (error) {
    throw new BurrowError("model_load", `${place} cannot be read`, { cause: error });
  }
}

async function fetchWhole(url: string, tell: Tell): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  await download(url, {
    sink: (chunk) => void parts.push(chunk),
    onProgress: (loaded, total) => tell({ phase: "download", loaded, total }),
  });
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}
