/**
 * Packs on their way to where they run. A pack is as large as its model, so it goes in pieces: from the cache or from a
 * `Blob`, whose bytes are the browser's and not the page's, straight to the place where the kernels read it.
 */
import { LocalEncoder } from "./encoder.js";
import { BurrowError } from "./errors.js";
import { inBrowser, release } from "./memory.js";
import { ArrivingPack } from "./wasm/burrow.js";

/** What a page holds of a file beside the place where it ends up. */
export const PIECE = 4 << 20;

/** A pack, wherever it is kept. */
export interface PackSource {
  size: number;
  /** The reader's own: it gives their memory back. */
  pieces: AsyncIterable<Uint8Array>;
}

/** The bytes of a file, some at a time. */
export async function* piecesOf(file: Blob | Uint8Array): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const size = file instanceof Blob ? file.size : file.length;
  for (let at = 0; at < size; at += PIECE) {
    // A copy in each case, which its reader may move away: `slice` of a Node `Buffer` would be the file itself.
    yield file instanceof Blob
      ? new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer())
      : new Uint8Array(file.subarray(at, at + PIECE));
  }
}

/** A file as something to read in pieces. */
export function packOf(file: Blob): PackSource {
  return { size: file.size, pieces: piecesOf(file) };
}

/**
 * Reads a pack into memory and starts it.
 *
 * @throws `corrupted` when it is damaged, `model_load` when it is not the one that the hash names.
 */
export async function openPack({ size, pieces }: PackSource, sha256?: string): Promise<LocalEncoder> {
  const fill = async (arriving: ArrivingPack) => {
    for await (const piece of pieces) {
      arriving.push(piece);
      release(piece);
    }
  };
  return arrived(new ArrivingPack(size), fill, sha256);
}

/** Starts a pack that is pushed, not pulled: `feed` calls its sink with each piece and the size of the whole. */
export async function openFed(
  feed: (sink: (piece: Uint8Array, size: number) => void) => Promise<void>,
  sha256?: string,
): Promise<LocalEncoder> {
  let arriving: ArrivingPack | undefined;
  const parts: Blob[] = [];
  await feed((piece, size) => {
    // A server that does not say at first how much is coming leaves all bytes in the browser.
    if (arriving === undefined && (size === 0 || parts.length > 0)) return void parts.push(inBrowser(piece));
    arriving ??= new ArrivingPack(size);
    arriving.push(piece);
    release(piece);
  }).catch((error: unknown) => {
    arriving?.free();
    throw error;
  });
  if (arriving === undefined) return openPack(packOf(new Blob(parts)), sha256);
  return arrived(arriving, async () => undefined, sha256);
}

async function arrived(
  arriving: ArrivingPack,
  fill: (arriving: ArrivingPack) => Promise<void>,
  sha256: string | undefined,
): Promise<LocalEncoder> {
  try {
    await fill(arriving);
    if (sha256 !== undefined) checkHash(arriving.sha256(), sha256);
  } catch (error) {
    arriving.free();
    throw error;
  }
  // Takes the memory over, whether it succeeds or not.
  return new LocalEncoder(arriving.open());
}

function checkHash(found: string, expected: string): void {
  if (found === expected.toLowerCase()) return;
  throw new BurrowError("model_load", "The pack is not the file expected: its sha256 differs", {
    details: { expected, found },
  });
}
