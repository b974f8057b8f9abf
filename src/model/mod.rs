//! Pure data: what a namespace, an item, a path, a filter and an operation are. No I/O, no clock of its own.

mod clock;
pub mod item;
pub mod namespace;

pub use clock::{Clock, Millis};
pub use item::{Document, IndexFields, ItemId};
pub use namespace::{Key, Namespace};
