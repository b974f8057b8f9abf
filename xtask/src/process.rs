//! Running other programs: one place that prints what runs, checks the exit code and explains a missing program.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command whose working directory is the checkout.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(crate::paths::root());
    command
}

/// The cargo that started this program.
pub fn cargo() -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = command(&cargo);
    // `cargo run` describes *this* package in the environment; a nested build must not see it, or its build scripts
    // run again each time they are started from here.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST") {
            command.env_remove(&name);
        }
    }
    command
}

/// The command as a person would type it.
pub fn display(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs with this program's own output, and fails unless the exit code is 0.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = display(command);
    eprintln!("$ {shown}");
    let status = command
        .status()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Runs quietly and gives standard output; what the program said is part of the error.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = display(command);
    let output = command
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` failed ({})\n{text}{said}", output.status);
    }
    Ok(text)
}

/// Runs, shows standard output and error line by line as they come, and gives both, with whether it succeeded.
pub fn tee(command: &mut Command) -> Result<(bool, String)> {
    let shown = display(command);
    eprintln!("$ {shown}");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let error = child
        .stderr
        .take()
        .map(|stream| std::thread::spawn(move || echo(stream)));
    let mut text = child.stdout.take().map(echo).unwrap_or_default();
    if let Some(thread) = error {
        text += &thread.join().unwrap_or_default();
    }
    let status = child.wait()?;
    Ok((status.success(), text))
}

fn echo(stream: impl std::io::Read) -> String {
    use std::io::BufRead;
    let mut text = String::new();
    for line in std::io::BufReader::new(stream)
        .split(b'\n')
        .map_while(std::result::Result::ok)
    {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        text += &line;
        text.push('\n');
    }
    text
}

/// Where a program is, as a shell would find it.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_file().then(|| PathBuf::from(program));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
}

/// A port that is free now, for a server that takes its address from the command line.
pub fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}
