// A model that cannot be had, or is not what it should be: each a coded error, nothing wrong is kept, and the same page
// opens the store once the file is right.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { MODELS } from "./server.mjs";
import { openPage, stage } from "./stage.mjs";

const MODEL = "/models/all-MiniLM-L6-v2/model_quantized.onnx";
const TOKENIZER = "/models/all-MiniLM-L6-v2/tokenizer.json";
const SIZE = 22_972_370;

/** In the page: tries to open; each test has a model cache of its own. */
const TRY = async ({ name, source, abortAt }) => {
  const controller = new AbortController();
  const url = new URL("/models/all-MiniLM-L6-v2/model_quantized.onnx", location.href).href;
  const opening = e2e.Burrow.open({
    name,
    index: { embed: source ?? { preset: "all-MiniLM-L6-v2", url }, fields: ["text"] },
    signal: controller.signal,
    onProgress: ({ phase, loaded }) => phase === "download" && loaded >= (abortAt ?? Infinity) && controller.abort(),
  });
  const { value, error } = await e2e.outcome(opening);
  globalThis.store = value;
  return error ?? "open";
};
const USE = async () => {
  await store.put(["a"], "k", { text: "The cat sleeps on the sofa." });
  const { items } = await store.search(["a"], { query: "a pet resting" });
  return items.map(({ key }) => key);
};
const FORGET_MODELS = () =>
  new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase("burrow-models");
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("burrow-models is still open"));
  });
/** In the page: changes one byte in the middle of the largest value of the model cache. */
const DAMAGE = async () => {
  const asPromise = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  const bytesIn = (value) => {
    if (value instanceof ArrayBuffer) return new Uint8Array(value);
    if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    const parts = value && typeof value === "object" ? Object.values(value).map(bytesIn).filter(Boolean) : [];
    return parts.toSorted((a, b) => b.length - a.length)[0];
  };
  const database = await asPromise(indexedDB.open("burrow-models"));
  const names = [...database.objectStoreNames];
  const transaction = database.transaction(names, "readwrite");
  let largest = { length: 0 };
  for (const name of names) {
    const objects = transaction.objectStore(name);
    for (const key of await asPromise(objects.getAllKeys())) {
      const value = await asPromise(objects.get(key));
      const bytes = bytesIn(value);
      if (bytes && bytes.length > largest.length) largest = { length: bytes.length, bytes, objects, key, value };
    }
  }
  largest.bytes[largest.length >> 1] ^= 1;
  await asPromise(
    largest.objects.keyPath === null
      ? largest.objects.put(largest.value, largest.key)
      : largest.objects.put(largest.value),
  );
  await new Promise((resolve) => {
    transaction.oncomplete = resolve;
  });
  database.close();
  return largest.length;
};

