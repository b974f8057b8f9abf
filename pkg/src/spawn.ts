/** Starts this package's worker, from its own address or, where that gives nothing, from an inlined copy. */
import { Link } from "./rpc.js";

function fromAddress(): Worker {
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "burrow-memory" });
}

/** The blob's address is kept: workers of the worker start from it. */
async function fromCopy(): Promise<Worker> {
  const { source } = await import("./inline/worker.js");
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  return new Worker(url, { type: "module", name: "burrow-memory" });
}

/** Whether this is a page, where a long task is felt. */
export function inPage(): boolean {
  return typeof document !== "undefined" && typeof Worker !== "undefined";
}

/** Workers for a home that is in no worker itself. */
export const spawnDirectly: (() => Worker) | undefined = typeof Worker === "undefined" ? undefined : fromAddress;

/** A started worker; why there is none, otherwise. */
export async function startWorker(): Promise<Link> {
  try {
    return await Link.start(fromAddress());
  } catch (error) {
    try {
      return await Link.start(await fromCopy());
    } catch {
      throw error;
    }
  }
}
