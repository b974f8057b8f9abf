//! The files, with the sizes and digests of the hub's own copies.

/// One file of one model.
pub struct ModelFile {
    /// The model, as presets name it.
    pub model: &'static str,
    /// The file's name in the folder of models.
    pub name: &'static str,
    /// Its path in the hub's repository `Xenova/MODEL`.
    pub hub: &'static str,
    /// Ends the name of the Maven artifact that carries it.
    pub artifact: &'static str,
    /// Its name at the root of that artifact's jar.
    pub jar_entry: &'static str,
    /// Bytes.
    pub size: u64,
    /// Lower-case hexadecimal.
    pub sha256: &'static str,
}

const fn file(
    place: [&'static str; 3],
    jar: [&'static str; 2],
    size: u64,
    sha256: &'static str,
) -> ModelFile {
    let [model, name, hub] = place;
    let [artifact, jar_entry] = jar;
    ModelFile {
        model,
        name,
        hub,
        artifact,
        jar_entry,
        size,
        sha256,
    }
}

const F32: &str = "onnx/model.onnx";
const INT8: &str = "onnx/model_quantized.onnx";
const TOKENIZER: &str = "tokenizer.json";

/// All of them.
pub const FILES: &[ModelFile] = &[
    file(
        ["bge-small-en-v1.5", "model.onnx", F32],
        ["bge-small-en-v15", "bge-small-en-v1.5.onnx"],
        133_093_490,
        "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35",
    ),
    file(
        ["bge-small-en-v1.5", "model_quantized.onnx", INT8],
        ["bge-small-en-v15-q", "bge-small-en-v1.5-q.onnx"],
        34_014_426,
        "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
    ),
    file(
        ["bge-small-en-v1.5", "tokenizer.json", TOKENIZER],
        ["bge-small-en-v15-q", "bge-small-en-v1.5-q-tokenizer.json"],
        711_396,
        "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    ),
    file(
        ["bge-small-zh-v1.5", "model.onnx", F32],
        ["bge-small-zh-v15", "bge-small-zh-v1.5.onnx"],
        94_851_877,
        "69a0b846f4f116b5e6aabf9546ea6754d02264f3211a13a1bd69b31b8040749a",
    ),
    file(
        ["bge-small-zh-v1.5", "model_quantized.onnx", INT8],
        ["bge-small-zh-v15-q", "bge-small-zh-v1.5-q.onnx"],
        24_010_842,
        "15b717c382bcb518ba457b93ea6850ede7f4f1cd8937454aa06972366cd19bcc",
    ),
    file(
        ["bge-small-zh-v1.5", "tokenizer.json", TOKENIZER],
        ["bge-small-zh-v15-q", "bge-small-zh-v1.5-q-tokenizer.json"],
        439_125,
        "48cea5d44424912a6fd1ea647bf4fe50b55ab8b1e5879c3275f80e339e8fae26",
    ),
    file(
        ["all-MiniLM-L6-v2", "model.onnx", F32],
        ["all-minilm-l6-v2", "all-minilm-l6-v2.onnx"],
        90_984_153,
        "ca46f1a88a9c6e61b918af1ab38be3e7903b986616551f0a6f10a7ecc5730cd4",
    ),
    file(
        ["all-MiniLM-L6-v2", "model_quantized.onnx", INT8],
        ["all-minilm-l6-v2-q", "all-minilm-l6-v2-q.onnx"],
        22_972_370,
        "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
    ),
    file(
        ["all-MiniLM-L6-v2", "tokenizer.json", TOKENIZER],
        ["all-minilm-l6-v2-q", "all-minilm-l6-v2-q-tokenizer.json"],
        711_661,
        "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
    ),
    file(
        ["e5-small-v2", "model_quantized.onnx", INT8],
        ["e5-small-v2-q", "e5-small-v2-q.onnx"],
        34_014_367,
        "7d9092cb25f2bd1c023b7e8d2aa459044a02030ac880e5a59fdaf27af69f1ded",
    ),
    file(
        ["e5-small-v2", "tokenizer.json", TOKENIZER],
        ["e5-small-v2-q", "e5-small-v2-q-tokenizer.json"],
        711_396,
        "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    ),
];
