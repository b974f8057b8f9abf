//! The store as an application sees it: operations as JSON in, answers out, over memory and fake embedders.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // The helpers of tests are tests to us, but not to clippy.

mod basics;
mod batches;
mod cases;
mod faults;
mod index;
mod lengths;
mod oracle;
mod placeholder;
mod races;
mod reindex;
mod sift;
mod support;
mod tabs;
mod time;
