// A thousand documents survive a reload: the same hits with the same scores, nothing embedded again, nothing fetched.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openPage, stage } from "./stage.mjs";

const COUNT = 1000;
const QUERIES = ["a cat that sleeps", "how to repair a bicycle", "rain over the mountains", "cheap flights", "piano"];

/** In the page: a store on the real model. */
const OPEN = async () => {
  const url = new URL("/models/all-MiniLM-L6-v2/model_quantized.onnx", location.href).href;
  const embed = { preset: "all-MiniLM-L6-v2", url };
  globalThis.store = await e2e.Burrow.open({ name: "thousand", index: { embed, fields: ["text"] } });
};
const FILL = async (count) => {
  const subjects = ["cat", "bicycle", "mountain", "flight", "piano", "recipe", "contract", "garden", "river", "engine"];
  const verbs = ["sleeps", "breaks", "shines", "waits", "grows", "sings", "leaks", "costs little", "is old", "returns"];
  const times = [
    "at dawn",
    "in winter",
    "every Sunday",
    "before lunch",
    "after rain",
    "tonight",
    "in May",
    "once",
    "",
    "now",
  ];
  const operations = Array.from({ length: count }, (_, i) => {
    const words = [subjects[i % 10], verbs[Math.floor(i / 10) % 10], times[Math.floor(i / 100) % 10]];
    return { op: "put", namespace: ["t", words[0]], key: String(i), value: { text: `The ${words.join(" ")}.`, i } };
  });
  for (let at = 0; at < count; at += 100) await store.batch(operations.slice(at, at + 100));
};
const SEARCH = async (queries) => {
  const pages = [];
  for (const query of queries) pages.push(await store.search(["t"], { query, limit: 10 }));
  return { hits: pages.map(({ items }) => items.map(({ key, score }) => [key, score])), stats: await store.stats() };
};
/** In the page: how often the custom embedder is asked, and for what. */
const OPEN_CUSTOM = async () => {
  globalThis.asked = { query: 0, document: 0 };
  const embed = (texts, { kind }) => {
    globalThis.asked[kind] += texts.length;
    return texts.map((text) =>
      Array.from({ length: 8 }, (_, i) => 1 + ((text.charCodeAt(i % text.length) * (i + 3)) % 17)),
    );
  };
  globalThis.store = await e2e.Burrow.open({
    name: "thousand-custom",
    index: { embed, id: "letters-1", fields: ["text"] },
  });
};

for (const browser of ["chromium", "firefox"]) {
  describe(`${COUNT} documents in ${browser}`, () => {
    const here = stage(browser);

    test("with the model: the same answers after a reload, without the network", async () => {
      const page = await openPage(here);
      await page.call(OPEN);
      await page.call(FILL, COUNT);
      const before = await page.call(SEARCH, QUERIES);
      await page.reload();
      await page.ready();
      here.server.forget();
      await page.call(OPEN);
      const after = await page.call(SEARCH, QUERIES);
      assert.deepEqual(after.hits, before.hits);
      assert.equal(after.stats.items, COUNT);
      assert.equal(after.stats.vectors, before.stats.vectors);
      // The package's own scripts come from the page's server like the page itself; what may not come again is the
      // model, and the module that installs one.
      const fetched = here.server.requests.filter(
        (path) => path.startsWith("/models/") || path.endsWith("installer_bg.wasm"),
      );
      assert.deepEqual(fetched, []);
      await page.close();
    });

    test("with a counting embedder: only the queries are embedded after a reload", async () => {
      const page = await openPage(here);
      await page.call(OPEN_CUSTOM);
      await page.call(FILL, COUNT);
      assert.equal(await page.call(() => asked.document), COUNT);
      const before = await page.call(SEARCH, QUERIES);
      await page.reload();
      await page.call(OPEN_CUSTOM);
      const after = await page.call(SEARCH, QUERIES);
      assert.deepEqual(after.hits, before.hits);
      assert.deepEqual(await page.call(() => asked), { query: QUERIES.length, document: 0 });
      await page.close();
    });
  });
}
