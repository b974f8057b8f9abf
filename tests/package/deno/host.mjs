/** Deno, on the node_modules that npm made; it may read files and nothing else. */
export default async function deno({ bin }) {
  const version = (await bin("deno", ["--version"])).split(" ")[1];
  const output = await bin("deno", [
    "run",
    "--node-modules-dir=manual",
    "--no-prompt",
    "--allow-read",
    "--allow-env",
    "main.mjs",
  ]);
  return `Deno ${version}, ${JSON.parse(output).wasm}`;
}
