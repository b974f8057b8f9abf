/**
 * Vouching: tract and the encoder embed the same probes, and must agree before a pack is used.
 *
 * How alike they have to be: on average, and on each probe. In int8 both round, each in its own way, and a probe of one
 * word or none has no other tokens to average that out: two right implementations of the published files were seen at
 * 0.961 there, at 0.983 and more on average. What is looked for, a misread graph, is off on every probe.
 */
const AGREEMENT = { f32: { mean: 0.9999, least: 0.9999 }, int8: { mean: 0.98, least: 0.95 } } as const;

/** What comparing found. */
export interface Verdict {
  /** The least. */
  cosine: number;
  probes: number;
  /** Why the pack must not be used. */
  refused?: string;
}

/** Compares the two engines' vectors of the same texts. */
export function judge(expected: Float32Array[], found: Float32Array[], precision: "f32" | "int8"): Verdict {
  const cosines = expected.map((vector, i) => cosineOf(vector, found[i]));
  const cosine = Math.min(...cosines);
  const mean = cosines.reduce((sum, each) => sum + each, 0) / cosines.length;
  const verdict = { cosine, probes: cosines.length };
  const { least, mean: average } = AGREEMENT[precision];
  // Written so that what is no number does not agree.
  if (cosine >= least && mean >= average) return verdict;
  const figures = `cosine ${cosine.toFixed(5)} at least and ${mean.toFixed(5)} on average over ${cosines.length} probes`;
  return { ...verdict, refused: `the encoder does not agree with tract: ${figures}` };
}

function cosineOf(a: Float32Array, b: Float32Array | undefined): number {
  if (b === undefined || a.length !== b.length) return NaN;
  let [dot, aa, bb] = [0, 0, 0];
  a.forEach((x, i) => {
    const y = b[i] as number;
    dot += x * y;
    aa += x * x;
    bb += y * y;
  });
  return dot / Math.sqrt(aa * bb);
}
