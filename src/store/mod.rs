//! Store semantics over the traits.
