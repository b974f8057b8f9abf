//! The models Burrow knows by name.
//!
//! A preset pins everything that decides a vector: the file by size and sha256, the tokenizer and whether it
//! lower-cases, pooling, prefixes, the limit. The Chinese tokenizer file says that it keeps case, under which "Python"
//! is an unknown word; the model was trained lower-cased, so the preset lower-cases.
//!
//! The query instruction of the bge models gains nothing on questions (measured on SQuAD and CMRC), so it is known but
//! off; e5's two prefixes are part of that model and always on.

use crate::embed::pooling::Pooling;
use crate::embed::source::Precision;

/// A file on the hub. `sha256` and `size` are absent where the file was never seen by those who wrote the preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresetFile {
    /// Path inside the model's folder.
    pub path: &'static str,
    /// Bytes.
    pub size: Option<u64>,
    /// Lower-case hex.
    pub sha256: Option<&'static str>,
}

/// A model known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// What an application writes.
    pub name: &'static str,
    /// ONNX file in float.
    pub f32: PresetFile,
    /// ONNX file in int8.
    pub int8: PresetFile,
    /// `tokenizer.json`.
    pub tokenizer: PresetFile,
    /// How the model pools.
    pub pooling: Pooling,
    /// Put before a question.
    pub query_prefix: &'static str,
    /// Put before something to be found.
    pub document_prefix: &'static str,
    /// Was trained with this before a question, but does as well without: off unless asked for.
    pub query_instruction: Option<&'static str>,
    /// Whatever the tokenizer file says.
    pub lowercase: bool,
    /// Longest sequence, `[CLS]` and `[SEP]` included.
    pub max_tokens: usize,
    /// Length of its vectors.
    pub dims: usize,
}

impl Preset {
    /// All of them.
    pub const ALL: &'static [Self] = &[BGE_SMALL_EN, BGE_SMALL_ZH, MINILM, E5_SMALL];

    /// By its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|preset| preset.name == name)
    }

    /// The ONNX file of a precision.
    pub fn model(&self, precision: Precision) -> PresetFile {
        match precision {
            Precision::F32 => self.f32,
            Precision::Int8 => self.int8,
        }
    }

    /// The folder its files are in.
    pub fn folder(&self) -> String {
        format!("https://huggingface.co/Xenova/{}/resolve/main/", self.name)
    }
}

const fn pinned(path: &'static str, size: u64, sha256: &'static str) -> PresetFile {
    PresetFile {
        path,
        size: Some(size),
        sha256: Some(sha256),
    }
}

const F32: &str = "onnx/model.onnx";
const INT8: &str = "onnx/model_quantized.onnx";
const TOKENIZER: &str = "tokenizer.json";

/// bge-small-en and e5-small share one file.
const ENGLISH_TOKENIZER: PresetFile = pinned(
    TOKENIZER,
    711_396,
    "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
);

const BGE_SMALL_EN: Preset = Preset {
    name: "bge-small-en-v1.5",
    f32: pinned(
        F32,
        133_093_490,
        "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35",
    ),
    int8: pinned(
        INT8,
        34_014_426,
        "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
    ),
    tokenizer: ENGLISH_TOKENIZER,
    pooling: Pooling::Cls,
    query_prefix: "",
    document_prefix: "",
    query_instruction: Some("Represent this sentence for searching relevant passages: "),
    lowercase: true,
    max_tokens: 512,
    dims: 384,
};

const BGE_SMALL_ZH: Preset = Preset {
    name: "bge-small-zh-v1.5",
    f32: pinned(
        F32,
        94_851_877,
        "69a0b846f4f116b5e6aabf9546ea6754d02264f3211a13a1bd69b31b8040749a",
    ),
    int8: pinned(
        INT8,
        24_010_842,
        "15b717c382bcb518ba457b93ea6850ede7f4f1cd8937454aa06972366cd19bcc",
    ),
    tokenizer: pinned(
        TOKENIZER,
        439_125,
        "48cea5d44424912a6fd1ea647bf4fe50b55ab8b1e5879c3275f80e339e8fae26",
    ),
    pooling: Pooling::Cls,
    query_prefix: "",
    document_prefix: "",
    query_instruction: Some("为这个句子生成表示以用于检索相关文章："),
    lowercase: true,
    max_tokens: 512,
    dims: 512,
};

const MINILM: Preset = Preset {
    name: "all-MiniLM-L6-v2",
    f32: pinned(
        F32,
        90_984_153,
        "ca46f1a88a9c6e61b918af1ab38be3e7903b986616551f0a6f10a7ecc5730cd4",
    ),
    int8: pinned(
        INT8,
        22_972_370,
        "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
    ),
    tokenizer: pinned(
        TOKENIZER,
        711_661,
        "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
    ),
    pooling: Pooling::Mean,
    query_prefix: "",
    document_prefix: "",
    query_instruction: None,
    lowercase: true,
    // It has positions for 512, but was trained on 256 and sentence-transformers cuts there.
    max_tokens: 256,
    dims: 384,
};

const E5_SMALL: Preset = Preset {
    name: "e5-small-v2",
    f32: PresetFile {
        path: F32,
        size: None,
        sha256: None,
    },
    int8: pinned(
        INT8,
        34_014_367,
        "7d9092cb25f2bd1c023b7e8d2aa459044a02030ac880e5a59fdaf27af69f1ded",
    ),
    tokenizer: ENGLISH_TOKENIZER,
    pooling: Pooling::Mean,
    query_prefix: "query: ",
    document_prefix: "passage: ",
    query_instruction: None,
    lowercase: true,
    max_tokens: 512,
    dims: 384,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_nothing_else() {
        for preset in Preset::ALL {
            assert_eq!(Preset::find(preset.name), Some(preset));
        }
        assert_eq!(Preset::find("bge-small"), None);
    }

    #[test]
    fn every_hash_is_sixty_four_hex_digits() {
        let files = Preset::ALL
            .iter()
            .flat_map(|preset| [preset.f32, preset.int8, preset.tokenizer]);
        for sha256 in files.filter_map(|file| file.sha256) {
            assert_eq!(sha256.len(), 64);
            assert!(
                sha256
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
            );
        }
    }
}
