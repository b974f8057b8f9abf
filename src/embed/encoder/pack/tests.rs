//! The format: byte for byte what the document says, and nothing else opens.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::embed::encoder::bytes::AlignedBytes;
use crate::embed::encoder::{make_pack, tiny};
use crate::embed::source::Precision;
use crate::embed::weights::{BertWeights, LayerWeights, Linear, Matrix};

fn code(bytes: &[u8]) -> &'static str {
    Pack::open(bytes.into()).map_or_else(|error| error.code(), |_| "opens")
}

/// Writes a checksum that fits, so that what lies behind it is reached.
fn seal(bytes: &mut [u8]) {
    let checksum = checksum(bytes).to_le_bytes();
    bytes[8..16].copy_from_slice(&checksum);
}

/// The writer by itself: the integers of the weights as they are, none of them quantised again.
fn written(weights: &BertWeights, precision: Precision) -> AlignedBytes {
    let vocabulary = tiny::vocabulary();
    let mut writer = PackWriter::new(
        weights.config.clone(),
        precision,
        false,
        &vocabulary,
        tiny::info(),
    )
    .unwrap();
    writer.embeddings(weights);
    for (index, layer) in weights.layers.iter().enumerate() {
        let layer = match precision {
            Precision::F32 => OwnedLayer::f32(layer),
            Precision::Int8 => as_they_are(layer),
        };
        writer.layer(index, &layer).unwrap();
    }
    writer.finish()
}

fn as_they_are(layer: &LayerWeights) -> OwnedLayer {
    let linear = |parts: &[&Linear]| OwnedLinear::int8(parts, vec![1.0; parts[0].input]);
    OwnedLayer {
        qkv: linear(&[&layer.q, &layer.k, &layer.v]),
        attention_output: linear(&[&layer.attention_output]),
        attention_norm: layer.attention_norm.clone(),
        intermediate: linear(&[&layer.intermediate]),
        output: linear(&[&layer.output]),
        output_norm: layer.output_norm.clone(),
    }
}

#[test]
fn packs_are_written_as_an_independent_writer_wrote_them() {
    for (int8, precision, expected) in [
        (false, Precision::F32, tiny::PACK_F32),
        (true, Precision::Int8, tiny::PACK_INT8),
    ] {
        let bytes = written(&tiny::weights(int8), precision);
        assert_eq!(bytes.len(), expected.len());
        let first = bytes.iter().zip(expected).position(|(a, b)| a != b);
        assert_eq!(first, None, "{precision:?} differs");
    }
}

#[test]
fn the_header_comes_back() {
    let pack = Pack::open(tiny::PACK_INT8.into()).unwrap();
    assert_eq!(pack.header().model, tiny::info());
    assert_eq!(pack.header().config, tiny::weights(true).config);
    assert_eq!(pack.vocabulary().unwrap().collect::<Vec<_>>(), tiny::vocabulary());
    assert_eq!(pack.size(), tiny::PACK_INT8.len());
}

#[test]
fn a_pack_cut_anywhere_is_corrupted() {
    for length in (0..tiny::PACK_INT8.len())
        .step_by(7)
        .chain([tiny::PACK_INT8.len() - 1])
    {
        assert_eq!(code(&tiny::PACK_INT8[..length]), "corrupted", "{length}");
    }
    let longer = [tiny::PACK_INT8, &[0]].concat();
    assert_eq!(code(&longer), "corrupted");
}

#[test]
fn a_changed_byte_anywhere_is_corrupted() {
    for at in (0..tiny::PACK_INT8.len()).step_by(13).chain(0..PRELUDE) {
        let mut bytes = tiny::PACK_INT8.to_vec();
        bytes[at] ^= 0x10;
        assert_eq!(code(&bytes), "corrupted", "{at}");
    }
}

#[test]
fn another_version_is_to_be_made_again() {
    let mut bytes = tiny::PACK_INT8.to_vec();
    bytes[16] = 2;
    seal(&mut bytes);
    assert_eq!(code(&bytes), "model_load");
}

#[test]
fn a_header_that_describes_another_pack_is_corrupted() {
    let replaced = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let mut bytes = tiny::PACK_INT8.to_vec();
        let at = bytes
            .windows(from.len())
            .position(|window| window == from.as_bytes())
            .unwrap();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        seal(&mut bytes);
        code(&bytes)
    };
    assert_eq!(replaced("\"heads\":2", "\"heads\":2"), "opens");
    assert_eq!(replaced("\"heads\":2", "\"heads\":3"), "corrupted");
    assert_eq!(replaced("\"layers\":2", "\"layers\":3"), "corrupted");
    assert_eq!(replaced("\"layers\":2", "\"layers\":0"), "corrupted");
    assert_eq!(replaced("\"hidden\":16", "\"hidden\":12"), "corrupted");
    assert_eq!(
        replaced(
            "\"intermediate\":24,\"vocab\":12",
            "\"intermediate\":24,\"vocab\":10"
        ),
        "corrupted"
    );
    assert_eq!(replaced("\"maxTokens\":10", "\"maxTokens\":11"), "corrupted");
    assert_eq!(replaced("\"maxTokens\":10", "\"maxTokenz\":10"), "corrupted");
    assert_eq!(
        replaced("\"precision\":\"int8\"", "\"precision\":\"f32\" "),
        "corrupted"
    );
    assert_eq!(replaced("[PAD]\n[UNK]", "[PAD]\n[UNK\u{7f}"), "opens");
}

