//! `cargo xtask build`: everything the npm package ships.

use crate::{size, typescript, wasm_build};
use anyhow::{Result, bail};

/// The command.
pub fn command(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("`build` takes no `{argument}`");
    }
    package()?;
    size::print()
}

/// Builds `pkg/dist`.
pub fn package() -> Result<()> {
    wasm_build::all()?;
    typescript::build()
}
