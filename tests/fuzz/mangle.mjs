// Bytes that were a good file.
import fc from "fast-check";

/** Numbers that sizes, offsets and floats go wrong at. */
const EDGES = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x7f800000, 0x7fc00000];

const MILLION = 1e6;

/** Where, as a share of the file, half of the time near its start, where headers are. A bias would pile up at 0. */
const place = fc.oneof(
  fc.noBias(fc.nat(MILLION)).map((share) => share / MILLION),
  fc.noBias(fc.nat(MILLION / 20)).map((share) => share / MILLION),
);

/** Few that move what follows: lengths disagree then, and a reader that looks finds that first. */
const edit = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("flip"), at: place, bit: fc.nat(7) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("byte"), at: place, value: fc.nat(255) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("number"), at: place, value: fc.constantFrom(...EDGES) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("copy"),
      at: place,
      from: place,
      length: fc.integer({ min: 1, max: 256 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cut"), at: place, length: fc.integer({ min: 1, max: 64 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("insert"),
      at: place,
      bytes: fc.uint8Array({ minLength: 1, maxLength: 16 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("end"), at: place }) },
);

function apply(bytes, { kind, at, ...how }) {
  const start = Math.floor(at * Math.max(0, bytes.length - 1));
  const splice = (removed, added) =>
    Uint8Array.from([...bytes.subarray(0, start), ...added, ...bytes.subarray(start + removed)]);
  switch (kind) {
    case "flip":
      return splice(1, [(bytes[start] ?? 0) ^ (1 << how.bit)]);
    case "byte":
      return splice(1, [how.value]);
    case "number":
      return splice(4, new Uint8Array(Uint32Array.of(how.value).buffer));
    case "cut":
      return splice(how.length, []);
    case "insert":
      return splice(0, how.bytes);
    case "copy": {
      const from = Math.floor(how.from * bytes.length);
      return splice(how.length, bytes.subarray(from, from + how.length));
    }
    case "end":
      return bytes.slice(0, start);
  }
}

/**
 * One of the seeds with a few edits.
 *
 * @param seal makes a checksum fit again, so that what lies behind it is reached; left out for one file in four
 */
export function mangled(seeds, seal) {
  const plan = fc.record({
    seed: fc.nat(seeds.length - 1),
    edits: fc.array(edit, { minLength: 1, maxLength: 4 }),
    sealed: fc.integer({ min: 0, max: 3 }).map((one) => one > 0),
  });
  return plan.map(({ seed, edits, sealed }) => {
    const bytes = edits.reduce(apply, seeds[seed]);
    // A report shows the plan; the bytes would fill the screen.
    const report = { [fc.toStringMethod]: () => JSON.stringify({ seed, edits, sealed }) };
    return { ...report, bytes: sealed ? seal(bytes) : bytes };
  });
}
