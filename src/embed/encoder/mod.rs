//! encoder

pub mod kernels;
