/**
 * A vector that one device stored is compared with a vector that another computes: so all hosts have to compute the
 * same. f32 everywhere, int8 within one build of the module; between the two builds int8 differs by the bits that
 * relaxed SIMD has fewer.
 *
 * Relaxed SIMD leaves one thing to the engine that int8 feels: whether a multiply-add rounds once or twice. V8 and
 * SpiderMonkey fuse on x64, JavaScriptCore (Bun) does not; a last bit then tips a value to the next int8 step, and the
 * vectors are as far apart as those of the two builds. Such engines are held to each other as two builds are.
 */
import { join } from "node:path";

import * as HOSTS from "./hosts.mjs";

/** The most that a number of a unit vector may differ. */
const SAME = 1e-4;
/** The least cosine between the int8 vectors of the two builds. */
const NEAR = 0.995;
/** Seven hosts, three packs each. */
export const timeout = 900_000;

/** Relaxed, and rounding twice. */
const UNFUSED = ["bun"];
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
  const worst = differences.reduce((a, b) => (a[0] >= b[0] ? a : b));
  if (!(worst[0] <= SAME)) throw new Error(`${pack}: ${worst[1].host} and ${worst[2].host} differ by ${worst[0]}`);
  const cosines = exact.flatMap(([one], at) => exact.slice(at + 1).map(([other]) => leastCosine(one, other)));
  const least = Math.min(1, ...cosines);
  if (!(least >= NEAR)) throw new Error(`${pack}: the two builds differ, least cosine ${least}`);
  const builds = cosines.length > 0 ? `, cosine ${least.toFixed(4)} between builds` : "";
  return `${pack}: ${results.length} hosts within ${worst[0].toExponential(0)}${builds}`;
}

/** What computes alike: first those whose arithmetic is the same bit by bit. */
function byBuild(results) {
  const arithmetic = ({ host, build }) =>
    build === "relaxed-simd" && UNFUSED.includes(host) ? `${build}, unfused` : build;
  const names = [...new Set(results.map(arithmetic))];
  return names.map((name) => results.filter((result) => arithmetic(result) === name));
}

function difference(a, b) {
  return Math.max(...a.vectors.flatMap((vector, i) => vector.map((x, j) => Math.abs(x - b.vectors[i][j]))));
}

function leastCosine(a, b) {
  return Math.min(...a.vectors.map((vector, i) => vector.reduce((sum, x, j) => sum + x * b.vectors[i][j], 0)));
}
