//! Vectors against Python onnxruntime, on the real model files, through tract.
//!
//! int8 is judged by its distance to f32, never to another int8: two right implementations of dynamic quantisation
//! differ from each other by as much as each differs from f32. Where no f32 file is at hand (e5) there is no choice.
//!
//! f32 runs over all 40 texts. int8 runs over the short ones, and over one long one with the smallest model: tract's
//! int8 matrix product is slow, all 40 would cost minutes of the processor's time. It is enough: f32
//! shows that the graph holds at 512 tokens, the long text that a scale taken from many tokens does no harm, and tract in
//! int8 only vouches for the encoder on a few probes, or stands in for it. What applications get, the
//! encoder, is held to all 40 texts in both precisions by tests/e2e/vectors.test.mjs.
#![cfg(feature = "tract")]
#![allow(clippy::unwrap_used)] // a test may

mod common;

use burrow::embed::TextKind;
use burrow::embed::presets::Preset;
use burrow::embed::sentence::{Engine, Prefixes, SentenceEncoder};
use burrow::embed::tokenizer::WordPiece;
use burrow::embed::tract::{OnnxModel, TractEngine};
use common::{cosine, model_file, texts, tokens, vectors};

/// In tokens: what int8 has time for. Several scripts, upper case, accents and texts of no words are among them.
const SHORT: usize = 16;
const LONG_TEXT: &str = "2000 words";

/// How far two right implementations of dynamic quantisation were seen apart, in cosine to f32.
const INT8_DIFFERENCE: f64 = 0.005;

fn encoder(preset: &Preset, file: &str) -> SentenceEncoder {
    let model = OnnxModel::parse(&model_file(preset.name, file)).unwrap();
    let engine = TractEngine::load(model).unwrap();
    assert_eq!(engine.hidden_size(), preset.dims);
    let tokenizer = model_file(preset.name, "tokenizer.json");
    let tokenizer = WordPiece::from_tokenizer_json(&tokenizer, Some(preset.lowercase)).unwrap();
    let prefixes = Prefixes {
        query: preset.query_prefix.to_owned(),
        document: preset.document_prefix.to_owned(),
    };
    SentenceEncoder::new(
        tokenizer,
        Box::new(engine),
        preset.pooling,
        prefixes,
        preset.max_tokens,
    )
}

/// A text and its reference vectors.
struct Case {
    name: String,
    text: String,
    f32: Vec<f32>,
    int8: Vec<f32>,
}

impl Case {
    /// All 40 of a model; a precision without a file leaves its vectors empty.
    fn all(model: &str, precisions: &[&str]) -> Vec<Self> {
        let dims = Preset::find(model).unwrap().dims;
        let reference = |precision| {
            if precisions.contains(&precision) {
                vectors(model, precision, dims)
            } else {
                vec![Vec::new(); 40]
            }
        };
        let (f32, int8) = (reference("f32"), reference("int8"));
        assert_eq!((texts().len(), f32.len(), int8.len()), (40, 40, 40));
        let with_vectors = texts().into_iter().zip(f32.into_iter().zip(int8));
        with_vectors
            .map(|(text, (f32, int8))| Self {
                name: text.name,
                text: text.text,
                f32,
                int8,
            })
            .collect()
    }

    /// Those that int8 has time for.
    fn for_int8(model: &str, precisions: &[&str]) -> Vec<Self> {
        let ids = tokens(model).ids;
        let mut cases = Self::all(model, precisions);
        cases.retain(|case| {
            ids[&case.name].len() <= SHORT || (model == "all-MiniLM-L6-v2" && case.name == LONG_TEXT)
        });
        assert!(cases.len() >= 9);
        cases
    }
}

/// The cosine of each text's vector to its reference.
fn cosines<'a>(
    model: &str,
    file: &str,
    cases: &'a [Case],
    reference: fn(&Case) -> &[f32],
) -> Vec<(&'a str, f64)> {
    let encoder = encoder(Preset::find(model).unwrap(), file);
    let texts: Vec<_> = cases.iter().map(|case| case.text.clone()).collect();
    let embedded = encoder.embed(&texts, TextKind::Document).unwrap();
    let pairs = cases.iter().zip(&embedded);
    pairs
        .map(|(case, ours)| (case.name.as_str(), cosine(&ours.vector, reference(case))))
        .collect()
}

fn at_least(least: f64, cosines: &[(&str, f64)]) {
    let below: Vec<_> = cosines.iter().filter(|(_, cosine)| *cosine < least).collect();
    assert!(below.is_empty(), "below {least}: {below:?}");
}

fn mean(cosines: impl Iterator<Item = f64>) -> f64 {
    let cosines: Vec<_> = cosines.collect();
    cosines.iter().sum::<f64>() / cosines.len() as f64
}

fn f32_equals_the_reference(model: &str) {
    let cases = Case::all(model, &["f32"]);
    at_least(0.99999, &cosines(model, "model.onnx", &cases, |case| &case.f32));
}

