// The public interface in hostile hands, in Node and in a page: each call answers or fails with a code, and the store
// works on. The values and the places are in pages/hostile.js.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as inNode from "../../pkg/dist/node.js";
import { attackOpening, attackStore } from "./pages/hostile.js";
import { openPage, stage } from "./stage.mjs";

const LIMIT = { timeout: 300_000 };
const letters = (texts) => texts.map((text) => [1, text.length % 7]);

describe("hostile arguments in Node", () => {
  test("every call of an open store answers or fails with a code, and it works on", LIMIT, async () => {
    const store = await inNode.Burrow.open({ storage: "memory", index: { embed: letters, fields: ["text"] } });
    const { calls, complaints } = await attackStore(inNode, store);
    await store.close();
    assert.deepEqual(complaints, []);
    assert.ok(calls > 2000, `${calls}`);
  });

  test("whatever opens a store or a model opens it or fails with a code", LIMIT, async () => {
    const { calls, complaints } = await attackOpening(inNode, { storage: "memory" });
    assert.deepEqual(complaints, []);
    assert.ok(calls > 1500, `${calls}`);
  });
});

for (const [where, options] of [
  ["a worker", {}],
  ["the page", { worker: false }],
]) {
  describe(`hostile arguments in Chromium, with the store in ${where}`, () => {
    const here = stage("chromium");

    test("every call of an open store answers or fails with a code, and it works on", LIMIT, async () => {
      const page = await openPage(here);
      const { calls, complaints } = await page.call(async (options) => {
        const { attackStore } = await import("/hostile.js");
        const embed = (texts) => texts.map((text) => [1, text.length % 7]);
        const store = await e2e.Burrow.open({ name: "hostile", index: { embed, fields: ["text"] }, ...options });
        const outcome = await attackStore(e2e, store);
        await store.close();
        return outcome;
      }, options);
      assert.deepEqual(complaints, []);
      assert.ok(calls > 2000, `${calls}`);
      await page.close();
    });
  });
}

describe("whatever opens a store or a model in Chromium", () => {
  const here = stage("chromium");

  test("opens it or fails with a code", LIMIT, async () => {
    const page = await openPage(here);
    const { calls, complaints } = await page.call(async () => {
      const { attackOpening } = await import("/hostile.js");
      return attackOpening(e2e, {});
    });
    assert.deepEqual(complaints, []);
    assert.ok(calls > 1500, `${calls}`);
    await page.close();
  });
});
