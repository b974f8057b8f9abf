/**
 * Models kept on the device, behind the core's `ModelCache`. Everything here is a convenience: where there is no
 * IndexedDB, or no room, a model is simply fetched again, and `stats()` says that it is not kept.
 */
import type { PartialFile, PartialMeta } from "./download.js";
import type { BurrowError } from "./errors.js";
import { ModelCache } from "./wasm/burrow.js";

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

  /**
   * A kept model. One that was damaged is dropped and is an error of code `corrupted`; one that cannot be read for
   * another reason counts as not kept.
   */
  async get(id: string): Promise<{ bytes: Uint8Array; meta: CachedMeta } | undefined> {
    try {
      const found = await this.models.get(id);
      return found && { bytes: found.bytes, meta: JSON.parse(found.meta) as CachedMeta };
    } catch (error) {
      if ((error as Partial<BurrowError>).code !== "corrupted") return undefined;
      await this.drop(id);
      throw error;
    }
  }

  /** Keeps a model; why it could not be, otherwise. */
  async put(id: string, bytes: Uint8Array, meta: CachedMeta): Promise<unknown> {
    try {
      await this.models.put(id, bytes, JSON.stringify(meta));
      return undefined;
    } catch (error) {
      return error;
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
        return { received, meta: JSON.parse(meta) as PartialMeta, chunks: this.chunks(id, chunks) };
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
  private async *chunks(id: string, count: number): AsyncGenerator<Uint8Array> {
    for (let index = 0; index < count; index++) yield await this.models.partialChunk(id, index);
  }
}
