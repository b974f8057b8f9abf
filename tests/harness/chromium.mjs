// Chromium, through playwright-core.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage"];

/**
 * Starts Chromium with a fresh profile on disk: an incognito context would keep IndexedDB in memory. With `quota`, every
 * page's site may keep so many bytes.
 */
export async function launch({ quota } = {}) {
  const profile = await mkdtemp(join(tmpdir(), "burrow-chromium-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ARGUMENTS,
  });
  return {
    name: "chromium",
    native: context,
    async open(url) {
      const page = await context.newPage();
      const log = [];
      page.on("console", (message) => log.push(`${message.type()}: ${message.text()}`));
      page.on("pageerror", (error) => log.push(`error: ${error.stack ?? error}`));
      if (quota) {
        const devtools = await context.newCDPSession(page);
        await devtools.send("Storage.overrideQuotaForOrigin", { origin: new URL(url).origin, quotaSize: quota });
      }
      await page.goto(url);
      return {
        native: page,
        log,
        // `script` is the body of an async function, as text: the one form that all three drivers take.
        run: (script, argument) =>
          page.evaluate(
            ([body, value]) => new Function("argument", `return (async () => {${body}})()`)(value),
            [script, argument ?? null],
          ),
        goto: (next) => page.goto(next),
        reload: () => page.reload(),
        close: () => page.close(),
      };
    },
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
