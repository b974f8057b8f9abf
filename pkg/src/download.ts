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
  /** Receives the file from its first byte, in order. The chunk may be moved away. */
  sink: (chunk: Uint8Array) => Promise<void> | void;
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
        parts.push(chunk);
        // The first bytes go on at once: a wrong file is recognised by them.
        if (parts.length >= CHUNK || this.offset === 0) await this.deliver(parts.take());
        this.options.onProgress?.(this.offset + parts.length, this.total());
      }
    } catch (error) {
      if (error instanceof Interrupted) await this.deliver(parts.take());
      throw error;
    }
    await this.deliver(parts.take());
    const total = this.meta.total ?? 0;
    if (total > 0 && this.offset < total) throw new Interrupted(new Error(`${this.offset} of ${total} bytes`));
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
    await this.options.sink(bytes);
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

/** Collects chunks into one. */
class Gathered {
  private parts: Uint8Array[] = [];
  length = 0;

  push(part: Uint8Array): void {
    this.parts.push(part);
    this.length += part.length;
  }

  take(): Uint8Array {
    const whole = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.parts) {
      whole.set(part, at);
      at += part.length;
    }
    this.parts = [];
    this.length = 0;
    return whole;
  }
}

async function* chunks(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw new Interrupted(error);
      });
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
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
