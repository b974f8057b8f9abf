//! Items in the browser's IndexedDB, and the cache of models beside them.
//!
//! IndexedDB commits a transaction by itself as soon as control returns to the event loop with no request pending.
//! Everything here follows from that: what a transaction needs is computed and encoded before it opens, inside it
//! only its own requests are awaited, and it is open for as short as it can be.
//!
//! What holds:
//! - **One call, one transaction.** [`transaction`] resolves when the transaction *completed*; a request that
//!   succeeded is no promise. An error half-way aborts it, and so does dropping the call's future.
//! - **One table of exceptions.** [`dom_exception`] gives each `DOMException` its code, nothing else does.
//! - **One way to a connection.** [`connection`] opens, upgrades, makes room for a newer tab, reopens a connection
//!   that the browser dropped and repeats the call once. That is safe: a transaction that was cut off left nothing.
//! - **Vectors apart from documents.** Opening reads every entry and no document. An entry is one record of bytes
//!   ([`codec`]) under the same key as its document, so erasing an item erases its vectors from disk.
//! - **Tabs share.** Each commit gets the next sequence number and a line in a bounded log, under the write lock that
//!   IndexedDB gives a transaction over all tabs; readers ask for what came after the number they know.
//!
//! Stores, keys, bytes and the history of schemas: docs/format.md. The crate `idb` is named in this folder only.

#[cfg(any(target_arch = "wasm32", test))]
mod codec;
#[cfg(any(target_arch = "wasm32", test))]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))] // natively only its tests use it
mod plan;
#[cfg(any(target_arch = "wasm32", test))]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))] // natively only its tests use it
mod version;

#[cfg(target_arch = "wasm32")]
mod connection;
#[cfg(target_arch = "wasm32")]
mod dom_exception;
#[cfg(target_arch = "wasm32")]
mod log;
#[cfg(target_arch = "wasm32")]
mod model_cache;
#[cfg(target_arch = "wasm32")]
mod opening;
#[cfg(target_arch = "wasm32")]
mod records;
#[cfg(target_arch = "wasm32")]
mod schema;
#[cfg(target_arch = "wasm32")]
mod storage;
#[cfg(target_arch = "wasm32")]
mod transaction;

#[cfg(target_arch = "wasm32")]
pub use model_cache::{CachedModel, ModelCache, Partial};
#[cfg(target_arch = "wasm32")]
pub use storage::IndexedDb;
#[cfg(target_arch = "wasm32")]
pub use transaction::Durability;
