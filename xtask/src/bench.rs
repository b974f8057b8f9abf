//! `cargo xtask bench`: what Burrow's inference is worth, beside what else there is.
//!
//! The benchmarks are scripts in `benches/`, since what they measure runs in browsers and Node. This brings what they
//! stand on: the built package, packs made from the models' f32 files, the peers from npm, a browser.

use crate::{browsers, build, models, npm, packs, paths, process};
use anyhow::{Result, bail};

/// The command.
pub fn command(arguments: &[String]) -> Result<()> {
    let script = match arguments.first().map(String::as_str) {
        Some("embed") => "benches/embed/main.mjs",
        Some("quality") => "benches/quality/main.mjs",
        Some("store") => "benches/store/main.mjs",
        _ => bail!("`bench` takes `embed`, `quality` or `store`"),
    };
    build::package()?;
    packs::ensure(packs::ALL)?;
    npm::tools()?;
    npm::install(&paths::root().join("benches"), "benches")?;
    browsers::ensure()?;
    let mut node = process::command("node");
    process::run(
        node.arg(script)
            .args(arguments.get(1..).unwrap_or_default())
            .arg(models::folder()?),
    )
}
