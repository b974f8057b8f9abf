// The demo, used as a visitor uses it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stage } from "./stage.mjs";

const LIMIT = { timeout: 180_000 };

for (const [language, best, question] of [
  ["en", "mushrooms", "what could I cook for her?"],
  ["zh", "蘑菇", "晚饭给她做什么？"],
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
      await page.getByRole("button", { name: "Start" }).click();
      await page.locator("#workspace").waitFor(LIMIT);
      await page.getByRole("button", { name: "Add examples" }).click();
      await page.locator(".memory").nth(5).waitFor(LIMIT);
      await ask(page, question);
      assert.match(await page.locator(".hit").first().innerText(), new RegExp(best));

      await page.locator("#text").fill("<b>Bold</b> is not HTML here.");
      await page.getByRole("button", { name: "Remember" }).click();
      await page.locator(".memory").nth(6).waitFor(LIMIT);
      assert.equal(await page.locator(".memory b").count(), 0);
      await page.getByRole("button", { name: /^Forget: <b>/ }).click();
      await page.locator(".memory").nth(6).waitFor({ state: "detached" });

      await page.reload();
      await page.locator(".memory").nth(5).waitFor(LIMIT);
      await ask(page, question);
      assert.match(await page.locator(".hit").first().innerText(), new RegExp(best));
      assert.match(await page.locator("#status").innerText(), /Memories 6/);
      assert.deepEqual(outside, []);
      assert.deepEqual(
        log.filter((line) => line.startsWith("error")),
        [],
      );
    });
  });
}

async function ask(page, question) {
  await page.locator("#query").fill(question);
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator(".hit").first().waitFor(LIMIT);
}
