/** Importing and using the package needs no global of a browser, and leaves nothing that keeps the process alive. */
const missing = ["window", "document", "indexedDB", "Worker", "self"];
const before = missing.filter((name) => name in globalThis);
if (before.length > 0) throw new Error(`this Node has ${before}`);

const burrow = await import("burrow-memory");
const langgraph = await import("burrow-memory/langgraph");
const { check, langgraphScenario, scenario } = await import("./scenario.mjs");

check(
  missing.every((name) => !(name in globalThis)),
  "importing the package defines no global of a browser",
);
const report = await scenario(burrow);
await langgraphScenario(langgraph);

const refused = await burrow.Burrow.open({ name: "n", storage: "indexeddb" }).catch((error) => error);
check(refused.code === "storage_unavailable", "there is no IndexedDB here, and it says so", String(refused));
console.log(JSON.stringify(report));
