/** The package's declarations, as TypeScript's two module resolutions find them. */
const STRICT = [
  "--noEmit",
  "--strict",
  "--exactOptionalPropertyTypes",
  "--target",
  "es2022",
  "--lib",
  "es2023,dom,dom.iterable",
];

export default async function types({ bin }) {
  for (const resolution of [
    ["--module", "nodenext", "--moduleResolution", "nodenext"],
    ["--module", "esnext", "--moduleResolution", "bundler"],
  ]) {
    const output = await bin("tsc", [...STRICT, ...resolution, "consumer.ts"]).catch((error) => error.message);
    // Declarations are checked too, and other packages' mistakes in theirs are not ours.
    const ours = output.split("\n").filter((line) => /^(consumer\.ts|node_modules\/burrow-memory\/)/.test(line));
    if (ours.length > 0) throw new Error(ours.join("\n"));
  }
  return `TypeScript ${(await bin("tsc", ["--version"])).trim().split(" ")[1]}: nodenext, bundler`;
}
