// Interleaved timing: each round measures every engine once, so that whatever else the machine does meets all alike.
// A result is the median over rounds of what two engines did in the same round, never of two runs at different times.

const SLOT_MS = 120;
/** ONNX Runtime's threads spin for a while after a run; the next engine should not share the core with them. */
const SETTLE_MS = 15;

/** Rounds of one cell: at least `least`, more while `budget` milliseconds last, never more than `most`. */
export async function measure(engines, input, { least, most, budget }, clock) {
  const repeats = new Map();
  for (const engine of engines) {
    await engine.time(input, 1, clock);
    const once = await engine.time(input, 1, clock);
    repeats.set(engine, Math.min(100, Math.max(1, Math.round(SLOT_MS / once))));
  }
  const rounds = [];
  const start = performance.now();
  while (rounds.length < least || (rounds.length < most && performance.now() - start < budget)) {
    const round = {};
    // Whoever goes first finds the cooler machine: everyone does once.
    const turn = rounds.length % engines.length;
    for (const engine of [...engines.slice(turn), ...engines.slice(0, turn)]) {
      round[engine.name] = (await engine.time(input, repeats.get(engine), clock)) / repeats.get(engine);
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    }
    rounds.push(round);
  }
  return rounds;
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** How many times faster `engine` is than `peer`. */
export function ratio(rounds, engine, peer) {
  const pairs = rounds.filter((round) => engine in round && peer in round);
  return pairs.length === 0 ? undefined : median(pairs.map((round) => round[peer] / round[engine]));
}

export function cosine(a, b) {
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / Math.sqrt(aa * bb);
}
