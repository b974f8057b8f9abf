/**
 * From a model source to something that embeds.
 *
 * ```text
 * kept pack? ──yes──▶ encoder
 *     │ no
 *     ▼
 * download ▶ verify ▶ compile (tract) ▶ recognised? ──yes──▶ pack ▶ vouch ──agree──▶ keep, encoder
 *                                           │ no                    │ differ
 *                                           ▼                       ▼
 *                                       tract runs it, and stats() says why
 * ```
 *
 * The installer lives in a worker of its own that is dropped when the pack is made: its memory goes back with it.
 * A kept pack that turns out damaged is dropped and installed anew; when that fails too, the error is `corrupted`.
 */
import { type Cache, type CachedMeta, openCache } from "./cache.js";
import { download, type PartialFile } from "./download.js";
import { LocalEncoder } from "./encoder.js";
import { BurrowError, throwIfAborted, toBurrowError } from "./errors.js";
import type { Compiled, InstallerService } from "./installer.js";
import { LocalInstaller } from "./installer.js";
import { Link } from "./rpc.js";
import type { HomeConfig, ModelInfo, OnProgress } from "./service.js";
import type { ModelSource } from "./types.js";
import { resolveModel, sha256 } from "./wasm/burrow.js";

/** Where a home is, and how it starts workers, if it can. */
export interface Host {
  home: HomeConfig;
  spawn: (() => Worker) | undefined;
}

