/** The installer's wasm module (tract), as `src/web/installer.rs` exports it. */

export class Installer {
  constructor(specJson: string);
  modelChunk(chunk: Uint8Array): void;
  tokenizer(bytes: Uint8Array): void;
  verify(): void;
  /** JSON: `{ recognised, reason?, dims }`. */
  compile(): string;
  /** Instead of compiling. */
  pack(precision: string): MadePack;
  embed(texts: string[], kind: string): { vectors: Float32Array; truncated: Uint8Array };
  probes(): string[];
  free(): void;
}

export class MadePack {
  private constructor();
  size(): number;
  piece(start: number, length: number): Uint8Array<ArrayBuffer>;
  free(): void;
}

export default function init(options: { module_or_path: WebAssembly.Module }): Promise<unknown>;
/** Puts a new instance in the place of the present one, with whose memory its objects are gone. */
export function __wbg_reset_state(): void;
export function initSync(options: { module: WebAssembly.Module }): unknown;
