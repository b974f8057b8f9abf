// What int8 costs, on the retrieval sets: the same searches on f32 and on int8 vectors. Runs in a page.
import { packName } from "../embed/models.mjs";
import { compare, judge, rank } from "./judge.mjs";

const CHUNK = 16;
/** Texts on which the encoder is held against tract. */
const VOUCHED = 2000;

/** All ways to make a vector that are compared; the first is what the others are measured by. */
function variants({ code, models, builds }, model) {
  const burrow = (precision, from, build) => ({
    name: `${precision} pack from the ${from} file, ${build}`,
    options: { engine: "burrow", code, build, pack: `${models}/packs/${packName(model, precision, from)}` },
  });
  const int8 = builds.toReversed().flatMap((build) => [burrow("int8", "f32", build), burrow("int8", "int8", build)]);
  const onnx = `${models}/${model}/model_quantized.onnx`;
  const ort = { name: "onnxruntime-web, published int8 file", options: { engine: "ort", code, threads: 1, onnx } };
  return [burrow("f32", "f32", builds[0]), ...int8, ort];
}

/** @param plan `{ model, corpus: url }` */
export async function quality(host, { model, corpus }, tell) {
  const { documents, queries } = await fetchCorpus(corpus);
  const texts = [...documents, ...queries].map(({ text }) => text);
  const ids = await tokenize(host, model, texts);
  const [f32, ...others] = variants(host, model);
  const reference = await embedAll(host, f32, texts, ids);
  const ranked = rank(reference, documents, queries);
  const base = { name: f32.name, ...judge(ranked, documents, queries) };
  tell(base);
  const rows = [base];
  for (const other of others) {
    const vectors = await embedAll(host, other, texts, ids);
    const row = { name: other.name, ...compare(vectors, reference, ranked, documents, queries), f32: base.ndcg };
    tell(row);
    rows.push(row);
  }
  const tract = await agreement(host, model, texts, reference);
  tell(tract);
  return { model, documents: documents.length, queries: queries.length, rows, tract };
}

/** The f32 encoder against tract on the same file. */
async function agreement(host, model, texts, reference) {
  const step = Math.floor(texts.length / VOUCHED);
  const chosen = Array.from({ length: VOUCHED }, (_, i) => i * step);
  const options = { engine: "tract", code: host.code, model, models: host.models };
  const vectors = await embedAll(
    host,
    { options },
    chosen.map((i) => texts[i]),
  );
  const { cosineMin, cosineMedian } = compare(
    vectors,
    chosen.map((i) => reference[i]),
  );
  return { name: `f32 encoder against tract, ${VOUCHED} texts`, cosineMin, cosineMedian };
}

async function fetchCorpus(url) {
  const { body } = await fetch(url);
  return new Response(body.pipeThrough(new DecompressionStream("gzip"))).json();
}

async function tokenize(host, model, texts) {
  const thread = await host.start();
  const pack = `${host.models}/packs/${packName(model, "int8")}`;
  await thread.call("load", { engine: "burrow", code: host.code, build: "simd128", pack });
  const ids = await thread.call("tokenize", { texts });
  thread.stop();
  return ids;
}

/** Shared among as many threads as there are cores; texts of similar length go together. */
async function embedAll(host, { options }, texts, ids) {
  const order = texts.map((_, i) => i).sort((a, b) => texts[a].length - texts[b].length);
  const chunks = [];
  // ONNX Runtime would have to pad: one at a time is what it is best at.
  const size = options.engine === "ort" ? 1 : CHUNK;
  for (let at = 0; at < order.length; at += size) chunks.push(order.slice(at, at + size));
  const vectors = new Array(texts.length);
  const work = async () => {
    const thread = await host.start();
    await thread.call("load", options);
    for (let chunk = chunks.pop(); chunk !== undefined; chunk = chunks.pop()) {
      const input = { texts: chunk.map((i) => texts[i]), ids: ids && chunk.map((i) => ids[i]) };
      const made = await thread.call("embed", { input });
      chunk.forEach((i, at) => {
        vectors[i] = made[at];
      });
    }
    thread.stop();
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, work));
  return vectors;
}
