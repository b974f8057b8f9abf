// Firefox, through puppeteer-core's WebDriver BiDi: no geckodriver needed.
import puppeteer from "puppeteer-core";

const PREFERENCES = {
  // persist() waits for a person's answer; these two give it.
  "dom.storageManager.prompt.testing": true,
  "dom.storageManager.prompt.testing.allow": true,
};

/** Starts Firefox with a fresh profile. With `quota`, all sites together may keep so many bytes. */
export async function launch({ quota } = {}) {
  const limit = quota ? { "dom.quotaManager.temporaryStorage.fixedLimit": Math.floor(quota / 1024) } : {};
  const browser = await puppeteer.launch({
    browser: "firefox",
    executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
    headless: true,
    extraPrefsFirefox: { ...PREFERENCES, ...limit },
    protocolTimeout: 600_000,
  });
  return {
    name: "firefox",
    native: browser,
    async open(url) {
      const page = await browser.newPage();
      page.setDefaultTimeout(600_000);
      const log = [];
      page.on("console", (message) => log.push(`${message.type()}: ${message.text()}`));
      page.on("pageerror", (error) => log.push(`error: ${error.stack ?? error}`));
      await page.goto(url);
      return {
        native: page,
        log,
        run: (script, argument) =>
          page.evaluate(
            (body, value) => new Function("argument", `return (async () => {${body}})()`)(value),
            script,
            argument ?? null,
          ),
        goto: (next) => page.goto(next),
        reload: () => page.reload(),
        close: () => page.close(),
      };
    },
    close: () => browser.close(),
  };
}
