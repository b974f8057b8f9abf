/**
 * From a model source to something that embeds.
 *
 * ```text
 * kept pack? ──yes──▶ encoder
 *     │ no
 *     ▼
 * download ▶ verify ▶ compile (tract) ▶ recognised? ──yes──▶ probes ▶ pack ▶ vouch ──agree──▶ keep, encoder
 *                                           │ no                               │ differ
 *                                           ▼                                  ▼
 *                                       tract runs it, and stats() says why ◀──┘
 * ```
 *
 * What a page's memory holds at its highest is what a small device can bear, and a wasm memory never shrinks. So tract
 * and the making of the pack have a worker each, one after the other, and the encoder starts when both are gone; what
 * must outlive a worker (the file, the pack) waits in a `Blob`, which is the browser's memory. A kept pack that turns out
 * damaged is dropped and installed anew; when that fails too, the error is `corrupted`.
 */
import { type Cache, type CachedMeta, openCache } from "./cache.js";
import { download, type PartialFile } from "./download.js";
import type { LocalEncoder } from "./encoder.js";
import { BurrowError, throwIfAborted, toBurrowError } from "./errors.js";
import type { Compiled, InstallerService } from "./installer.js";
import { inBrowser } from "./memory.js";
import { openFed, openPack, packOf, piecesOf } from "./pack.js";
import { moved } from "./rpc.js";
import { inInstaller, type RunningInstaller } from "./running_installer.js";
import type { HomeConfig, ModelInfo, OnProgress } from "./service.js";
import { buffer, type FileSpec, type ModelSpec, named, resolve } from "./source.js";
import type { ModelSource } from "./types.js";
import { judge } from "./vouch.js";

/** Where a home is, and how it starts workers, if it can. */
export interface Host {
  home: HomeConfig;
  spawn: (() => Worker) | undefined;
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
  | { engine: "encoder"; encoder: LocalEncoder; pack: Blob | undefined }
  | { engine: "tract"; installer: RunningInstaller }
);

type OnEncoder = Installed & { engine: "encoder" };

/**
 * Bytes of a file beyond which a page's peak is lower when it is read again from IndexedDB than from a blob: in Chromium
 * 423 MB and 480 for 133 MB of f32. Below that the values that IndexedDB gives, and a collector frees late, count more:
 * 257 and 217 MB for 34 MB of int8.
 */
const LARGE = 64 << 20;

/** Brings a model to where it can run; `share` leaves its pack with it, for further instances. */
export async function install(
  source: ModelSource,
  host: Host,
  onProgress: OnProgress,
  signal: AbortSignal | undefined,
  share: boolean,
): Promise<Installed> {
  const complete = await named(source);
  const spec = resolve(complete);
  const cache = await openCache();
  const flow = new Install(spec, complete, host, cache, onProgress, signal, share);
  try {
    return await flow.run();
  } finally {
    await cache?.close().catch(() => undefined);
  }
}

class Install {
  /** Part of a file came from an earlier download. */
  private resumed = false;
  /** The downloaded file, unless it is read again from the cache. */
  private file: Blob | undefined;
  private rules: Blob | undefined;
  /** What was kept turned out damaged. */
  private damaged = false;

  constructor(
    private readonly spec: ModelSpec,
    private readonly source: ModelSource,
    private readonly host: Host,
    private readonly cache: Cache | undefined,
    private readonly onProgress: OnProgress,
    private readonly signal: AbortSignal | undefined,
    private readonly share: boolean,
  ) {}

  async run(): Promise<Installed> {
    return (await this.lookUp()) ?? (await this.alone(async () => (await this.lookUp()) ?? (await this.orDamaged())));
  }

  /** One tab downloads, the others find what it has kept; where there are no locks or no cache, each does it all. */
  private async alone(work: () => Promise<Installed>): Promise<Installed> {
    const { locks } = globalThis.navigator ?? {};
    if (locks === undefined || this.cache === undefined) return work();
    try {
      const options = this.signal === undefined ? {} : { signal: this.signal };
      return await locks.request(`burrow-memory: model ${this.spec.id}`, options, work);
    } catch (error) {
      throwIfAborted(this.signal);
      throw error;
    }
  }

