// A full disk, an embedder that fails half-way, and many puts at once: coded errors, nothing lost, and the store works on.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openPage, stage } from "./stage.mjs";

/** In the page: a store whose embedder answers with letters, and fails on "fail". */
const OPEN = async (name) => {
  const embed = (texts) =>
    texts.map((text) => {
      if (text.includes("fail")) throw new Error("no vector for this one");
      return Array.from({ length: 4 }, (_, i) => 1 + (text.charCodeAt(i % text.length) % (7 + i)));
    });
  globalThis.store = await e2e.Burrow.open({ name, index: { embed, id: "letters-2", fields: ["text"] } });
};

for (const browser of ["chromium", "firefox", "webkit"]) {
  describe(`many at once in ${browser}`, () => {
    const here = stage(browser);

    test("60 concurrent puts are all there, and so are 60 more after a reload", async () => {
      const page = await openPage(here);
      const putSixty = async (from) => {
        const puts = Array.from({ length: 60 }, (_, i) =>
          store.put(["c"], String(from + i), { text: `number ${from + i}` }),
        );
        await Promise.all(puts);
        const { items } = await store.search(["c"], { limit: 1000 });
        return items.map(({ key }) => Number(key)).toSorted((a, b) => a - b);
      };
      await page.call(OPEN, "sixty");
      assert.deepEqual(
        await page.call(putSixty, 0),
        Array.from({ length: 60 }, (_, i) => i),
      );
      await page.reload();
      await page.call(OPEN, "sixty");
      assert.deepEqual(
        await page.call(putSixty, 60),
        Array.from({ length: 120 }, (_, i) => i),
      );
      await page.close();
    });

    test("an embedder that fails half-way through a batch leaves nothing of it", async () => {
      const page = await openPage(here);
      await page.call(OPEN, "half");
      const error = await page.call(async () => {
        await store.put(["h"], "before", { text: "kept" });
        const operations = ["one", "two", "please fail", "four"].map((text, i) => {
          return { op: "put", namespace: ["h"], key: String(i), value: { text } };
        });
        return (await e2e.outcome(store.batch(operations))).error;
      });
      assert.equal(error.code, "embedding");
      const keys = await page.call(async () => {
        await store.put(["h"], "after", { text: "works" });
        return (await store.search(["h"], { query: "works" })).items.map(({ key }) => key).toSorted();
      });
      assert.deepEqual(keys, ["after", "before"]);
      await page.close();
    });
  });
}

async function setQuota({ server }, page, bytes) {
  const session = await page.native.context().newCDPSession(page.native);
  const origin = server.url;
  await session.send("Storage.overrideQuotaForOrigin", bytes === undefined ? { origin } : { origin, quotaSize: bytes });
}

describe("a full disk in Chromium", () => {
  const here = stage("chromium");

  test("a put is quota_exceeded, what was there stays, and the store works once there is room", async () => {
    const page = await openPage(here);
    // Before the database is opened: Chromium asks for the room that is left only every half a minute.
    await setQuota(here, page, 3_000_000);
    await page.call(OPEN, "full");
    await page.call(() => store.put(["f"], "old", { text: "here before" }));
    const error = await page.call(async () => {
      for (let i = 0; i < 200; i++) {
        // Chromium compresses what it keeps: only what has no repeats fills a disk.
        const filler = Array.from({ length: 3000 }, () => crypto.randomUUID()).join("");
        const value = { text: `big ${i}`, filler };
        const { error } = await e2e.outcome(store.put(["f", "big"], String(i), value));
        if (error) return { ...error, at: i };
      }
      return undefined;
    });
    assert.equal(error?.code, "quota_exceeded");
    const state = async (at) => ({
      old: (await store.get(["f"], "old")).value,
      refused: await store.get(["f", "big"], String(at)),
      count: (await store.search(["f", "big"], { limit: 1000 })).items.length,
    });
    assert.deepEqual(await page.call(state, error.at), {
      old: { text: "here before" },
      refused: null,
      count: error.at,
    });
    await setQuota(here, page, undefined);
    await page.call((at) => store.put(["f", "big"], String(at), { text: "now there is room" }), error.at);
    await page.reload();
    await page.call(OPEN, "full");
    const after = await page.call(state, error.at);
    assert.deepEqual(after.refused?.value, { text: "now there is room" });
    assert.equal(after.count, error.at + 1);
    await page.close();
  });
});

// A browser of its own: what another test left on the disk would count.
describe("a disk too full for the model, in Chromium", () => {
  const here = stage("chromium");

  test("a model that does not fit is used all the same, and stats say that it is not kept", async () => {
    const page = await openPage(here);
    await setQuota(here, page, 5_000_000);
    const model = await page.call(async () => {
      const url = new URL("/models/all-MiniLM-L6-v2/model_quantized.onnx", location.href).href;
      const index = { embed: { preset: "all-MiniLM-L6-v2", url }, fields: ["text"] };
      globalThis.store = await e2e.Burrow.open({ name: "no-room", index });
      await store.put(["a"], "k", { text: "small enough" });
      return (await store.stats()).model;
    });
    await setQuota(here, page, undefined);
    assert.equal(model.cached, false);
    assert.match(model.reason, /not kept/);
    await page.close();
  });
});
