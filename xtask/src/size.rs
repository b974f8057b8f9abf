//! What a page downloads, against a budget.
//!
//! Brotli is what counts, since that is what a server sends. The budgets stand in `xtask/budgets.json`: a number may
//! only rise together with a reason in the commit that raises it.

use crate::paths;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// A budget covers one file or several together.
#[derive(Deserialize)]
struct Budget {
    name: String,
    files: Vec<String>,
    brotli_kb: f64,
}

/// One file's size in bytes.
#[derive(Serialize)]
struct Size {
    file: String,
    raw: usize,
    gzip: usize,
    brotli: usize,
}

/// The command: prints the table and fails when something is over its budget.
pub fn command(arguments: &[String]) -> Result<()> {
    let sizes = measure()?;
    match arguments.first().map(String::as_str) {
        Some("--json") => println!("{}", serde_json::to_string_pretty(&sizes)?),
        Some(other) => bail!("`size` takes no `{other}`"),
        None => table(&sizes),
    }
    check(&sizes)
}

/// The table alone, as every build prints it.
pub fn print() -> Result<()> {
    let sizes = measure()?;
    table(&sizes);
    check(&sizes)
}

fn table(sizes: &[Size]) {
    println!("{:<28} {:>10} {:>10} {:>10}", "KB", "raw", "gzip", "brotli");
    for size in sizes {
        println!(
            "{:<28} {:>10.1} {:>10.1} {:>10.1}",
            size.file,
            kilobytes(size.raw),
            kilobytes(size.gzip),
            kilobytes(size.brotli)
        );
    }
}

fn check(sizes: &[Size]) -> Result<()> {
    let file = paths::root().join("xtask/budgets.json");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let budgets: Vec<Budget> = serde_json::from_str(&text).with_context(|| format!("{}", file.display()))?;
    let mut over = Vec::new();
    for budget in budgets {
        let counted = sizes.iter().filter(|size| budget.files.contains(&size.file));
        let used = kilobytes(counted.map(|size| size.brotli).sum());
        println!("{:<28} {used:.1} of {} KB brotli", budget.name, budget.brotli_kb);
        if used > budget.brotli_kb {
            over.push(format!(
                "{}: {used:.1} KB brotli, budget {} KB",
                budget.name, budget.brotli_kb
            ));
        }
    }
    if over.is_empty() {
        Ok(())
    } else {
        bail!("over budget:\n  {}", over.join("\n  "))
    }
}

fn measure() -> Result<Vec<Size>> {
    let dir = paths::dist_wasm();
    let mut files: Vec<_> = std::fs::read_dir(&dir)
        .with_context(|| {
            format!(
                "nothing is built in {}: run `cargo xtask build` first",
                dir.display()
            )
        })?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "wasm"))
        .collect();
    files.sort();
    files.iter().map(|file| size_of(file)).collect()
}

/// Compressing eight megabytes at the best level takes many seconds, so it is done once per content.
fn size_of(path: &std::path::Path) -> Result<Size> {
    let file = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let stamp = crate::stamp::Stamp::new(&format!("size-{file}")).path(path)?;
    let bytes = std::fs::read(path)?;
    let compressed = match stamp.note().and_then(|note| parse_note(&note)) {
        Some(known) => known,
        None => {
            let known = (gzip(&bytes)?, brotli(&bytes)?);
            stamp.record(&format!("{} {}", known.0, known.1))?;
            known
        }
    };
    Ok(Size {
        file,
        raw: bytes.len(),
        gzip: compressed.0,
        brotli: compressed.1,
    })
}

fn parse_note(note: &str) -> Option<(usize, usize)> {
    let (gzip, brotli) = note.trim().split_once(' ')?;
    Some((gzip.parse().ok()?, brotli.parse().ok()?))
}

fn gzip(bytes: &[u8]) -> Result<usize> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

fn brotli(bytes: &[u8]) -> Result<usize> {
    let mut out = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        ..Default::default()
    };
    brotli::BrotliCompress(&mut &*bytes, &mut out, &parameters)?;
    Ok(out.len())
}

fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressing_shrinks_what_repeats() -> Result<()> {
        let bytes = vec![7u8; 100_000];
        assert!(brotli(&bytes)? < gzip(&bytes)?);
        assert!(gzip(&bytes)? < 1000);
        Ok(())
    }

    #[test]
    fn a_note_of_another_form_is_measured_again() {
        assert_eq!(parse_note("12 34\n"), Some((12, 34)));
        assert_eq!(parse_note("12"), None);
    }
}
