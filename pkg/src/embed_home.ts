/** A model by itself, where it lives. */
import { startCore } from "./encoder.js";
import { BurrowError } from "./errors.js";
import type { Host } from "./install.js";
import { Model } from "./model.js";
import { moved } from "./rpc.js";
import type { Embedded, EmbedService, ModelInfo, OnProgress } from "./service.js";
import type { ModelSource, Stats, TextKind } from "./types.js";

export class EmbedHome implements EmbedService {
  private model: Model | undefined;

  constructor(private readonly host: Host) {}

  async load(
    source: ModelSource,
    options: { parallel?: number },
    onProgress: OnProgress,
    signal?: AbortSignal,
  ): Promise<ModelInfo> {
    await startCore(this.host.home.module);
    this.model = await Model.load(source, this.host, options, onProgress, signal);
    return this.model.info;
  }

  async embed(texts: string[], kind: TextKind, signal?: AbortSignal): Promise<Embedded> {
    if (this.model === undefined) throw new BurrowError("closed", "The embedder is closed");
    const embedded = await this.model.embed(texts, kind, signal);
    return moved(
      embedded,
      embedded.vectors.map((vector) => vector.buffer),
    );
  }

  async stats(): Promise<Stats["model"]> {
    return this.model?.stats() ?? null;
  }

  async close(): Promise<void> {
    this.model?.close();
    this.model = undefined;
  }
}
