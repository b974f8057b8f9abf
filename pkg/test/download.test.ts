import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, describe, expect, it } from "vitest";
import { download, type PartialFile, type PartialMeta } from "../src/download.js";
import { BurrowError } from "../src/errors.js";

const FILE = randomBytes(3_000_000);

let server: Server | undefined;
const requests: { range: string | undefined; ifRange: string | undefined }[] = [];

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  requests.length = 0;
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(handler: Handler): Promise<string> {
  server = createServer((request, response) => {
    requests.push({ range: request.headers.range, ifRange: request.headers["if-range"] as string | undefined });
    handler(request, response);
  });
  await new Promise<void>((resolve) => (server as Server).listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/model.onnx`;
}

/** Serves FILE with ranges; each answer breaks off after `most` bytes. */
function ranged(most: number, etag = '"one"'): Handler {
  return (request, response) => {
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const current = request.headers["if-range"] === undefined || request.headers["if-range"] === etag;
    const start = current ? from : 0;
    response.writeHead(start > 0 ? 206 : 200, {
      "content-length": FILE.length - start,
      "accept-ranges": "bytes",
      etag,
      ...(start > 0 ? { "content-range": `bytes ${start}-${FILE.length - 1}/${FILE.length}` } : {}),
    });
    const end = Math.min(start + most, FILE.length);
    response.write(FILE.subarray(start, end), () => (end < FILE.length ? response.destroy() : response.end()));
  };
}

class Received {
  private readonly parts: Buffer[] = [];
  readonly sink = (chunk: Uint8Array): void => void this.parts.push(Buffer.from(chunk));
  get bytes(): Buffer {
    return Buffer.concat(this.parts);
  }
  get hash(): string {
    return createHash("sha256").update(this.bytes).digest("hex");
  }
}

const HASH = createHash("sha256").update(FILE).digest("hex");

class MemoryPartial implements PartialFile {
  parts: Uint8Array[] = [];
  meta: PartialMeta | undefined;
  drops = 0;

  get received(): number {
    return this.parts.reduce((sum, part) => sum + part.length, 0);
  }
  async read() {
    const { parts, meta } = this;
    const chunks = (async function* () {
      yield* parts;
    })();
    return meta && { received: this.received, meta, chunks };
  }
  async append(offset: number, chunk: Uint8Array, meta: PartialMeta) {
    if (offset === 0) this.parts = [];
    expect(offset).toBe(this.received);
    this.parts.push(chunk.slice());
    this.meta = { ...meta };
  }
  async drop() {
    this.parts = [];
    this.meta = undefined;
    this.drops++;
  }
}

describe("a download", () => {
  it("arrives whole and tells how far it is", async () => {
    const url = await serve(ranged(Infinity));
    const received = new Received();
    const progress: [number, number][] = [];
    await download(url, { sink: received.sink, onProgress: (...step) => progress.push(step) });
    expect(received.hash).toBe(HASH);
    expect(progress[0]).toEqual([0, FILE.length]);
    expect(progress.at(-1)).toEqual([FILE.length, FILE.length]);
    expect(progress.every(([loaded], i) => i === 0 || loaded >= (progress[i - 1] as [number, number])[0])).toBe(true);
  });

  it.each([404, 403, 500])("of status %i is model_load and names status and address", async (status) => {
    const url = await serve((_, response) => response.writeHead(status).end("no"));
    const received = new Received();
    await expect(download(url, { sink: received.sink })).rejects.toMatchObject({
      code: "model_load",
      details: { status, url },
    });
    expect(received.bytes.length).toBe(0);
  });

  it("of a single-page app's HTML is model_load, before a byte is passed on", async () => {
    const url = await serve((_, response) =>
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end("<html>"),
    );
    const received = new Received();
    await expect(download(url, { sink: received.sink })).rejects.toMatchObject({
      code: "model_load",
      message: expect.stringContaining("HTML"),
    });
    expect(received.bytes.length).toBe(0);
  });

  it("from nobody is model_load", async () => {
    const url = await serve(() => undefined);
    server?.close();
    await expect(download(url.replace(/:\d+/, ":1"), { sink: () => undefined })).rejects.toMatchObject({
      code: "model_load",
    });
  });

  it("that breaks off without ranges is model_load and says how far it came", async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-length": FILE.length });
      response.write(FILE.subarray(0, 1000), () => response.destroy());
    });
    await expect(download(url, { sink: () => undefined })).rejects.toMatchObject({
      code: "model_load",
      details: { received: 1000 },
    });
    expect(requests.length).toBe(1);
  });

  it("that breaks off is picked up where it stopped, when the server answers ranges", async () => {
    const url = await serve(ranged(1_000_000));
    const received = new Received();
    await download(url, { sink: received.sink });
    expect(received.hash).toBe(HASH);
    expect(requests.length).toBe(3);
    expect(requests[1]?.range).toMatch(/^bytes=\d+-$/);
    expect(requests[1]?.ifRange).toBe('"one"');
  });

  it("that was aborted goes on at the next call from what was kept", async () => {
    const url = await serve(ranged(Infinity));
    const partial = new MemoryPartial();
    const controller = new AbortController();
    const first = download(url, {
      sink: () => undefined,
      partial,
      signal: controller.signal,
      onProgress: (loaded) => loaded > 0 && controller.abort(),
    });
    await expect(first).rejects.toMatchObject({ code: "aborted" });
    expect(partial.received).toBeGreaterThan(0);
    const kept = partial.received;

    const received = new Received();
    await download(url, { sink: received.sink, partial });
    expect(received.hash).toBe(HASH);
    expect(requests.at(-1)?.range).toBe(`bytes=${kept}-`);
  });

  it("that is complete already needs no network", async () => {
    const url = await serve(ranged(Infinity));
    const partial = new MemoryPartial();
    await download(url, { sink: () => undefined, partial });
    const received = new Received();
    await download(url, { sink: received.sink, partial });
    expect(received.hash).toBe(HASH);
    expect(requests.length).toBe(1);
  });

  it("of a length that nobody says needs no network either once it has ended", async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "transfer-encoding": "chunked", etag: '"one"' });
      response.end(FILE);
    });
    const partial = new MemoryPartial();
    await download(url, { sink: () => undefined, partial });
    expect(partial.meta?.total).toBe(FILE.length);
    const received = new Received();
    await download(url, { sink: received.sink, partial });
    expect(received.hash).toBe(HASH);
    expect(requests.length).toBe(1);
  });

  it("never joins two files: another ETag starts anew", async () => {
    const url = await serve(ranged(Infinity, '"two"'));
    const partial = new MemoryPartial();
    await partial.append(0, new Uint8Array(1000), { url, etag: '"one"', total: FILE.length });
    const failure = download(url, { sink: () => undefined, partial });
    await expect(failure).rejects.toMatchObject({ code: "model_load", details: { restart: true } });
  });

  it("goes on without a place for what is kept", async () => {
    const url = await serve(ranged(Infinity));
    const partial = new MemoryPartial();
    partial.append = () => Promise.reject(new Error("disk full"));
    const received = new Received();
    await download(url, { sink: received.sink, partial });
    expect(received.hash).toBe(HASH);
    expect(partial.drops).toBe(1);
  });

  it("whose kept part is damaged asks for a new start", async () => {
    const url = await serve(ranged(Infinity));
    const partial = new MemoryPartial();
    await partial.append(0, new Uint8Array(1000), { url, etag: '"one"', total: FILE.length });
    const read = partial.read.bind(partial);
    partial.read = async () => {
      const found = await read();
      const chunks = (async function* () {
        yield new Uint8Array(10);
        throw new BurrowError("corrupted", "damaged");
      })();
      return found && { ...found, chunks };
    };
    const failure = download(url, { sink: () => undefined, partial });
    await expect(failure).rejects.toMatchObject({ code: "model_load", details: { restart: true } });
  });

  it("whose kept part the receiver refuses fails as the receiver does", async () => {
    const url = await serve(ranged(Infinity));
    const partial = new MemoryPartial();
    await partial.append(0, new Uint8Array(1000), { url, etag: '"one"', total: FILE.length });
    const refused = new Error("not a model");
    await expect(download(url, { sink: () => Promise.reject(refused), partial })).rejects.toBe(refused);
  });
});
