//! `cargo xtask pack`, and the packs that bench, demo and tests run on.
//!
//! A pack is made by the package's own command (`burrow-memory pack`), so that there is one way to make one and the
//! bytes are the same from both. Packs of the known models are kept in the folder of models, under `packs/`.

use crate::{build, models, paths, process, stamp};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A pack of a known model.
pub struct Wanted {
    /// The model, as presets name it.
    pub model: &'static str,
    /// `f32` or `int8`.
    pub precision: &'static str,
    /// The precision of the file it is made from.
    pub from: &'static str,
}

const fn wanted(model: &'static str, precision: &'static str, from: &'static str) -> Wanted {
    Wanted {
        model,
        precision,
        from,
    }
}

/// What the benchmarks need.
pub const ALL: &[Wanted] = &[
    wanted("bge-small-en-v1.5", "f32", "f32"),
    wanted("bge-small-en-v1.5", "int8", "f32"),
    wanted("bge-small-en-v1.5", "int8", "int8"),
    wanted("bge-small-zh-v1.5", "f32", "f32"),
    wanted("bge-small-zh-v1.5", "int8", "f32"),
    wanted("bge-small-zh-v1.5", "int8", "int8"),
];

/// What the tests of the package need.
pub const TESTS: &[Wanted] = &[
    wanted("bge-small-zh-v1.5", "f32", "f32"),
    wanted("bge-small-zh-v1.5", "int8", "f32"),
    wanted("bge-small-en-v1.5", "int8", "f32"),
];

impl Wanted {
    /// Where it is kept.
    pub fn path(&self) -> Result<PathBuf> {
        let Self {
            model,
            precision,
            from,
        } = self;
        let name = if *from == "f32" {
            format!("{model}.{precision}.pack")
        } else {
            format!("{model}.{precision}-from-{from}.pack")
        };
        Ok(models::folder()?.join("packs").join(name))
    }

    fn source(&self) -> Result<PathBuf> {
        let file = match self.from {
            "f32" => "model.onnx",
            _ => "model_quantized.onnx",
        };
        Ok(models::folder()?.join(self.model).join(file))
    }
}

/// The command: all arguments go to the package's own; a known model's name means its file in the folder of models.
pub fn command(arguments: &[String]) -> Result<()> {
    let Some((given, rest)) = arguments.split_first() else {
        bail!("`pack` needs a preset, a URL, an .onnx file or a folder");
    };
    build::package()?;
    let known = ALL.iter().any(|wanted| wanted.model == given);
    if !known {
        return make(given, rest);
    }
    let folder = models::ensure_all()?.join(given);
    let mut rest = rest.to_vec();
    if !rest
        .iter()
        .any(|argument| argument == "-o" || argument == "--output")
    {
        let precision = rest
            .iter()
            .skip_while(|argument| *argument != "--precision")
            .nth(1);
        let precision = precision.map_or("int8", String::as_str);
        let file = models::folder()?
            .join("packs")
            .join(format!("{given}.{precision}.pack"));
        rest.extend(["-o".to_owned(), file.to_string_lossy().into_owned()]);
    }
    make(&folder.to_string_lossy(), &rest)
}

/// Makes the packs that are missing or older than the installer that makes them. The package has to be built.
pub fn ensure(packs: &[Wanted]) -> Result<()> {
    models::ensure_all()?;
    for wanted in packs {
        let path = wanted.path()?;
        let stamp = stamp::Stamp::new(&format!(
            "pack-{}-{}-{}",
            wanted.model, wanted.precision, wanted.from
        ))
        .text(&path.to_string_lossy())
        .path(paths::dist_wasm().join("installer_bg.wasm"))?;
        // Other checkouts write to the same folder.
        if stamp
            .note()
            .is_some_and(|note| age(&path).is_ok_and(|age| age == note))
        {
            continue;
        }
        let options = ["--precision", wanted.precision, "-o", &path.to_string_lossy()].map(str::to_owned);
        make(&wanted.source()?.to_string_lossy(), &options)?;
        stamp.record(&age(&path)?)?;
    }
    Ok(())
}

fn make(source: &str, options: &[String]) -> Result<()> {
    std::fs::create_dir_all(models::folder()?.join("packs"))?;
    let mut node = process::command("node");
    // A relative path means what it means where the command was typed.
    if let Some(here) = std::env::var_os("PWD") {
        node.current_dir(here);
    }
    process::run(
        node.arg(paths::dist().join("cli.js"))
            .args(["pack", source])
            .args(options),
    )
}

fn age(path: &Path) -> Result<String> {
    let metadata = std::fs::metadata(path).with_context(|| format!("no {}", path.display()))?;
    let changed = metadata
        .modified()?
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Ok(format!("{} {}", changed.as_nanos(), metadata.len()))
}
