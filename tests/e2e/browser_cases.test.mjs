// Failures that other systems were reported for and that only a whole application in a browser can show. Each test
// names where; tests/README.md has them all.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openPage, stage } from "./stage.mjs";

/** Calls that wait for each other for ever are a failure, and not the end of the run. */
const LIMIT = { timeout: 120_000 };

/** In the page: a store whose embedder answers with letters, kept as `stores[as]`. */
const OPEN = async ({ name, as = name, options }) => {
  const letters = (text) => Array.from({ length: 4 }, (_, i) => 1 + (text.charCodeAt(i % text.length) % (7 + i)));
  const index = { embed: (texts) => texts.map(letters), id: "letters-4", fields: ["text"] };
  globalThis.stores ??= {};
  stores[as] = await e2e.Burrow.open({ name, index, ...options });
};

/** In the page: what IndexedDB and the embedder did, in order, while a batch was written. */
const WAIT_INSIDE_A_BATCH = async (name) => {
  const events = [];
  const original = IDBDatabase.prototype.transaction;
  IDBDatabase.prototype.transaction = function (...given) {
    const transaction = original.apply(this, given);
    if (transaction.mode === "readwrite") {
      events.push("begin");
      for (const end of ["complete", "abort"]) transaction.addEventListener(end, () => events.push(end));
    }
    return transaction;
  };
  const embed = async (texts) => {
    events.push("embed");
    // An idle transaction commits itself while this waits.
    await (await fetch(location.href)).text();
    await new Promise((resolve) => setTimeout(resolve));
    events.push("embedded");
    return texts.map(() => [1, 0]);
  };
  const index = { embed, id: "network", fields: ["text"] };
  const store = await e2e.Burrow.open({ name, index, worker: false });
  events.length = 0;
  const put = (key) => ({ op: "put", namespace: ["a"], key, value: { text: key } });
  await store.batch(["one", "two", "three"].map(put));
  const written = [...events];
  const keys = (await store.search(["a"])).items.map(({ key }) => key).toSorted();
  await store.close();
  IDBDatabase.prototype.transaction = original;
  return { written, keys };
};

/** In the page: calls of every kind while two searches wait for the embedder. */
const OVERLAP = async ({ name, options }) => {
  let release;
  let bothWait;
  const gate = new Promise((resolve) => {
    release = resolve;
  });
  const waiting = new Promise((resolve) => {
    bothWait = resolve;
  });
  let queries = 0;
  const embed = async (texts, { kind }) => {
    if (kind === "query" && ++queries === 2) bothWait();
    await gate;
    return texts.map((text) => (text.startsWith("x") ? [1, 0] : [0, 1]));
  };
  const store = await e2e.Burrow.open({ name, index: { embed, id: "gate", fields: ["text"] }, ...options });
  const calls = [
    store.search(["a"], { query: "x" }),
    store.search(["a"], { query: "y" }),
    store.put(["a"], "one", { text: "x1" }),
    store.put(["a"], "two", { text: "y2" }),
    store.batch([
      { op: "put", namespace: ["a"], key: "three", value: { text: "y3" } },
      { op: "get", namespace: ["a"], key: "three" },
    ]),
    store.get(["a"], "one"),
    store.listNamespaces(),
    store.stats(),
  ].map((call) => e2e.outcome(call));
  for (const call of calls) call.then(({ error }) => error && bothWait());
  await waiting;
  release();
  const errors = (await Promise.all(calls)).map(({ error }) => error).filter(Boolean);
  if (errors.length > 0) return { errors };
  const pages = await Promise.all(["x", "y"].map((query) => store.search(["a"], { query, minScore: 0.5 })));
  await store.close();
  return { errors, found: pages.map(({ items }) => items.map(({ key }) => key).toSorted()) };
};

/** In the page: a model in a page that sends no header of its own, alone and asked three things at once. */
const EMBED = async () => {
  const url = new URL("/models/all-MiniLM-L6-v2/model_quantized.onnx", location.href).href;
  const embedder = await e2e.Embedder.load({ preset: "all-MiniLM-L6-v2", url });
  const texts = ["The cat sleeps on the sofa.", "A pet is resting.", "The train leaves at nine."];
  const alone = [];
  for (const text of texts) alone.push(...(await embedder.embed([text])));
  const together = (await Promise.all(texts.map((text) => embedder.embed([text])))).flat();
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  await embedder.close();
  return {
    isolated: globalThis.crossOriginIsolated,
    sharedMemory: typeof SharedArrayBuffer,
    dims: alone.map(({ length }) => length),
    same: together.map((vector, i) => dot(vector, alone[i])),
    alike: dot(alone[0], alone[1]),
    unlike: dot(alone[0], alone[2]),
  };
};

