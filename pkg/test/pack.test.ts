/** Packs in pieces: what is read of a file, and what arrives. The wasm side is a stand-in that collects. */
import { beforeEach, describe, expect, it, vi } from "vitest";

const arrived = vi.hoisted(() => ({ sizes: [] as number[], bytes: [] as number[] }));

vi.mock("../src/wasm/burrow.js", () => ({
  default: () => Promise.resolve(),
  ArrivingPack: class {
    constructor(size: number) {
      arrived.sizes.push(size);
    }
    push(piece: Uint8Array) {
      arrived.bytes.push(...piece);
    }
    free() {}
    open() {
      return { info: () => "{}" };
    }
  },
}));

const { openFed, PIECE, piecesOf } = await import("../src/pack.js");
const { release } = await import("../src/memory.js");

beforeEach(() => {
  arrived.sizes = [];
  arrived.bytes = [];
});

describe("the pieces of a file", () => {
  const sizes = [PIECE, PIECE, 5];
  const size = sizes.reduce((sum, length) => sum + length, 0);
  const filled = (bytes: Uint8Array) => bytes.map((_, at) => at % 251);

  it.each([
    ["a Uint8Array", filled(new Uint8Array(size))],
    ["a Node Buffer", Buffer.from(filled(new Uint8Array(size)))],
    ["a view of a larger buffer", filled(new Uint8Array(new ArrayBuffer(size + 20), 10, size))],
  ])("of %s can be moved away, and the file stays as it is", async (_, file) => {
    const before = Buffer.from(Uint8Array.from(file));
    const found: number[] = [];
    let at = 0;
    for await (const piece of piecesOf(file)) {
      expect(Buffer.compare(piece, before.subarray(at, at + piece.length))).toBe(0);
      found.push(piece.length);
      at += piece.length;
      release(piece);
      expect(piece.length).toBe(0);
    }
    expect(found).toEqual(sizes);
    expect(file.length).toBe(size);
    expect(Buffer.compare(file, before)).toBe(0);
  });

  it("of a blob are its bytes", async () => {
    const found: number[] = [];
    for await (const piece of piecesOf(new Blob([filled(new Uint8Array(size)) as BlobPart]))) found.push(piece.length);
    expect(found).toEqual(sizes);
  });
});

describe("a pack that is pushed", () => {
  const pieces = [[1, 2], [3], [4, 5]];

  it.each([
    ["known", [5, 5, 5]],
    ["that nobody says", [0, 0, 0]],
    ["that is said late", [0, 5, 5]],
  ])("of a size %s arrives whole and in order", async (_, sizes) => {
    await openFed(async (sink) => {
      for (const [i, piece] of pieces.entries()) sink(Uint8Array.from(piece), sizes[i] as number);
    });
    expect(arrived).toEqual({ sizes: [5], bytes: [1, 2, 3, 4, 5] });
  });
});
