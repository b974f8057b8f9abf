//! What JavaScript sees. A function here converts, calls, converts; logic belongs to the layers below.
//!
//! Everything structured crosses as JSON text: exact, and cheaper than an object per field. Vectors cross as typed
//! arrays. A failure is an `Error` named `BurrowError` with `code`, `details` and `cause` ([`errors`]).
//!
//! All exported methods take `&self`: two concurrent calls of an async `&mut self` method would trap.
//!
//! Two wasm modules are made of this folder, so that an application that only runs a model never loads tract:
//!
//! | feature     | module      | exports                                      |
//! |-------------|-------------|----------------------------------------------|
//! | `web`       | `burrow`    | `Store`, `Encoder`, `ModelCache`, `resolveModel`, `sha256` |
//! | `web-tract` | `installer` | `Installer`                                  |

#[cfg(feature = "web")]
mod clock;
#[cfg(feature = "web")]
mod embedder;
#[cfg(feature = "web")]
mod encoder;
mod errors;
#[cfg(feature = "web-tract")]
mod installer;
#[cfg(feature = "web")]
mod model_cache;
#[cfg(feature = "web")]
mod observer;
#[cfg(feature = "web")]
mod source;
#[cfg(feature = "web")]
mod store;
#[cfg(feature = "web")]
mod thrown;
mod vectors;
