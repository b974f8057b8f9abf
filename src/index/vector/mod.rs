//! Vector search.