#[test]
fn shapes_that_the_kernels_have_no_loops_for_are_refused_when_the_pack_is_made() {
    let mut weights = tiny::weights(false);
    weights.config.intermediate = 20;
    weights.layers.iter_mut().for_each(|layer| {
        for linear in [&mut layer.intermediate, &mut layer.output] {
            let (input, output) = (linear.input.min(20), linear.output.min(20));
            *linear = crate::embed::weights::Linear {
                input,
                output,
                weight: crate::embed::weights::Matrix::F32(vec![0.0; input * output]),
                bias: vec![0.0; output],
            };
        }
    });
    let error = make_pack(weights, Precision::F32, tiny::vocabulary(), tiny::info()).unwrap_err();
    assert_eq!(
        (error.code(), &error.context().details["intermediate"]),
        ("model_load", &20.into())
    );
}

#[test]
fn vocabularies_that_a_pack_cannot_hold_are_refused() {
    let mut broken = tiny::vocabulary();
    broken[5] = "a\nb".to_owned();
    let long = vec!["x".to_owned(); 13];
    for vocabulary in [broken, long] {
        let made = make_pack(tiny::weights(false), Precision::F32, vocabulary, tiny::info());
        assert_eq!(made.unwrap_err().code(), "model_load");
    }
}

#[test]
fn a_large_column_of_embeddings_does_not_cost_the_others_their_resolution() {
    let mut weights = tiny::weights(false);
    let Matrix::F32(word) = &mut weights.word else {
        unreachable!()
    };
    word.iter_mut()
        .skip(3)
        .step_by(16)
        .for_each(|value| *value *= 100.0);
    let word = word.clone();
    let pack = make_pack(weights, Precision::Int8, tiny::vocabulary(), tiny::info()).unwrap();
    let pack = Pack::open(pack).unwrap();
    for (index, row) in word.chunks_exact(16).enumerate() {
        let mut found = [0.0; 16];
        pack.embeddings().word.add(index, &mut found);
        for (column, (found, expected)) in found.iter().zip(row).enumerate() {
            // Values are below 0.5, or 50: three standard deviations over 127 steps, and half a step of rounding.
            let tolerance = if column == 3 { 0.5 } else { 0.005 };
            assert!(
                (found - expected).abs() < tolerance,
                "[{index}][{column}]: {found} for {expected}"
            );
        }
    }
}

/// Packs with a valid checksum and anything behind it: only codes come back, and what opens also runs.
#[cfg(not(target_arch = "wasm32"))]
mod mutated {
    use proptest::prelude::*;

    use super::*;
    use crate::embed::encoder::Encoder;
    use crate::embed::pooling::Pooling;
    use crate::embed::sentence::Engine;

    fn survives(mut bytes: Vec<u8>) {
        if bytes.len() >= PRELUDE {
            let length = bytes.len() as u64;
            bytes[..8].copy_from_slice(MAGIC);
            bytes[24..32].copy_from_slice(&length.to_le_bytes());
            seal(&mut bytes);
        }
        match Encoder::from_pack(bytes.as_slice()) {
            Ok(encoder) => {
                let _ = encoder.run(&[&[2, 5, 3]], Pooling::Cls);
                let _ = encoder.pack().vocabulary().map(Iterator::count);
            }
            Err(error) => assert!(["corrupted", "model_load"].contains(&error.code()), "{error:?}"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn bytes_anywhere(changes in prop::collection::vec((0_usize..tiny::PACK_INT8.len(), any::<u8>()), 1..8)) {
            let mut bytes = tiny::PACK_INT8.to_vec();
            for (at, value) in changes {
                bytes[at] = value;
            }
            survives(bytes);
        }

        #[test]
        fn bytes_of_the_header(changes in prop::collection::vec((0_usize..700, any::<u8>()), 1..4)) {
            let mut bytes = tiny::PACK_F32.to_vec();
            for (at, value) in changes {
                bytes[at] = value;
            }
            survives(bytes);
        }

        #[test]
        fn digits_of_the_header(at in 64_usize..200, digits in "[0-9]{1,20}") {
            let mut bytes = tiny::PACK_INT8.to_vec();
            let end = bytes[at..].iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(0);
            bytes.splice(at..at + end, digits.bytes());
            let length = u32::from_le_bytes([bytes[20], bytes[21], bytes[22], bytes[23]]);
            let length = length + digits.len() as u32 - end as u32;
            bytes[20..24].copy_from_slice(&length.to_le_bytes());
            survives(bytes);
        }

        #[test]
        fn cuts(length in 0_usize..tiny::PACK_INT8.len()) {
            survives(tiny::PACK_INT8[..length].to_vec());
        }
    }
}