/** In the page: how often the browser is asked to keep the data, and what the store says of the answer. */
const PERSISTENCE = async () => {
  let asked = 0;
  const persist = async () => {
    asked += 1;
    return true;
  };
  // Safari has it, WebKitGTK has not.
  Object.defineProperty(navigator, "storage", { value: { persisted: async () => false, persist } });
  const memory = await e2e.Burrow.open({ name: "forgetful", storage: "memory", index: false });
  const forgetful = { persisted: (await memory.stats()).storage.persisted ?? "unknown", asked };
  await memory.close();
  const store = await e2e.Burrow.open({ name: "kept", index: false });
  const kept = { persisted: (await store.stats()).storage.persisted ?? "unknown", asked };
  await store.close();
  return { forgetful, kept };
};

/** In the page: writes to items of its own, and as often to one that the other writes too. */
const WRITE = async ({ as, count }) => {
  const writes = Array.from({ length: count }, (_, i) => [
    stores[as].put(["own", as], `${i}`, { text: `${as} ${i}` }),
    stores[as].batch([
      { op: "put", namespace: ["both"], key: "left", value: { text: `${as} ${i}` } },
      { op: "put", namespace: ["both"], key: "right", value: { text: `${as} ${i}` } },
    ]),
  ]);
  await Promise.all(writes.flat());
};
const STATE = async (as) => {
  const { items } = await stores[as].search([], { limit: 1000 });
  const { items: hits } = await stores[as].search([], { query: "a 1", limit: 1000 });
  const place = ({ namespace, key }) => [...namespace, key].join("/");
  const { items: count, vectors } = await stores[as].stats();
  return {
    count,
    vectors,
    texts: Object.fromEntries(items.map((item) => [place(item), item.value.text])),
    scores: Object.fromEntries(hits.map((hit) => [place(hit), hit.score])),
  };
};

for (const browser of ["chromium", "firefox", "webkit"]) {
  describe(`what went wrong elsewhere, in ${browser}`, () => {
    const here = stage(browser);

    // devashishdxt/idb#18: a transaction commits itself while something else is awaited.
    test("an embedder that waits for the network is done before the one transaction of its batch begins", async () => {
      const page = await openPage(here);
      const { written, keys } = await page.call(WAIT_INSIDE_A_BATCH, "foreign-await");
      assert.deepEqual(written, ["embed", "embedded", "begin", "complete"]);
      assert.deepEqual(keys, ["one", "three", "two"]);
      await page.close();
    });

    // localForage/localForage#943: Safari evicts after seven days.
    test("the browser is asked to keep what a store writes, and stats say what it answered", async () => {
      const page = await openPage(here);
      assert.deepEqual(await page.call(PERSISTENCE), {
        forgetful: { asked: 0, persisted: "unknown" },
        kept: { asked: 1, persisted: true },
      });
      await page.close();
    });

    // electric-sql/pglite#709: two instances corrupt one database.
    test("two instances that write to one database at once lose nothing and agree", async () => {
      const page = await openPage(here);
      // WebKit's driver has one window: there the second is another worker of the same page.
      const other = browser === "webkit" ? page : await openPage(here);
      await page.call(OPEN, { name: "shared", as: "a" });
      await other.call(OPEN, { name: "shared", as: "b" });
      await Promise.all([page.call(WRITE, { as: "a", count: 30 }), other.call(WRITE, { as: "b", count: 30 })]);
      const state = await page.call(STATE, "a");
      assert.deepEqual(await other.call(STATE, "b"), state);
      assert.deepEqual([state.count, state.vectors], [62, 62]);
      assert.equal(state.texts["both/left"], state.texts["both/right"]);
      assert.match(state.texts["both/left"], /^[ab] 29$/);
      for (const as of ["a", "b"]) {
        for (let i = 0; i < 30; i++) assert.equal(state.texts[`own/${as}/${i}`], `${as} ${i}`);
      }
      if (other !== page) await other.close();
      await page.reload();
      await page.call(OPEN, { name: "shared", as: "c" });
      assert.deepEqual(await page.call(STATE, "c"), state);
      await page.close();
    });

    for (const [where, options] of [
      ["a worker", {}],
      ["the page", { worker: false }],
    ]) {
      // wasm-bindgen/wasm-bindgen#4440: the second call of an async `&mut self` method traps while the first awaits.
      test(`two searches, puts and reads at once on one store in ${where} are all answered`, LIMIT, async () => {
        const page = await openPage(here);
        const { errors, found } = await page.call(OVERLAP, { name: `overlap-${where}`, options });
        assert.deepEqual(errors, []);
        assert.deepEqual(found, [["one"], ["three", "two"]]);
        await page.close();
      });
    }

    // microsoft/onnxruntime#11679: threads, and so COOP and COEP, were needed on iOS.
    // sonos/tract#1225: MiniLM fails to load with "Impossible to unify Sym".
    test("MiniLM loads and embeds without COOP and COEP, also three calls at once", async () => {
      const page = await openPage(here);
      const { isolated, sharedMemory, dims, same, alike, unlike } = await page.call(EMBED);
      assert.equal(isolated, false);
      assert.equal(sharedMemory, "undefined");
      assert.deepEqual(dims, [384, 384, 384]);
      for (const cosine of same) assert.ok(Math.abs(cosine - 1) < 1e-5, `${cosine}`);
      assert.ok(alike > unlike + 0.2, `${alike}, ${unlike}`);
      await page.close();
    });
  });
}
