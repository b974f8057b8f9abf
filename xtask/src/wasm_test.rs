//! `#[wasm_bindgen_test]`s in real browsers, without WebDriver binaries from elsewhere.
//!
//! Cargo builds the test binaries; wasm-bindgen's test runner (as a library, in a child process that is this same
//! program) serves each as a page; `tests/harness/wasm_page.mjs` opens that page in one browser after the other and
//! reads the result. The runner's own headless mode is not used: it wants a driver binary per browser and cannot
//! drive Firefox or WebKitGTK here.

use crate::test::{Counts, parse_rust};
use crate::{browsers, npm, paths, process, wasm_build};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// The hidden command by which this program starts itself as the runner.
pub const RUNNER: &str = "wasm-bindgen-test-runner";

/// The child's half: serves one test binary until it is ended.
pub fn runner(arguments: &[String]) -> Result<()> {
    let arguments = std::iter::once(RUNNER.to_owned()).chain(arguments.iter().cloned());
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(arguments)
}

/// One build of the tests, and where it runs.
struct Pass {
    target_features: &'static str,
    target_dir: &'static str,
    targets: &'static [&'static str],
    browsers: &'static [&'static str],
}

const PASSES: &[Pass] = &[
    Pass {
        target_features: "+simd128",
        target_dir: "",
        targets: &["--lib", "--test", "*"],
        browsers: &["chromium", "firefox", "webkit"],
    },
    // Only the kernels differ, and they are tested in the library. WebKitGTK has no relaxed SIMD.
    Pass {
        target_features: "+simd128,+relaxed-simd",
        target_dir: "relaxed",
        targets: &["--lib"],
        browsers: &["chromium", "firefox"],
    },
];

/// Builds all wasm tests and runs them in every browser.
pub fn run() -> Result<Counts> {
    browsers::ensure()?;
    npm::tools()?;
    wasm_build::ensure_target()?;
    let mut total = Counts::default();
    for pass in PASSES {
        for binary in binaries(pass)? {
            let counts = run_binary(&binary, pass).with_context(|| format!("{}", binary.display()))?;
            total = total.and(counts);
        }
    }
    Ok(total)
}

fn binaries(pass: &Pass) -> Result<Vec<PathBuf>> {
    let mut cargo = wasm_build::cargo_for_wasm(pass.target_features, pass.target_dir);
    cargo.args([
        "test",
        "--package",
        "burrow-memory",
        "--no-run",
        "--target",
        wasm_build::TRIPLE,
    ]);
    cargo
        .args([
            "--features",
            "web,contract",
            "--message-format",
            "json-render-diagnostics",
        ])
        .args(pass.targets);
    eprintln!("$ {}", process::display(&cargo));
    let built = cargo
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !built.status.success() {
        bail!("the wasm tests do not compile");
    }
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&built.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        if let Some(executable) = message.get("executable").and_then(serde_json::Value::as_str) {
            found.push(PathBuf::from(executable));
        }
    }
    Ok(found)
}

fn run_binary(binary: &Path, pass: &Pass) -> Result<Counts> {
    let mut list = std::process::Command::new(std::env::current_exe()?);
    let listed = process::output(list.arg(RUNNER).arg(binary).arg("--list"))?;
    let tests = listed.lines().filter(|line| line.ends_with(": test")).count();
    let mut total = Counts::default();
    if tests == 0 {
        return Ok(total);
    }
    let port = process::free_port()?;
    let server = Server::start(binary, port)?;
    for browser in pass.browsers {
        let mut node = process::command("node");
        node.arg(paths::root().join("tests/harness/wasm_page.mjs"))
            .arg(browser)
            .arg(format!("http://127.0.0.1:{port}/"));
        let (ended_well, text) = process::tee(&mut node)?;
        let counts = parse_rust(&text);
        // A page that never came to its result line has failed, whatever it counted before.
        total = total.and(if ended_well || counts.failed > 0 {
            counts
        } else {
            Counts::check(false)
        });
    }
    drop(server);
    Ok(total)
}

/// The runner's process, ended when this is dropped, and what it wrote: it is ended while it serves, and has no chance
/// to tidy up.
struct Server {
    runner: Child,
    files: PathBuf,
}

impl Server {
    fn start(binary: &Path, port: u16) -> Result<Self> {
        let files = paths::work().join(format!("wasm-test-{port}"));
        std::fs::create_dir_all(&files)?;
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.arg(RUNNER).arg(binary).current_dir(paths::root());
        command
            .env("NO_HEADLESS", "1")
            // For test crates that do not say where they run.
            .env("WASM_BINDGEN_USE_BROWSER", "1")
            .env("WASM_BINDGEN_TEST_ADDRESS", format!("127.0.0.1:{port}"))
            .env("TMPDIR", &files);
        let mut server = Self {
            runner: command.stdout(Stdio::null()).spawn()?,
            files,
        };
        // The page is ready when the port answers; bindgen on a debug build takes seconds before that.
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = server.runner.try_wait()? {
                bail!("the test runner ended early ({status})");
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.runner.kill();
        let _ = self.runner.wait();
        let _ = std::fs::remove_dir_all(&self.files);
    }
}
