//! Any ONNX sentence encoder of the BERT family, by tract.
//!
//! tract is large and hungry, so this part lives in a wasm module of its own, loaded to install a model (and to run one
//! that only tract can run) and dropped afterwards. It does three things:
//! * [`OnnxModel`]: decodes the file and checks what would make tract panic rather than fail;
//! * [`TractEngine`]: runs the graph, whatever it is, as an [`Engine`](super::sentence::Engine);
//! * [`extract`]: recognises the BERT encoder in the graph by its structure and takes the weights out.
//!
//! A file from the internet can still make tract panic or allocate without end. In wasm that is a trap, after which the
//! instance is unusable: whoever loads this module runs it where an instance can be thrown away, and reports a trap as
//! `model_load`.
//!
//! This folder is the only user of `tract_onnx`.

mod engine;
mod installation;
mod matcher;
mod model;

pub use engine::TractEngine;
pub use installation::{Compiled, Installation, PROBES};
pub use matcher::{Recognised, Unrecognised, extract, recognise};
pub use model::OnnxModel;
