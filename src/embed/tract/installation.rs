//! Installing a model: from the bytes of an ONNX file to a pack, with tract beside it to vouch for the pack.
//!
//! ```text
//!                                       ┌─▶ compile ─▶ embed   tract's vectors of the probes
//! receive (model, tokenizer) ─▶ verify ─┤
//!                                       └─▶ pack               the encoder's file
//! ```
//!
//! The steps are apart so that whoever drives them can tell progress, be cancelled between two of them, and embed the
//! probes by both engines. A step out of turn is an error; each gives back the memory that the next does not need.
//!
//! An installation does one of the two, since tract's copies of the weights and the pack together are what a page's
//! memory is short of, and a wasm memory never shrinks: whoever wants both receives the file twice, the second time in
//! an instance that the first is gone from.

use super::{OnnxModel, TractEngine, recognise};
use crate::embed::encoder::{AlignedBytes, Parts, make_pack_of_parts, pack::PackInfo};
use crate::embed::sentence::{Prefixes, SentenceEncoder};
use crate::embed::source::{ModelSpec, Precision};
use crate::embed::tokenizer::WordPiece;
use crate::embed::verified::{Expected, FileKind, VerifiedFile, hex};
use crate::embed::{Embedding, TextKind};
use crate::{Error, Result};
use sha2::{Digest, Sha256};

/// Texts that both engines embed: both scripts, lengths from nothing to a paragraph, numbers, code, what is rare.
pub const PROBES: &[&str] = &[
    "The user prefers short answers in English.",
    "用户喜欢吃川菜，尤其是麻婆豆腐。",
    "Meeting with Dana on 2024-03-15 at 10:30, room 4.12, about the Q3 budget (≈ $1,250,000).",
    "fn main() { println!(\"{}\", 42); }",
    "Python 和 Rust 都可以编译到 WebAssembly 🦡",
    "ok",
    "",
    "The old lighthouse keeper had kept a diary for forty years, one line a day, mostly weather and ships; \
     only on the last page did he write about himself, and then only that the stairs had become steeper.",
];

/// See the module.
pub struct Installation {
    spec: ModelSpec,
    state: State,
}

#[allow(clippy::large_enum_variant)] // one lives per installation
enum State {
    Receiving {
        model: VerifiedFile,
        tokenizer: Option<Vec<u8>>,
    },
    Verified {
        model: Vec<u8>,
        sha256: String,
        tokenizer: Vec<u8>,
    },
    Compiled(SentenceEncoder),
    /// A step failed, or took everything.
    Spent,
}

/// What compiling found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// Why the encoder cannot run the graph; `None` when it can.
    pub unrecognised: Option<String>,
    /// Length of the vectors.
    pub dims: usize,
}

impl Installation {
    /// Nothing has arrived yet.
    pub fn new(spec: ModelSpec) -> Self {
        let file = spec.model.clone().unwrap_or_default();
        let expected = Expected {
            kind: FileKind::Onnx,
            size: file.size,
            sha256: file.sha256,
        };
        let state = State::Receiving {
            model: VerifiedFile::new(expected),
            tokenizer: None,
        };
        Self { spec, state }
    }

    /// The next bytes of the model file.
    pub fn model_chunk(&mut self, chunk: &[u8]) -> Result<()> {
        match &mut self.state {
            State::Receiving { model, .. } => model.push(chunk),
            _ => Err(out_of_turn()),
        }
    }

    /// The whole `tokenizer.json`.
    pub fn tokenizer(&mut self, bytes: &[u8]) -> Result<()> {
        let file = self.spec.tokenizer.clone().unwrap_or_default();
        let State::Receiving { tokenizer, .. } = &mut self.state else {
            return Err(out_of_turn());
        };
        let expected = Expected {
            kind: FileKind::TokenizerJson,
            size: file.size,
            sha256: file.sha256,
        };
        let mut verified = VerifiedFile::new(expected);
        verified.push(bytes)?;
        *tokenizer = Some(verified.finish()?);
        Ok(())
    }

    /// Checks what has arrived by size and hash.
    pub fn verify(&mut self) -> Result<()> {
        let State::Receiving { model, tokenizer } = self.take() else {
            return Err(out_of_turn());
        };
        let tokenizer = tokenizer.ok_or_else(|| Error::model_load("the tokenizer has not arrived"))?;
        let model = model.finish()?;
        // The hash was expected and met, or is taken now.
        let known = self.spec.model.as_ref().and_then(|file| file.sha256.clone());
        let sha256 = known.unwrap_or_else(|| hex(&Sha256::digest(&model)));
        self.state = State::Verified {
            model,
            sha256,
            tokenizer,
        };
        Ok(())
    }

    /// Lets tract load the graph, and looks for the encoder in it.
    pub fn compile(&mut self) -> Result<Compiled> {
        let State::Verified { model, tokenizer, .. } = self.take() else {
            return Err(out_of_turn());
        };
        let graph = OnnxModel::parse(&model)?;
        drop(model);
        let words = WordPiece::from_tokenizer_json(&tokenizer, self.spec.lowercase)?;
        drop(tokenizer);
        let unrecognised = recognise(&graph).err().map(|reason| reason.to_string());
        let engine = TractEngine::load(graph)?;
        let encoder = SentenceEncoder::new(
            words,
            Box::new(engine),
            self.spec.pooling,
            self.prefixes(),
            self.spec.max_tokens,
        );
        let compiled = Compiled {
            unrecognised,
            dims: encoder.dims(),
        };
        self.state = State::Compiled(encoder);
        Ok(compiled)
    }

    /// Makes the pack, of a graph that is recognised.
    pub fn pack(&mut self, precision: Precision) -> Result<AlignedBytes> {
        let State::Verified {
            model,
            sha256,
            tokenizer,
        } = self.take()
        else {
            return Err(out_of_turn());
        };
        let graph = OnnxModel::parse(&model)?;
        drop(model);
        let words = WordPiece::from_tokenizer_json(&tokenizer, self.spec.lowercase)?;
        drop(tokenizer);
        let (vocabulary, rules) = (words.vocab().map(str::to_owned).collect(), words.rules().clone());
        drop(words);
        let recognised = recognise(&graph)
            .map_err(|reason| Error::model_load("no pack can be made of this model").caused_by(reason))?;
        let info = PackInfo {
            fingerprint: self.spec.fingerprint.clone().unwrap_or_default(),
            source_sha256: sha256,
            pooling: self.spec.pooling,
            query_prefix: self.spec.query_prefix.clone(),
            document_prefix: self.spec.document_prefix.clone(),
            max_tokens: self.spec.max_tokens,
            tokenizer: rules,
        };
        let parts = Parts {
            embeddings: || recognised.embeddings(),
            layers: recognised.layers(),
        };
        make_pack_of_parts(recognised.config().clone(), parts, precision, vocabulary, info)
    }

    /// Embeds by tract.
    pub fn embed(&self, texts: &[String], kind: TextKind) -> Result<Vec<Embedding>> {
        match &self.state {
            State::Compiled(encoder) => encoder.embed(texts, kind),
            _ => Err(out_of_turn()),
        }
    }

    fn prefixes(&self) -> Prefixes {
        Prefixes {
            query: self.spec.query_prefix.clone(),
            document: self.spec.document_prefix.clone(),
        }
    }

    fn take(&mut self) -> State {
        std::mem::replace(&mut self.state, State::Spent)
    }
}

fn out_of_turn() -> Error {
    Error::internal("a step of the installation came out of turn, or after one that failed")
}
