import { describe, expect, it } from "vitest";

import { BurrowError } from "../src/errors.js";
import { cut, type Engine, Scheduler } from "../src/scheduler.js";
import type { Embedded } from "../src/service.js";

/** A text's vector is its length, so that order can be seen; each call waits until the test lets it go on. */
class Recorder implements Engine {
  readonly calls: { texts: string[]; finish: (error?: unknown) => void }[] = [];
  stopped = false;
  private waiting: (() => void)[] = [];

  embed(texts: string[]): Promise<Embedded> {
    return new Promise((resolve, reject) => {
      const finish = (error?: unknown) =>
        error === undefined ? resolve({ vectors: texts.map((text) => Float32Array.of(text.length)) }) : reject(error);
      this.calls.push({ texts, finish });
      for (const wake of this.waiting.splice(0)) wake();
    });
  }

  stop(): void {
    this.stopped = true;
  }

  /** Waits for the call of this number. */
  async call(number: number) {
    while (this.calls.length <= number) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.calls[number] as Recorder["calls"][number];
  }
}

const bulk = (count: number) => Array.from({ length: count }, (_, i) => "x".repeat(i + 1));

describe("cutting", () => {
  it("keeps order and every text, and bounds the work of a piece", () => {
    const texts = [...bulk(20), "y".repeat(10_000), "z"];
    const pieces = cut(texts);
    expect(pieces.flat()).toEqual(texts);
    for (const piece of pieces) {
      expect(piece.length).toBeLessThanOrEqual(8);
      expect(piece.length === 1 || piece.join("").length <= 3000).toBe(true);
    }
    expect(cut([])).toEqual([]);
  });
});

describe("the scheduler", () => {
  it("takes a question before the bulk that came first", async () => {
    const engine = new Recorder();
    const scheduler = new Scheduler();
    scheduler.add(engine);
    const documents = scheduler.embed(bulk(24), "document");
    const question = scheduler.embed(["why"], "query");
    (await engine.call(0)).finish();
    const second = await engine.call(1);
    expect(second.texts).toEqual(["why"]);
    second.finish();
    expect((await question).vectors).toEqual([Float32Array.of(3)]);
    for (const number of [2, 3]) (await engine.call(number)).finish();
    expect((await documents).vectors.map(([length]) => length)).toEqual(bulk(24).map((text) => text.length));
  });

  it("answers in order although engines finish out of order", async () => {
    const engines = [new Recorder(), new Recorder()] as const;
    const scheduler = new Scheduler();
    for (const engine of engines) scheduler.add(engine);
    const documents = scheduler.embed(bulk(16), "document");
    const [first, second] = [await engines[0].call(0), await engines[1].call(0)];
    second.finish();
    first.finish();
    expect((await documents).vectors.map(([length]) => length)).toEqual(bulk(16).map((text) => text.length));
  });

  it("answers an abort at once, does not compute what waits, and goes on with others", async () => {
    const engine = new Recorder();
    const scheduler = new Scheduler();
    scheduler.add(engine);
    const controller = new AbortController();
    const documents = scheduler.embed(bulk(24), "document", controller.signal);
    const queued = scheduler.embed(["queued"], "document", controller.signal);
    const first = await engine.call(0);
    controller.abort();
    // The engine is still at the first piece.
    await expect(documents).rejects.toMatchObject({ code: "aborted" });
    await expect(queued).rejects.toMatchObject({ code: "aborted" });
    await expect(scheduler.embed(["late"], "query", controller.signal)).rejects.toMatchObject({ code: "aborted" });
    const after = scheduler.embed(["after"], "document");
    first.finish();
    (await engine.call(1)).finish();
    expect((await after).vectors).toEqual([Float32Array.of(5)]);
    expect(engine.calls.length).toBe(2);
  });

  it("splits a small batch over its engines, and starts the one in this thread last", async () => {
    const [here, there] = [new Recorder(), new Recorder()];
    const order: string[] = [];
    const scheduler = new Scheduler();
    const watched = (name: string, engine: Recorder, inThread: boolean): Engine => ({
      inThread,
      embed: (texts) => {
        order.push(name);
        return engine.embed(texts);
      },
    });
    scheduler.add(watched("here", here, true));
    scheduler.add(watched("there", there, false));
    const documents = scheduler.embed(bulk(8), "document");
    const [second, first] = [await here.call(0), await there.call(0)];
    expect(order).toEqual(["there", "here"]);
    expect([first.texts.length, second.texts.length]).toEqual([4, 4]);
    second.finish();
    first.finish();
    expect((await documents).vectors.map(([length]) => length)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it("fails one call and not the next, and does not compute what is lost", async () => {
    const engine = new Recorder();
    const scheduler = new Scheduler();
    scheduler.add(engine);
    const failing = scheduler.embed(bulk(24), "document");
    (await engine.call(0)).finish(new Error("no"));
    await expect(failing).rejects.toThrow("no");
    const next = scheduler.embed(["ok"], "document");
    (await engine.call(1)).finish();
    expect((await next).vectors.length).toBe(1);
  });

  it("rejects what waits when it is closed, and lets a retiring one finish", async () => {
    const engine = new Recorder();
    const closing = new Scheduler();
    closing.add(engine);
    const running = closing.embed(bulk(16), "document");
    await engine.call(0);
    closing.close();
    await expect(running).rejects.toMatchObject({ code: "closed" });
    expect(engine.stopped).toBe(true);

    const other = new Recorder();
    const retiring = new Scheduler();
    retiring.add(other);
    const last = retiring.embed(["last"], "query");
    const retired = retiring.retire();
    await expect(retiring.embed(["late"], "query")).rejects.toMatchObject({ code: "closed" });
    expect(other.stopped).toBe(false);
    (await other.call(0)).finish();
    expect((await last).vectors.length).toBe(1);
    await retired;
    expect(other.stopped).toBe(true);
  });

  it("lets go of an engine whose worker died, and gives its piece to another", async () => {
    const [dying, other] = [new Recorder(), new Recorder()];
    const scheduler = new Scheduler();
    scheduler.add(dying);
    scheduler.add(other);
    const answer = scheduler.embed(bulk(16), "document");
    const crash = new BurrowError("internal", "The worker crashed", { details: { worker: "crashed" } });
    (await dying.call(0)).finish(crash);
    for (const number of [0, 1]) (await other.call(number)).finish();
    expect((await answer).vectors.length).toBe(16);
    expect(dying.stopped).toBe(true);
    expect(scheduler.size).toBe(1);
    const last = scheduler.embed(["x"], "document");
    (await other.call(2)).finish(crash);
    await expect(last).rejects.toBe(crash);
  });
});
