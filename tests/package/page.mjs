/** What the pages of all bundlers run: `outcome` is what the test reads. */
import { check, scenario, visit } from "./scenario.mjs";

async function run(burrow, options) {
  const memory = await scenario(burrow, options);
  const kept = await visit(burrow, options);
  const here = await visit(burrow, { ...options, worker: false });
  check(here.runs === "here" && here.before === 2, "the page itself can hold the store, and finds the same data", here);
  return { memory, kept };
}

export function report(burrow, options) {
  globalThis.outcome = run(burrow, options).then(
    (value) => ({ value }),
    (error) => ({ error: `${error.code ?? ""} ${error.stack}\n${error.cause ?? ""}` }),
  );
}