  private async lookUp(): Promise<Installed | undefined> {
    try {
      return await this.kept();
    } catch (error) {
      const { code, details } = toBurrowError(error);
      if (code !== "corrupted" && code !== "model_load") throw error;
      // No room for it: the pack may be as good as ever.
      if (code === "model_load" && details["size"] !== undefined) throw error;
      // `model_load` is a pack of another version: no damage, and made again all the same.
      if (code === "corrupted") this.damaged = true;
      await this.cache?.drop(this.spec.id);
      return undefined;
    }
  }

  private async orDamaged(): Promise<Installed> {
    try {
      return await this.anew();
    } catch (error) {
      const failure = toBurrowError(error, "model_load");
      if (!this.damaged || failure.code === "aborted") throw failure;
      const message = `The kept model ${this.spec.id} is damaged, and could not be installed anew: ${failure.message}`;
      throw new BurrowError("corrupted", message, { details: failure.details, cause: failure });
    }
  }

  private async kept(): Promise<Installed | undefined> {
    const found = await this.cache?.get(this.spec.id);
    throwIfAborted(this.signal);
    if (found === undefined) return undefined;
    const parts: Blob[] = [];
    const pieces = this.share ? copied(found.pieces, parts) : found.pieces;
    try {
      const installed = this.onEncoder(await openPack({ size: found.size, pieces }), found.meta);
      return { ...installed, cached: true, pack: this.share ? new Blob(parts) : undefined };
    } catch (error) {
      if (["corrupted", "model_load"].includes(toBurrowError(error).code)) throw error;
      return undefined;
    }
  }

