/** Bun. Its npm package puts the binary in place with a script, which the runner does not run by itself. */
export default async function bun({ bin, run }) {
  await run(process.execPath, ["node_modules/bun/install.js"]);
  const version = (await bin("bun", ["--version"])).trim();
  const output = await bin("bun", ["run", "main.mjs"]);
  return `Bun ${version}, ${JSON.parse(output).wasm}`;
}
