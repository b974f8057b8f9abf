/** The README's LangGraph sample, run as it is printed there: on the preset's real files, with a model that is a stub. */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

import { createAgent, fakeModel } from "langchain";
import { afterEach, expect, it, vi } from "vitest";

import * as langgraph from "../../src/langgraph.js";

const MODELS =
  process.env["BURROW_MODELS"] || join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "burrow", "models");
/** Where presets have their files (src/embed/presets.rs). */
const HUB = /^https:\/\/huggingface\.co\/Xenova\/([\w.-]+)\/resolve\/main\/(?:onnx\/)?([\w.]+)$/;
const IMPORT = 'import { BurrowStore } from "burrow-memory/langgraph";\n';

afterEach(() => vi.unstubAllGlobals());

/** The hub, played by the local model files, and the package's own modules; nothing else is answered. */
async function hub(address: string | URL | Request): Promise<Response> {
  // The sources look beside themselves; what is built lies beside the compiled ones.
  const [, built] = /^file:.*\/src\/(wasm\/.*)$/.exec(String(address)) ?? [];
  if (built !== undefined) {
    const bytes = await readFile(new URL(`../../dist/${built}`, import.meta.url));
    return new Response(new Uint8Array(bytes), { headers: { "content-type": "application/wasm" } });
  }
  const [, model, file] = HUB.exec(String(address)) ?? [];
  if (model === undefined || file === undefined) throw new Error(`the sample asks for ${String(address)}`);
  return new Response(new Uint8Array(await readFile(join(MODELS, model, file))));
}

it("opens a store that finds by meaning, and an agent takes it", async () => {
  const readme = await readFile(new URL("../../../README.md", import.meta.url), "utf8");
  const sample = [...readme.matchAll(/```js\n(.*?)```/gs)]
    .map(([, code]) => code ?? "")
    .find((c) => c.includes(IMPORT));
  expect(sample).toBeDefined();
  vi.stubGlobal("fetch", hub);
  const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
  const run = new AsyncFunction(
    "{ BurrowStore }",
    "{ createAgent, model, tools }",
    `${String(sample).replace(IMPORT, "")} return { store, agent };`,
  );
  const { store, agent } = await run(langgraph, { createAgent, model: fakeModel(), tools: [] });
  try {
    expect(store).toBeInstanceOf(langgraph.BurrowStore);
    expect(agent.invoke).toBeTypeOf("function");
    await store.put(["users", "u42"], "food", { text: "Loves pizza, Margherita above all" });
    await store.put(["users", "u42"], "language", { text: "Answers should be in English" });
    const [best] = await store.search(["users", "u42"], { query: "what does the user like to eat?" });
    expect(best.key).toBe("food");
  } finally {
    await store.stop();
  }
});
