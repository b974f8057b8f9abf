/**
 * Calls across a worker's border, by comlink, with what comlink leaves out:
 *
 * - errors keep `code`, `details` and `cause` (comlink sends message, name and stack);
 * - an `AbortSignal` crosses as a port, a function as a proxy;
 * - a worker that crashes rejects everything that waits for it, instead of leaving it hanging.
 *
 * Both directions use the same two conversions, `outgoing` and `incoming`.
 */
import { expose, proxy, transfer, wrap } from "comlink";

import { BurrowError, decodeError, describe, type ErrorMessage, encodeError, isSignal } from "./errors.js";

type Reply = { value: unknown } | { error: ErrorMessage };
type Callable = (...args: never[]) => unknown;

/** Methods that can be called from the other side: they all give promises. */
export type Remote<S> = { [M in keyof S]: S[M] };

interface SignalMessage {
  burrowSignal: MessagePort;
  aborted: boolean;
}

/** The first message of a worker: its module has loaded. */
export const READY = "burrow-memory: ready";

function isSignalMessage(value: unknown): value is SignalMessage {
  return typeof value === "object" && value !== null && "burrowSignal" in value;
}

/** Arguments as they can cross; `done` lets go of the signals' listeners. */
function outgoing(args: unknown[]): { args: unknown[]; done: () => void } {
  const cleanups: (() => void)[] = [];
  const converted = args.map((arg) => {
    if (typeof arg === "function") return proxy(answering(arg as Callable));
    if (!isSignal(arg)) return moving(arg, arg);
    const { port1, port2 } = new MessageChannel();
    const tell = () => port1.postMessage("abort");
    arg.addEventListener("abort", tell, { once: true });
    cleanups.push(() => {
      arg.removeEventListener("abort", tell);
      port1.close();
    });
    return transfer({ burrowSignal: port2, aborted: arg.aborted } satisfies SignalMessage, [port2]);
  });
  const done = () => {
    for (const cleanup of cleanups) cleanup();
  };
  return { args: converted, done };
}

/** Arguments as the called function expects them. */
function incoming(args: unknown[]): unknown[] {
  return args.map((arg) => {
    if (typeof arg === "function") {
      const call = arg as (...args: unknown[]) => Promise<Reply>;
      return (...own: unknown[]) => request(call, own);
    }
    if (!isSignalMessage(arg)) return arg;
    const controller = new AbortController();
    if (arg.aborted) controller.abort();
    arg.burrowSignal.onmessage = () => controller.abort();
    return controller.signal;
  });
}

/** Whether a call failed because its worker died, so that another worker may succeed. */
export function isCrash(error: unknown): boolean {
  return error instanceof BurrowError && error.details["worker"] === "crashed";
}

/** Closing what has crashed is done already. */
export async function gone(closing: Promise<void>): Promise<void> {
  await closing.catch((error: unknown) => {
    if (!isCrash(error)) throw error;
  });
}

/** A function whose failures come back as data. */
function answering(work: Callable) {
  return async (...args: unknown[]): Promise<Reply> => {
    try {
      const value = await (work as (...args: unknown[]) => unknown)(...incoming(args));
      return moving({ value }, value);
    } catch (error) {
      return { error: encodeError(error) };
    }
  };
}

async function request(call: (...args: unknown[]) => Promise<Reply>, args: unknown[]): Promise<unknown> {
  const out = outgoing(args);
  try {
    const reply = await call(...out.args);
    if ("error" in reply) throw decodeError(reply.error);
    return reply.value;
  } finally {
    out.done();
  }
}

const MOVED = new WeakMap<object, Transferable[]>();

/** Marks buffers of an answer or an argument to be moved instead of copied. */
export function moved<T extends object>(value: T, buffers: Transferable[]): T {
  MOVED.set(value, buffers);
  return value;
}

/** What is sent, with the buffers of the value in it that are to be moved. */
function moving<T>(sent: T, value: unknown): T {
  const buffers = typeof value === "object" && value !== null ? MOVED.get(value) : undefined;
  return buffers === undefined ? sent : transfer(sent, [...new Set(buffers)]);
}

/** Offers services to whoever started this worker. */
export function serve(services: Record<string, object>): void {
  expose({
    invoke: (service: string, method: string, ...args: unknown[]) => {
      const target = services[service] as Record<string, Callable>;
      return answering((...own: never[]) => (target[method] as Callable).apply(target, own))(...args);
    },
  });
  postMessage(READY);
}

type Invoke = (service: string, method: string, ...args: unknown[]) => Promise<Reply>;

/** A started worker. */
export class Link {
  private readonly invoke: Invoke;
  private failure: BurrowError | undefined;
  /** Rejects the calls under way. A promise to race against would keep every answer for as long as it is pending. */
  private readonly waiting = new Set<(error: BurrowError) => void>();

  private constructor(private readonly worker: Worker) {
    this.invoke = (wrap(worker) as unknown as { invoke: Invoke }).invoke;
    worker.addEventListener("error", (event) => this.stop(crashed(event.message)));
    worker.addEventListener("messageerror", () => this.stop(crashed("a message could not be read")));
  }

  /** Waits until the worker's module has loaded; a worker that cannot start is an error that says why. */
  static async start(worker: Worker, timeoutMs = 20_000): Promise<Link> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ready = new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`the worker did not answer within ${timeoutMs / 1000} s`)), timeoutMs);
      worker.addEventListener("message", ({ data }) => data === READY && resolve());
      worker.addEventListener("error", (event) => {
        event.preventDefault();
        reject(new Error(event.message || "the worker's script could not be loaded"));
      });
    });
    try {
      await ready;
      return new Link(worker);
    } catch (error) {
      worker.terminate();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** A service on the other side. */
  service<S extends object>(name: string): Remote<S> {
    return new Proxy({} as Remote<S>, {
      get: (_, method) => {
        if (typeof method !== "string" || method === "then") return undefined;
        return (...args: unknown[]) => this.call(name, method, args);
      },
    });
  }

  /** Ends the worker; whatever still waits is rejected with `closed`, or the given error. */
  stop(error = new BurrowError("closed", "The worker was stopped")): void {
    if (this.failure !== undefined) return;
    this.failure = error;
    this.worker.terminate();
    for (const reject of this.waiting) reject(error);
    this.waiting.clear();
  }

  private call(service: string, method: string, args: unknown[]): Promise<unknown> {
    return request((...own) => this.answered(service, method, own), args);
  }

  /** The answer, or the failure of the worker that owed it: whoever waits lets go of what it holds either way. */
  private answered(service: string, method: string, args: unknown[]): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      if (this.failure !== undefined) return reject(this.failure);
      const settle =
        <T>(how: (value: T) => void) =>
        (value: T) => {
          this.waiting.delete(reject);
          how(value);
        };
      this.waiting.add(reject);
      const refused = settle((error: unknown) => reject(asRefusal(error)));
      this.invoke(service, method, ...args).then(settle(resolve), refused);
    });
  }
}

/** What structured clone does not take was the caller's, and never left. */
function asRefusal(error: unknown): unknown {
  if ((error as Partial<Error> | undefined)?.name !== "DataCloneError") return error;
  const message = `An argument cannot be sent to the worker: ${describe(error)}`;
  return new BurrowError("invalid_argument", message, { cause: error });
}

function crashed(reason: string): BurrowError {
  const message = `The worker crashed (${reason || "no reason given"}); what was written before is safe: open the store again`;
  return new BurrowError("internal", message, { details: { worker: "crashed" } });
}