  private onEncoder(encoder: LocalEncoder, meta: CachedMeta): OnEncoder {
    const info = { ...encoder.info, id: this.spec.id };
    const installed: OnEncoder = { engine: "encoder", encoder, pack: undefined, info, cached: false };
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
      const failure = toBurrowError(error, "model_load");
      const { details } = failure;
      const wrongFile = details["restart"] === true || (this.resumed && details["url"] === undefined);
      if (!isUnfit(failure) || !wrongFile) throw error;
      await this.dropPartials();
      this.rules = this.file = undefined;
      return await go();
    }
  }

  private async fromPack(file: FileSpec): Promise<Installed> {
    const given = this.source.pack;
    const bytes = given instanceof Uint8Array || given instanceof Blob;
    const pack = bytes ? new Blob([given as BlobPart]) : this.share ? await this.spool(file, "pack") : undefined;
    const encoder =
      pack === undefined
        ? openFed((sink) => this.fetch(file, "pack", sink), file.sha256)
        : openPack(packOf(pack), file.sha256);
    const installed = this.onEncoder(await this.checked(encoder), {});
    this.tell("verify", 1, 1);
    return this.keep({ ...installed, pack: this.share ? pack : undefined }, bytes ? pack : undefined, {});
  }

  private async keep(installed: OnEncoder, pack: Blob | undefined, meta: CachedMeta): Promise<Installed> {
    const refused =
      this.cache === undefined
        ? "there is no IndexedDB here"
        : await this.cache.put(this.spec.id, this.partialId("pack"), pack, meta);
    await this.dropPartials();
    if (refused === undefined) return { ...installed, cached: true };
    return { ...installed, reason: `not kept on this device: ${toBurrowError(refused).message}` };
  }

  private async fromOnnx(): Promise<Installed> {
    const compiled = await this.inInstaller(async (running) => {
      const found = await this.compile(running, false);
      if (!found.recognised) return this.onTract(running, found, found.reason ?? "the graph is not recognised");
      const probes = await running.service.probes();
      return { probes, expected: (await running.service.embed(probes, "document")).vectors };
    });
    if ("engine" in compiled) return compiled;
    const pack = await this.inInstaller(async (running) => {
      await this.receive(running.service, true);
      await running.service.verify();
      return running.service.pack(this.spec.precision);
    });
    this.tell("compile", 1, 1);
    return this.vouch(pack, compiled.probes, compiled.expected);
  }

  private async compile(running: RunningInstaller, again: boolean): Promise<Compiled> {
    const { service } = running;
    await this.receive(service, again);
    const tell = again ? () => undefined : this.tell.bind(this);
    tell("verify", 0, 1);
    await this.checked(service.verify());
    tell("verify", 1, 1);
    tell("compile", 0, 1);
    return service.compile();
  }

  private inInstaller<T>(step: (running: RunningInstaller) => Promise<T>): Promise<T> {
    return inInstaller({ ...this.host, spec: this.spec }, this.signal, step);
  }

  private async vouch(pack: Blob, probes: string[], expected: Float32Array[]): Promise<Installed> {
    this.tell("vouch", 0, probes.length);
    const installed = this.onEncoder(await openPack(packOf(pack)), {});
    const { refused, ...vouched } = judge(
      expected,
      installed.encoder.embed(probes, "document").vectors,
      this.spec.precision,
    );
    this.tell("vouch", probes.length, probes.length);
    const shared = this.share ? pack : undefined;
    if (refused === undefined) return this.keep({ ...installed, vouched, pack: shared }, pack, { vouched });
    installed.encoder.stop();
    return this.inInstaller(async (running) => this.onTract(running, await this.compile(running, true), refused));
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

  /** Feeds an installer; `again` from what the first one got. */
  private async receive(service: InstallerService, again: boolean): Promise<void> {
    const { tokenizer = {}, model = {} } = this.spec;
    const rules = await this.tokenizer(tokenizer);
    await this.checked(service.tokenizer(rules));
    const given = this.source.files?.model ?? (again ? this.file : undefined);
    if (given !== undefined) return this.checked(this.pour(given, service, again));
    // Where the cache can tell that it keeps this file, a large one is read again from there. (On a full disk that is
    // another download.)
    const fromCache = this.cache !== undefined && model.sha256 !== undefined && (model.size ?? 0) > LARGE;
    const parts: Blob[] = [];
    const sink = (chunk: Uint8Array) => {
      if (!fromCache) parts.push(new Blob([chunk as BlobPart]));
      return service.chunk(moved(chunk, [chunk.buffer]));
    };
    await this.checked(this.fetch(model, "model", sink, again));
    if (!fromCache) this.file = new Blob(parts);
  }

  /** Files of the application are read in pieces: a copy of the whole is what memory is short of. */
  private async pour(model: Uint8Array | Blob, service: InstallerService, again: boolean): Promise<void> {
    const size = model instanceof Uint8Array ? model.length : model.size;
    let at = 0;
    for await (const piece of piecesOf(model)) {
      throwIfAborted(this.signal);
      at += piece.length;
      await service.chunk(moved(piece, [piece.buffer]));
      if (!again) this.tell("download", at, size);
    }
  }

  private async tokenizer(file: FileSpec): Promise<Uint8Array> {
    const given = this.source.files?.tokenizer;
    if (given !== undefined) return buffer(given);
    this.rules ??= await this.spool(file, "tokenizer");
    return buffer(this.rules);
  }

  /** A file in the browser's memory. */
  private async spool(file: FileSpec, what: "pack" | "tokenizer"): Promise<Blob> {
    const parts: Blob[] = [];
    await this.fetch(file, what, (chunk) => void parts.push(inBrowser(chunk)));
    return new Blob(parts);
  }

  private async fetch(
    file: FileSpec,
    what: "model" | "pack" | "tokenizer",
    sink: (chunk: Uint8Array, total: number) => Promise<void> | void,
    again = false,
  ): Promise<void> {
    if (file.url === undefined) throw new BurrowError("model_load", `There is no address for the ${what}`);
    const partial = this.cache?.partial(this.partialId(what));
    this.resumed ||= !again && ((await partial?.read().catch(() => undefined))?.received ?? 0) > 0;
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
  private async checked<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const failure = toBurrowError(error, "model_load");
      const network = failure.details["url"] !== undefined && failure.details["restart"] === undefined;
      if (isUnfit(failure) && !network) await this.dropPartials();
      throw failure;
    }
  }

  private async dropPartials(): Promise<void> {
    for (const what of ["model", "tokenizer", "pack"] as const) await this.cache?.drop(this.partialId(what));
  }

  private partialId(what: "model" | "pack" | "tokenizer"): string {
    return `${this.spec.id}/${what}`;
  }

  private tell(phase: "download" | "verify" | "compile" | "vouch", loaded: number, total: number): void {
    this.onProgress({ phase, loaded, total });
  }
}

/** Whether what was read is not what it should be: a model by `model_load`, a pack by `corrupted` too. */
function isUnfit({ code }: BurrowError): boolean {
  return code === "model_load" || code === "corrupted";
}

/** What is read on its way, also kept in the browser's memory. */
async function* copied(pieces: AsyncIterable<Uint8Array>, parts: Blob[]): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    parts.push(new Blob([piece as BlobPart]));
    yield piece;
  }
}
