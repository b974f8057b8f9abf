/** A model by itself: texts to vectors. */
import { plainSource } from "./custom.js";
import { aborted, BurrowError, throwIfAborted } from "./errors.js";
import { findHome, type Home } from "./home.js";
import { isTexts, readEmbed, readLoad } from "./options.js";
import { guarded } from "./progress.js";
import { gone } from "./rpc.js";
import type { ModelInfo } from "./service.js";
import type { ModelSource, ModelStats, OpenOptions, Preset, TextKind } from "./types.js";

export interface LoadOptions extends Pick<OpenOptions, "worker" | "wasm" | "onProgress" | "signal"> {
  /** Instances that embed in parallel when there is much to do. */
  parallel?: number;
}

export interface EmbedOptions {
  /** What the texts are to a search: some models are told by a prefix. `"document"` unless given. */
  kind?: TextKind;
  /** Stops at the next small piece of work. */
  signal?: AbortSignal;
}

/** A loaded model. Close it to give its memory back. */
export class Embedder {
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly home: Home,
    private readonly info: ModelInfo,
  ) {}

  /**
   * Loads a model; the first time it is downloaded and installed, then it is on the device.
   *
   * @throws {@link BurrowError} `model_load`, `corrupted`, `aborted`, `invalid_argument`.
   */
  static async load(source: Preset | (string & {}) | ModelSource, given: LoadOptions = {}): Promise<Embedder> {
    const options = readLoad(given);
    throwIfAborted(options.signal);
    const plain = typeof source === "string" ? ({ preset: source } as ModelSource) : plainSource(source);
    const home = await findHome(options);
    const pool = options.parallel === undefined ? {} : { parallel: options.parallel };
    try {
      const info = await home.embed.load(plain, pool, guarded(options.onProgress), options.signal);
      return new Embedder(home, info);
    } catch (error) {
      home.leave();
      throw options.signal?.aborted === true ? aborted(options.signal.reason) : error;
    }
  }

  /** Length of the vectors. */
  get dims(): number {
    return this.info.dims;
  }

  /** Vectors of models with different fingerprints cannot be compared. */
  get fingerprint(): string {
    return this.info.fingerprint;
  }

  /**
   * One vector of unit length per text, in order. Questions do not wait behind documents.
   *
   * @throws {@link BurrowError} `invalid_argument`, `embedding`, `aborted`, `closed`.
   */
  async embed(texts: string[], options: EmbedOptions = {}): Promise<Float32Array[]> {
    const { kind = "document", signal } = readEmbed(options);
    if (!isTexts(texts)) {
      throw new BurrowError("invalid_argument", "What is embedded is an array of strings, without lone surrogates");
    }
    throwIfAborted(signal);
    const { vectors } = await this.home.embed.embed(texts, kind, signal);
    return vectors;
  }

  /** How the model runs. */
  async stats(): Promise<ModelStats | null> {
    return this.home.embed.stats();
  }

  /** Lets go of the model; later calls reject with `closed`. */
  close(): Promise<void> {
    this.closing ??= gone(this.home.embed.close()).finally(() => this.home.leave());
    return this.closing;
  }
}
