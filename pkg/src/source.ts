/** From what the application says of a model to a specification with nothing left to decide. */
import type { ModelSource } from "./types.js";
import { resolveModel, sha256 } from "./wasm/burrow.js";

export interface FileSpec {
  url?: string;
  size?: number;
  sha256?: string;
}

/** A model with nothing left to decide, as the core resolves it. */
export interface ModelSpec {
  id: string;
  fingerprint?: string;
  precision: "int8" | "f32";
  model?: FileSpec;
  tokenizer?: FileSpec;
  pack?: FileSpec;
  maxTokens: number;
  dims?: number;
}

/** A model file's bytes need a name, which is their hash. */
export async function named(source: ModelSource): Promise<ModelSource> {
  const bytes = source.pack instanceof Uint8Array || source.pack instanceof Blob ? source.pack : source.files?.model;
  if (bytes === undefined || source.sha256 !== undefined) return source;
  if (source.pack === undefined && source.preset !== undefined) return source;
  return { ...source, sha256: await sha256Of(await buffer(bytes)) };
}

/** A page without https has no `crypto.subtle`; the core hashes there, more slowly. */
async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (globalThis.crypto?.subtle === undefined) return sha256(bytes);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Bytes, whatever holds them. */
export async function buffer(bytes: Uint8Array | Blob): Promise<Uint8Array<ArrayBuffer>> {
  return bytes instanceof Uint8Array ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(await bytes.arrayBuffer());
}

/** Bytes are marked by `true`: they stay on this side. */
export function resolve(source: ModelSource): ModelSpec {
  const { files, pack, ...plain } = source;
  const marked: Record<string, unknown> = { ...plain };
  if (files !== undefined) marked["files"] = true;
  if (pack !== undefined) marked["pack"] = typeof pack === "string" ? pack : true;
  return JSON.parse(resolveModel(JSON.stringify(marked))) as ModelSpec;
}
