//! Where things are. Every other module asks here, so that moving a folder is a change in one place.

use std::path::PathBuf;

/// The checkout.
pub fn root() -> PathBuf {
    // Cargo sets the variable at run time, which is right even when the binary was built in another checkout that
    // shares its target folder.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map_or(manifest.clone(), PathBuf::from)
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// What xtask keeps between runs: stamps, intermediate files.
pub fn work() -> PathBuf {
    target().join("xtask")
}

/// The npm package.
pub fn package() -> PathBuf {
    root().join("pkg")
}

/// What the npm package ships.
pub fn dist() -> PathBuf {
    package().join("dist")
}

/// The wasm modules and their glue.
pub fn dist_wasm() -> PathBuf {
    dist().join("wasm")
}
