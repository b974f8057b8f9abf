// One engine on a thread of its own: a Web Worker in a page, a child process in Node. It answers one call at a time.
import { peak } from "../peak.mjs";
import * as burrow from "./burrow.mjs";
import * as ort from "./ort.mjs";
import * as tract from "./tract.mjs";
import * as transformers from "./transformers.mjs";

const ENGINES = { burrow, ort, tract, transformers };
let engine;

async function read(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

const CLOCKS = {
  wall: () => performance.now(),
  cpu() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
};

const CALLS = {
  async load({ engine: name, ...options }) {
    engine = await ENGINES[name].load({ ...options, read });
    return engine.about;
  },
  /** Milliseconds of `repeats` runs of one input, by the clock on the wall or by the processor's own count. */
  async time({ input, repeats, clock = "wall" }) {
    const start = CLOCKS[clock]();
    for (let i = 0; i < repeats; i++) await engine.run(input);
    return CLOCKS[clock]() - start;
  },
  async embed({ input }) {
    return engine.vectors(await engine.run(input), input);
  },
  tokenize: ({ texts }) => texts.map(engine.tokenize),
  peak: ({ relaxed }) => peak(relaxed),
  wasmBytes: () => engine.wasmBytes(),
  /** Of the whole process, where there is one to ask. */
  resident: () => {
    globalThis.gc?.();
    return globalThis.process?.memoryUsage.rss();
  },
};

async function answer({ id, call, argument }, reply) {
  try {
    reply({ id, value: await CALLS[call](argument ?? {}) });
  } catch (error) {
    reply({ id, error: String(error?.stack ?? error) });
  }
}

if (globalThis.process?.send) process.on("message", (message) => answer(message, (reply) => process.send(reply)));
else globalThis.onmessage = ({ data }) => answer(data, (reply) => globalThis.postMessage(reply));
