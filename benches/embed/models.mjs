// The models that are measured, and how much arithmetic they are.

/** Real files on all sides: FILES are the hub's own, packs are made from the f32 file. */
export const MODELS = {
  "bge-small-en-v1.5": {
    language: "en",
    corpus: "squad2-en",
    config: { layers: 12, hidden: 384, heads: 12, intermediate: 1536, vocab: 30522 },
  },
  "bge-small-zh-v1.5": {
    language: "zh",
    corpus: "cmrc2018-zh",
    config: { layers: 4, hidden: 512, heads: 8, intermediate: 2048, vocab: 21128 },
  },
};

export const PRECISIONS = ["f32", "int8"];

/** What the other engines load. */
export const ONNX_FILE = { f32: "model.onnx", int8: "model_quantized.onnx" };

/** transformers.js calls int8 files q8. */
export const DTYPE = { f32: "fp32", int8: "q8" };

/** What the xtask's pack step leaves in the folder of models. */
export function packName(model, precision, from = "f32") {
  return from === "f32" ? `${model}.${precision}.pack` : `${model}.${precision}-from-${from}.pack`;
}

/**
 * Floating-point operations that a CLS-pooled vector of one text needs: the six products of each layer and attention's
 * two, a multiply and an add each. Of the last layer only keys and values are needed of all tokens, the rest of the
 * first alone; the encoder computes no more, and what it leaves out is not counted as done. Softmax, norms and GELU
 * are left out of the count, so a share of the peak is a lower bound.
 */
export function flops({ layers, hidden, intermediate }, tokens) {
  const rows = (layers - 1) * tokens + 1;
  const perRow = 2 * (2 * hidden * hidden + 2 * hidden * intermediate) + 4 * tokens * hidden;
  const keysAndValues = layers * tokens * 2 * 2 * hidden * hidden;
  return rows * perRow + keysAndValues;
}

/** transformers.js wants these two files beside a model; the hub's say no more that matters here. */
export function hubFile(model, name) {
  const { layers, hidden, heads, intermediate, vocab } = MODELS[model].config;
  if (name === "config.json") {
    return JSON.stringify({
      architectures: ["BertModel"],
      model_type: "bert",
      hidden_act: "gelu",
      hidden_size: hidden,
      intermediate_size: intermediate,
      max_position_embeddings: 512,
      num_attention_heads: heads,
      num_hidden_layers: layers,
      type_vocab_size: 2,
      vocab_size: vocab,
    });
  }
  if (name === "tokenizer_config.json") {
    return JSON.stringify({ tokenizer_class: "BertTokenizer", do_lower_case: true, model_max_length: 512 });
  }
  return undefined;
}
