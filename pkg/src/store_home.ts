/**
 * A store where it lives: in a worker, or in the application's own thread. Puts model, storage and the core together,
 * and keeps what `stats()` must tell.
 */
import { encodeJson } from "./document.js";
import { startCore } from "./encoder.js";
import { aborted, BurrowError, toBurrowError } from "./errors.js";
import type { Host } from "./install.js";
import { Model } from "./model.js";
import type { CustomEmbed, EmbedConfig, OnProgress, StoreConfig, StoreService } from "./service.js";
import type { ModelStats, ProgressEvent, Stats } from "./types.js";
import { type CoreProgress, type EmbedderHandle, Store, version } from "./wasm/burrow.js";

const SWEEP_MINUTES = 60;

/** Vectors, and what there is to say about where they come from. */
interface Vectors {
  handle: EmbedderHandle | undefined;
  stats: () => ModelStats | null;
  close: () => void;
  /** Closes when the searches that use it are done. */
  retire: () => void;
}

export class StoreHome implements StoreService {
  private store: Store | undefined;
  private vectors: Vectors | undefined;
  /** Of the options, what a reindex that does not say goes by. The others may hold a whole model. */
  private defaults: { fields: string[] | undefined; parallel: number | undefined } | undefined;
  private storage: Stats["storage"] = { kind: "memory", durable: false };
  private sweeping: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly host: Host) {}

  async open(config: StoreConfig, onProgress: OnProgress, custom?: CustomEmbed, signal?: AbortSignal): Promise<void> {
    checkSweeping(config);
    await startCore(this.host.home.module);
    this.defaults = { fields: config.fields, parallel: config.parallel };
    const vectors = await this.load(config.embed, config.parallel, onProgress, custom, signal);
    try {
      this.store = await this.openStore(config, vectors.handle, onProgress, signal);
      if (signal?.aborted === true) {
        await this.store.close();
        throw aborted(signal.reason);
      }
    } catch (error) {
      vectors.close();
      throw error;
    }
    this.vectors = vectors;
    this.sweepRegularly(config);
  }

  execute(operation: string): Promise<string> {
    return this.opened().execute(operation);
  }

  batch(operations: string): Promise<string> {
    return this.opened().batch(operations);
  }

  async reindex(
    change: Pick<StoreConfig, "fields" | "dims" | "parallel"> & { embed?: EmbedConfig },
    onProgress: OnProgress,
    custom?: CustomEmbed,
    signal?: AbortSignal,
  ): Promise<void> {
    const store = this.opened();
    const { embed, parallel, ...asked } = change;
    const options = { fields: asked.fields ?? this.defaults?.fields, dims: asked.dims };
    const next = embed && (await this.load(embed, parallel ?? this.defaults?.parallel, onProgress, custom, signal));
    try {
      const handle = (next ?? this.vectors)?.handle;
      await store.reindex(JSON.stringify(options), handle, asCore(onProgress), signal);
    } catch (error) {
      next?.close();
      throw error;
    }
    if (this.defaults !== undefined) this.defaults.fields = options.fields;
    if (next === undefined) return;
    this.vectors?.retire();
    this.vectors = next;
  }

  async stats(): Promise<Omit<Stats, "worker">> {
    const core = JSON.parse(await this.opened().stats()) as Pick<Stats, "items" | "vectors">;
    return {
      ...core,
      storage: this.storage,
      model: this.vectors?.stats() ?? null,
      build: { version: version(), wasm: this.host.home.build },
    };
  }

  async close(): Promise<void> {
    clearInterval(this.sweeping);
    await this.store?.close();
    this.vectors?.close();
  }

  private opened(): Store {
    if (this.store === undefined) throw new BurrowError("closed", "The store is not open");
    return this.store;
  }

  private async load(
    embed: EmbedConfig,
    parallel: number | undefined,
    onProgress: OnProgress,
    custom: CustomEmbed | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Vectors> {
    if (embed.kind === "model") {
      const options = parallel === undefined ? {} : { parallel };
      const model = await Model.load(embed.source, this.host, options, onProgress, signal);
      const { fingerprint, dims } = model.info;
      const handle = { fingerprint, dims, embed: model.embed.bind(model) };
      return { handle, stats: () => model.stats(), close: () => model.close(), retire: () => void model.retire() };
    }
    if (embed.kind === "none" || custom === undefined)
      return { handle: undefined, stats: () => null, close: nothing, retire: nothing };
    const { fingerprint, dims } = embed;
    const stats: ModelStats = { id: fingerprint, fingerprint, engine: "custom" };
    if (dims !== undefined) stats.dims = dims;
    return { handle: { fingerprint, dims, embed: custom }, stats: () => stats, close: nothing, retire: nothing };
  }

  private async openStore(
    config: StoreConfig,
    handle: EmbedderHandle | undefined,
    onProgress: OnProgress,
    signal: AbortSignal | undefined,
  ): Promise<Store> {
    try {
      const store = await Store.open(coreOptions(config), handle, asCore(onProgress), signal);
      this.storage = { kind: config.storage, durable: config.storage === "indexeddb" };
      return store;
    } catch (error) {
      const failure = toBurrowError(error);
      const refused = failure.code === "storage_unavailable" && failure.details["opened"] === false;
      if (config.storage !== "indexeddb" || !refused) throw failure;
      return this.openInMemory(config, handle, onProgress, failure.message);
    }
  }

  /** IndexedDB is refused, as in some private windows: the store works, and says at every place that it forgets. */
  private async openInMemory(
    config: StoreConfig,
    handle: EmbedderHandle | undefined,
    onProgress: OnProgress,
    reason: string,
  ): Promise<Store> {
    const store = await Store.open(coreOptions({ ...config, storage: "memory" }), handle, asCore(onProgress));
    this.storage = { kind: "memory", durable: false, reason };
    const message = `"${config.name}" is kept in memory only and is gone after a reload: ${reason}`;
    onProgress({ phase: "storage", loaded: 0, total: 0, message });
    console.warn(`burrow-memory: ${message}`);
    return store;
  }

  private sweepRegularly({ ttl }: StoreConfig): void {
    const minutes = ttl?.sweepIntervalMinutes === undefined ? SWEEP_MINUTES : ttl.sweepIntervalMinutes;
    if (minutes === null) return;
    const sweep = () => {
      this.store?.sweep().catch((error: unknown) => console.warn("burrow-memory: sweeping failed", error));
    };
    // Longer intervals than a timer can hold would fire at once; a shorter one than a second gains nothing.
    this.sweeping = setInterval(sweep, Math.max(1000, Math.min(minutes * 60_000, 2 ** 31 - 1)));
    (this.sweeping as { unref?: () => void }).unref?.();
  }
}

function nothing(): void {}

/** A timer takes what is no number, or below 1, for "at once". */
function checkSweeping({ ttl }: StoreConfig): void {
  const minutes = ttl?.sweepIntervalMinutes;
  if (minutes === undefined || minutes === null) return;
  if (typeof minutes === "number" && Number.isFinite(minutes) && minutes > 0) return;
  throw new BurrowError("invalid_argument", "ttl.sweepIntervalMinutes is minutes above 0, or null for never", {
    details: { argument: "sweepIntervalMinutes" },
  });
}

function asCore(onProgress: OnProgress): CoreProgress {
  return (phase, loaded, total) => onProgress({ phase: phase as ProgressEvent["phase"], loaded, total });
}

function coreOptions({ name, storage, fields, dims, ttl, reindex }: StoreConfig): string {
  const { defaultTtl, refreshOnRead } = ttl ?? {};
  // Not `JSON.stringify`: of a `defaultTtl` that is NaN it would make "never".
  return encodeJson(
    { name, storage, fields, dims, reindex, ttl: { defaultTtl, refreshOnRead } },
    "invalid_argument",
    "options",
  );
}
