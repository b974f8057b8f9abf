/** Progress on its way to the application. */
import type { OnProgress } from "./service.js";

const silent: OnProgress = () => undefined;

/** A progress callback of the application that throws is the application's bug, not the work's failure. */
export function guarded(onProgress: OnProgress | undefined): OnProgress {
  if (onProgress === undefined) return silent;
  return (event) => {
    try {
      onProgress(event);
    } catch (error) {
      console.error("burrow-memory: onProgress threw", error);
    }
  };
}
