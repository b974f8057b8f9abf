// The README's picture, from the real demo.
// usage: node screenshot.mjs URL FILE
import { launch } from "./browsers.mjs";

const [url, file] = process.argv.slice(2);
const LIMIT = { timeout: 300_000 };

const browser = await launch("chromium");
try {
  const { native: page } = await browser.open("about:blank");
  await page.setViewportSize({ width: 1180, height: 860 });
  await page.goto(url);
  await page.getByRole("button", { name: "Start" }).click();
  await page.locator("#workspace").waitFor(LIMIT);
  await page.getByRole("button", { name: "Add examples" }).click();
  await page.locator(".memory").nth(5).waitFor(LIMIT);
  await page.locator("#query").fill("what could I cook for her?");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator(".hit").nth(4).waitFor(LIMIT);
  // The picture is of the page, not of a cursor.
  await page.evaluate(() => document.activeElement?.blur());
  await page.screenshot({ path: file });
} finally {
  await browser.close();
}
