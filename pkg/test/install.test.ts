/**
 * The way of a model's files: what is fetched, how often, and what is kept. Real HTTP, a cache in memory, and stand-ins
 * for wasm: an installer that collects what it is fed, and an encoder whose pack has to be `PACK`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { PartialMeta } from "../src/download.js";
import { BurrowError } from "../src/errors.js";
import type { HomeConfig } from "../src/service.js";
import type { ModelSource } from "../src/types.js";

const MODEL = Buffer.alloc(9_000_000, "model ");
const PACK = Buffer.alloc(500_000, "pack ");
const TOKENIZER = Buffer.from("{}");

type Kept = { parts: Buffer[]; meta: PartialMeta };

const world = {
  spec: {} as object,
  partials: new Map<string, Kept>(),
  complete: new Map<string, Buffer>(),
  full: false,
  memory: Infinity,
  /** What each installer was fed. */
  fed: [] as Buffer[][],
  recognised: true,
};

vi.mock("../src/wasm/burrow.js", () => ({
  default: () => Promise.resolve(),
  resolveModel: () => JSON.stringify(world.spec),
  ArrivingPack: class {
    private readonly parts: Buffer[] = [];
    constructor(size: number) {
      if (size > world.memory) throw new BurrowError("model_load", "there is no memory", { details: { size } });
    }
    push(piece: Uint8Array) {
      this.parts.push(Buffer.from(Uint8Array.from(piece)));
    }
    free() {}
    open() {
      if (!Buffer.concat(this.parts).equals(PACK)) throw new BurrowError("corrupted", "not the pack");
      const embed = () => ({ vectors: Float32Array.of(1, 0), truncated: Uint8Array.of(0) });
      return { info: () => "{}", embed, free: () => undefined };
    }
  },
}));

vi.mock("../src/installer.js", () => ({
  LocalInstaller: class {
    private readonly parts: Buffer[] = [];
    async begin() {
      world.fed.push(this.parts);
    }
    async chunk(bytes: Uint8Array) {
      this.parts.push(Buffer.from(Uint8Array.from(bytes)));
    }
    async tokenizer() {}
    async verify() {
      if (!Buffer.concat(this.parts).equals(MODEL)) throw new BurrowError("model_load", "another sha256");
    }
    async compile() {
      return { recognised: world.recognised, dims: 2 };
    }
    async pack() {
      return new Blob([PACK as BlobPart]);
    }
    async probes() {
      return ["a probe"];
    }
    async embed() {
      return { vectors: [Float32Array.of(1, 0)], truncated: [false] };
    }
    drop() {}
  },
}));

async function* each(parts: Buffer[]) {
  for (const part of parts) yield Uint8Array.from(part);
}

const cache = {
  async get(id: string) {
    const pack = world.complete.get(id);
    return pack && { size: pack.length, pieces: each([pack]), meta: {} };
  },
  async put(id: string, from: string, pack: Blob | undefined) {
    if (world.full) return new Error("disk full");
    const { parts } = world.partials.get(from) ?? { parts: [] };
    world.complete.set(id, pack === undefined ? Buffer.concat(parts) : Buffer.from(await pack.arrayBuffer()));
    return undefined;
  },
  async drop(id: string) {
    world.partials.delete(id);
    world.complete.delete(id);
  },
  partial: (id: string) => ({
    async read() {
      const { parts, meta } = world.partials.get(id) ?? {};
      return parts && { received: Buffer.concat(parts).length, meta, chunks: each(parts) };
    },
    async append(offset: number, chunk: Uint8Array, meta: PartialMeta) {
      if (world.full) throw new Error("disk full");
      const before = offset === 0 ? [] : (world.partials.get(id)?.parts ?? []);
      world.partials.set(id, { parts: [...before, Buffer.from(Uint8Array.from(chunk))], meta: { ...meta } });
    },
    drop: () => cache.drop(id),
  }),
  async close() {},
};

vi.mock("../src/cache.js", () => ({ openCache: () => Promise.resolve(cache) }));

const { install } = await import("../src/install.js");

let server: Server;
let base: string;
const requests: string[] = [];
/** Whether the server says how long a file is. */
let lengths = true;
let etag: string | undefined;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url as string;
  requests.push(path);
  const file = { "/model": MODEL, "/pack": PACK }[path] ?? TOKENIZER;
  const range = /bytes=(\d+)-/.exec(request.headers.range ?? "");
  const start = Number(range?.[1] ?? 0);
  if (range !== null && start >= file.length) return void response.writeHead(416).end();
  response.writeHead(range === null ? 200 : 206, {
    ...(lengths ? { "content-length": file.length - start } : {}),
    ...(etag === undefined ? {} : { etag }),
    "accept-ranges": "bytes",
  });
  response.end(file.subarray(start));
}

