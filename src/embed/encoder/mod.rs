//! A BERT encoder that does nothing else.
//!
//! tract can run any graph and ONNX Runtime does it faster; neither knows that what they run is the one architecture
//! nearly all small sentence encoders share. Knowing it makes a few hundred lines do: a fixed sequence of products over
//! weights that lie as the products read them, with everything between two products fused. Megabytes of wasm become
//! kilobytes, and the time goes where it must, into multiply-adds.
//!
//! | room         | what                                                                               |
//! |--------------|------------------------------------------------------------------------------------|
//! | `kernels`    | the arithmetic: plain Rust, simd128, relaxed-simd                                  |
//! | `layer`      | a transformer layer over rows of tokens                                            |
//! | `attention`  | its only part that knows where sequences begin                                     |
//! | `embeddings` | token ids to the first layer's input                                               |
//! | `engine`     | [`Encoder`]: ids in, one vector per sequence out                                   |
//! | `pack`       | the file it runs from                                                              |
//! | `quantise`   | how that file is made from a model's weights                                       |
//! | `smoothing`  | what int8 weights and activations share between them                               |
//!
//! Invariants:
//! * sequences are never padded: a text's vector does not depend on what it was batched with (in f32 to the rounding of
//!   nothing at all, since every row goes through the same operations in the same order);
//! * memory beside the pack is bounded by the longest sequence or 512 tokens, whichever is more;
//! * `unsafe` is in the kernels only.

mod attention;
mod bytes;
mod embeddings;
mod engine;
mod kernels;
mod layer;
pub mod pack;
mod quantise;
mod smoothing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tiny;

pub use bytes::AlignedBytes;
pub use engine::Encoder;
pub use quantise::{Parts, make_pack, make_pack_of_parts};

use crate::Result;
use crate::embed::sentence::SentenceEncoder;
use crate::embed::tokenizer::WordPiece;

/// Everything a pack holds, put together: texts in, vectors out.
pub fn open(bytes: impl Into<AlignedBytes>) -> Result<SentenceEncoder> {
    assemble(Encoder::from_pack(bytes)?)
}

/// An encoder and the tokenizer that its pack holds, put together.
pub fn assemble(encoder: Encoder) -> Result<SentenceEncoder> {
    let info = encoder.header().model.clone();
    let vocabulary = encoder.pack().vocabulary()?.map(str::to_owned).collect();
    let prefixes = info.prefixes();
    let tokenizer = WordPiece::new(vocabulary, info.tokenizer)?;
    Ok(SentenceEncoder::new(
        tokenizer,
        Box::new(encoder),
        info.pooling,
        prefixes,
        info.max_tokens,
    ))
}
