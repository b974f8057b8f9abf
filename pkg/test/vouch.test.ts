import { describe, expect, it } from "vitest";

import { judge } from "../src/vouch.js";

/** Unit vectors at a given cosine to the first axis: cos² + sin² = 1. */
const at = (cosine: number) => Float32Array.of(cosine, Math.sqrt(1 - cosine * cosine));
const axis = (count: number) => Array.from({ length: count }, () => at(1));

describe("vouching", () => {
  it("accepts int8 of 0.98 on average and 0.95 on each probe, and nothing below either", () => {
    expect(judge(axis(4), [at(0.951), at(1), at(1), at(1)], "int8").refused).toBe(undefined);
    expect(judge(axis(4), [at(0.949), at(1), at(1), at(1)], "int8").refused).toMatch(/does not agree.*0\.949/);
    expect(
      judge(
        axis(4),
        axis(4).map(() => at(0.979)),
        "int8",
      ).refused,
    ).toMatch(/0\.979/);
  });

  it("accepts f32 of 0.9999 on each probe only", () => {
    expect(judge(axis(2), [at(0.99995), at(1)], "f32").refused).toBe(undefined);
    expect(judge(axis(2), [at(0.99985), at(1)], "f32").refused).toMatch(/0\.9998/);
  });

  it("refuses what is no number, is missing or is of another length", () => {
    for (const found of [[Float32Array.of(NaN, 0)], [], [Float32Array.of(1)], [Float32Array.of(0, 0)]]) {
      expect(judge(axis(1), found, "int8").refused).toBeDefined();
    }
    expect(judge([], [], "int8").refused).toBeDefined();
  });

  it("tells the least cosine and the number of probes", () => {
    const { cosine, probes } = judge(axis(3), [at(1), at(0.96), at(1)], "int8");
    expect(cosine).toBeCloseTo(0.96, 5);
    expect(probes).toBe(3);
  });
});
