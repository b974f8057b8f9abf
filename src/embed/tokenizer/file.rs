//! `tokenizer.json`, as far as it describes a BERT WordPiece tokenizer.
//!
//! The format can describe much more; whatever would change the ids and is not understood is refused by name. Padding
//! and truncation settings are not the tokenizer's here: batches are ragged and the preset knows the limit.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::rules::TokenizerRules;
use crate::{Error, Result};

/// The highest id accepted; ids become positions in a list.
const MAX_ID: u32 = 1 << 20;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    normalizer: Option<Normalizer>,
    pre_tokenizer: Option<Typed>,
    post_processor: Option<PostProcessor>,
    model: Model,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
}

#[derive(Deserialize)]
struct Normalizer {
    r#type: String,
    #[serde(default = "yes")]
    clean_text: bool,
    #[serde(default = "yes")]
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    #[serde(default = "yes")]
    lowercase: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct Typed {
    r#type: String,
}

#[derive(Deserialize)]
struct PostProcessor {
    r#type: String,
    /// `TemplateProcessing`: the parts of a single sequence.
    #[serde(default)]
    single: Vec<Value>,
    /// `BertProcessing` and `RobertaProcessing`: token and id.
    cls: Option<(String, u32)>,
    sep: Option<(String, u32)>,
}

#[derive(Deserialize)]
struct Model {
    r#type: Option<String>,
    vocab: HashMap<String, u32>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    max_input_chars_per_word: Option<usize>,
}

/// The vocabulary in the order of its ids, and the rules.
pub(super) fn parse(bytes: &[u8], lowercase: Option<bool>) -> Result<(Vec<String>, TokenizerRules)> {
    let file: File = serde_json::from_slice(bytes).map_err(|error| {
        Error::model_load("the tokenizer file is not a tokenizer.json of a WordPiece model").caused_by(error)
    })?;
    expect_type(
        "model",
        file.model.r#type.as_deref().unwrap_or("WordPiece"),
        &["WordPiece"],
    )?;
    let pre_tokenizer = file.pre_tokenizer.map(|typed| typed.r#type).unwrap_or_default();
    expect_type("pre_tokenizer", &pre_tokenizer, &["BertPreTokenizer"])?;
    let mut rules = TokenizerRules::default();
    read_normalizer(&mut rules, file.normalizer, lowercase)?;
    if let Some(processor) = file.post_processor {
        read_post_processor(&mut rules, processor)?;
    }
    rules.unknown = file.model.unk_token.unwrap_or(rules.unknown);
    rules.continuing_prefix = file
        .model
        .continuing_subword_prefix
        .unwrap_or(rules.continuing_prefix);
    rules.max_word_chars = file
        .model
        .max_input_chars_per_word
        .unwrap_or(rules.max_word_chars);
    rules.special = file
        .added_tokens
        .iter()
        .map(|token| token.content.clone())
        .collect();
    let added = file
        .added_tokens
        .into_iter()
        .map(|token| (token.content, token.id));
    Ok((in_order(file.model.vocab.into_iter().chain(added))?, rules))
}

fn read_normalizer(
    rules: &mut TokenizerRules,
    normalizer: Option<Normalizer>,
    lowercase: Option<bool>,
) -> Result<()> {
    let normalizer = normalizer
        .ok_or_else(|| Error::model_load("the tokenizer has no normalizer; Burrow reads BERT's only"))?;
    expect_type("normalizer", &normalizer.r#type, &["BertNormalizer"])?;
    rules.clean_text = normalizer.clean_text;
    rules.split_cjk = normalizer.handle_chinese_chars;
    rules.lowercase = lowercase.unwrap_or(normalizer.lowercase);
    rules.strip_accents = normalizer.strip_accents.unwrap_or(rules.lowercase);
    Ok(())
}

fn read_post_processor(rules: &mut TokenizerRules, processor: PostProcessor) -> Result<()> {
    let known = ["TemplateProcessing", "BertProcessing", "RobertaProcessing"];
    expect_type("post_processor", &processor.r#type, &known)?;
    if processor.r#type == "TemplateProcessing" {
        let special = |at: usize| processor.single.get(at)?.get("SpecialToken")?.get("id")?.as_str();
        let ([Some(cls), None, Some(sep)], 3) =
            ([special(0), special(1), special(2)], processor.single.len())
        else {
            return Err(Error::model_load(
                "the tokenizer's template is not one token, the text, one token; Burrow reads BERT's only",
            ));
        };
        (rules.cls, rules.sep) = (cls.to_owned(), sep.to_owned());
    }
    if let (Some((cls, _)), Some((sep, _))) = (processor.cls, processor.sep) {
        (rules.cls, rules.sep) = (cls, sep);
    }
    Ok(())
}

fn expect_type(part: &str, found: &str, known: &[&str]) -> Result<()> {
    if known.contains(&found) {
        return Ok(());
    }
    let known = known.join(" or ");
    Err(Error::model_load(format!(
        "the tokenizer's {part} is {found:?}; Burrow reads {known}"
    ))
    .with("part", part)
    .with("found", found))
}

fn in_order(tokens: impl Iterator<Item = (String, u32)>) -> Result<Vec<String>> {
    let mut ordered = Vec::new();
    for (token, id) in tokens {
        if id > MAX_ID {
            return Err(Error::model_load("the tokenizer has an impossibly high token id").with("id", id));
        }
        let at = id as usize;
        if ordered.len() <= at {
            ordered.resize(at + 1, String::new());
        }
        ordered[at] = token;
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample() -> Value {
        json!({
            "added_tokens": [{"id": 4, "content": "[MASK]", "special": true}],
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                           "strip_accents": null, "lowercase": false},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing", "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100,
                      "vocab": {"[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 6}},
        })
    }

    fn refused(file: &Value) -> String {
        let error = parse(file.to_string().as_bytes(), None).unwrap_err();
        assert_eq!(error.code(), "model_load");
        error
            .context()
            .details
            .get("part")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn ids_are_positions_and_gaps_are_empty() {
        let (vocab, rules) = parse(sample().to_string().as_bytes(), None).unwrap();
        assert_eq!(vocab, ["", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "", "a"]);
        assert_eq!(rules.special, ["[MASK]"]);
    }

    #[test]
    fn lower_casing_can_be_overruled_and_takes_accents_along() {
        let bytes = sample().to_string();
        let flags = |lowercase| {
            let rules = parse(bytes.as_bytes(), lowercase).unwrap().1;
            (rules.lowercase, rules.strip_accents)
        };
        assert_eq!(flags(None), (false, false));
        assert_eq!(flags(Some(true)), (true, true));
    }

    #[test]
    fn another_frame_than_cls_and_sep_is_read_from_the_file() {
        let mut file = sample();
        file["post_processor"] =
            json!({"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2], "trim_offsets": true});
        let rules = parse(file.to_string().as_bytes(), None).unwrap().1;
        assert_eq!((rules.cls.as_str(), rules.sep.as_str()), ("<s>", "</s>"));
    }

    #[test]
    fn what_would_change_the_ids_and_is_not_understood_is_refused_by_name() {
        for (part, value) in [
            ("model", json!({"type": "BPE", "vocab": {}, "merges": []})),
            ("pre_tokenizer", json!({"type": "Whitespace"})),
            ("normalizer", json!({"type": "NFKC"})),
            ("post_processor", json!({"type": "ByteLevel"})),
        ] {
            let mut file = sample();
            file[part] = value;
            assert_eq!(refused(&file), part);
        }
        let mut file = sample();
        file["model"]["vocab"]["a"] = json!(4_000_000_000_u32);
        refused(&file);
        for bytes in [&b"<!doctype html>"[..], b"", b"{}", b"\xff"] {
            assert_eq!(parse(bytes, None).unwrap_err().code(), "model_load");
        }
    }
}
