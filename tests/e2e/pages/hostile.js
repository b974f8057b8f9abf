// Every public call with everything that is no sensible argument: imported by a page and by Node alike. Whatever comes
// back must be an answer or an error with a code that says what to do; `internal`, a foreign exception, a call that
// never settles and a store that no longer works are complaints.

class Money {
  amount = 1;
}

function nested(levels, wrap) {
  let value = wrap();
  for (let level = 1; level < levels; level++) value = wrap(value);
  return value;
}

function revoked(target) {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

const fail = (what) => () => {
  throw new Error(what);
};
const cycle = {};
cycle.self = cycle;

/** By name: what is put in every place. */
const VALUES = {
  undefined: undefined,
  null: null,
  true: true,
  zero: 0,
  negative: -1,
  fraction: 0.5,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  enormous: 1e300,
  bigint: 10n,
  symbol: Symbol("s"),
  function: () => 1,
  string: "x",
  "empty string": "",
  "lone surrogate": "\ud800",
  NUL: "a\0b",
  "a dot": "a.b",
  "long string": "x".repeat(300_000),
  "boxed string": new String("s"),
  "boxed number": new Number(1),
  object: {},
  array: [],
  "array of undefined": [undefined],
  "array of holes": new Array(2 ** 32 - 1),
  cycle,
  date: new Date(0),
  "no date": new Date(Number.NaN),
  map: new Map(),
  set: new Set(),
  "weak map": new WeakMap(),
  regex: /x/,
  promise: Promise.resolve(1),
  error: new Error("e"),
  buffer: new ArrayBuffer(2),
  bytes: new Uint8Array(2),
  "class instance": new Money(),
  "no prototype": Object.create(null),
  "own __proto__": JSON.parse('{"__proto__":{"polluted":1}}'),
  "throwing getter": Object.defineProperty({}, "a", { enumerable: true, get: fail("getter") }),
  "throwing proxy": new Proxy({}, { ownKeys: fail("ownKeys") }),
  "revoked object": revoked({}),
  "revoked array": revoked([]),
  "throwing conversions": { toString: fail("toString"), toJSON: fail("toJSON"), valueOf: fail("valueOf") },
  "deep object": nested(100_000, (inner) => ({ a: inner })),
  "deep array": nested(100_000, (inner) => [inner]),
};

const each = (names, call) => Object.fromEntries(names.split(" ").map((name) => [name, call(name)]));
const prefixed = (prefix, calls) =>
  Object.fromEntries(Object.entries(calls).map(([name, call]) => [`${prefix} ${name}`, call]));
const document = { text: "x" };

/** By name: every place of an open store's calls. */
const CALLS = {
  ...prefixed("put", {
    namespace: (s, v) => s.put(v, "k", document),
    label: (s, v) => s.put([v], "k", document),
    "second label": (s, v) => s.put(["a", v], "k", document),
    key: (s, v) => s.put(["a"], v, document),
    value: (s, v) => s.put(["a"], "k", v),
    field: (s, v) => s.put(["a"], "k", { text: v, more: [v] }),
    options: (s, v) => s.put(["a"], "k", document, v),
    "index path": (s, v) => s.put(["a"], "k", document, { index: [v] }),
    ...each("ttl index other", (name) => (s, v) => s.put(["a"], "k", document, { [name]: v })),
  }),
  ...prefixed("get", {
    namespace: (s, v) => s.get(v, "k"),
    key: (s, v) => s.get(["a"], v),
    options: (s, v) => s.get(["a"], "k", v),
    refreshTtl: (s, v) => s.get(["a"], "k", { refreshTtl: v }),
  }),
  ...prefixed("search", {
    prefix: (s, v) => s.search(v),
    options: (s, v) => s.search(["a"], v),
    ...each(
      "query filter limit offset mode minScore refreshTtl unscored order other",
      (name) => (s, v) => s.search(["a"], { [name]: v }),
    ),
  }),
  ...prefixed("filter", {
    field: (s, v) => s.search(["a"], { filter: { text: v } }),
    ...each("$and $or $not $other", (name) => (s, v) => s.search(["a"], { filter: { [name]: v } })),
    ...prefixed(
      "text",
      each(
        "$eq $ne $gt $lte $in $nin $exists $regex",
        (name) => (s, v) => s.search(["a"], { filter: { text: { [name]: v } } }),
      ),
    ),
  }),
  ...prefixed("delete", { namespace: (s, v) => s.delete(v, "k"), key: (s, v) => s.delete(["a"], v) }),
  ...prefixed("listNamespaces", {
    options: (s, v) => s.listNamespaces(v),
    ...each("prefix suffix maxDepth limit offset other", (name) => (s, v) => s.listNamespaces({ [name]: v })),
  }),
  ...prefixed("batch", {
    operations: (s, v) => s.batch(v),
    operation: (s, v) => s.batch([v]),
    "second operation": (s, v) => s.batch([{ op: "put", namespace: ["half"], key: "k", value: document }, v]),
    name: (s, v) => s.batch([{ op: v, namespace: ["a"], key: "k" }]),
  }),
  ...prefixed("reindex", {
    options: (s, v) => s.reindex(v),
    ...each("embed fields dims id parallel onProgress signal other", (name) => (s, v) => s.reindex({ [name]: v })),
  }),
};

const letters = (texts) => texts.map((text) => [1, text.length % 7]);

/** By name: every place of what opens something. What does open is closed. */
const OPENINGS = {
  "open options": ({ Burrow }, v) => Burrow.open(v),
  "destroy name": ({ Burrow }, v) => Burrow.destroy(v),
  "destroy options": ({ Burrow }, v) => Burrow.destroy("nothing", v),
  "destroy wasm": ({ Burrow }, v) => Burrow.destroy("nothing", { wasm: v }),
  ...prefixed(
    "open",
    each("name storage index ttl worker wasm reindex onProgress signal other", (name) => ({ Burrow }, v, base) => {
      return Burrow.open({ ...base, [name]: v });
    }),
  ),
  ...prefixed(
    "open index",
    each("embed fields dims id parallel other", (name) => ({ Burrow }, v, base) => {
      return Burrow.open({ ...base, index: { embed: letters, [name]: v } });
    }),
  ),
  ...prefixed(
    "open ttl",
    each("defaultTtl refreshOnRead sweepIntervalMinutes other", (name) => ({ Burrow }, v, base) => {
      return Burrow.open({ ...base, ttl: { [name]: v } });
    }),
  ),
  ...prefixed(
    "open wasm",
    each(
      "burrow installer other",
      (name) =>
        ({ Burrow }, v, base) =>
          Burrow.open({ ...base, wasm: { [name]: v } }),
    ),
  ),
  ...prefixed(
    "model",
    each(
      "preset precision files pack sha256 pooling queryPrefix documentPrefix lowercase maxTokens url tokenizerUrl other",
      // Nothing answers there, so that a source that passes is `model_load` and not a download.
      (name) =>
        ({ Embedder }, v) =>
          Embedder.load({ preset: "all-MiniLM-L6-v2", url: "http://127.0.0.1:9/no.onnx", [name]: v }),
    ),
  ),
  "model itself": ({ Embedder }, v) => Embedder.load(v),
  "model options": ({ Embedder }, v) => Embedder.load("no such preset", v),
  "embedder's answer": embedding((v) => v),
  "embedder's vector": embedding((v) => [v]),
  "embedder's number": embedding((v) => [[1, v]]),
  "embedder's throw": embedding((v) => {
    throw v;
  }),
};

function embedding(answer) {
  return async ({ Burrow }, value, base) => {
    const store = await Burrow.open({ ...base, index: { embed: () => answer(value), fields: ["text"] } });
    try {
      await store.put(["a"], "k", document);
    } finally {
      await store.close();
    }
  };
}

const HANGS = Symbol("hangs");

/** What is wrong with how a call ended; `undefined` when nothing is. */
async function complaint({ BurrowError }, call) {
  let timer;
  const patience = new Promise((resolve) => {
    timer = setTimeout(resolve, 20_000, HANGS);
  });
  try {
    const value = await Promise.race([call(), patience]);
    if (value === HANGS) return "never settled";
    await value?.close?.();
    return undefined;
  } catch (error) {
    if (!(error instanceof BurrowError)) return `threw ${Object.prototype.toString.call(error)}: ${error?.message}`;
    if (error.code === "internal") return `internal: ${error.message}`;
    if (error.message === "" || error.message.length > 1100) return `a message of ${error.message.length} characters`;
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Attacks an open store; gives the complaints and how many calls there were. */
export async function attackStore(package_, store) {
  const complaints = [];
  let calls = 0;
  for (const [what, value] of Object.entries(VALUES)) {
    for (const [place, call] of Object.entries(CALLS)) {
      calls += 1;
      const wrong = await complaint(package_, () => call(store, value));
      if (wrong) complaints.push(`${place}, ${what}: ${wrong}`);
    }
    await store.put(["alive"], what, { text: what });
    const found = await store.get(["alive"], what);
    if (found?.value.text !== what) complaints.push(`after ${what} the store does not work`);
  }
  if ({}.polluted !== undefined) complaints.push("Object.prototype was changed");
  return { calls, complaints };
}

/** Attacks what opens a store or a model. */
export async function attackOpening(package_, base) {
  const complaints = [];
  let calls = 0;
  for (const [what, value] of Object.entries(VALUES)) {
    for (const [place, call] of Object.entries(OPENINGS)) {
      calls += 1;
      const wrong = await complaint(package_, () => call(package_, value, { ...base, name: `hostile ${calls}` }));
      if (wrong) complaints.push(`${place}, ${what}: ${wrong}`);
    }
  }
  return { calls, complaints };
}
