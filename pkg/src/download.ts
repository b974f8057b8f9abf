/**
 * One file over HTTP, streamed.
 *
 * What arrives is kept as a partial file where there is a place for it, so that a download that was cut off goes on
 * where it stopped, if the server answers ranges. The parts of two different files are never joined: the rest is
 * asked for under the first part's ETag, or the whole is known by its hash and checked by whoever receives it.
 */
import { aborted, BurrowError, describe, throwIfAborted } from "./errors.js";

/** What is known of a partial file. */
export interface PartialMeta {
  url: string;
  etag?: string;
  /** Bytes of the whole, where the server said. */
  total?: number;
}

/** A place for partial files. */
export interface PartialFile {
  /** What is there: how many bytes, with `meta` as it was last written, and the bytes in order. */
  read(): Promise<{ received: number; meta: PartialMeta; chunks: AsyncIterable<Uint8Array> } | undefined>;
  append(offset: number, chunk: Uint8Array, meta: PartialMeta): Promise<void>;
  drop(): Promise<void>;
}

export interface DownloadOptions {
  /** Receives the file from its first byte, in order. The chunk is its own, to be moved away or released; a total of 0 is unknown. */
  sink: (chunk: Uint8Array, total: number) => Promise<void> | void;
  partial?: PartialFile;
  /** Bytes, where known beforehand. */
  size?: number;
  /** The receiver checks a hash: parts need no common ETag. */
  hashed?: boolean;
  onProgress?: (loaded: number, total: number) => void;
  signal?: AbortSignal;
}

/** Chunks of a network are small; passing them on has a price each. */
const CHUNK = 4 << 20;
/** What is asked of a stream at once. */
const READ = 1 << 20;
/** How often one call picks up a connection that broke. */
const RESUMES = 3;

function failed(
  url: string,
  what: string,
  more: { details?: Record<string, unknown>; cause?: unknown } = {},
): BurrowError {
  return new BurrowError("model_load", `${url} ${what}`, { ...more, details: { url, ...more.details } });
}

class Download {
  private offset = 0;
  private kept = 0;
  private meta: PartialMeta;
  private partial: PartialFile | undefined;
  private ranges = false;

  constructor(
    private readonly url: string,
    private readonly options: DownloadOptions,
  ) {
    this.meta = { url };
    this.partial = options.partial;
  }

  async run(): Promise<void> {
    await this.takePartial();
    for (let resumes = 0; ; resumes++) {
      throwIfAborted(this.options.signal);
      const before = this.offset;
      try {
        if (this.isWhole()) return;
        return await this.fetchRest();
      } catch (error) {
        if (!(error instanceof Interrupted)) throw error;
        if (this.options.signal?.aborted === true) throw aborted(this.options.signal.reason);
        const joinable = this.options.hashed === true || this.meta.etag !== undefined;
        const hopeless = !this.ranges || !joinable || this.offset === before || resumes === RESUMES;
        if (hopeless)
          throw failed(this.url, `broke off after ${this.offset} bytes`, {
            details: { received: this.offset },
            cause: error.cause,
          });
      }
    }
  }

  private total(): number {
    return this.options.size ?? this.meta.total ?? 0;
  }

  private isWhole(): boolean {
    return this.offset > 0 && this.offset === this.total();
  }

  private async takePartial(): Promise<void> {
    const found = await this.partial?.read().catch(() => undefined);
    if (found === undefined || found.received === 0) return;
    const { meta } = found;
    const joinable = meta.url === this.url && (this.options.hashed === true || meta.etag !== undefined);
    if (!joinable) return void (await this.partial?.drop());
    this.meta = meta;
    this.ranges = true;
    for await (const chunk of this.intact(found.chunks)) await this.pass(chunk);
    this.kept = this.offset;
  }

