/**
 * The installer's wasm module (tract) as a service: in a worker of its own, dropped when the model is installed, or in
 * this thread where there are no workers. It also runs models whose graph the encoder does not know.
 */
import { compileInstaller } from "./compile.js";
import { split } from "./encoder.js";
import { BurrowError } from "./errors.js";
import { moved } from "./rpc.js";
import type { Embedded } from "./service.js";
import type { TextKind } from "./types.js";
import init, { __wbg_reset_state, Installer } from "./wasm/installer.js";

/** What compiling found. */
export interface Compiled {
  /** Whether the encoder can run it. */
  recognised: boolean;
  /** Why not. */
  reason?: string;
  dims?: number;
}

export interface InstallerService {
  begin(spec: string, module: WebAssembly.Module | string): Promise<void>;
  chunk(bytes: Uint8Array): Promise<void>;
  tokenizer(bytes: Uint8Array): Promise<void>;
  verify(): Promise<void>;
  compile(): Promise<Compiled>;
  pack(precision: string): Promise<Uint8Array>;
  probes(): Promise<string[]>;
  embed(texts: string[], kind: TextKind): Promise<Embedded>;
}

/** How many there are in this thread, on one instance of the module. */
let running = 0;

/** What a trap interrupted stays borrowed and cannot be freed; its memory goes with the instance. */
function release(installer: Installer): void {
  try {
    installer.free();
  } catch {
    // As said above.
  }
}

export class LocalInstaller implements InstallerService {
  private current: Installer | undefined;

  async begin(spec: string, module: WebAssembly.Module | string): Promise<void> {
    await init({ module_or_path: await compileInstaller(module) });
    this.drop();
    this.current = new Installer(spec);
    running += 1;
  }

  async chunk(bytes: Uint8Array): Promise<void> {
    this.installer().modelChunk(bytes);
  }

  async tokenizer(bytes: Uint8Array): Promise<void> {
    this.installer().tokenizer(bytes);
  }

  async verify(): Promise<void> {
    this.installer().verify();
  }

  async compile(): Promise<Compiled> {
    return JSON.parse(this.installer().compile()) as Compiled;
  }

  async pack(precision: string): Promise<Uint8Array> {
    const pack = this.installer().pack(precision);
    return moved(pack, [pack.buffer]);
  }

  async probes(): Promise<string[]> {
    return this.installer().probes();
  }

  async embed(texts: string[], kind: TextKind): Promise<Embedded> {
    return split(this.installer().embed(texts, kind), texts.length);
  }

  /**
   * Gives the memory back. With the last one goes the whole instance of the module: memory never shrinks, and after a
   * trap, which tract answers some damaged files with, an instance is not fit for use.
   */
  drop(): void {
    const { current } = this;
    if (current === undefined) return;
    this.current = undefined;
    running -= 1;
    if (running === 0) __wbg_reset_state();
    else release(current);
  }

  private installer(): Installer {
    if (this.current === undefined) throw new BurrowError("internal", "No model is being installed");
    return this.current;
  }
}
