/** The package's declarations, as TypeScript's two module resolutions find them. */
const STRICT = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "--lib", "es2023,dom,dom.iterable"];

export default async function types({ bin }) {
  for (const resolution of [
    ["--module", "nodenext", "--moduleResolution", "nodenext"],
    ["--module", "esnext", "--moduleResolution", "bundler"],
  ]) {
    await bin("tsc", [...STRICT, ...resolution, "consumer.ts"]);
  }
  return `TypeScript ${(await bin("tsc", ["--version"])).trim().split(" ")[1]}: nodenext, bundler`;
}
