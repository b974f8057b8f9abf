//! The stages, in the order in which they run: the quick checks first, the browsers last.

use super::{Counts, parse_counts, parse_node, parse_rust};
use crate::{browsers, build, models, npm, packs, paths, process, size, wasm_build, wasm_test};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// A part of the test command.
pub struct Stage {
    /// Names it in the table, `--only` and `--skip`.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Files and folders that it depends on; when none changed since it passed, it is not run again.
    pub inputs: &'static [&'static str],
    /// Runs it. An error is a stage that could not run, and counts as one failure.
    pub run: fn() -> Result<Counts>,
}

const SOURCES: &[&str] = &[
    ".cargo",
    "Cargo.toml",
    "Cargo.lock",
    "clippy.toml",
    "rustfmt.toml",
    "biome.json",
    "package.json",
    "package-lock.json",
    "src",
    "tests",
    "benches",
    "xtask",
    "pkg",
    "www",
];
const RUST: &[&str] = &[
    ".cargo",
    "Cargo.toml",
    "Cargo.lock",
    "clippy.toml",
    "src",
    "tests",
    "benches",
    "xtask",
    "README.md",
    "docs",
];
const WASM: &[&str] = &[
    ".cargo",
    "Cargo.toml",
    "Cargo.lock",
    "src",
    "tests",
    "package-lock.json",
    "xtask/src",
];
const PACKAGE: &[&str] = &[
    ".cargo",
    "Cargo.toml",
    "Cargo.lock",
    "src",
    "pkg",
    "tests",
    "www",
    "README.md",
    "package-lock.json",
    "xtask",
];

/// All stages.
pub const STAGES: &[Stage] = &[
    Stage {
        name: "format",
        about: "rustfmt and biome",
        inputs: SOURCES,
        run: format,
    },
    Stage {
        name: "lint",
        about: "clippy, natively and for wasm",
        inputs: RUST,
        run: lint,
    },
    Stage {
        name: "native",
        about: "Rust tests on this machine, doc tests, layers",
        inputs: RUST,
        run: native,
    },
    Stage {
        name: "build",
        about: "wasm modules, TypeScript, size budgets",
        inputs: PACKAGE,
        run: build_package,
    },
    Stage {
        name: "types",
        about: "TypeScript, strict",
        inputs: PACKAGE,
        run: types,
    },
    Stage {
        name: "vitest",
        about: "the package's own tests in Node",
        inputs: PACKAGE,
        run: vitest,
    },
    Stage {
        name: "wasm",
        about: "wasm tests in Chromium, Firefox, WebKitGTK",
        inputs: WASM,
        run: wasm,
    },
    Stage {
        name: "package",
        about: "the packed tarball, installed in each host",
        inputs: PACKAGE,
        run: tarball,
    },
    Stage {
        name: "fuzz",
        about: "mangled packs and ONNX files, the same ones each time",
        inputs: PACKAGE,
        run: fuzz,
    },
    Stage {
        name: "e2e",
        about: "the built package on real models in browsers",
        inputs: PACKAGE,
        run: end_to_end,
    },
];

/// Runs several commands to their ends, each one check.
fn checks(commands: impl IntoIterator<Item = Command>) -> Result<Counts> {
    let mut counts = Counts::default();
    for mut command in commands {
        let passed = match process::run(&mut command) {
            Ok(()) => true,
            Err(error) => {
                eprintln!("{error:#}");
                false
            }
        };
        counts = counts.and(Counts::check(passed));
    }
    Ok(counts)
}

fn format() -> Result<Counts> {
    npm::tools()?;
    let mut rustfmt = process::cargo();
    rustfmt.args(["fmt", "--all", "--check"]);
    let mut biome = process::command("node");
    biome
        .arg("node_modules/@biomejs/biome/bin/biome")
        .args(["check", "--error-on-warnings", "."]);
    checks([rustfmt, biome])
}

