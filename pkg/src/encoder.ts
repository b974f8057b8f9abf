/** The small module and its encoder, instantiated once per thread. */
import { moved } from "./rpc.js";
import type { Embedded, ModelInfo } from "./service.js";
import type { TextKind } from "./types.js";
import init, { type Encoder } from "./wasm/burrow.js";

let started: Promise<unknown> | undefined;

/** Makes the small module's functions usable in this thread; the first module wins. */
export async function startCore(module: WebAssembly.Module): Promise<void> {
  started ??= init({ module_or_path: module }).catch((error: unknown) => {
    started = undefined;
    throw error;
  });
  await started;
}

/** One vector per text out of the flat array that wasm gives. */
export function split(flat: { vectors: Float32Array; truncated: Uint8Array }, count: number): Embedded {
  const dims = count === 0 ? 0 : flat.vectors.length / count;
  const vectors = Array.from({ length: count }, (_, i) => flat.vectors.slice(i * dims, (i + 1) * dims));
  const embedded = { vectors, truncated: Array.from(flat.truncated, (flag) => flag !== 0) };
  return moved(
    embedded,
    vectors.map((vector) => vector.buffer),
  );
}

/** An encoder in this thread. */
export class LocalEncoder {
  readonly inThread = true;
  readonly info: ModelInfo;

  constructor(private readonly encoder: Encoder) {
    this.info = JSON.parse(this.encoder.info()) as ModelInfo;
  }

  embed(texts: string[], kind: TextKind): Embedded {
    return split(this.encoder.embed(texts, kind), texts.length);
  }

  stop(): void {
    this.encoder.free();
  }
}
