//! Pure data: what a namespace, an item, a path, a filter and an operation are. No I/O, no clock of its own.
//!
//! Everything that an application hands in is checked here, once, on the way from JSON to a type; what holds one of
//! these types need not check again. An answer goes the other way through `Serialize`.

mod clock;
pub mod document;
pub mod filter;
pub mod item;
pub mod namespace;
pub mod op;
pub mod path;

pub use clock::{Clock, Millis};
pub use document::Document;
pub use filter::Filter;
pub use item::{Hit, IndexFields, Item, ItemId, OpResult, Page};
pub use namespace::{Key, Namespace, NamespacePattern, Use};
pub use op::{DeleteOp, GetOp, ListNamespacesOp, Op, Order, PutOp, SearchOp, Ttl, Unscored};
pub use path::FieldPath;
