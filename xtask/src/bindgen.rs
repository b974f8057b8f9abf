//! The bindgen step, by wasm-bindgen's own library: its command line cannot be installed from the registry alone, and
//! a library pinned in Cargo.lock can never be of another version than the crate that the wasm was built with.

use crate::{paths, stamp};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use wasm_bindgen_cli_support::Bindgen;

/// Turns cargo's `wasm` into `OUT/NAME.js`, `NAME.d.ts` and `NAME_bg.wasm`, when `wasm` changed. Gives the folder.
pub fn run(wasm: &Path, name: &str, variant: &str) -> Result<PathBuf> {
    let out = paths::work().join("bindgen").join(variant);
    let stamp = stamp::Stamp::new(&format!("bindgen-{variant}"))
        .text(name)
        .text("web, no default path, 0.2.130")
        .path(wasm)?;
    let products = [format!("{name}.js"), format!("{name}_bg.wasm")].map(|file| out.join(file));
    if stamp.fresh(&products) {
        return Ok(out);
    }
    eprintln!("bindgen {variant}");
    generate(wasm, name, &out)?;
    stamp.record("")?;
    Ok(out)
}

fn generate(wasm: &Path, name: &str, out: &Path) -> Result<()> {
    if out.exists() {
        std::fs::remove_dir_all(out)?;
    }
    // No default path in the glue: bundlers would copy each module twice, once more for the worker. The package names
    // the addresses itself, at one place.
    // `web` and not `bundler`: the same file then works in pages, workers, Node, Deno, Bun and workerd.
    Bindgen::new()
        .input_path(wasm)
        .out_name(name)
        .web(true)
        .and_then(|bindgen| {
            bindgen
                .typescript(true)
                .remove_producers_section(true)
                .generate(out)
        })
        .with_context(|| format!("wasm-bindgen failed on {}", wasm.display()))
}

/// Two builds share one glue file only while they import and export the same things in the same order.
pub fn require_same_glue(one: &Path, other: &Path, name: &str) -> Result<()> {
    for file in [format!("{name}.js"), format!("{name}.d.ts")] {
        if std::fs::read(one.join(&file))? != std::fs::read(other.join(&file))? {
            bail!(
                "{} and {} differ: the two builds of `{name}` cannot share one glue file. \
                 Something exported or imported depends on a target feature.",
                one.join(&file).display(),
                other.join(&file).display()
            );
        }
    }
    Ok(())
}
