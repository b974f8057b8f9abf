// The demo, used as a visitor uses it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stage } from "./stage.mjs";

const LIMIT = { timeout: 180_000 };

for (const { language, best, question, start, examples, remember, forget, six } of [
  {
    language: "en",
    best: "mushrooms",
    question: "what could I cook for her?",
    start: "Start",
    examples: "Add examples",
    remember: "Remember",
    forget: "Forget",
    six: /^6 memories are kept in this browser\. .*bge-small-en-v1\.5, /,
  },
  {
    language: "zh",
    best: "蘑菇",
    question: "晚饭给她做什么？",
    start: "开始",
    examples: "添加示例",
    remember: "记住",
    forget: "忘记",
    six: /^6 条记忆保存在这个浏览器里。.*bge-small-zh-v1\.5，/,
  },
]) {
  describe(`the demo, ${language}`, () => {
    const here = stage("chromium");

    test("remembers, finds by meaning, forgets, and still has it all after a reload", async () => {
      const outside = [];
      const { native: page, log } = await here.browser.open("about:blank");
      page.on(
        "request",
        (request) =>
          request.url().startsWith("http") && !request.url().startsWith(here.server.url) && outside.push(request.url()),
      );
      await page.goto(`${here.server.url}/demo/`);
      await page.locator(`input[value=${language}]`).check();
      await page.getByRole("button", { name: start }).click();
      await page.locator("#workspace").waitFor(LIMIT);
      await page.getByRole("button", { name: examples }).click();
      await page.locator(".memory").nth(5).waitFor(LIMIT);
      await ask(page, question);
      assert.match(await page.locator(".hit").first().innerText(), new RegExp(best));

      await page.locator("#text").fill("<b>Bold</b> is not HTML here.");
      await page.locator("#about").fill("Dr. Lee: 100%");
      await page.getByRole("button", { name: remember, exact: true }).click();
      await page.locator(".memory").nth(6).waitFor(LIMIT);
      assert.ok((await page.locator("h3").allInnerTexts()).includes("Dr. Lee: 100%"));
      assert.equal(await page.locator(".memory b").count(), 0);
      await page.getByRole("button", { name: new RegExp(`^${forget}: <b>`) }).press("Enter");
      await page.locator(".memory").nth(6).waitFor({ state: "detached" });
      // By keyboard one can go on where one was.
      await page.locator(".memory button:focus").waitFor();

      await page.reload();
      await page.locator(".memory").nth(5).waitFor(LIMIT);
      await ask(page, question);
      assert.match(await page.locator(".hit").first().innerText(), new RegExp(best));
      assert.match(await page.locator("#status").innerText(), six);
      assert.deepEqual(outside, []);
      assert.deepEqual(
        log.filter((line) => line.startsWith("error")),
        [],
      );
    });
  });
}

describe("the demo, when the model cannot be had", () => {
  const here = stage("chromium");
  const MODEL = "/demo/models/bge-small-en-v1.5/model_quantized.onnx";

  test("says what to do in plain words, can be stopped, and starts once it can; a phone shows it whole", async () => {
    const { native: page } = await here.browser.open("about:blank");
    await page.setViewportSize({ width: 360, height: 700 });
    const problem = page.locator("#setup-problem");
    const press = (name) => page.getByRole("button", { name }).click();
    here.server.fault(MODEL, { status: 404 });
    await page.goto(`${here.server.url}/demo/`);
    await press("Start");
    await problem.getByText("The model could not be fetched.").waitFor(LIMIT);
    assert.match(await problem.locator("details").textContent(), /404/);

    here.server.fault(MODEL, { sendOnly: 4_000_000 });
    await press("Start");
    await page.getByText(/^Fetching the model, [1-9]/).waitFor(LIMIT);
    await press("Stop");
    await problem.getByText(/^Stopped\./).waitFor(LIMIT);

    here.server.clear();
    await press("Start");
    await page.locator("#workspace").waitFor(LIMIT);
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= window, `${content} in ${window}`);
    await page.close();
  });
});

async function ask(page, question) {
  await page.locator("#query").fill(question);
  await page.locator("#query").press("Enter");
  await page.locator(".hit").first().waitFor(LIMIT);
}
