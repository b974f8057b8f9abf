//! The TypeScript half of the package: `pkg/src` to `pkg/dist`, by the package's own `build` script, which needs the
//! declarations that the bindgen step wrote.

use crate::{npm, paths, process, stamp};
use anyhow::Result;

/// Compiles when a source, a declaration or the configuration changed.
pub fn build() -> Result<()> {
    npm::package()?;
    let wasm = paths::dist_wasm();
    let stamp = stamp::Stamp::new("typescript")
        .paths(&[
            "pkg/src",
            "pkg/package.json",
            "pkg/package-lock.json",
            "pkg/tsconfig.json",
            "pkg/build.mjs",
        ])?
        .path(wasm.join("burrow.d.ts"))?
        .path(wasm.join("installer.d.ts"))?
        // Inlined as text, for hosts whose addresses lead nowhere.
        .path(wasm.join("burrow_bg.wasm"))?
        .path(wasm.join("burrow_relaxed_bg.wasm"))?;
    if stamp.fresh(&[paths::dist().join("index.js")]) {
        return Ok(());
    }
    process::run(
        process::command("npm")
            .current_dir(paths::package())
            .args(["run", "--silent", "build"]),
    )?;
    stamp.record("")
}
