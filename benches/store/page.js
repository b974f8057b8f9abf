// What the store costs in a page, without inference: vectors come from a generator, so that only the store is timed.
// Beside each figure stands what the same work costs by hand: bare IndexedDB for writes, a plain loop over Float32Array
// for searches. Both take turns, so that a slow moment of the machine meets both.
import { Burrow } from "burrow-memory";

const DIMS = 384;
const TURNS = 30;

/** Unit vectors that depend on the text alone (xorshift, seeded by FNV-1a). */
function vectorOf(text) {
  let state = 2166136261;
  for (let at = 0; at < text.length; at++) state = Math.imul(state ^ text.charCodeAt(at), 16777619);
  const vector = new Float32Array(DIMS);
  let square = 0;
  for (let at = 0; at < DIMS; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    vector[at] = state / 2147483648;
    square += vector[at] * vector[at];
  }
  const length = Math.sqrt(square);
  return vector.map((value) => value / length);
}

const embed = (texts) => texts.map(vectorOf);
const options = (name, worker) => ({ name, worker, index: { embed, id: "generated", dims: DIMS, fields: ["text"] } });
const textOf = (at) => `Memory number ${at} says that the user likes thing ${at % 97} more than thing ${at % 89}.`;
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Bare IndexedDB: a record with document and vector, in a transaction of its own, until it is complete. */
async function openBare() {
  const request = indexedDB.open("bare");
  request.onupgradeneeded = () => request.result.createObjectStore("items");
  const database = await new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const put = (entries) =>
    new Promise((resolve, reject) => {
      const transaction = database.transaction("items", "readwrite");
      const items = transaction.objectStore("items");
      for (const [key, text] of entries) items.put({ text, vector: vectorOf(text).buffer }, key);
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
  /** Reads everything and keeps what passes. */
  const filter = (passes) =>
    new Promise((resolve, reject) => {
      const request = database.transaction("items").objectStore("items").getAll();
      request.onsuccess = () => resolve(request.result.filter(passes));
      request.onerror = () => reject(request.error);
    });
  return { put, filter, close: () => database.close() };
}

/** The ten best of a plain loop. */
function scan(vectors, query) {
  const scores = vectors.map((vector, at) => {
    let sum = 0;
    for (let i = 0; i < DIMS; i++) sum += vector[i] * query[i];
    return [sum, at];
  });
  return scores.sort((a, b) => b[0] - a[0]).slice(0, 10);
}

/** Times of one size of store, in milliseconds. */
async function measure({ size, worker }) {
  const name = `bench-${size}`;
  await Burrow.destroy(name);
  indexedDB.deleteDatabase("bare");
  const namespace = ["users", "u1", "facts"];
  const burrow = await Burrow.open(options(name, worker));
  const bare = await openBare();
  const entries = Array.from({ length: size }, (_, at) => [`k${at}`, textOf(at)]);
  const fill = async () => {
    for (let at = 0; at < size; at += 1000) {
      const part = entries.slice(at, at + 1000);
      await burrow.batch(part.map(([key, text]) => ({ op: "put", namespace, key, value: { text } })));
    }
  };
  const fillBare = async () => {
    for (let at = 0; at < size; at += 1000) await bare.put(entries.slice(at, at + 1000));
  };
  const filled = await timed(fill);
  const filledBare = await timed(fillBare);
  const times = { put: [], bare: [], search: [], filtered: [], filteredBare: [], loop: [], get: [] };
  const vectors = entries.map(([, text]) => vectorOf(text));
  for (let turn = 0; turn < TURNS; turn++) {
    const text = `A new memory, number ${turn}`;
    const query = `Which thing is number ${turn}?`;
    times.put.push(await timed(() => burrow.put(namespace, `new${turn}`, { text })));
    times.bare.push(await timed(() => bare.put([[`new${turn}`, text]])));
    times.search.push(await timed(() => burrow.search(["users", "u1"], { query })));
    times.loop.push(await timed(() => scan(vectors, vectorOf(query))));
    times.filtered.push(await timed(() => burrow.search(["users", "u1"], { query, filter: { kind: "none" } })));
    times.filteredBare.push(await timed(() => bare.filter(({ kind }) => kind === "none")));
    times.get.push(await timed(() => burrow.get(namespace, `k${turn}`)));
  }
  await burrow.close();
  const reopened = [];
  for (let turn = 0; turn < 5; turn++) {
    const start = performance.now();
    const again = await Burrow.open(options(name, worker));
    reopened.push(performance.now() - start);
    await again.close();
  }
  bare.close();
  const medians = Object.fromEntries(Object.entries(times).map(([what, all]) => [what, median(all)]));
  return { size, filled, filledBare, reopened: median(reopened), ...medians };
}

/** From opening a store to the first vector, in milliseconds; the model is installed by the first call and then kept. */
async function firstVector({ source }) {
  const start = performance.now();
  const burrow = await Burrow.open({ name: "first-vector", index: { embed: source, fields: ["text"] } });
  await burrow.put(["a"], "k", { text: `The first text, at ${start}` });
  const elapsed = performance.now() - start;
  const { model } = await burrow.stats();
  await burrow.close();
  return { elapsed, engine: model.engine, cached: model.cached };
}

globalThis.bench = { measure, firstVector };
