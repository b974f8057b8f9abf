// Where a store lives: in a worker, and what becomes of it where addresses lead nowhere, IndexedDB is refused, or the
// worker dies. Vectors are counts of letters: none of this is about models.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openPage, stage } from "./stage.mjs";

const HTML = { status: 200, contentType: "text/html", body: "<!doctype html><title>app</title>" };
const WORKER = /\/pkg\/worker\.js$/;
const MODULE = /\/pkg\/wasm\/burrow.*\.wasm$/;

/** In the page: opens, writes, finds, and tells what the store says of itself. */
const LIVE = async ({ name, options }) => {
  const events = [];
  const letters = (text) => {
    const vector = new Float32Array(8);
    for (const letter of text) vector[letter.charCodeAt(0) % 8] += 1;
    return vector;
  };
  const index = { embed: (texts) => texts.map(letters), id: "letters", fields: ["text"] };
  const burrow = await e2e.Burrow.open({ name, index, onProgress: (event) => events.push(event), ...options });
  await burrow.put(["a"], "k", { text: "hello" });
  const { items } = await burrow.search(["a"], { query: "hello" });
  const { storage, worker, build } = await burrow.stats();
  await burrow.close();
  return { found: items.map(({ key }) => key), storage, worker, build, events };
};

describe("a store's home", () => {
  const here = stage("chromium");

  test("is a worker, in a page", async () => {
    const page = await openPage(here);
    const { found, worker, storage, build } = await page.call(LIVE, { name: "plain" });
    assert.deepEqual(found, ["k"]);
    assert.deepEqual(worker, { runs: "worker" });
    assert.equal(storage.kind, "indexeddb");
    assert.equal(build.wasm, "relaxed-simd");
    await page.close();
  });

  test("is the page itself when the application asks for that", async () => {
    const page = await openPage(here);
    const { found, worker } = await page.call(LIVE, { name: "here", options: { worker: false } });
    assert.deepEqual(found, ["k"]);
    assert.deepEqual(worker, { runs: "here" });
    await page.close();
  });

  test("works where a bundler moved the scripts and the server answers HTML for what it does not know", async () => {
    const page = await openPage(here);
    for (const address of [WORKER, MODULE]) await page.native.route(address, (route) => route.fulfill(HTML));
    const { found, worker } = await page.call(LIVE, { name: "spa" });
    assert.deepEqual(found, ["k"]);
    assert.deepEqual(worker, { runs: "worker" });
    await page.close();
  });

  test("takes WebAssembly from an address that the application gives", async () => {
    const page = await openPage(here);
    await page.native.route(MODULE, (route) => route.fulfill(HTML));
    await page.native.route("**/elsewhere.wasm", async (route) => {
      route.fulfill({ response: await route.fetch({ url: `${here.server.url}/pkg/wasm/burrow_bg.wasm` }) });
    });
    const { found, build } = await page.call(LIVE, { name: "given", options: { wasm: "/elsewhere.wasm" } });
    assert.deepEqual(found, ["k"]);
    assert.equal(build.wasm, "custom");
    await page.close();
  });

  test("is the page when no worker can be started, and says so", async () => {
    const page = await openPage(here);
    const { found, worker } = await page.call(
      `async (argument) => {
        globalThis.Worker = class { constructor() { throw new Error("refused by policy"); } };
        return (${LIVE})(argument);
      }`,
      { name: "no-worker" },
    );
    assert.deepEqual(found, ["k"]);
    assert.equal(worker.runs, "here");
    assert.match(worker.reason, /refused by policy/);
    assert.ok(page.log.some((line) => line.includes("refused by policy")));
    await page.close();
  });

  test("works in memory when IndexedDB is refused, and says so in three places", async () => {
    const page = await openPage(here);
    const refuse = `self.indexedDB.constructor.prototype.open = () => {
      throw new DOMException("The operation is insecure.", "SecurityError");
    };\n`;
    await page.native.route(WORKER, async (route) => {
      const response = await route.fetch();
      route.fulfill({ response, body: refuse + (await response.text()) });
    });
    const { found, storage, events } = await page.call(LIVE, { name: "private" });
    assert.deepEqual(found, ["k"]);
    assert.equal(storage.kind, "memory");
    assert.equal(storage.durable, false);
    assert.ok(storage.reason.length > 0);
    assert.equal(events.filter(({ phase }) => phase === "storage").length, 1);
    assert.equal(page.log.filter((line) => line.includes("in memory only")).length, 1);
    await page.close();
  });

  test("that dies rejects what waits for it, with a code, and what was written is there for the next", async () => {
    const page = await openPage(here);
    const outcome = await page.call(async () => {
      const Real = globalThis.Worker;
      let worker;
      globalThis.Worker = class extends Real {
        constructor(...given) {
          super(...given);
          worker = this;
        }
      };
      const embed = (texts) => (texts[0] === "stuck" ? new Promise(() => {}) : texts.map(() => [1, 0]));
      const options = { name: "crash", index: { embed, id: "stuck", fields: ["text"] } };
      const burrow = await e2e.Burrow.open(options);
      await burrow.put(["a"], "written", { text: "written" });
      const waiting = e2e.outcome(burrow.put(["a"], "k", { text: "stuck" }));
      worker.dispatchEvent(new ErrorEvent("error", { message: "boom" }));
      const first = (await waiting).error;
      const second = (await e2e.outcome(burrow.get(["a"], "written"))).error;
      const again = await e2e.Burrow.open(options);
      const keys = (await again.search(["a"])).items.map(({ key }) => key);
      await again.close();
      return { first, second, keys };
    });
    assert.equal(outcome.first.code, "internal");
    assert.match(outcome.first.message, /boom/);
    assert.equal(outcome.second.code, "internal");
    assert.deepEqual(outcome.keys, ["written"]);
    await page.close();
  });
});
