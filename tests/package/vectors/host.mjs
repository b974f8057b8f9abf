/**
 * A vector that one device stored is compared with a vector that another computes: so all hosts have to compute the
 * same. f32 everywhere, int8 within one build of the module; between the two builds int8 differs by the bits that
 * relaxed SIMD has fewer.
 */
import { join } from "node:path";

import * as HOSTS from "./hosts.mjs";

/** The most that a number of a unit vector may differ. */
const SAME = 1e-4;
/** The least cosine between the int8 vectors of the two builds. */
const NEAR = 0.995;
/** Seven hosts, three packs each. */
export const timeout = 900_000;

const PACKS = ["bge-small-zh-v1.5.f32", "bge-small-zh-v1.5.int8", "bge-small-en-v1.5.int8"];

export default async function vectors(tools) {
  const packs = PACKS.map((name) => join(tools.models, "packs", `${name}.pack`));
  const results = [];
  for (const [host, run] of Object.entries(HOSTS)) {
    const found = await run(tools, packs).catch((error) => {
      throw new Error(`${host}: ${error.stack}`);
    });
    found.forEach(({ build, vectors }, i) => {
      results.push({ host, build, vectors, pack: PACKS[i] });
    });
  }
  return PACKS.map((pack) =>
    compare(
      pack,
      results.filter((result) => result.pack === pack),
    ),
  ).join("; ");
}

function compare(pack, results) {
  const exact = pack.endsWith("f32") ? [results] : byBuild(results);
  const differences = exact.flatMap(([first, ...others]) =>
    others.map((other) => [difference(first, other), first, other]),
  );
  const worst = differences.reduce((a, b) => (a[0] > b[0] ? a : b));
  if (!(worst[0] <= SAME)) throw new Error(`${pack}: ${worst[1].host} and ${worst[2].host} differ by ${worst[0]}`);
  const cosines = exact.slice(1).map(([other]) => leastCosine(exact[0][0], other));
  const least = Math.min(1, ...cosines);
  if (!(least >= NEAR)) throw new Error(`${pack}: the two builds differ, least cosine ${least}`);
  const builds = cosines.length > 0 ? `, cosine ${least.toFixed(4)} between builds` : "";
  return `${pack}: ${results.length} hosts within ${worst[0].toExponential(0)}${builds}`;
}

function byBuild(results) {
  const builds = [...new Set(results.map(({ build }) => build))];
  return builds.map((name) => results.filter(({ build }) => build === name));
}

function difference(a, b) {
  return Math.max(...a.vectors.flatMap((vector, i) => vector.map((x, j) => Math.abs(x - b.vectors[i][j]))));
}

function leastCosine(a, b) {
  return Math.min(...a.vectors.map((vector, i) => vector.reduce((sum, x, j) => sum + x * b.vectors[i][j], 0)));
}
