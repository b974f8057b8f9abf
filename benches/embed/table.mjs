// The report as text. Ratios only: how many times faster Burrow is than the peer, both measured in the same rounds.

const COLUMNS = [
  ["relaxed : ort", "burrow relaxed", "ort"],
  ["simd128 : ort", "burrow simd128", "ort"],
  ["x2 : ort x2", "burrow x2", "ort x2"],
  ["relaxed : t.js", "burrow relaxed", "transformers"],
  ["simd128 : t.js", "burrow simd128", "transformers"],
];
const WIDTH = 15;

export function printHead(host, model, precision) {
  console.log(`\n${model} ${precision}, ${host}`);
  console.log(
    `${"tokens".padStart(6)} ${"batch".padStart(5)}${COLUMNS.map(([title]) => title.padStart(WIDTH)).join("")}  rounds`,
  );
}

export function printCell({ tokens, batch, ratios, rounds, peak }) {
  const values = COLUMNS.map(([, engine, peer]) => ratios[engine]?.[peer]?.toFixed(2) ?? "");
  const share = peak ? `  ${percent(peak.share)} of the ${peak.peak.toFixed(0)} GFLOP/s that ${peak.build} can do` : "";
  console.log(
    `${String(tokens).padStart(6)} ${String(batch).padStart(5)}${values.map((value) => value.padStart(WIDTH)).join("")}  ${String(rounds).padStart(6)}${share}`,
  );
}

const percent = (share) => `${(100 * share).toFixed(0)} %`;
const megabytes = (bytes) => (bytes === undefined ? "" : `${(bytes / 2 ** 20).toFixed(0)} MB`);

export function printReport({ speed, cold, memory }) {
  if (speed.length > 0) printVersions(speed);
  if (cold.length > 0) {
    console.log("\nCold start: page load to first vector, model kept by the engine's own cache");
    for (const row of cold) {
      console.log(
        `  ${row.model} ${row.precision}: Burrow ${percent(row.ratio)} of transformers.js (median of ${row.visits} pairs of visits)`,
      );
    }
  }
  if (memory.length > 0) {
    console.log("\nMemory, beyond an empty host: the same page or process before it did anything");
    console.log(`  ${"".padEnd(58)}${["wasm", "resident", "peak"].map((title) => title.padStart(10)).join("")}`);
    for (const row of memory) {
      const cells = [row.wasm, row.resident, row.peak].map((bytes) => megabytes(bytes).padStart(10));
      console.log(`  ${row.what.padEnd(58)}${cells.join("")}`);
    }
  }
}

function printVersions(speed) {
  console.log("\nVersions");
  for (const { host, about } of speed.filter(
    ({ host }, at) => speed.findIndex((other) => other.host === host) === at,
  )) {
    const engines = Object.entries(about).map(
      ([name, { version, engine }]) => `${name} ${version ?? ""}${engine ? ` (${engine})` : ""}`,
    );
    console.log(`  ${host}: ${engines.join(", ")}`);
  }
}
