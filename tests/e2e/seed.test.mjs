// The product's main job on real input: the four memories of the article that this project answers, in Chinese, with
// bge-small-zh-v1.5. The scores are that article's own printed output (its reference: sentence-transformers).
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openPage, stage } from "./stage.mjs";

const MEMORIES = {
  "m-food": "用户喜欢吃披萨，尤其是玛格丽特",
  "m-code": "用户主要写 Python，用 pytest 做测试",
  "m-schedule": "用户周三下午三点之后不排会",
  "m-style": "用户要求回答简短，不要用感叹号",
};
const TABLE = [
  [
    "用户喜欢吃什么",
    [
      ["m-food", 0.6418],
      ["m-code", 0.4374],
      ["m-style", 0.4276],
    ],
  ],
  [
    "用户用什么写代码",
    [
      ["m-code", 0.6543],
      ["m-style", 0.4837],
      ["m-schedule", 0.349],
    ],
  ],
  [
    "回复风格有什么要求",
    [
      ["m-style", 0.5602],
      ["m-code", 0.4097],
      ["m-schedule", 0.3406],
    ],
  ],
  ["这条不建索引的记录", [["m-style", 0.491]]],
];
const INSTRUCTION = "为这个句子生成表示以用于检索相关文章：";
const FILES = { f32: "model.onnx", int8: "model_quantized.onnx" };

/** In the page: opens the store, as an application would. */
const OPEN = async ({ name, precision, file, queryPrefix }) => {
  const url = new URL(`/models/bge-small-zh-v1.5/${file}`, location.href).href;
  const embed = { preset: "bge-small-zh-v1.5", precision, url, ...(queryPrefix ? { queryPrefix } : {}) };
  globalThis.store = await e2e.Burrow.open({ name, index: { embed, fields: ["text"] } });
  return globalThis.store.stats();
};
const FILL = async (memories) => {
  for (const [key, text] of Object.entries(memories)) {
    await store.put(["u-42", "memories"], key, { kind: "semantic", text });
  }
  await store.put(["u-42", "memories"], "m-raw", { kind: "meta", text: "这条不建索引" }, { index: false });
};
const SEARCH = async (queries) => {
  const pages = [];
  for (const query of queries) pages.push(await store.search(["u-42", "memories"], { query, limit: 3 }));
  return pages.map((page) => page.items.map(({ key, score }) => [key, score]));
};

function assertTable(found, tolerance, firstOnly) {
  for (const [row, [query, expected]] of TABLE.entries()) {
    const hits = found[row];
    const wanted = firstOnly ? expected.slice(0, 1) : expected;
    assert.deepEqual(
      hits.slice(0, wanted.length).map(([key]) => key),
      wanted.map(([key]) => key),
      query,
    );
    for (const [place, [key, score]] of expected.entries()) {
      const [, got] = hits.find(([found]) => found === key) ?? [];
      if (firstOnly && got === undefined) continue;
      assert.ok(Math.abs(got - score) <= tolerance, `${query} ${place + 1}: ${key} ${got}, expected ${score}`);
    }
  }
}

describe("the seed's table in Chromium", () => {
  const here = stage("chromium");
  const queries = TABLE.map(([query]) => query);

  test("f32: the same order and each score within 0.0005, also after a reload", async () => {
    const page = await openPage(here);
    const options = { name: "seed-f32", precision: "f32", file: FILES.f32 };
    const stats = await page.call(OPEN, options);
    await page.call(FILL, MEMORIES);
    assertTable(await page.call(SEARCH, queries), 0.0005, false);
    await page.reload();
    const again = await page.call(OPEN, options);
    assertTable(await page.call(SEARCH, queries), 0.0005, false);
    assert.equal(again.items, 5);
    assert.deepEqual([stats.model.engine, again.model.engine], ["encoder", "encoder"]);
    await page.close();
  });

  test("f32: an item without an index is found by key and never by meaning", async () => {
    const page = await openPage(here);
    await page.call(OPEN, { name: "seed-f32", precision: "f32", file: FILES.f32 });
    const [item, hits] = await page.call(async () => [
      await store.get(["u-42", "memories"], "m-raw"),
      (await store.search(["u-42", "memories"], { query: "这条不建索引", limit: 10 })).items.map(({ key }) => key),
    ]);
    assert.deepEqual(item.value, { kind: "meta", text: "这条不建索引" });
    assert.deepEqual(hits.toSorted(), Object.keys(MEMORIES).toSorted());
    await page.close();
  });

  test("f32: with the query instruction, on queries only", async () => {
    const page = await openPage(here);
    await page.call(OPEN, { name: "seed-prefix", precision: "f32", file: FILES.f32, queryPrefix: INSTRUCTION });
    await page.call(FILL, MEMORIES);
    const [[[key, score]]] = await page.call(SEARCH, ["用户用什么写代码"]);
    assert.equal(key, "m-code");
    assert.ok(Math.abs(score - 0.5838) <= 0.0005, `${score}, expected 0.5838`);
    await page.close();
  });

  test("int8: the same first places, each score within 0.03, also after a reload", async () => {
    const page = await openPage(here);
    const options = { name: "seed-int8", precision: "int8", file: FILES.int8 };
    await page.call(OPEN, options);
    await page.call(FILL, MEMORIES);
    assertTable(await page.call(SEARCH, queries), 0.03, true);
    await page.reload();
    await page.call(OPEN, options);
    assertTable(await page.call(SEARCH, queries), 0.03, true);
    await page.close();
  });
});
