//! The TypeScript half of the package: `pkg/src` to `pkg/dist`, by the package's own `build` script. It needs what the
//! bindgen step wrote: the declarations to compile against, and the modules, of which it keeps copies as text.

use crate::{npm, paths, process, stamp};
use anyhow::Result;

/// Compiles when a source, a module or the configuration changed.
pub fn build() -> Result<()> {
    npm::package()?;
    let stamp = stamp::Stamp::new("typescript")
        .paths(&[
            "pkg/src",
            "pkg/build.mjs",
            "pkg/package.json",
            "pkg/package-lock.json",
            "pkg/tsconfig.json",
        ])?
        .path(paths::dist_wasm())?;
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
