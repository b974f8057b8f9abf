//! Private, on-device long-term memory for agents.
//!
//! The crate is a pure core (`model`, `index`, `embed`, `store`) over three traits: [`storage::Storage`],
//! [`embed::Embedder`] and [`model::Clock`]. Only `web` and `storage::indexeddb` know that a browser exists, only
//! `embed::tract` knows tract. See ARCHITECTURE.md for the layer map.

pub mod embed;
pub mod error;
pub mod index;
pub mod model;
pub mod storage;
pub mod store;
#[cfg(all(target_arch = "wasm32", any(feature = "web", feature = "web-tract")))]
pub mod web;

pub use error::{Error, Result};
