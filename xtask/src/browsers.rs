//! The browsers that the tests run in: Chromium, Firefox and WebKitGTK.
//!
//! They come from Debian's packages: installed when this runs as root on a Debian-like system, otherwise named in the
//! error. A test stage never skips quietly because a browser is missing.

use crate::process;
use anyhow::{Result, bail};

/// A package, and a program or file by which it is known to be there.
const PACKAGES: &[(&str, &[&str])] = &[
    ("chromium", &["chromium", "/usr/bin/chromium"]),
    ("firefox-esr", &["firefox-esr", "/usr/bin/firefox-esr"]),
    (
        "webkit2gtk-driver",
        &["WebKitWebDriver", "/usr/bin/WebKitWebDriver"],
    ),
    ("xvfb", &["Xvfb", "/usr/bin/Xvfb"]),
    ("xauth", &["xauth", "/usr/bin/xauth"]),
    ("dbus", &["dbus-daemon", "/usr/bin/dbus-daemon"]),
    // Chinese text in the demo's screenshot.
    (
        "fonts-noto-cjk",
        &["/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"],
    ),
];

/// The command.
pub fn command(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("`browsers` takes no `{argument}`");
    }
    ensure()?;
    println!("all test browsers are installed");
    Ok(())
}

/// Installs what is missing, or fails with what to do.
pub fn ensure() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let root = process::output(process::command("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !root || process::find("apt-get").is_none() {
        bail!(
            "the browser tests need {}. On Debian, as root:\n  apt-get install -y --no-install-recommends {}\n\
             Or leave these stages out: cargo xtask test --skip wasm,e2e",
            missing.join(", "),
            missing.join(" ")
        );
    }
    // Debian's mirrors drop old versions; a list from image time may name files that are gone.
    process::run(process::command("apt-get").args(["update", "-q"]))?;
    let mut install = process::command("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    process::run(
        install
            .args(["install", "-y", "-q", "--no-install-recommends"])
            .args(&missing),
    )?;
    let still = self::missing();
    if still.is_empty() {
        Ok(())
    } else {
        bail!("apt-get installed no {}", still.join(", "))
    }
}

fn missing() -> Vec<&'static str> {
    let found = |places: &[&str]| places.iter().any(|place| process::find(place).is_some());
    PACKAGES
        .iter()
        .filter(|(_, places)| !found(places))
        .map(|(package, _)| *package)
        .collect()
}
