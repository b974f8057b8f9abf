// What is mangled: the small fixtures, so that a run is short and most of its bytes matter.
import { readdir, readFile } from "node:fs/promises";
import { createXXHash64 } from "hash-wasm";

const FIXTURES = new URL("../fixtures/", import.meta.url);

async function read(folder, ending) {
  const names = (await readdir(new URL(folder, FIXTURES))).filter((name) => name.endsWith(ending)).sort();
  return Promise.all(names.map(async (name) => new Uint8Array(await readFile(new URL(folder + name, FIXTURES)))));
}

/** Prelude of docs/format.md: checksum at 8 of everything from 16 on, length at 24. */
async function packs() {
  const hash = await createXXHash64();
  const seal = (bytes) => {
    if (bytes.length < 32) return bytes;
    const sealed = bytes.slice();
    const view = new DataView(sealed.buffer);
    view.setBigUint64(24, BigInt(sealed.length), true);
    view.setBigUint64(8, BigInt(`0x${hash.init().update(sealed.subarray(16)).digest("hex")}`), true);
    return sealed;
  };
  return { usual: 1000, seeds: await read("packs/", ".pack"), seal, source: (pack) => ({ pack }) };
}

/** The graphs of make_graphs.py have 40 tokens in their vocabulary. */
const VOCABULARY = "[PAD] [UNK] [CLS] [SEP] the cat sat on mat one two three".split(" ");
const TOKENIZER = new TextEncoder().encode(
  JSON.stringify({
    version: "1.0",
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: { type: "BertProcessing", sep: ["[SEP]", 3], cls: ["[CLS]", 2] },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(Array.from({ length: 40 }, (_, id) => [VOCABULARY[id] ?? `t${id}`, id])),
    },
  }),
);

async function graphs() {
  return {
    usual: 100,
    seeds: await read("graphs/", ".onnx"),
    seal: (bytes) => bytes,
    source: (model) => ({ files: { model, tokenizer: TOKENIZER }, precision: "f32", pooling: "mean", maxTokens: 12 }),
  };
}

/** By name; `usual` is how many files a run without limits tries. */
export const TARGETS = { pack: packs, onnx: graphs };
