/** Bun. */
export default async function bun({ bin }) {
  const version = (await bin("bun", ["--version"])).trim();
  const output = await bin("bun", ["run", "main.mjs"]);
  return `Bun ${version}, ${JSON.parse(output).wasm}`;
}
