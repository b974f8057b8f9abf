/** An installer that runs, in a worker of its own where there are workers, for the time of a step. */
import { BurrowError, throwIfAborted, toBurrowError } from "./errors.js";
import { type InstallerService, LocalInstaller } from "./installer.js";
import { Link } from "./rpc.js";
import type { HomeConfig } from "./service.js";
import type { ModelSpec } from "./source.js";

/** An installer and the way to end it. */
export interface RunningInstaller {
  service: InstallerService;
  stop(): void;
}

/** What an installer is started with. */
export interface InstallerStart {
  home: HomeConfig;
  spawn: (() => Worker) | undefined;
  spec: ModelSpec;
}

/** A step in an installer of its own, which ends with the step unless the result holds it: the model is to run there. */
export async function inInstaller<T>(
  start: InstallerStart,
  signal: AbortSignal | undefined,
  step: (running: RunningInstaller) => Promise<T>,
): Promise<T> {
  throwIfAborted(signal);
  const running = await started(start);
  const stop = () => running.stop();
  signal?.addEventListener("abort", stop, { once: true });
  let result: T | undefined;
  try {
    result = await step(running);
    throwIfAborted(signal);
    return result;
  } catch (error) {
    result = undefined;
    throwIfAborted(signal);
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    if ((result as { installer?: unknown } | undefined)?.installer !== running) running.stop();
  }
}

async function started({ home, spawn, spec }: InstallerStart): Promise<RunningInstaller> {
  const { installer, noInstaller } = home;
  if (installer === undefined) {
    throw new BurrowError("model_load", noInstaller ?? "There is no installer here: load a pack made beforehand", {
      details: { needs: "pack" },
    });
  }
  const running = (await inWorker(spawn)) ?? inPlace();
  try {
    await running.service.begin(JSON.stringify(spec), installer);
    return running;
  } catch (error) {
    running.stop();
    throw toBurrowError(error, "model_load", "The installer cannot be started");
  }
}

async function inWorker(spawn: (() => Worker) | undefined): Promise<RunningInstaller | undefined> {
  try {
    const link = spawn && (await Link.start(spawn()));
    return link && { service: link.service<InstallerService>("installer"), stop: () => link.stop() };
  } catch {
    return undefined;
  }
}

function inPlace(): RunningInstaller {
  const service = new LocalInstaller();
  return { service, stop: () => service.drop() };
}
