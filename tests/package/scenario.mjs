/**
 * What every host does with the installed package. No import and no global of one host only: it runs in browsers,
 * workers and edge runtimes alike. It throws where something is wrong and returns what is worth printing.
 */

/** Counts letters, so that the right order can be worked out by hand. */
export function letters(texts) {
  return texts.map((text) => {
    const counts = new Array(26).fill(0);
    for (const letter of text.toLowerCase().replaceAll(/[^a-z]/g, "")) counts[letter.charCodeAt(0) - 97] += 1;
    return counts;
  });
}

export function check(holds, what, found) {
  if (!holds) throw new Error(`${what}; found ${JSON.stringify(found)}`);
}

const near = (a, b) => Math.abs(a - b) < 1e-5;

/** Open, put, get, search, list, delete, close; errors with codes. */
export async function scenario({ Burrow, BurrowError }, options = {}) {
  const burrow = await Burrow.open({
    name: "package-test",
    storage: "memory",
    index: { embed: letters, fields: ["text"] },
    ...options,
  });
  const ada = ["users", "ada"];
  await burrow.put(ada, "abc", { text: "abc", n: 1 });
  await burrow.batch([
    { op: "put", namespace: ada, key: "abd", value: { text: "abd", n: 2 } },
    { op: "put", namespace: ["users", "bob"], key: "xyz", value: { text: "xyz 你好", n: 3 } },
  ]);

  const item = await burrow.get(ada, "abc");
  check(item?.value.n === 1 && item.createdAt instanceof Date, "get gives the item with its dates", item);

  const page = await burrow.search(["users"], { query: "abc", limit: 2 });
  check(page.items.map((hit) => hit.key).join() === "abc,abd", "search ranks by cosine", page);
  check(near(page.items[0].score, 1) && near(page.items[1].score, 2 / 3), "scores are cosines", page);
  check(page.hasMore === true, "a full page says that there is more", page);

  const filtered = await burrow.search([], { filter: { n: { $gte: 3 } } });
  check(filtered.items[0]?.value.text === "xyz 你好", "a filter finds its document", filtered);

  const namespaces = await burrow.listNamespaces();
  check(JSON.stringify(namespaces) === '[["users","ada"],["users","bob"]]', "listNamespaces", namespaces);
  await burrow.delete(ada, "abd");
  check((await burrow.get(ada, "abd")) === null, "a deleted item is gone");

  const refused = await burrow.put(["a.b"], "k", {}).catch((error) => error);
  check(
    refused instanceof BurrowError && refused.code === "invalid_namespace",
    "errors have class and code",
    String(refused),
  );

  const stats = await burrow.stats();
  check(stats.items === 2 && stats.vectors === 2, "stats count", stats);
  await burrow.close();
  const closed = await burrow.get(ada, "abc").catch((error) => error);
  check(closed.code === "closed", "a closed store says so", String(closed));
  return { wasm: stats.build.wasm, runs: stats.worker.runs, storage: stats.storage.kind };
}

/** The LangGraph entry: the same store as a `BaseStore`. */
export async function langgraphScenario({ BurrowStore, unwrapStore }) {
  const embeddings = {
    embedDocuments: async (texts) => letters(texts),
    embedQuery: async (text) => letters([text])[0],
  };
  const store = await BurrowStore.open({ storage: "memory", index: { dims: 26, embeddings, fields: ["text"] } });
  await store.put(["users", "ada"], "abc", { text: "abc" });
  await store.put(["users", "ada"], "unindexed", { text: "abc" }, false);
  const found = await store.search(["users"], { query: "abc" });
  check(found.map((item) => item.key).join() === "abc,unindexed", "unscored items follow", found);
  check(near(found[0].score, 1) && found[1].score === undefined, "only indexed items have a score", found);
  check(unwrapStore(store) === store, "unwrapStore gives the store");
  await store.stop();
}

/** First visit: fills a database. Second visit: finds it again, and embeds nothing but the query. */
export async function visit({ Burrow }, options = {}) {
  const embedded = { query: 0, document: 0 };
  const embed = (texts, { kind }) => {
    embedded[kind] += texts.length;
    return letters(texts);
  };
  const burrow = await Burrow.open({ name: "package-visits", index: { embed, fields: ["text"] }, ...options });
  const before = (await burrow.stats()).items;
  if (before === 0) {
    await burrow.put(["n"], "abc", { text: "abc" });
    await burrow.put(["n"], "abd", { text: "abd" });
  }
  const page = await burrow.search(["n"], { query: "abc" });
  check(page.items.map((hit) => hit.key).join() === "abc,abd", "what was put is found", page);
  check(near(page.items[1].score, 2 / 3), "with the same score", page);
  check(embedded.document === (before === 0 ? 2 : 0), "documents are embedded on the first visit only", embedded);
  const { worker, storage, build } = await burrow.stats();
  await burrow.close();
  return { before, runs: worker.runs, reason: worker.reason, storage: storage.kind, wasm: build.wasm };
}