beforeEach(async () => {
  Object.assign(world, { partials: new Map(), complete: new Map(), full: false, memory: Infinity, fed: [] });
  world.recognised = true;
  requests.length = 0;
  [lengths, etag] = [true, undefined];
  server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const start = (share = false) =>
  install(
    {} as ModelSource,
    { home: { installer: "there" } as HomeConfig, spawn: undefined },
    () => undefined,
    undefined,
    share,
  );
const onnx = (model: object) => ({
  id: "m",
  precision: "int8",
  maxTokens: 512,
  model: { url: `${base}/model`, ...model },
  tokenizer: { url: `${base}/tokenizer` },
});
const fed = () => world.fed.map((parts) => Buffer.concat(parts).equals(MODEL));

describe("a model that is fetched", () => {
  it.each<[string, { hashed?: boolean; lengths?: boolean; full?: boolean }]>([
    ["with everything said", { hashed: true }],
    ["of a length that nobody says", { hashed: true, lengths: false }],
    ["with neither a hash nor an ETag", {}],
    ["onto a full disk", { hashed: true, full: true }],
  ])("%s is fetched once, and both installers get it", async (_, given) => {
    lengths = given.lengths ?? true;
    world.full = given.full ?? false;
    world.spec = onnx(given.hashed ? { sha256: "0".repeat(64) } : {});
    expect(await start()).toMatchObject({ engine: "encoder", cached: !world.full });
    expect(fed()).toEqual([true, true]);
    expect(requests).toEqual(["/tokenizer", "/model"]);
    expect([...world.complete.keys()]).toEqual(world.full ? [] : ["m"]);
    expect(world.partials.size).toBe(0);
  });

  it("for tract, of a length that nobody says, is found on the device the next time", async () => {
    lengths = false;
    world.recognised = false;
    world.spec = onnx({ sha256: "0".repeat(64) });
    expect(await start()).toMatchObject({ engine: "tract", cached: true });
    expect(requests.splice(0)).toEqual(["/tokenizer", "/model"]);
    expect(await start()).toMatchObject({ engine: "tract", cached: true });
    // Nothing tells that the tokenizer is still the same: it has neither a hash nor an ETag.
    expect(requests).toEqual(["/tokenizer"]);
    expect(fed()).toEqual([true, true]);
  });

  it("after what was kept of another file is fetched anew, its tokenizer too", async () => {
    world.spec = onnx({ sha256: "0".repeat(64) });
    world.partials.set("m/model", { parts: [Buffer.alloc(1000)], meta: { url: `${base}/model` } });
    expect(await start()).toMatchObject({ engine: "encoder", cached: true });
    expect(fed()).toEqual([false, true, true]);
    expect(requests).toEqual(["/tokenizer", "/model", "/tokenizer", "/model"]);
  });
});

describe("a pack", () => {
  const fromUrl = () => ({ id: "p", precision: "int8", maxTokens: 512, pack: { url: `${base}/pack` } });

  it("that is kept stays when there is no memory for it", async () => {
    world.spec = fromUrl();
    world.complete.set("p", PACK);
    world.memory = 1000;
    await expect(start()).rejects.toMatchObject({ code: "model_load", details: { size: PACK.length } });
    expect(world.complete.get("p")).toBe(PACK);
    expect(requests).toEqual([]);
  });

  it("that is kept and damaged is fetched again", async () => {
    world.spec = fromUrl();
    world.complete.set("p", Buffer.alloc(PACK.length));
    expect(await start()).toMatchObject({ engine: "encoder", cached: true });
    expect(requests).toEqual(["/pack"]);
    expect(world.complete.get("p")?.equals(PACK)).toBe(true);
  });

  it.each([false, true])("whose beginning was kept of another file is fetched anew (shared: %s)", async (share) => {
    etag = '"one"';
    world.spec = fromUrl();
    world.partials.set("p/pack", { parts: [Buffer.alloc(1000)], meta: { url: `${base}/pack`, etag } });
    expect(await start(share)).toMatchObject({ engine: "encoder", cached: true });
    expect(requests).toEqual(["/pack", "/pack"]);
    expect(world.complete.get("p")?.equals(PACK)).toBe(true);
  });

  it("from a server that holds a wrong one is `corrupted`, and nothing of it is kept", async () => {
    etag = '"one"';
    world.spec = { ...fromUrl(), pack: { url: `${base}/model` } };
    await expect(start()).rejects.toMatchObject({ code: "corrupted" });
    expect(world.partials.size + world.complete.size).toBe(0);
    expect(requests).toEqual(["/model"]);
  });
});
