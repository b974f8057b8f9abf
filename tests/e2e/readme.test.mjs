// The README's first sample, word for word as it is printed there, as a page that somebody pastes it into. The model
// hub is played by the local model files; whatever else leaves this machine fails the test.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { MODELS } from "./server.mjs";
import { stage } from "./stage.mjs";

const README = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const PAGE = `<!doctype html>
  <title>The README's sample</title>
  <link rel="icon" href="data:," />
  <script type="importmap">{ "imports": { "burrow-memory": "/pkg/index.js" } }</script>
  <script type="module" src="/readme/sample.js"></script>`;
/** Where presets have their files (src/embed/presets.rs). */
const HUB = /^https:\/\/huggingface\.co\/Xenova\/([\w.-]+)\/resolve\/main\/(?:onnx\/)?([\w.]+)$/;
const LIMIT = { timeout: 180_000 };

const [, sample] = /```js\n(.*?)```/s.exec(README);
/** What the sample's last comment says that it prints. */
const [, printed] = /^console\.log\(.*\); \/\/ (.+)$/m.exec(sample);

/** Serves page and sample, and the hub as long as there is one. Gives what was asked of whom. */
async function playNetwork(here, page) {
  const network = { sample, hub: true, fromHub: [], refused: [] };
  await page.route("**/*", async (route) => {
    const url = route.request().url();
    const [, model, file] = HUB.exec(url) ?? [];
    if (url === `${here.server.url}/readme/`) return route.fulfill({ contentType: "text/html", body: PAGE });
    if (url === `${here.server.url}/readme/sample.js`) {
      return route.fulfill({ contentType: "text/javascript", body: network.sample });
    }
    if (url.startsWith(`${here.server.url}/pkg/`)) return route.continue();
    if (!file || !network.hub) {
      network.refused.push(url);
      return route.abort();
    }
    network.fromHub.push(`${model}/${file}`);
    return route.fulfill({
      path: join(MODELS, model, file),
      contentType: "application/octet-stream",
      headers: { "access-control-allow-origin": "*" },
    });
  });
  return network;
}

describe("the README's sample in Chromium", () => {
  const here = stage("chromium");

  test("prints what its comment says, and after a reload without the network again", async () => {
    const { native: page, log } = await here.browser.open("about:blank");
    const network = await playNetwork(here, page);
    const answer = () =>
      Promise.race([
        page.waitForEvent("console", { ...LIMIT, predicate: (message) => message.text() === printed }),
        page.waitForEvent("pageerror", LIMIT).then((error) => Promise.reject(error)),
      ]);

    await told(log, Promise.all([answer(), page.goto(`${here.server.url}/readme/`)]));
    assert.deepEqual(network.fromHub.toSorted(), [
      "bge-small-en-v1.5/model_quantized.onnx",
      "bge-small-en-v1.5/tokenizer.json",
    ]);

    // "Reload the page, […] it is still there": what was written before, so the second visit writes nothing.
    network.sample = sample.replaceAll(/^await burrow\.put\(.*\n/gm, "");
    assert.equal(network.sample.split("\n").length, sample.split("\n").length - 2);
    network.hub = false;
    await told(log, Promise.all([answer(), page.reload()]));
    assert.deepEqual(network.refused, []);
    assert.deepEqual(
      log.filter((line) => /^(error|warning)/.test(line)),
      [],
    );
    await page.close();
  });
});

/** Adds what the page said to a failure. */
async function told(log, promise) {
  try {
    return await promise;
  } catch (error) {
    error.message += `\nthe page said:\n${log.join("\n")}`;
    throw error;
  }
}
