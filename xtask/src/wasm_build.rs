//! The wasm modules, from cargo to `pkg/dist/wasm`.
//!
//! | module      | cargo feature | profile         | target features        | file                       |
//! |-------------|---------------|-----------------|------------------------|----------------------------|
//! | `burrow`    | `web`         | `release`       | simd128                | `burrow_bg.wasm`           |
//! | `burrow`    | `web`         | `release`       | simd128, relaxed-simd  | `burrow_relaxed_bg.wasm`   |
//! | `installer` | `web-tract`   | `release-tract` | simd128                | `installer_bg.wasm`        |
//!
//! Each has a target folder of its own where flags differ, so that none of the builds throws another's away.
//! There is no wasm-opt step: after LLVM's fat LTO it takes 0.2–1 % off the brotli size of `burrow` (258.5 KB to 256.1
//! at best) and a minute of each build.
//!
//! The rustflags of `.cargo/config.toml` are replaced, not extended, by `RUSTFLAGS`; so all of them are passed here,
//! and a `RUSTFLAGS` of the caller's is ignored for wasm.

use crate::{bindgen, paths, process};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target triple of all of them.
pub const TRIPLE: &str = "wasm32-unknown-unknown";

/// One build of one module.
pub struct Variant {
    /// Names it in messages and folders.
    pub name: &'static str,
    module: &'static str,
    feature: &'static str,
    profile: &'static str,
    target_features: &'static str,
    target_dir: &'static str,
    product: &'static str,
}

/// All builds that the package ships.
pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "burrow-simd128",
        module: "burrow",
        feature: "web",
        profile: "release",
        target_features: "+simd128",
        target_dir: "",
        product: "burrow_bg.wasm",
    },
    Variant {
        name: "burrow-relaxed",
        module: "burrow",
        feature: "web",
        profile: "release",
        target_features: "+simd128,+relaxed-simd",
        target_dir: "relaxed",
        product: "burrow_relaxed_bg.wasm",
    },
    Variant {
        name: "installer",
        module: "installer",
        feature: "web-tract",
        profile: "release-tract",
        target_features: "+simd128",
        target_dir: "",
        product: "installer_bg.wasm",
    },
];

/// Builds all variants and copies them, with their glue, to `pkg/dist/wasm`.
pub fn all() -> Result<()> {
    ensure_target()?;
    let mut folders = Vec::new();
    for variant in VARIANTS {
        let wasm = compile(variant)?;
        folders.push((variant, bindgen::run(&wasm, variant.module, variant.name)?));
    }
    if let [(first, simd128), (_, relaxed), ..] = folders.as_slice() {
        bindgen::require_same_glue(simd128, relaxed, first.module)?;
    }
    std::fs::create_dir_all(paths::dist_wasm())?;
    for (variant, folder) in &folders {
        publish(variant, folder)?;
    }
    Ok(())
}

/// Adds the wasm target when rustup can; otherwise says how.
pub fn ensure_target() -> Result<()> {
    let sysroot = process::output(process::command("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(TRIPLE)
        .join("lib")
        .is_dir()
    {
        return Ok(());
    }
    if process::find("rustup").is_none() {
        bail!(
            "this Rust has no {TRIPLE} and there is no rustup to add it. Install the target with your system's \
             package (Debian: libstd-rust-dev-wasm32), or Rust itself from https://rustup.rs"
        );
    }
    process::run(process::command("rustup").args(["target", "add", TRIPLE]))
        .with_context(|| format!("rustup could not add {TRIPLE}; Burrow needs it to build WebAssembly"))
}

/// A cargo command for wasm with exactly these target features.
pub fn cargo_for_wasm(target_features: &str, target_dir: &str) -> Command {
    let mut cargo = process::cargo();
    let flags = [
        "-C",
        &format!("target-feature={target_features}"),
        "--cfg",
        "getrandom_backend=\"wasm_js\"",
    ]
    .join("\x1f");
    cargo
        .env_remove("RUSTFLAGS")
        .env("CARGO_ENCODED_RUSTFLAGS", flags);
    if !target_dir.is_empty() {
        cargo.env("CARGO_TARGET_DIR", paths::target().join(target_dir));
    }
    cargo
}

fn compile(variant: &Variant) -> Result<PathBuf> {
    let mut cargo = cargo_for_wasm(variant.target_features, variant.target_dir);
    cargo.args(["build", "--package", "burrow-memory", "--lib", "--target", TRIPLE]);
    cargo.args(["--profile", variant.profile, "--features", variant.feature]);
    process::run(&mut cargo)?;
    let built = paths::target()
        .join(variant.target_dir)
        .join(TRIPLE)
        .join(variant.profile)
        .join("burrow.wasm");
    // Two variants may share a target folder; the second must not overwrite what the first is read from later.
    let kept = paths::work().join("cargo").join(format!("{}.wasm", variant.name));
    copy_if_changed(&built, &kept)?;
    Ok(kept)
}

fn publish(variant: &Variant, folder: &Path) -> Result<()> {
    let wasm = folder.join(format!("{}_bg.wasm", variant.module));
    copy_if_changed(&wasm, &paths::dist_wasm().join(variant.product))?;
    for suffix in ["js", "d.ts"] {
        let file = format!("{}.{suffix}", variant.module);
        copy_if_changed(&folder.join(&file), &paths::dist_wasm().join(&file))?;
    }
    Ok(())
}

/// Copies when the content differs, so that times change only with content.
pub fn copy_if_changed(from: &Path, to: &Path) -> Result<()> {
    let bytes = std::fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    if std::fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(dir) = to.parent() {
        std::fs::create_dir_all(dir)?;
    }
    std::fs::write(to, bytes).with_context(|| format!("cannot write {}", to.display()))
}
