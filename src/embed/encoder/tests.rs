//! The whole encoder against numpy, in the precision and build at hand.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::embed::TextKind;
use crate::embed::pooling::Pooling;
use crate::embed::sentence::Engine;
use crate::embed::source::Precision;

fn run(encoder: &Encoder, sequences: &[Vec<u32>], pooling: Pooling) -> Vec<Vec<f32>> {
    let sequences: Vec<&[u32]> = sequences.iter().map(Vec::as_slice).collect();
    encoder.run(&sequences, pooling).unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum::<f64>()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn an_f32_pack_gives_the_vectors_of_numpy() {
    let expected = tiny::expected();
    let encoder = Encoder::from_pack(tiny::PACK_F32).unwrap();
    for (pooling, vectors) in [
        (Pooling::Cls, &expected.f32.cls),
        (Pooling::Mean, &expected.f32.mean),
    ] {
        for (found, expected) in run(&encoder, &expected.sequences, pooling).iter().zip(vectors) {
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 2e-5,
                    "{pooling:?}: {found} for {expected}"
                );
            }
        }
    }
}

#[test]
fn an_int8_pack_gives_them_but_for_the_rounding_of_activations() {
    let expected = tiny::expected();
    let encoder = Encoder::from_pack(tiny::PACK_INT8).unwrap();
    // The expected vectors have exact activations. The wide coding is all but exact; the narrow one, 7 bits, has to be as
    // near as the two builds have to be to each other.
    let least = if cfg!(target_feature = "relaxed-simd") {
        0.995
    } else {
        0.999_999
    };
    for (pooling, vectors) in [
        (Pooling::Cls, &expected.int8.cls),
        (Pooling::Mean, &expected.int8.mean),
    ] {
        for (found, expected) in run(&encoder, &expected.sequences, pooling).iter().zip(vectors) {
            assert!(
                cosine(found, expected) > least,
                "{pooling:?}: {}",
                cosine(found, expected)
            );
        }
    }
}

#[test]
fn a_vector_does_not_depend_on_what_it_was_batched_with() {
    let sequences = tiny::expected().sequences;
    for pack in [tiny::PACK_F32, tiny::PACK_INT8] {
        let encoder = Encoder::from_pack(pack).unwrap();
        for pooling in [Pooling::Cls, Pooling::Mean] {
            let mut long = Vec::new();
            for _ in 0..40 {
                long.extend_from_slice(&sequences);
            }
            let together = run(&encoder, &long, pooling);
            for (at, ids) in long.iter().enumerate() {
                assert_eq!(together[at], run(&encoder, std::slice::from_ref(ids), pooling)[0]);
            }
        }
    }
}

#[test]
fn int8_made_here_is_near_to_the_f32_it_was_made_from() {
    let expected = tiny::expected();
    let bytes = make_pack(
        tiny::weights(false),
        Precision::Int8,
        tiny::vocabulary(),
        tiny::info(),
    )
    .unwrap();
    let encoder = Encoder::from_pack(bytes).unwrap();
    assert!(encoder.header().smoothed);
    let least = if cfg!(target_feature = "relaxed-simd") {
        0.998
    } else {
        0.999
    };
    for (found, expected) in run(&encoder, &expected.sequences, Pooling::Mean)
        .iter()
        .zip(&expected.f32.mean)
    {
        assert!(cosine(found, expected) > least, "{}", cosine(found, expected));
    }
}

#[test]
fn an_int8_model_as_f32_is_the_same_numbers() {
    let expected = tiny::expected();
    let bytes = make_pack(
        tiny::weights(true),
        Precision::F32,
        tiny::vocabulary(),
        tiny::info(),
    )
    .unwrap();
    let encoder = Encoder::from_pack(bytes).unwrap();
    for (found, expected) in run(&encoder, &expected.sequences, Pooling::Cls)
        .iter()
        .zip(&expected.int8.cls)
    {
        assert!(cosine(found, expected) > 0.999_999_9);
    }
}

#[test]
fn what_the_model_cannot_read_is_an_error() {
    let encoder = Encoder::from_pack(tiny::PACK_F32).unwrap();
    for ids in [&[][..], &[2, 12, 3], &[2; 11]] {
        assert_eq!(
            encoder.run(&[&[2, 3], ids], Pooling::Cls).unwrap_err().code(),
            "embedding",
            "{ids:?}"
        );
    }
    assert!(encoder.run(&[], Pooling::Cls).unwrap().is_empty());
}

#[test]
fn a_pack_is_all_a_sentence_encoder_needs() {
    let encoder = open(tiny::PACK_F32).unwrap();
    assert_eq!(
        encoder.tokenize("Dens 家", TextKind::Document).ids,
        [2, 5, 8, 10, 3]
    );
    let vectors = encoder.embed(&["dens".to_owned()], TextKind::Document).unwrap();
    let length: f32 = vectors[0].vector.iter().map(|value| value * value).sum();
    assert!((length - 1.0).abs() < 1e-5);
}
