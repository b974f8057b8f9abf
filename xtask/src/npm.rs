//! npm packages, from the lock files: the repository's own tools (browser drivers, linter, wasm-opt) at the top, the
//! package's in `pkg/`.

use crate::{paths, process, stamp};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// The oldest Node that the package and its tools run on.
const OLDEST_NODE: u32 = 20;

/// The tools of the repository (`package.json` at the top).
pub fn tools() -> Result<()> {
    install(&paths::root(), "tools")
}

/// What the npm package needs to be built and tested.
pub fn package() -> Result<()> {
    install(&paths::package(), "pkg")
}

/// `npm ci` in a folder, when its lock file changed or nothing is there yet.
pub fn install(folder: &Path, name: &str) -> Result<()> {
    require_node()?;
    let stamp = stamp::Stamp::new(&format!("npm-{name}"))
        .path(folder.join("package.json"))?
        .path(folder.join("package-lock.json"))?;
    if stamp.fresh(&[folder.join("node_modules")]) {
        return Ok(());
    }
    process::run(
        process::command("npm")
            .current_dir(folder)
            .args(["ci", "--no-audit", "--no-fund"]),
    )?;
    stamp.record("")
}

fn require_node() -> Result<()> {
    let version = process::output(process::command("node").arg("--version"))
        .context("Node.js is needed to build and test the npm package: install Node 20 or newer, with npm")?;
    let major = version
        .trim()
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST_NODE => Ok(()),
        _ => bail!(
            "Node {} is too old: {OLDEST_NODE} or newer is needed",
            version.trim()
        ),
    }
}
