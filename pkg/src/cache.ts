/**
 * Models kept on the device, behind the core's `ModelCache`. Everything here is a convenience: where there is no
 * IndexedDB, or no room, a model is simply fetched again, and `stats()` says that it is not kept.
 */
import type { PartialFile, PartialMeta } from "./download.js";
import { BurrowError } from "./errors.js";
import { release } from "./memory.js";
import { type PackSource, PIECE, piecesOf } from "./pack.js";
import { ModelCache } from "./wasm/burrow.js";

/** No kept chunk is larger. They are kept as they were appended, {@link PIECE} or less; other versions may append more. */
const MOST = 4 * PIECE;

/** What is written beside a kept model. */
export interface CachedMeta {
  vouched?: { cosine: number; probes: number };
  /** Why the model runs on the general engine; then what is kept is the installer's input. */
  reason?: string;
}

/** The device's models; `undefined` where none can be kept. */
export async function openCache(): Promise<Cache | undefined> {
  if (typeof indexedDB === "undefined") return undefined;
  try {
    return new Cache(await ModelCache.open());
  } catch {
    return undefined;
  }
}

export class Cache {
  constructor(private readonly models: ModelCache) {}

  /** A kept model; reading it throws `corrupted` when it is damaged. One that cannot be looked up counts as not kept. */
  async get(id: string): Promise<(PackSource & { meta: CachedMeta }) | undefined> {
    const found = await this.models.complete(id).catch((error: unknown) => {
      if ((error as Partial<BurrowError>).code === "corrupted") throw error;
      return undefined;
    });
    if (found === undefined) return undefined;
    const { received: size, chunks, meta } = found;
    // A damaged size must not ask for memory that is not there.
    if (size > chunks * MOST) throw new BurrowError("corrupted", `The kept model ${id} has an impossible size`);
    const pieces = this.chunks(chunks, (index) => this.models.chunk(id, index));
    return { size, pieces, meta: JSON.parse(meta) as CachedMeta };
  }

  /** Keeps a pack; why it could not be, otherwise. One that is not given was downloaded to the partial file `from`. */
  async put(id: string, from: string, pack: Blob | undefined, meta: CachedMeta): Promise<unknown> {
    try {
      if (pack !== undefined) await this.write(from, pack);
      await this.models.promote(from, id, JSON.stringify(meta));
      return undefined;
    } catch (error) {
      await this.drop(from);
      return error;
    }
  }

  private async write(id: string, file: Blob): Promise<void> {
    let at = 0;
    for await (const piece of piecesOf(file)) {
      await this.models.append(id, at, piece, "{}");
      at += piece.length;
      release(piece);
    }
  }

  async drop(id: string): Promise<void> {
    await this.models.delete(id).catch(() => undefined);
  }

  /** A download under this id that may have been cut off. */
  partial(id: string): PartialFile {
    return {
      read: async () => {
        const found = await this.models.partial(id);
        if (found === undefined) return undefined;
        const { received, chunks, meta } = found;
        return {
          received,
          meta: JSON.parse(meta) as PartialMeta,
          chunks: this.chunks(chunks, (index) => this.models.partialChunk(id, index)),
        };
      },
      append: (offset, chunk, meta) => this.models.append(id, offset, chunk, JSON.stringify(meta)),
      drop: () => this.drop(id),
    };
  }

  async close(): Promise<void> {
    await this.models.close();
    this.models.free();
  }

  /** One at a time: the whole would stand in memory twice. */
  private async *chunks(count: number, read: (index: number) => Promise<Uint8Array>): AsyncGenerator<Uint8Array> {
    for (let index = 0; index < count; index++) yield await read(index);
  }
}