fn lint() -> Result<Counts> {
    wasm_build::ensure_target()?;
    let clippy = |mut cargo: Command, arguments: &[&str]| {
        cargo.arg("clippy").args(arguments).args(["--", "-D", "warnings"]);
        cargo
    };
    let wasm = || wasm_build::cargo_for_wasm("+simd128", "");
    let target = [
        "--package",
        "burrow-memory",
        "--target",
        wasm_build::TRIPLE,
        "--features",
    ];
    checks([
        clippy(
            process::cargo(),
            &["--workspace", "--all-targets", "--features", "tract,contract"],
        ),
        clippy(
            wasm(),
            &[&target[..], &["web,contract", "--all-targets"]].concat(),
        ),
        clippy(wasm(), &[&target[..], &["web-tract", "--lib"]].concat()),
    ])
}

fn native() -> Result<Counts> {
    models::ensure_all()?;
    let mut cargo = process::cargo();
    let (ended_well, text) = process::tee(cargo.args([
        "test",
        "--workspace",
        "--no-fail-fast",
        "--features",
        "tract,contract",
    ]))?;
    let counts = parse_rust(&text);
    // A crash or a compile error leaves no result line.
    Ok(if ended_well || counts.failed > 0 {
        counts
    } else {
        counts.and(Counts::check(false))
    })
}

fn build_package() -> Result<Counts> {
    build::package()?;
    Ok(Counts::check(true).and(Counts::check(
        size::print().inspect_err(|error| eprintln!("{error:#}")).is_ok(),
    )))
}

fn types() -> Result<Counts> {
    build::package()?;
    let mut tsc = process::command("npm");
    tsc.current_dir(paths::package())
        .args(["run", "--silent", "check"]);
    checks([tsc])
}

fn vitest() -> Result<Counts> {
    build::package()?;
    models::ensure_all()?;
    let report = paths::work().join("vitest.json");
    let _ = std::fs::remove_file(&report);
    let mut vitest = process::command("npx");
    vitest
        .current_dir(paths::package())
        .args(["--no-install", "vitest", "run", "--reporter=default"]);
    vitest
        .arg("--reporter=json")
        .arg(format!("--outputFile={}", report.display()));
    let (ended_well, _) = process::tee(&mut vitest)?;
    let text = std::fs::read_to_string(&report).context("vitest wrote no report")?;
    let report: serde_json::Value = serde_json::from_str(&text).context("vitest's report")?;
    let number = |name: &str| {
        report
            .get(name)
            .and_then(serde_json::Value::as_u64)
            .unwrap_or_default() as usize
    };
    let counts = Counts {
        passed: number("numPassedTests"),
        failed: number("numFailedTests"),
    };
    // A file that fails to load has no tests that failed.
    Ok(if ended_well || counts.failed > 0 {
        counts
    } else {
        counts.and(Counts::check(false))
    })
}

fn wasm() -> Result<Counts> {
    wasm_test::run()
}

fn tarball() -> Result<Counts> {
    build::package()?;
    packs::ensure(packs::TESTS)?;
    browsers::ensure()?;
    script("tests/package/run.mjs", &[])
}

fn fuzz() -> Result<Counts> {
    build::package()?;
    script("tests/fuzz/main.mjs", &["--seed", "1"])
}

fn end_to_end() -> Result<Counts> {
    build::package()?;
    models::ensure_all()?;
    browsers::ensure()?;
    npm::tools()?;
    let mut node = process::command("node");
    // One file at a time: each drives a browser and runs a model, and a busy machine only makes them wait.
    node.args(["--test", "--test-concurrency=1", "--test-reporter=spec"])
        .args(end_to_end_files()?);
    let (ended_well, text) = process::tee(node.env("BURROW_MODELS", models::folder()?))?;
    let counts = parse_node(&text).context("node's test runner gave no result")?;
    Ok(if ended_well || counts.failed > 0 {
        counts
    } else {
        counts.and(Counts::check(false))
    })
}

/// Node 20 takes no pattern.
fn end_to_end_files() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(paths::root().join("tests/e2e"))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Runs a test script of our own, which ends with the plain line.
fn script(path: &str, arguments: &[&str]) -> Result<Counts> {
    npm::tools()?;
    let mut node = process::command("node");
    let (ended_well, text) = process::tee(
        node.arg(path)
            .args(arguments)
            .env("BURROW_MODELS", models::folder()?),
    )?;
    let counts = parse_counts(&text).with_context(|| format!("{path} gave no result"))?;
    Ok(if ended_well || counts.failed > 0 {
        counts
    } else {
        counts.and(Counts::check(false))
    })
}
