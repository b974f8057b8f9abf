// Opens a page of wasm-bindgen's test runner in one browser and prints what the tests say.
// usage: node wasm_page.mjs BROWSER URL
import { launch } from "./browsers.mjs";

const [name, url] = process.argv.slice(2);
// Little enough for a test to fill, and room for all the others.
const QUOTA = 100_000_000;
const LIMIT_MS = 300_000;
// The page's text changes as tests end; it is looked at again after each change, and for the last time at the limit.
const WAIT = `
  const output = document.getElementById("output");
  const finished = () => /test result:|error:|Error:/.test(output.textContent);
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => finished() && resolve(output.textContent));
    observer.observe(output, { childList: true, characterData: true, subtree: true });
    setTimeout(() => resolve(output.textContent), argument);
    if (finished()) resolve(output.textContent);
  });`;

const browser = await launch(name, { quota: QUOTA });
try {
  const page = await browser.open(url);
  const text = await page.run(WAIT, LIMIT_MS);
  console.log(`--- ${name}\n${text}`);
  const passed = /test result: ok\./.test(text);
  if (!passed) console.log(page.log.join("\n"));
  process.exitCode = passed ? 0 : 1;
} finally {
  await browser.close();
}
