/** One more encoder, in a worker of a pool. */
import { type LocalEncoder, startCore } from "./encoder.js";
import { openPack, packOf } from "./pack.js";
import type { Embedded } from "./service.js";
import type { TextKind } from "./types.js";

export class EncoderService {
  private local: LocalEncoder | undefined;

  async load(module: WebAssembly.Module, pack: Blob): Promise<void> {
    await startCore(module);
    this.local = await openPack(packOf(pack));
  }

  async embed(texts: string[], kind: TextKind): Promise<Embedded> {
    return (this.local as LocalEncoder).embed(texts, kind);
  }
}
