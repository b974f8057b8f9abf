//! wasm-opt, from npm's `binaryen` (JavaScript: no prebuilt binary from a code host).
//!
//! What it gained on these modules is in [`GAINS`]; where it gains nothing it is left out, because it is slow.

use crate::{npm, paths, process, stamp};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Builds on which wasm-opt pays, with its options.
const GAINS: &[(&str, &[&str])] = &[
    ("burrow-simd128", &["-O3", "--enable-simd"]),
    (
        "burrow-relaxed",
        &["-O3", "--enable-simd", "--enable-relaxed-simd"],
    ),
];

/// What rustc's wasm target switches on by default.
const BASELINE: &[&str] = &[
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// The optimised file, or the given one where optimising does not pay.
pub fn run(wasm: &Path, variant: &str) -> Result<PathBuf> {
    let Some((_, options)) = GAINS.iter().find(|(name, _)| *name == variant) else {
        return Ok(wasm.to_owned());
    };
    let out = paths::work().join("opt").join(format!("{variant}.wasm"));
    let stamp = stamp::Stamp::new(&format!("opt-{variant}"))
        .text(&options.join(" "))
        .text(&BASELINE.join(" "))
        .path(wasm)?
        .paths(&["package-lock.json"])?;
    if stamp.fresh(std::slice::from_ref(&out)) {
        return Ok(out);
    }
    npm::tools()?;
    if let Some(dir) = out.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut node = process::command("node");
    node.arg(paths::root().join("node_modules/binaryen/bin/wasm-opt"));
    process::run(node.args(*options).args(BASELINE).arg(wasm).arg("-o").arg(&out))?;
    stamp.record("")?;
    Ok(out)
}
