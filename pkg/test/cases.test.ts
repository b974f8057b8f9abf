/** The table of other systems' failures in `tests/README.md` names tests; here it is held to them. */
import { readFile } from "node:fs/promises";

import { expect, it } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const CASES = 38;

const readme = await readFile(new URL("tests/README.md", ROOT), "utf8");
const rows = [...readme.matchAll(/^\| (\d+) +\|[^|]*\|[^|]*\| (.+?) +\|$/gm)].map(([, number, tests]) => ({
  number: Number(number),
  tests: tests as string,
}));
const named = rows.flatMap(({ number, tests }) =>
  [...tests.matchAll(/`([^`]+)`: `([^`]+)`/g)].map(([, file, title]) => ({ number, file, title }) as const),
);

/** Whether a file has a test of this name: a function in Rust and in the package's hosts, a quoted title elsewhere. */
function has(text: string, file: string, title: string): boolean {
  // A test of its own, or a case of the storages' contract, which the macro makes tests of.
  if (file.endsWith(".rs"))
    return new RegExp(`test\\]\\s+(?:async )?fn ${title}\\(|\\bpub async fn ${title}\\(backend`).test(text);
  if (file.endsWith("/host.mjs")) return new RegExp(`\\bfunction ${title}\\(`).test(text);
  return ['"', "`"].some((quote) => text.includes(`${quote}${title}${quote}`));
}

it("has each case once, with tests or with what it waits for", () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: CASES }, (_, i) => i + 1));
  const without = rows.filter(({ number }) => !named.some((test) => test.number === number));
  for (const { tests } of without) expect(tests).toMatch(/^not yet: /);
});

it.each(named)("case $number names a test that is there: $title", async ({ file, title }) => {
  const text = await readFile(new URL(file as string, ROOT), "utf8");
  expect(has(text, file as string, title as string)).toBe(true);
});
