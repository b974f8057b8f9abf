//! `cargo xtask demo`: the page in `www/`, on the built package and the local model files.
//!
//! The page itself is plain files: an import map finds the package, and the models' addresses are relative, so that
//! the same folder works on any static host.

use crate::serve::{Mount, Server};
use crate::{browsers, build, models, npm, paths, process};
use anyhow::{Context, Result, bail};

/// Where the demo is found unless told otherwise.
const PORT: u16 = 8420;

/// The command.
pub fn command(arguments: &[String]) -> Result<()> {
    let port = match arguments {
        [] => PORT,
        [flag, port] if flag == "--port" => port.parse().with_context(|| format!("`{port}` is no port"))?,
        _ => bail!("`demo` takes only --port N"),
    };
    let server = prepare(port)?;
    println!("\nThe demo is at {}   (Ctrl-C ends it)", server.url);
    server.run();
    Ok(())
}

/// Takes the README's picture of the real demo.
pub fn screenshot(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("`screenshot` takes no `{argument}`");
    }
    browsers::ensure()?;
    npm::tools()?;
    let server = prepare(0)?;
    let url = server.url.clone();
    std::thread::spawn(move || server.run());
    let mut node = process::command("node");
    process::run(
        node.arg("tests/harness/screenshot.mjs")
            .args([url.as_str(), "docs/screenshot.png"]),
    )
}

fn prepare(port: u16) -> Result<Server> {
    build::package()?;
    let models = models::ensure_all()?;
    Server::bind(
        port,
        vec![
            Mount {
                path: "/",
                folder: paths::root().join("www"),
            },
            Mount {
                path: "/pkg/",
                folder: paths::dist(),
            },
            Mount {
                path: "/models/",
                folder: models,
            },
        ],
    )
}
