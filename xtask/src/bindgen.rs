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
        .text("web, no default path, reset, 0.2.130")
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
    // `web` and not `bundler`: the same file then works in pages, workers, Node, Deno, Bun and workerd.
    let mut bindgen = Bindgen::new();
    let output = bindgen
        .input_path(wasm)
        .out_name(name)
        .web(true)
        .and_then(|bindgen| {
            bindgen
                .typescript(true)
                // What stops at a trap can then be started again, and its memory given back.
                .reset_state_function(name == "installer")
                .remove_producers_section(true)
                .remove_name_section(true)
                .generate_output()
        });
    let mut output = output.with_context(|| format!("wasm-bindgen failed on {}", wasm.display()))?;
    let names = Names::read(output.js());
    for export in output.wasm_mut().exports.iter_mut() {
        export.name = names.replace(&export.name);
    }
    output.emit(out)?;
    for suffix in ["js", "d.ts"] {
        let file = out.join(format!("{name}.{suffix}"));
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        std::fs::write(&file, names.replace(&text))?;
    }
    Ok(())
}

/// wasm-bindgen names the functions behind closures by their place in the module's table, which differs between two
/// builds of one source. Counting them as they occur in the glue gives both builds the same names.
struct Names(Vec<String>);

const BY_PLACE: &str = "__wasm_bindgen_func_elem_";
const COUNTED: &str = "__wasm_bindgen_closure_";

impl Names {
    fn read(js: &str) -> Self {
        let mut names: Vec<String> = Vec::new();
        for after in js.split(BY_PLACE).skip(1) {
            let place: String = after.chars().take_while(char::is_ascii_digit).collect();
            if !names.contains(&place) {
                names.push(place);
            }
        }
        Self(names)
    }

    fn replace(&self, text: &str) -> String {
        let mut parts = text.split(BY_PLACE);
        let mut replaced = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part
                .find(|letter: char| !letter.is_ascii_digit())
                .unwrap_or(part.len());
            let (place, rest) = part.split_at(digits);
            match self.0.iter().position(|known| known == place) {
                Some(count) => replaced += &format!("{COUNTED}{count}{rest}"),
                None => replaced += &format!("{BY_PLACE}{part}"),
            }
        }
        replaced
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_builds_whose_tables_are_shifted_get_the_same_glue() {
        let glue = |a: u32, b: u32| {
            format!("f(wasm.{BY_PLACE}{a}, x); wasm.{BY_PLACE}{b}(y); wasm.{BY_PLACE}{a}(z); {BY_PLACE}")
        };
        let (one, other) = (glue(13, 1304), glue(14, 1305));
        assert_eq!(
            Names::read(&one).replace(&one),
            Names::read(&other).replace(&other)
        );
        assert_eq!(
            Names::read(&one).replace("__wasm_bindgen_func_elem_1304"),
            "__wasm_bindgen_closure_1"
        );
        assert_eq!(Names::read(&one).replace("memory"), "memory");
    }
}