  /** A part that was damaged on the device must not stand in the way for ever. */
  private async *intact(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* chunks;
    } catch (error) {
      throw failed(this.url, "was kept in part, and that part is damaged", {
        details: { restart: true },
        cause: error,
      });
    }
  }

  private async fetchRest(): Promise<void> {
    const response = await this.request();
    this.checkStatus(response);
    if (this.offset > 0 && response.status !== 206)
      throw failed(this.url, "changed, or does not answer ranges any more", { details: { restart: true } });
    this.learn(response);
    await this.stream(response);
  }

  private async request(): Promise<Response> {
    const headers: Record<string, string> = {};
    if (this.offset > 0) {
      headers["Range"] = `bytes=${this.offset}-`;
      if (this.options.hashed !== true && this.meta.etag !== undefined) headers["If-Range"] = this.meta.etag;
    }
    try {
      const init: RequestInit = { headers };
      if (this.options.signal !== undefined) init.signal = this.options.signal;
      return await fetch(this.url, init);
    } catch (error) {
      if (this.options.signal?.aborted === true) throw aborted(this.options.signal.reason);
      throw failed(this.url, `cannot be reached (${describe(error)})`, { cause: error });
    }
  }

  private checkStatus(response: Response): void {
    const { status } = response;
    if (status === 416 && this.offset > 0)
      throw failed(this.url, "is another file now", { details: { restart: true } });
    if (!response.ok)
      throw failed(this.url, `answered ${status} ${response.statusText}`.trim(), { details: { status } });
    const type = response.headers.get("content-type") ?? "";
    if (/^text\/html/i.test(type)) {
      throw failed(this.url, "answered with an HTML page instead of the file", {
        details: { status, contentType: type },
      });
    }
  }

  private learn(response: Response): void {
    const etag = response.headers.get("etag");
    if (etag !== null && !etag.startsWith("W/")) this.meta.etag = etag;
    this.ranges ||= response.headers.get("accept-ranges") === "bytes" || response.status === 206;
    const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get("content-range") ?? "");
    if (range !== null && Number(range[1]) !== this.offset) {
      throw failed(this.url, "answered with another range than asked for", { details: { restart: true } });
    }
    const length = Number(response.headers.get("content-length") ?? 0);
    const encoded = response.headers.get("content-encoding") !== null;
    if (range !== null) this.meta.total = Number(range[2]);
    // Another origin shows its content-range only if it says so; the length is that of the rest.
    else if (length > 0 && !encoded) this.meta.total = (response.status === 206 ? this.offset : 0) + length;
  }

  private async stream(response: Response): Promise<void> {
    const parts = new Gathered();
    this.options.onProgress?.(this.offset, this.total());
    try {
      for await (const chunk of chunks(response)) {
        for (let rest = chunk; rest.length > 0; ) {
          rest = parts.push(rest);
          // The first bytes go on at once: a wrong file is recognised by them.
          if (parts.length === CHUNK || this.offset === 0) await this.deliver(parts.take());
        }
        this.options.onProgress?.(this.offset + parts.length, this.total());
      }
    } catch (error) {
      if (error instanceof Interrupted) await this.deliver(parts.take());
      throw error;
    }
    // An answer of unknown length that ended: kept with its length, the file is known to be whole.
    this.meta.total ??= this.offset + parts.length;
    await this.deliver(parts.take());
    const { total } = this.meta;
    if (this.offset < total) throw new Interrupted(new Error(`${this.offset} of ${total} bytes`));
  }

  private async deliver(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    const offset = this.offset;
    // Kept first: passing on may move the bytes away.
    await this.keep(offset, bytes);
    await this.pass(bytes);
  }

  private async pass(bytes: Uint8Array): Promise<void> {
    this.offset += bytes.length;
    await this.options.sink(bytes, this.total());
  }

  /** A full disk must not stop a download that fits into memory. */
  private async keep(offset: number, bytes: Uint8Array): Promise<void> {
    if (this.partial === undefined || offset !== this.kept) return;
    try {
      await this.partial.append(offset, bytes, this.meta);
      this.kept += bytes.length;
    } catch {
      const partial = this.partial;
      this.partial = undefined;
      await partial.drop().catch(() => undefined);
    }
  }
}

/** The connection broke; perhaps the rest can still be had. */
class Interrupted extends Error {
  constructor(cause: unknown) {
    super("interrupted", { cause });
  }
}

/** Collects a network's chunks into larger ones, each a buffer of its own. */
class Gathered {
  private bytes: Uint8Array<ArrayBuffer> | undefined;
  length = 0;

  /** Copies what there is room for; what there is not comes back. */
  push(part: Uint8Array): Uint8Array {
    this.bytes ??= new Uint8Array(CHUNK);
    const fits = part.subarray(0, CHUNK - this.length);
    this.bytes.set(fits, this.length);
    this.length += fits.length;
    return part.subarray(fits.length);
  }

  take(): Uint8Array {
    const { bytes, length } = this;
    this.length = 0;
    if (bytes === undefined || length < CHUNK) return bytes?.slice(0, length) ?? new Uint8Array();
    this.bytes = undefined;
    return bytes;
  }
}

/** What has arrived; each is good until the next. */
async function* chunks(response: Response): AsyncGenerator<Uint8Array> {
  const { body } = response;
  if (body === null) return;
  const reading = inPlace(body) ?? plainly(body);
  try {
    for (;;) {
      const { done, value } = await reading.read().catch((error: unknown) => {
        throw new Interrupted(error);
      });
      if (done || value === undefined) return;
      yield value;
    }
  } finally {
    reading.cancel().catch(() => undefined);
  }
}

interface Reading {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** One buffer for all of them, where the stream can: else the network's chunks lie about until they are collected. */
function inPlace(body: ReadableStream<Uint8Array>): Reading | undefined {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    return undefined;
  }
  let buffer = new ArrayBuffer(READ);
  const read = async () => {
    const { done, value } = await reader.read(new Uint8Array(buffer));
    if (value !== undefined) buffer = value.buffer;
    return { done, value };
  };
  return { read, cancel: () => reader.cancel() };
}

function plainly(body: ReadableStream<Uint8Array>): Reading {
  const reader = body.getReader();
  return { read: () => reader.read(), cancel: () => reader.cancel() };
}

/**
 * Downloads a file into `sink`.
 *
 * @throws {@link BurrowError} `model_load` with the address, and the status where there was one; `details.restart` when
 * only a download from the start can succeed. `aborted`. Whatever `sink` throws.
 */
export async function download(url: string, options: DownloadOptions): Promise<void> {
  await new Download(url, options).run();
}
