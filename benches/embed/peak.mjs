// What this machine's vector unit can do at most: multiply-adds on 128 bits that touch registers only.
//
// Twelve independent accumulators hide the instruction's latency and fit into the sixteen registers of x64. The module
// is written out byte by byte, since its one loop is all there is to it:
//
//   (func (param i32 f32) (result f32) … loop: acc[i] = relaxed_madd(x, x, acc[i]) for i in 0..12 …)

const ACCUMULATORS = 12;
const [I32, F32, V128] = [0x7f, 0x7d, 0x7b];

const unsigned = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >> 7)]);
const simd = (operation) => [0xfd, ...unsigned(operation)];
const [SPLAT, EXTRACT, ADD, MADD, MUL] = [simd(0x13), [...simd(0x1f), 0], simd(0xe4), simd(0x105), simd(0xe6)];
const get = (local) => [0x20, local];
const set = (local) => [0x21, local];
const section = (id, body) => [id, ...unsigned(body.length), ...body];

function moduleBytes(relaxed) {
  const [count, seed, x, first] = [0, 1, 2, 3];
  const accumulators = Array.from({ length: ACCUMULATORS }, (_, i) => first + i);
  const step = (local) =>
    relaxed
      ? [...get(x), ...get(x), ...get(local), ...MADD, ...set(local)]
      : [...get(x), ...get(x), ...MUL, ...get(local), ...ADD, ...set(local)];
  const code = [
    ...[1, ACCUMULATORS + 1, V128],
    ...[...get(seed), ...SPLAT, ...set(x)],
    ...[0x03, 0x40],
    ...accumulators.flatMap(step),
    ...[...get(count), 0x41, 1, 0x6b, 0x22, count, 0x0d, 0, 0x0b],
    ...get(first),
    ...accumulators.slice(1).flatMap((local) => [...get(local), ...ADD]),
    ...[...EXTRACT, 0x0b],
  ];
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 2, I32, F32, 1, F32]),
    ...section(3, [1, 0]),
    ...section(7, [1, 3, 0x72, 0x75, 0x6e, 0, 0]),
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ]);
}

/** GFLOP/s, best of several: a peak is what is reached when nothing disturbs. */
export async function peak(relaxed = true) {
  const bytes = moduleBytes(relaxed);
  if (!WebAssembly.validate(bytes)) return undefined;
  const { run } = (await WebAssembly.instantiate(bytes)).instance.exports;
  const turns = 2_000_000;
  let best = 0;
  for (let attempt = 0; attempt < 15; attempt++) {
    const start = performance.now();
    run(turns, 1e-3);
    const seconds = (performance.now() - start) / 1000;
    best = Math.max(best, (turns * ACCUMULATORS * 8) / seconds / 1e9);
  }
  return best;
}
