//! Vector search. Vectors are unit length (the store normalises at entry), so the dot product is the cosine.

pub mod flat;

pub use flat::{FlatIndex, Row};
