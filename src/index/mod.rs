//! Ranking.
pub mod vector;
