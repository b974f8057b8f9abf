/**
 * Who embeds when.
 *
 * Embedding is the slow part, and a question must not wait behind a thousand documents. So work is cut into small
 * pieces; whenever an engine is free it takes a question first, and only then the next piece of bulk. Between two
 * pieces the thread goes back to its event loop, so that a question that has arrived meanwhile is seen. Answers come
 * in the order of the texts, whichever engine made them; an abort is answered at once, and what waits is not computed.
 * An engine whose worker died is let go, and another takes its piece.
 */
import { aborted, BurrowError } from "./errors.js";
import { isCrash } from "./rpc.js";
import type { Embedded } from "./service.js";
import type { TextKind } from "./types.js";

/** Something that embeds one piece at a time. */
export interface Engine {
  embed(texts: string[], kind: TextKind): Embedded | Promise<Embedded>;
  /** It works in this thread, which hands out nothing meanwhile: the others get their pieces first. */
  inThread?: boolean;
  /** Called when the scheduler lets go of it. */
  stop?(): void;
}

/** A piece takes tens of milliseconds. */
const PIECE_TEXTS = 8;
const PIECE_CHARACTERS = 3000;

interface Piece {
  texts: string[];
  kind: TextKind;
  signal: AbortSignal | undefined;
  resolve: (embedded: Embedded) => void;
  reject: (error: unknown) => void;
}

/** Cuts texts into pieces of bounded work, at least one for each engine if there are so many texts; a text is never cut. */
export function cut(texts: readonly string[], engines = 1): string[][] {
  const most = Math.min(PIECE_TEXTS, Math.ceil(texts.length / engines));
  const pieces: string[][] = [];
  let piece: string[] = [];
  let characters = 0;
  for (const text of texts) {
    if (piece.length === most || (piece.length > 0 && characters + text.length > PIECE_CHARACTERS)) {
      pieces.push(piece);
      piece = [];
      characters = 0;
    }
    piece.push(text);
    characters += text.length;
  }
  if (piece.length > 0) pieces.push(piece);
  return pieces;
}

/** The next turn of the event loop; timers would be slowed down in the background. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof MessageChannel === "undefined") return void setTimeout(resolve, 0);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** Shares engines between questions and bulk. */
export class Scheduler {
  private readonly questions: Piece[] = [];
  private readonly bulk: Piece[] = [];
  private readonly engines = new Set<Engine>();
  private readonly idle: Engine[] = [];
  private closed = false;
  private retiring = false;
  private onIdle: (() => void) | undefined;

  /** Adds an engine; it begins with what waits. */
  add(engine: Engine): void {
    if (this.closed) return void engine.stop?.();
    this.engines.add(engine);
    this.idle.push(engine);
    this.start();
  }

  /** Lets go of an engine after its current piece. */
  remove(engine: Engine): void {
    if (!this.engines.delete(engine)) return;
    const at = this.idle.indexOf(engine);
    if (at >= 0) this.idle.splice(at, 1);
    engine.stop?.();
  }

  /** How many engines there are. */
  get size(): number {
    return this.engines.size;
  }

  /** Whether bulk waits for an engine. */
  get waiting(): number {
    return this.bulk.length;
  }

  /** Embeds texts, in order. */
  async embed(texts: string[], kind: TextKind, signal?: AbortSignal): Promise<Embedded> {
    if (signal?.aborted === true) throw aborted(signal.reason);
    const pieces = cut(texts, Math.max(1, this.size)).map((piece) => this.enqueue(piece, kind, signal));
    const abort = () => {
      for (const { piece } of pieces) piece.reject(aborted(signal?.reason));
    };
    signal?.addEventListener("abort", abort, { once: true });
    // One failure fails the call; what of it still waits is not worth computing.
    const done = Promise.all(pieces.map((piece) => piece.done))
      .catch((error: unknown) => {
        for (const { piece } of pieces) this.forget(piece);
        throw error;
      })
      .finally(() => signal?.removeEventListener("abort", abort));
    this.start();
    const parts = await done;
    return {
      vectors: parts.flatMap((part) => part.vectors),
      truncated: parts.flatMap((part) => part.truncated ?? part.vectors.map(() => false)),
    };
  }

  /** Takes nothing new, finishes what was taken, then stops all engines. */
  async retire(): Promise<void> {
    this.retiring = true;
    if (this.idle.length < this.engines.size) await new Promise<void>((resolve) => (this.onIdle = resolve));
    this.close();
  }

  /** Rejects what waits and stops all engines. */
  close(): void {
    this.closed = true;
    for (const piece of [...this.questions.splice(0), ...this.bulk.splice(0)]) {
      piece.reject(new BurrowError("closed", "The embedder was closed"));
    }
    for (const engine of this.engines) this.remove(engine);
  }

  private enqueue(texts: string[], kind: TextKind, signal: AbortSignal | undefined) {
    let piece!: Piece;
    const done = new Promise<Embedded>((resolve, reject) => (piece = { texts, kind, signal, resolve, reject }));
    if (this.closed || this.retiring) piece.reject(new BurrowError("closed", "The embedder was closed"));
    else (kind === "query" ? this.questions : this.bulk).push(piece);
    return { piece, done };
  }

  private forget(piece: Piece): void {
    for (const queue of [this.questions, this.bulk]) {
      const at = queue.indexOf(piece);
      if (at >= 0) queue.splice(at, 1);
    }
  }

  private start(): void {
    this.idle.sort((a, b) => Number(a.inThread ?? false) - Number(b.inThread ?? false));
    while (this.idle.length > 0 && this.questions.length + this.bulk.length > 0) {
      const engine = this.idle.shift() as Engine;
      void this.work(engine);
    }
  }

  private async work(engine: Engine): Promise<void> {
    for (let piece = this.next(); piece !== undefined; piece = this.next()) {
      await this.run(engine, piece);
      await turn();
      if (!this.engines.has(engine)) return;
    }
    this.idle.push(engine);
    if (this.idle.length === this.engines.size) this.onIdle?.();
  }

  private next(): Piece | undefined {
    return this.questions.shift() ?? this.bulk.shift();
  }

  private async run(engine: Engine, piece: Piece): Promise<void> {
    if (piece.signal?.aborted === true) return piece.reject(aborted(piece.signal.reason));
    try {
      piece.resolve(await engine.embed(piece.texts, piece.kind));
    } catch (error) {
      if (isCrash(error) && this.size > 1) this.replace(engine, piece);
      else piece.reject(error);
    }
  }

  /** Lets go of a dead engine; the others take what it was at. */
  private replace(engine: Engine, piece: Piece): void {
    this.remove(engine);
    (piece.kind === "query" ? this.questions : this.bulk).unshift(piece);
    this.start();
  }
}
