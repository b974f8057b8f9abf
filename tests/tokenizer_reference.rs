//! Token ids against Python `tokenizers`, on the real tokenizer files.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)] // a test may

mod common;

use std::collections::BTreeMap;

use burrow::embed::presets::Preset;
use burrow::embed::tokenizer::WordPiece;
use common::{fixture, model_file, texts, tokens};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

fn tokenizer(preset: &Preset) -> WordPiece {
    let bytes = model_file(preset.name, "tokenizer.json");
    WordPiece::from_tokenizer_json(&bytes, Some(preset.lowercase)).unwrap()
}

#[test]
fn forty_texts_have_the_ids_of_the_reference_for_every_preset() {
    for preset in Preset::ALL {
        let tokenizer = tokenizer(preset);
        let reference = tokens(preset.name);
        assert_eq!(reference.max_tokens, preset.max_tokens);
        assert_eq!(reference.prefix, preset.document_prefix);
        let texts = texts();
        assert_eq!(texts.len(), 40);
        for text in texts {
            let encoded = tokenizer.encode(&format!("{}{}", reference.prefix, text.text), preset.max_tokens);
            assert_eq!(
                encoded.ids, reference.ids[&text.name],
                "{}: {}",
                preset.name, text.name
            );
            assert_eq!(
                encoded.truncated,
                reference.truncated.contains(&text.name),
                "{}",
                text.name
            );
        }
    }
}

/// The fixture holds one digest for each block of 4096 code points.
#[test]
fn every_code_point_has_the_ids_of_the_reference() {
    let blocks: BTreeMap<String, String> =
        serde_json::from_slice(&fixture("embedding/code_points.json")).unwrap();
    let tokenizer = tokenizer(Preset::find("bge-small-zh-v1.5").unwrap());
    let digest = |start: u32| {
        let mut hash = Sha256::new();
        for c in (start..start + 4096).filter_map(char::from_u32) {
            for id in tokenizer.encode(&format!("a{c}b {c}"), 512).ids {
                hash.update(id.to_le_bytes());
            }
        }
        hash.finalize()[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    assert_eq!(blocks.len(), 40);
    for (start, expected) in blocks {
        assert_eq!(
            digest(u32::from_str_radix(&start, 16).unwrap()),
            expected,
            "block {start}"
        );
    }
}

#[test]
fn without_the_presets_rule_the_chinese_file_does_not_know_python() {
    let bytes = model_file("bge-small-zh-v1.5", "tokenizer.json");
    let believed = WordPiece::from_tokenizer_json(&bytes, None).unwrap();
    assert_eq!(believed.encode("Python", 512).ids, [101, 100, 102]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_text_stays_within_vocabulary_and_limit(text in any::<String>(), limit in 2usize..64) {
        thread_local! {
            static REAL: WordPiece = tokenizer(Preset::find("bge-small-zh-v1.5").unwrap());
        }
        REAL.with(|tokenizer| {
            let ids = tokenizer.encode(&text, limit).ids;
            prop_assert!(ids.len() <= limit && ids.iter().all(|id| *id < 21_128));
            Ok(())
        })?;
    }
}
