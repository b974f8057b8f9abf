/**
 * Asks the browser not to evict the data. Safari forgets after seven days without use, others when room is short.
 *
 * Only a page can ask. Firefox asks its user and answers when the user does, or never; so nothing waits for the
 * answer: `stats()` tells what is known by then.
 */

/** How long an answer is waited for before it counts as unknown. */
const PATIENCE_MS = 3000;

/** What the browser promised so far. */
export class Persistence {
  private answer: boolean | undefined;

  /** Asks, in the background, where it can be asked. */
  static request(): Persistence {
    const persistence = new Persistence();
    const storage = (globalThis.navigator as Partial<Navigator> | undefined)?.storage;
    if (storage?.persisted !== undefined) void persistence.ask(storage);
    return persistence;
  }

  /** `undefined`: it cannot be asked, or has not answered. */
  get granted(): boolean | undefined {
    return this.answer;
  }

  private async ask(storage: StorageManager): Promise<void> {
    try {
      this.answer = await storage.persisted();
      if (this.answer || storage.persist === undefined) return;
      this.answer = await Promise.race([storage.persist(), after(PATIENCE_MS, this.answer)]);
    } catch {
      // Some hosts have the function and refuse the call: nothing is promised then.
    }
  }
}

function after<T>(ms: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(resolve, ms, value));
}
