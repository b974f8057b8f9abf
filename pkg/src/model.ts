/**
 * A loaded model: its engine here, more of them in workers when there is much to do, and one queue before them.
 */
import { type Host, type Installed, install } from "./install.js";
import type { EncoderService } from "./pool.js";
import { Link } from "./rpc.js";
import { type Engine, Scheduler } from "./scheduler.js";
import type { Embedded, ModelInfo, OnProgress } from "./service.js";
import type { ModelSource, ModelStats, TextKind } from "./types.js";

/** From so many texts on, one more instance is worth starting where nobody asked for one. */
const MUCH = 32;

/** Each instance holds a model: small devices get one, large ones at most three. */
export function defaultParallel(cores = globalThis.navigator?.hardwareConcurrency ?? 1): number {
  return Math.min(3, Math.max(1, Math.floor(cores / 2)));
}

export class Model {
  private readonly scheduler = new Scheduler();
  private growing: Promise<void> | undefined;

  private constructor(
    private readonly installed: Installed,
    private readonly host: Host,
    private readonly parallel: number,
    /** So many texts at once start the other instances. */
    private readonly much: number,
  ) {
    this.scheduler.add(engineOf(installed));
  }

  /** @throws `model_load`, `corrupted`, `aborted`, `invalid_argument`. */
  static async load(
    source: ModelSource,
    host: Host,
    options: { parallel?: number },
    onProgress: OnProgress,
    signal?: AbortSignal,
  ): Promise<Model> {
    const parallel = options.parallel ?? defaultParallel();
    const share = parallel > 1 && host.spawn !== undefined;
    const installed = await install(source, host, onProgress, signal, share);
    return new Model(installed, host, parallel, options.parallel === undefined ? MUCH : 2);
  }

  get info(): ModelInfo {
    return this.installed.info;
  }

  stats(): ModelStats {
    const { info, engine, cached, reason, vouched } = this.installed;
    const stats: ModelStats = { ...info, engine, cached, instances: this.scheduler.size };
    if (reason !== undefined) stats.reason = reason;
    if (vouched !== undefined) stats.vouched = vouched;
    return stats;
  }

  async embed(texts: string[], kind: TextKind, signal?: AbortSignal): Promise<Embedded> {
    if (kind === "document" && texts.length >= this.much) this.growing ??= this.grow();
    return this.scheduler.embed(texts, kind, signal);
  }

  /** Stops at once; what waits is rejected with `closed`. */
  close(): void {
    this.scheduler.close();
  }

  /** Finishes what was asked for, then stops. */
  retire(): Promise<void> {
    return this.scheduler.retire();
  }

  /** Starts the other instances; without them everything still works, only slower. */
  private async grow(): Promise<void> {
    const { installed } = this;
    const { spawn, home } = this.host;
    if (installed.engine !== "encoder" || installed.pack === undefined || spawn === undefined) return;
    const { pack } = installed;
    const starts = Array.from({ length: this.parallel - 1 }, async () => {
      const link = await Link.start(spawn());
      const service = link.service<EncoderService>("encoder");
      try {
        await service.load(home.module, pack);
      } catch (error) {
        link.stop();
        throw error;
      }
      this.scheduler.add({ embed: (texts, kind) => service.embed(texts, kind), stop: () => link.stop() });
    });
    await Promise.allSettled(starts);
    installed.pack = undefined;
  }
}

function engineOf(installed: Installed): Engine {
  if (installed.engine === "encoder") return installed.encoder;
  const { service, stop } = installed.installer;
  return { embed: (texts, kind) => service.embed(texts, kind), stop };
}
