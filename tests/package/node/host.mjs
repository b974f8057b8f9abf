/** Node: plain ESM, no bundler. */
export default async function node({ run, models }) {
  const report = JSON.parse(await run(process.execPath, ["main.mjs"]));
  const model = JSON.parse(await run(process.execPath, ["model.mjs", models]));
  return `${process.version}, ${report.wasm}; real model by ${model.engine}`;
}