/** A server of one model's files that never says how long they are, and answers a range past the end with 416. */
async function serveWithoutLength() {
  const folder = join(MODELS, "all-MiniLM-L6-v2");
  const files = new Map();
  for (const name of ["model_quantized.onnx", "tokenizer.json"])
    files.set(`/${name}`, await readFile(join(folder, name)));
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(request.url);
    const file = files.get(request.url);
    const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? "");
    const start = Number(range?.[1] ?? 0);
    const status = file === undefined ? 404 : start >= file.length ? 416 : range === null ? 200 : 206;
    response.writeHead(status, {
      "content-type": "application/octet-stream",
      "transfer-encoding": "chunked",
      "cache-control": "no-store",
      "access-control-allow-origin": "*",
    });
    response.end(status < 300 ? file.subarray(start) : "");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    requests,
    url: `http://127.0.0.1:${server.address().port}/model_quantized.onnx`,
    sha256: createHash("sha256").update(files.get("/model_quantized.onnx")).digest("hex"),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe("a model that cannot be had", () => {
  const here = stage("chromium");
  afterEach(() => here.server.clear());

  /** The fault is answered with a code; then the file is right, and the same page goes on. */
  async function faultThenRight(name, path, fault, check) {
    const page = await openPage(here);
    await page.call(FORGET_MODELS);
    here.server.fault(path, fault);
    check(await page.call(TRY, { name }));
    here.server.clear();
    assert.equal(await page.call(TRY, { name }), "open");
    assert.deepEqual(await page.call(USE), ["k"]);
    await page.close();
  }

  for (const [what, path] of [
    ["model", MODEL],
    ["tokenizer", TOKENIZER],
  ]) {
    test(`a ${what} that is not there (404) is model_load with the status and the address`, () =>
      faultThenRight(`404-${what}`, path, { status: 404 }, (error) => {
        assert.equal(error.code, "model_load");
        assert.equal(error.isBurrowError, true);
        assert.equal(error.details.status, 404);
        assert.ok(error.message.includes(path), error.message);
      }));

    test(`an HTML page with status 200 in place of the ${what} is model_load, and is not kept`, () =>
      faultThenRight(`html-${what}`, path, { html: true }, (error) => {
        assert.equal(error.code, "model_load");
        assert.match(error.message, /HTML/i);
      }));
  }

  test("a truncated model is model_load, and is not kept", () =>
    faultThenRight("truncated", MODEL, { cutAt: SIZE - 1000 }, (error) => assert.equal(error.code, "model_load")));

  test("a model with one wrong byte is model_load, and is not kept", () =>
    faultThenRight("flipped", MODEL, { flipAt: SIZE >> 1 }, (error) => {
      assert.equal(error.code, "model_load");
      assert.match(error.message, /sha256/i);
    }));

  test("a download that is aborted is `aborted`; the next one asks only for the rest", async () => {
    const page = await openPage(here);
    await page.call(FORGET_MODELS);
    // Past this the server falls silent, so that the download is surely under way when it is aborted.
    here.server.fault(MODEL, { sendOnly: 12_000_000 });
    const error = await page.call(TRY, { name: "aborted", abortAt: 8_000_000 });
    assert.equal(error.code, "aborted");
    here.server.clear();
    assert.equal(await page.call(TRY, { name: "aborted" }), "open");
    assert.deepEqual(await page.call(USE), ["k"]);
    await page.close();
  });

  test("a kept model that was damaged is noticed and fetched again", async () => {
    const page = await openPage(here);
    await page.call(FORGET_MODELS);
    assert.equal(await page.call(TRY, { name: "damaged" }), "open");
    assert.deepEqual(await page.call(USE), ["k"]);
    await page.reload();
    await page.ready();
    assert.ok((await page.call(DAMAGE)) > 1_000_000);
    here.server.forget();
    assert.equal(await page.call(TRY, { name: "damaged" }), "open");
    assert.ok(here.server.requests.includes(MODEL), "the model is fetched again");
    assert.deepEqual(await page.call(USE), ["k"]);
    await page.close();
  });

  test("a damaged model that cannot be fetched again is `corrupted`, and nothing is lost", async () => {
    const page = await openPage(here);
    await page.call(FORGET_MODELS);
    assert.equal(await page.call(TRY, { name: "damaged-offline" }), "open");
    await page.call(USE);
    await page.reload();
    await page.ready();
    await page.call(DAMAGE);
    here.server.fault(MODEL, { status: 503 });
    const error = await page.call(TRY, { name: "damaged-offline" });
    assert.equal(error.code, "corrupted");
    here.server.clear();
    assert.equal(await page.call(TRY, { name: "damaged-offline" }), "open");
    assert.deepEqual(await page.call(() => store.get(["a"], "k").then(({ value }) => value)), {
      text: "The cat sleeps on the sofa.",
    });
    await page.close();
  });

  for (const hashed of [true, false]) {
    const known = hashed ? "whose hash is known" : "of which nothing is known";
    test(`a model ${known}, from a server that says no lengths, is fetched once and kept`, async (t) => {
      const other = await serveWithoutLength();
      t.after(() => other.close());
      const page = await openPage(here);
      await page.call(FORGET_MODELS);
      const source = hashed ? { url: other.url, sha256: other.sha256 } : { url: other.url };
      const name = `no-length-${hashed}`;
      assert.equal(await page.call(TRY, { name, source }), "open");
      assert.deepEqual(await page.call(USE), ["k"]);
      assert.deepEqual(other.requests.toSorted(), ["/model_quantized.onnx", "/tokenizer.json"]);
      const { engine, cached } = await page.call(async () => (await store.stats()).model);
      assert.deepEqual({ engine, cached }, { engine: "encoder", cached: true });
      await page.reload();
      await page.ready();
      assert.equal(await page.call(TRY, { name, source }), "open");
      assert.equal(other.requests.length, 2);
      await page.close();
    });
  }
});
