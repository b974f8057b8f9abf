// Inputs of an exact number of tokens, out of the real text of the retrieval sets.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

/** `{ documents: [{ id, article, text }], queries: [{ id, article, text, relevant }] }` */
export function readCorpus(folder, name) {
  return JSON.parse(gunzipSync(readFileSync(`${folder}/${name}.json.gz`)));
}

/**
 * `batch` texts that are each exactly `tokens` tokens long, `[CLS]` and `[SEP]` included: successive sentences, cut
 * where they are long enough. Chinese text with Latin letters in it is left out: transformers.js follows a tokenizer
 * file that is wrong about their case, and would run other lengths.
 */
export function makeInput(documents, language, tokenize, tokens, batch) {
  const sentences = documents.map(({ text }) => text).filter((text) => language === "en" || !/[A-Za-z]/.test(text));
  const glue = language === "en" ? " " : "";
  const texts = [];
  const ids = [];
  let at = tokens * 7;
  while (texts.length < batch) {
    let text = "";
    while (tokenize(text).length < tokens) {
      text += (text === "" ? "" : glue) + sentences[at % sentences.length];
      at += 1;
    }
    const exact = cut(text, language, tokenize, tokens);
    texts.push(exact);
    ids.push(tokenize(exact));
  }
  return { tokens, batch, texts, ids };
}

/** Whole words, then at least one full stop, which is a token each: where the tokenizer cuts by itself it is not noticed. */
function cut(text, language, tokenize, tokens) {
  const pieces = language === "en" ? text.split(/(?<= )/) : Array.from(text);
  let [low, high] = [0, pieces.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tokenize(pieces.slice(0, middle).join("")).length < tokens) low = middle;
    else high = middle - 1;
  }
  let exact = pieces.slice(0, low).join("");
  while (tokenize(exact).length < tokens) exact += language === "en" ? " ." : "。";
  if (tokenize(exact).length !== tokens) throw new Error(`no text of ${tokens} tokens from ${exact.slice(0, 40)}…`);
  return exact;
}
