//! Everything a checkout can do, as `cargo xtask COMMAND`.
//!
//! One program brings all that is needed (wasm target, bindgen step, npm packages, browsers, model files), so that a
//! newcomer needs Rust and Node and nothing else, and CI runs the very command a person runs.
//!
//! Invariants:
//! - Every step is incremental: it runs again only when the content of its inputs changed ([`stamp`]).
//! - Nothing is fetched from a code host; tools come from the package registries of Rust, npm and Debian.
//! - A command that could not do its work exits with an error that says what to do about it.

mod bench;
mod bindgen;
mod browsers;
mod build;
mod demo;
mod models;
mod npm;
mod packs;
mod paths;
mod process;
mod serve;
mod size;
mod stamp;
mod test;
mod typescript;
mod wasm_build;
mod wasm_test;

use anyhow::{Result, bail};

/// A command: its name, the arguments it takes, what it does, and the function that does it.
struct Command {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

/// Adding a command is adding a row.
const COMMANDS: &[Command] = &[
    Command {
        name: "build",
        arguments: "",
        about: "the npm package in pkg/dist: both wasm modules and the TypeScript",
        run: build::command,
    },
    Command {
        name: "test",
        arguments: "[--only STAGE,…] [--skip STAGE,…] [--fresh] [--list]",
        about: "every check and test: Rust, wasm, package, browsers",
        run: test::command,
    },
    Command {
        name: "demo",
        arguments: "[--port N]",
        about: "builds, gets the models, and serves the demo page",
        run: demo::command,
    },
    Command {
        name: "screenshot",
        arguments: "",
        about: "docs/screenshot.png from the real demo",
        run: demo::screenshot,
    },
    Command {
        name: "models",
        arguments: "[NAME…]",
        about: "downloads and verifies the model files",
        run: models::command,
    },
    Command {
        name: "pack",
        arguments: "MODEL|URL|FILE|FOLDER [--precision int8|f32] [-o FILE] …",
        about: "makes a model ready to run, as `npx burrow-memory pack` does",
        run: packs::command,
    },
    Command {
        name: "bench",
        arguments: "embed [--host chromium|node|all] | quality | store, each with [--quick] [--json]",
        about: "inference beside ONNX Runtime Web and transformers.js; what int8 costs; the store beside bare IndexedDB",
        run: bench::command,
    },
    Command {
        name: "fuzz",
        arguments: "[pack] [onnx] [--minutes N | --runs N] [--seed N]",
        about: "mangled packs and ONNX files, others each time: coded errors and no trap",
        run: test::fuzz,
    },
    Command {
        name: "size",
        arguments: "[--json]",
        about: "raw, gzip and brotli size of each wasm file, against the budgets",
        run: size::command,
    },
    Command {
        name: "browsers",
        arguments: "",
        about: "installs the test browsers (Debian, as root) or says what is missing",
        run: browsers::command,
    },
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Err(error) = dispatch(&arguments) {
        eprintln!("error: {error:#}");
        std::process::exit(1);
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", usage());
        return Ok(());
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print!("{}", usage());
        return Ok(());
    }
    // Not a command of its own: the wasm test stage starts this program again as wasm-bindgen's runner.
    if name == wasm_test::RUNNER {
        return wasm_test::runner(rest);
    }
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(rest),
        None => bail!("no command `{name}`\n\n{}", usage()),
    }
}

fn usage() -> String {
    let mut text = String::from("cargo xtask COMMAND\n\n");
    for command in COMMANDS {
        text += &format!("  {:<11} {}\n", command.name, command.about);
        if !command.arguments.is_empty() {
            text += &format!("  {:<11}   {}\n", "", command.arguments);
        }
    }
    text
}
