// One model at one precision, all engines, all sizes. Runs in a page and in Node; the host only starts threads.
import { DTYPE, flops, MODELS, ONNX_FILE, packName } from "./models.mjs";
import { cosine, measure, median, ratio } from "./rounds.mjs";

/** Below these two engines did not do the same work. int8 engines quantise differently. */
const SAME = { f32: 0.9999, int8: 0.95 };

/**
 * @param host `{ name, builds, code, models, hub, start() → { call, stop } }`
 * @param plan `{ model, precision, inputs: [{ tokens, batch, texts, ids }], rounds, clock }`
 */
export async function runMatrix(host, plan, tell) {
  const engines = await startEngines(host, plan);
  try {
    const cells = [];
    for (const input of plan.inputs) {
      const cell = await runCell(engines, input, plan);
      cells.push(cell);
      tell(cell);
    }
    const memory = {};
    for (const engine of engines) memory[engine.name] = await engine.wasmBytes();
    const about = Object.fromEntries(engines.map((engine) => [engine.name, engine.about]));
    return { host: host.name, model: plan.model, precision: plan.precision, cells, about, wasmBytes: memory };
  } finally {
    for (const engine of engines) engine.stop();
  }
}

async function runCell(engines, input, { model, precision, rounds, clock }) {
  const { tokens, batch } = input;
  const agreement = await agree(engines, input, precision);
  const times = await measure(engines, input, rounds, clock);
  const cell = { model, precision, tokens, batch, rounds: times.length, agreement, ms: {}, ratios: {} };
  for (const { name } of engines) cell.ms[name] = median(times.map((round) => round[name]));
  for (const name of engines.map((engine) => engine.name).filter((name) => name.startsWith("burrow"))) {
    const peers = name === "burrow x2" ? ["ort x2"] : ["ort", "transformers"];
    cell.ratios[name] = Object.fromEntries(peers.map((peer) => [peer, ratio(times, name, peer)]));
  }
  if (precision === "f32" && tokens === 256) cell.peak = await shareOfPeak(engines[0], cell);
  return cell;
}

/** Measured right after the cell, in the thread that ran it. */
async function shareOfPeak(engine, { model, tokens, batch, ms }) {
  const peak = await engine.peak();
  const gflops = (batch * flops(MODELS[model].config, tokens)) / 1e6 / ms[engine.name];
  return { build: engine.about.build, gflops, peak, share: gflops / peak };
}

/** The first text's vectors, each against ONNX Runtime's. */
async function agree(engines, input, precision) {
  const one = { texts: input.texts.slice(0, 1), ids: input.ids.slice(0, 1) };
  const vectors = new Map();
  for (const engine of engines) vectors.set(engine.name, (await engine.embed(one))[0]);
  const cosines = {};
  for (const [name, vector] of vectors) {
    cosines[name] = cosine(vector, vectors.get("ort"));
    if (!(cosines[name] >= SAME[precision]))
      throw new Error(`${name} and ONNX Runtime differ: cosine ${cosines[name]}`);
  }
  return cosines;
}

async function startEngines(host, { model, precision, clock }) {
  const { code, models, hub, builds } = host;
  const pack = `${models}/packs/${packName(model, precision)}`;
  const onnx = `${models}/${model}/${ONNX_FILE[precision]}`;
  const burrow = (build) => single(host, `burrow ${build}`, { engine: "burrow", code, build, pack });
  const starts = [
    ...builds.map((build) => () => burrow(build)),
    () => single(host, "ort", { engine: "ort", code, threads: 1, onnx }),
    () => single(host, "transformers", { engine: "transformers", code, model, dtype: DTYPE[precision], hub }),
  ];
  // A processor's count says nothing about how well two threads share the work.
  if (clock === "wall") {
    starts.push(() => pair(host, "burrow x2", { engine: "burrow", code, build: builds[0], pack }));
    starts.push(() => single(host, "ort x2", { engine: "ort", code, threads: 2, onnx }));
  }
  const engines = [];
  for (const start of starts) engines.push(await start());
  return engines;
}

async function single(host, name, options) {
  const thread = await host.start();
  const about = await thread.call("load", options);
  return {
    name,
    about,
    time: (input, repeats, clock) => thread.call("time", { input, repeats, clock }),
    embed: (input) => thread.call("embed", { input }),
    peak: () => thread.call("peak", { relaxed: about.build === "relaxed" }),
    wasmBytes: () => thread.call("wasmBytes"),
    stop: () => thread.stop(),
  };
}

/** Two instances that share a batch, as the package's pool does; the time is the caller's, messages included. */
async function pair(host, name, options) {
  const [first, second] = [await single(host, name, options), await single(host, name, options)];
  return {
    ...first,
    async time(input, repeats) {
      const parts = halves(input);
      const start = performance.now();
      for (let i = 0; i < repeats; i++) {
        await Promise.all(parts.map((part, at) => [first, second][at].time(part, 1)));
      }
      return performance.now() - start;
    },
    wasmBytes: async () => (await first.wasmBytes()) + (await second.wasmBytes()),
    stop() {
      first.stop();
      second.stop();
    },
  };
}

function halves({ texts, ids }) {
  const middle = Math.ceil(texts.length / 2);
  const part = (from, to) => ({ texts: texts.slice(from, to), ids: ids.slice(from, to) });
  return texts.length === 1 ? [part(0, 1)] : [part(0, middle), part(middle)];
}