interface FileSpec {
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

/** A model that is ready to run. */
export type Installed = {
  info: ModelInfo;
  /** Whether the next open finds it on the device. */
  cached: boolean;
  /** Why it is not kept, or not run by the encoder. */
  reason?: string;
  vouched?: { cosine: number; probes: number };
} & (
  | { engine: "encoder"; encoder: LocalEncoder; pack: Uint8Array | undefined }
  | { engine: "tract"; installer: RunningInstaller }
);

/** An installer and the way to end it. */
export interface RunningInstaller {
  service: InstallerService;
  stop(): void;
}

/**
 * How alike tract and the encoder have to be: on average, and on each probe. In int8 both round, each in its own way, and
 * a probe of one word or none has no other tokens to average that out: two right implementations of the published
 * files were seen at 0.961 there, at 0.983 and more on average. What is looked for, a misread graph, is off on every probe.
 */
const AGREEMENT = { f32: { mean: 0.9999, least: 0.9999 }, int8: { mean: 0.98, least: 0.95 } } as const;

/** A model file's bytes need a name, which is their hash. */
async function named(source: ModelSource): Promise<ModelSource> {
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

async function buffer(bytes: Uint8Array | Blob): Promise<Uint8Array<ArrayBuffer>> {
  return bytes instanceof Uint8Array ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(await bytes.arrayBuffer());
}

/** Bytes are marked by `true`: they stay on this side. */
function resolve(source: ModelSource): ModelSpec {
  const { files, pack, ...plain } = source;
  const marked: Record<string, unknown> = { ...plain };
  if (files !== undefined) marked["files"] = true;
  if (pack !== undefined) marked["pack"] = typeof pack === "string" ? pack : true;
  return JSON.parse(resolveModel(JSON.stringify(marked))) as ModelSpec;
}

/** Brings a model to where it can run. */
export async function install(
  source: ModelSource,
  host: Host,
  onProgress: OnProgress,
  signal: AbortSignal | undefined,
): Promise<Installed> {
  const complete = await named(source);
  const spec = resolve(complete);
  const cache = await openCache();
  const flow = new Install(spec, complete, host, cache, onProgress, signal);
  try {
    return await flow.run();
  } finally {
    await cache?.close().catch(() => undefined);
  }
}

class Install {
  /** Part of a file came from an earlier download. */
  private resumed = false;

  constructor(
    private readonly spec: ModelSpec,
    private readonly source: ModelSource,
    private readonly host: Host,
    private readonly cache: Cache | undefined,
    private readonly onProgress: OnProgress,
    private readonly signal: AbortSignal | undefined,
  ) {}

  async run(): Promise<Installed> {
    let damaged: unknown;
    try {
      const kept = await this.kept();
      if (kept !== undefined) return kept;
    } catch (error) {
      const { code } = toBurrowError(error);
      if (code !== "corrupted" && code !== "model_load") throw error;
      // `model_load` is a pack of another version: no damage, and made again all the same.
      if (code === "corrupted") damaged = error;
      await this.cache?.drop(this.spec.id);
    }
    try {
      return await this.anew();
    } catch (error) {
      const failure = toBurrowError(error, "model_load");
      if (damaged === undefined || failure.code === "aborted") throw failure;
      const message = `The kept model ${this.spec.id} is damaged, and could not be installed anew: ${failure.message}`;
      throw new BurrowError("corrupted", message, { details: failure.details, cause: failure });
    }
  }

  private async kept(): Promise<Installed | undefined> {
    const found = await this.cache?.get(this.spec.id);
    throwIfAborted(this.signal);
    if (found === undefined) return undefined;
    return this.ready(found.bytes, found.meta, true);
  }

  private ready(pack: Uint8Array, meta: CachedMeta, cached: boolean): Installed {
    const encoder = new LocalEncoder(pack);
    const info = { ...encoder.info, id: this.spec.id };
    const installed: Installed = { engine: "encoder", encoder, pack, info, cached };
    if (meta.vouched !== undefined) installed.vouched = meta.vouched;
    if (meta.reason !== undefined) installed.reason = meta.reason;
    return installed;
  }

  /** What was kept of an earlier download may belong to another file: then everything is fetched, once. */
  private async anew(): Promise<Installed> {
    const go = () => (this.spec.pack === undefined ? this.fromOnnx() : this.fromPack(this.spec.pack));
    try {
      return await go();
    } catch (error) {
      const { code, details } = toBurrowError(error, "model_load");
      const wrongFile = details["restart"] === true || (this.resumed && details["url"] === undefined);
      if (code !== "model_load" || !wrongFile) throw error;
      await this.dropPartials();
      return await go();
    }
  }

  private async fromPack(file: FileSpec): Promise<Installed> {
    const pack = await this.bytesOf(this.source.pack, file, "pack");
    if (file.sha256 !== undefined) await checkHash(pack, file.sha256);
    this.tell("verify", 1, 1);
    const kept = await this.keep(this.ready(pack, {}, false), pack, {});
    await this.dropPartials();
    return kept;
  }

  private async keep(installed: Installed, pack: Uint8Array, meta: CachedMeta): Promise<Installed> {
    const refused =
      this.cache === undefined ? "there is no IndexedDB here" : await this.cache.put(this.spec.id, pack, meta);
    if (refused === undefined) return { ...installed, cached: true };
    return { ...installed, reason: `not kept on this device: ${toBurrowError(refused).message}` };
  }

  private async fromOnnx(): Promise<Installed> {
    const running = await this.startInstaller();
    let inUse = false;
    const stop = () => running.stop();
    this.signal?.addEventListener("abort", stop, { once: true });
    try {
      const installed = await this.through(running);
      inUse = installed.engine === "tract";
      return installed;
    } catch (error) {
      throwIfAborted(this.signal);
      throw error;
    } finally {
      this.signal?.removeEventListener("abort", stop);
      if (!inUse) running.stop();
    }
  }

  private async through(running: RunningInstaller): Promise<Installed> {
    const { service } = running;
    await this.receive(service);
    this.tell("verify", 0, 1);
    await this.checked(service.verify());
    this.tell("verify", 1, 1);
    this.tell("compile", 0, 1);
    const compiled = await service.compile();
    this.tell("compile", 1, 1);
    throwIfAborted(this.signal);
    if (!compiled.recognised) return this.onTract(running, compiled, compiled.reason ?? "the graph is not recognised");
    const pack = await service.pack(this.spec.precision);
    throwIfAborted(this.signal);
    return this.vouch(running, compiled, pack);
  }

  private async vouch(running: RunningInstaller, compiled: Compiled, pack: Uint8Array): Promise<Installed> {
    const installed = this.ready(pack, {}, false) as Installed & { engine: "encoder" };
    const probes = await running.service.probes();
    this.tell("vouch", 0, probes.length);
    const expected = await running.service.embed(probes, "document");
    const found = installed.encoder.embed(probes, "document");
    const cosines = probes.map((_, i) => cosineOf(expected.vectors[i], found.vectors[i]));
    const cosine = Math.min(...cosines);
    const mean = cosines.reduce((sum, each) => sum + each, 0) / cosines.length;
    this.tell("vouch", probes.length, probes.length);
    throwIfAborted(this.signal);
    const agreement = AGREEMENT[this.spec.precision];
    if (!(cosine >= agreement.least && mean >= agreement.mean)) {
      installed.encoder.stop();
      const reason = `the encoder does not agree with tract: cosine ${cosine.toFixed(5)} at least and ${mean.toFixed(5)} on average over ${probes.length} probes`;
      return this.onTract(running, compiled, reason);
    }
    const vouched = { cosine, probes: probes.length };
    const kept = await this.keep({ ...installed, vouched }, pack, { vouched });
    await this.dropPartials();
    return kept;
  }

  /** The download stays on the device as it is, so that the next open needs no network. */
  private async onTract(running: RunningInstaller, compiled: Compiled, reason: string): Promise<Installed> {
    const { id, fingerprint, precision, maxTokens } = this.spec;
    const dims = compiled.dims ?? this.spec.dims ?? 0;
    const info: ModelInfo = { id, fingerprint: `${fingerprint};engine=tract`, dims, maxTokens, precision };
    return { engine: "tract", installer: running, info, cached: await this.isDownloadKept(), reason };
  }

  /** Files of the application are not kept, and neither is what the disk had no room for. */
  private async isDownloadKept(): Promise<boolean> {
    const kept = await this.cache
      ?.partial(this.partialId("model"))
      .read()
      .catch(() => undefined);
    return kept !== undefined && kept.received > 0 && kept.received === (kept.meta.total ?? kept.received);
  }

  private async receive(service: InstallerService): Promise<void> {
    const { tokenizer = {}, model = {} } = this.spec;
    const rules = await this.bytesOf(this.source.files?.tokenizer, tokenizer, "tokenizer");
    await this.checked(service.tokenizer(rules));
    if (this.source.files !== undefined) return this.checked(this.pour(this.source.files.model, service));
    await this.checked(this.fetch(model, "model", (chunk) => service.chunk(chunk)));
  }

  /** Files of the application are read in pieces: a copy of the whole is what memory is short of. */
  private async pour(model: Uint8Array | Blob, service: InstallerService): Promise<void> {
    const size = model instanceof Uint8Array ? model.length : model.size;
    const step = 4 << 20;
    for (let at = 0; at < size; at += step) {
      throwIfAborted(this.signal);
      await service.chunk(await buffer(model.slice(at, at + step)));
      this.tell("download", Math.min(at + step, size), size);
    }
  }

  private async bytesOf(given: unknown, file: FileSpec, what: "pack" | "tokenizer"): Promise<Uint8Array> {
    if (given instanceof Uint8Array || given instanceof Blob) return buffer(given);
    const parts: Uint8Array[] = [];
    await this.fetch(file, what, (chunk) => void parts.push(chunk));
    return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
  }

  private async fetch(
    file: FileSpec,
    what: "model" | "pack" | "tokenizer",
    sink: (chunk: Uint8Array) => Promise<void> | void,
  ): Promise<void> {
    if (file.url === undefined) throw new BurrowError("model_load", `There is no address for the ${what}`);
    const partial = this.cache?.partial(this.partialId(what));
    this.resumed ||= ((await partial?.read().catch(() => undefined))?.received ?? 0) > 0;
    await download(file.url, {
      sink,
      hashed: file.sha256 !== undefined,
      ...(file.size === undefined ? {} : { size: file.size }),
      ...(partial === undefined ? {} : { partial: partial satisfies PartialFile }),
      ...(this.signal === undefined ? {} : { signal: this.signal }),
      onProgress: (loaded, total) => what !== "tokenizer" && this.tell("download", loaded, total),
    });
  }

  /** A file that turned out wrong must not be found again. */
  private async checked(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      const failure = toBurrowError(error, "model_load");
      const network = failure.details["url"] !== undefined && failure.details["restart"] === undefined;
      if (failure.code === "model_load" && !network) await this.dropPartials();
      throw failure;
    }
  }

  private async dropPartials(): Promise<void> {
    for (const what of ["model", "tokenizer", "pack"] as const) await this.cache?.drop(this.partialId(what));
  }

  private partialId(what: "model" | "pack" | "tokenizer"): string {
    return `${this.spec.id}/${what}`;
  }

  private async startInstaller(): Promise<RunningInstaller> {
    const { installer, noInstaller } = this.host.home;
    if (installer === undefined) {
      throw new BurrowError("model_load", noInstaller ?? "There is no installer here: load a pack made beforehand", {
        details: { needs: "pack" },
      });
    }
    const running = (await this.ownWorker()) ?? inPlace();
    try {
      await running.service.begin(JSON.stringify(this.spec), installer);
      return running;
    } catch (error) {
      running.stop();
      throw toBurrowError(error, "model_load", "The installer cannot be started");
    }
  }

  private async ownWorker(): Promise<RunningInstaller | undefined> {
    try {
      const link = this.host.spawn && (await Link.start(this.host.spawn()));
      return link && { service: link.service<InstallerService>("installer"), stop: () => link.stop() };
    } catch {
      return undefined;
    }
  }

  private tell(phase: "download" | "verify" | "compile" | "vouch", loaded: number, total: number): void {
    this.onProgress({ phase, loaded, total });
  }
}

function inPlace(): RunningInstaller {
  const service = new LocalInstaller();
  return { service, stop: () => service.drop() };
}

async function checkHash(bytes: Uint8Array, sha256: string): Promise<void> {
  const found = await sha256Of(bytes as Uint8Array<ArrayBuffer>);
  if (found === sha256.toLowerCase()) return;
  throw new BurrowError("model_load", "The pack is not the file expected: its sha256 differs", {
    details: { expected: sha256, found },
  });
}

function cosineOf(a: Float32Array | undefined, b: Float32Array | undefined): number {
  if (a === undefined || b === undefined || a.length !== b.length) return NaN;
  let [dot, aa, bb] = [0, 0, 0];
  a.forEach((x, i) => {
    const y = b[i] as number;
    dot += x * y;
    aa += x * x;
    bb += y * y;
  });
  return dot / Math.sqrt(aa * bb);
}
