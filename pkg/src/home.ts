/** Where a store or a model lives: a worker in a page, this thread elsewhere, and this thread too when no worker starts. */
import { EmbedHome } from "./embed_home.js";
import { BurrowError, describe, toBurrowError } from "./errors.js";
import type { Host } from "./install.js";
import type { Link } from "./rpc.js";
import type { EmbedService, HomeConfig, StoreService } from "./service.js";
import { inPage, spawnDirectly, startWorker } from "./spawn.js";
import { StoreHome } from "./store_home.js";
import type { OpenOptions, Stats } from "./types.js";
import { loadModules } from "./wasm.js";

/** A worker that has loaded has little left to do. */
const SETTLE_MS = 20_000;

export interface Home {
  store: StoreService;
  embed: EmbedService;
  worker: Stats["worker"];
  /** Lets go of the worker. */
  leave(): void;
}

/** Finds a place to live. */
export async function findHome(options: Pick<OpenOptions, "worker" | "wasm">): Promise<Home> {
  const modules = await loadModules(options.wasm);
  if (options.worker === false || !inPage()) return here(modules, { runs: "here" });
  try {
    return await inWorker(modules, await startWorker());
  } catch (error) {
    const reason = describe(error);
    console.warn(`burrow-memory: no worker could be started, so the page itself works and may stutter: ${reason}`);
    return here(modules, { runs: "here", reason });
  }
}

function here(home: HomeConfig, worker: Stats["worker"]): Home {
  // Without a worker by choice or by need, the installer still deserves one where it can be had.
  const host: Host = { home, spawn: worker.reason === undefined ? spawnDirectly : undefined };
  return { store: coded(new StoreHome(host)), embed: coded(new EmbedHome(host)), worker, leave: () => undefined };
}

/** The core's errors as the class that applications know; across a worker's border that happens by itself. */
function coded<S extends object>(service: S): S {
  return new Proxy(service, {
    get:
      (target, method) =>
      async (...args: unknown[]) => {
        try {
          return await (Reflect.get(target, method) as (...args: unknown[]) => unknown).apply(target, args);
        } catch (error) {
          throw toBurrowError(error);
        }
      },
  });
}

async function inWorker(home: HomeConfig, link: Link): Promise<Home> {
  const late = new BurrowError("internal", `The worker did not settle within ${SETTLE_MS / 1000} s`);
  const timer = setTimeout(() => link.stop(late), SETTLE_MS);
  try {
    await link.service<{ settle(home: HomeConfig): Promise<void> }>("home").settle(home);
  } catch (error) {
    link.stop();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return {
    store: link.service<StoreService>("store"),
    embed: link.service<EmbedService>("embed"),
    worker: { runs: "worker" },
    leave: () => link.stop(),
  };
}