/// On average no more than 0.001 further from f32 than onnxruntime is with the same file, and each text at 0.985 or
/// where onnxruntime is. (The files themselves are no nearer: onnxruntime has 1, 9 and 19 of the 40 below 0.985.)
fn int8_is_as_near_to_f32_as_the_reference_is(model: &str) {
    let cases = Case::for_int8(model, &["f32", "int8"]);
    let theirs: Vec<_> = cases.iter().map(|case| cosine(&case.f32, &case.int8)).collect();
    let ours = cosines(model, "model_quantized.onnx", &cases, |case| &case.f32);
    let (our_mean, their_mean) = (
        mean(ours.iter().map(|(_, ours)| *ours)),
        mean(theirs.iter().copied()),
    );
    assert!(our_mean >= their_mean - 0.001, "{our_mean} against {their_mean}");
    for ((name, ours), theirs) in ours.iter().zip(theirs) {
        assert!(
            *ours >= f64::min(0.985, theirs - INT8_DIFFERENCE),
            "{name}: {ours} against {theirs}"
        );
    }
}

#[test]
fn bge_small_en_in_f32_equals_the_reference() {
    f32_equals_the_reference("bge-small-en-v1.5");
}

#[test]
fn bge_small_zh_in_f32_equals_the_reference() {
    f32_equals_the_reference("bge-small-zh-v1.5");
}

#[test]
fn minilm_in_f32_equals_the_reference() {
    f32_equals_the_reference("all-MiniLM-L6-v2");
}

#[test]
fn bge_small_en_in_int8_is_as_near_to_f32_as_the_reference_is() {
    int8_is_as_near_to_f32_as_the_reference_is("bge-small-en-v1.5");
}

#[test]
fn bge_small_zh_in_int8_is_as_near_to_f32_as_the_reference_is() {
    int8_is_as_near_to_f32_as_the_reference_is("bge-small-zh-v1.5");
}

#[test]
fn minilm_in_int8_is_as_near_to_f32_as_the_reference_is() {
    int8_is_as_near_to_f32_as_the_reference_is("all-MiniLM-L6-v2");
}

#[test]
fn e5_in_int8_is_near_the_reference() {
    let cases = Case::for_int8("e5-small-v2", &["int8"]);
    at_least(
        0.985,
        &cosines("e5-small-v2", "model_quantized.onnx", &cases, |case| &case.int8),
    );
}

/// Four memories and three questions with the scores that sentence-transformers gives them, to four digits.
#[test]
fn the_chinese_model_scores_four_memories_as_sentence_transformers_does() {
    let memories = [
        ("food", "用户喜欢吃披萨，尤其是玛格丽特"),
        ("code", "用户主要写 Python，用 pytest 做测试"),
        ("schedule", "用户周三下午三点之后不排会"),
        ("style", "用户要求回答简短，不要用感叹号"),
    ];
    let table = [
        (
            "用户喜欢吃什么",
            [("food", 0.6418), ("code", 0.4374), ("style", 0.4276)],
        ),
        (
            "用户用什么写代码",
            [("code", 0.6543), ("style", 0.4837), ("schedule", 0.3490)],
        ),
        (
            "回复风格有什么要求",
            [("style", 0.5602), ("code", 0.4097), ("schedule", 0.3406)],
        ),
    ];
    let encoder = encoder(Preset::find("bge-small-zh-v1.5").unwrap(), "model.onnx");
    let texts = memories.map(|(_, text)| text.to_owned());
    let documents = encoder.embed(&texts, TextKind::Document).unwrap();
    for (question, ranked) in table {
        let query = &encoder.embed(&[question.to_owned()], TextKind::Query).unwrap()[0].vector;
        let scores = documents.iter().map(|document| cosine(query, &document.vector));
        let mut scored: Vec<_> = memories.iter().map(|(name, _)| *name).zip(scores).collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1));
        for ((name, score), (expected_name, expected_score)) in scored.iter().zip(ranked) {
            assert_eq!(*name, expected_name, "{question}");
            assert!(
                (score - expected_score).abs() < 0.000_1,
                "{question} {name}: {score}"
            );
        }
    }
}

#[test]
fn a_truncated_or_foreign_file_is_a_coded_error() {
    let whole = model_file("bge-small-zh-v1.5", "model_quantized.onnx");
    for length in [0, 1, 100, 10_000, whole.len() / 2, whole.len() - 1] {
        let error = OnnxModel::parse(&whole[..length]).and_then(|model| TractEngine::load(model).map(|_| ()));
        assert_eq!(error.unwrap_err().code(), "model_load", "{length} bytes");
    }
    let page = b"<!doctype html><html><body>Not found</body></html>";
    assert_eq!(OnnxModel::parse(page).err().unwrap().code(), "model_load");
    let tokenizer = model_file("bge-small-zh-v1.5", "tokenizer.json");
    assert_eq!(OnnxModel::parse(&tokenizer).err().unwrap().code(), "model_load");
}
