//! `cargo xtask test`: every check and every test, one command for people and CI.
//!
//! A stage that passed is not run again until one of its inputs changes; its earlier counts are shown and marked
//! `unchanged`. `--fresh` runs everything. A failing stage does not keep later ones from running, and nothing is left
//! out without a line that says so. The run ends with a table and one plain line, `N passed, N failed`.

mod stages;

use crate::stamp::Stamp;
use crate::{build, npm, process};
use anyhow::{Result, bail};
use stages::{STAGES, Stage};
use std::time::{Duration, Instant};

/// What a stage found.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Counts {
    /// Tests or checks that passed.
    pub passed: usize,
    /// Tests or checks that failed.
    pub failed: usize,
}

impl Counts {
    /// One check.
    pub fn check(passed: bool) -> Self {
        Self {
            passed: usize::from(passed),
            failed: usize::from(!passed),
        }
    }

    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
        }
    }
}

/// One line of the table.
struct Row {
    name: &'static str,
    counts: Counts,
    time: Duration,
    note: String,
}

struct Options {
    only: Vec<String>,
    skip: Vec<String>,
    fresh: bool,
}

/// `cargo xtask fuzz`: the fuzz stage for as long as one likes.
pub fn fuzz(arguments: &[String]) -> Result<()> {
    build::package()?;
    npm::tools()?;
    process::run(
        process::command("node")
            .arg("tests/fuzz/main.mjs")
            .args(arguments),
    )
}

/// The command.
pub fn command(arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|argument| argument == "--list") {
        for stage in STAGES {
            println!("{:<10} {}", stage.name, stage.about);
        }
        return Ok(());
    }
    let options = parse(arguments)?;
    let rows: Vec<Row> = STAGES
        .iter()
        .filter_map(|stage| run_stage(stage, &options))
        .collect();
    report(&rows)
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options {
        only: Vec::new(),
        skip: Vec::new(),
        fresh: false,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let list = match argument.as_str() {
            "--fresh" => {
                options.fresh = true;
                continue;
            }
            "--only" => &mut options.only,
            "--skip" => &mut options.skip,
            other => {
                bail!("`test` takes no `{other}`; stages are named with --only or --skip, --list shows them")
            }
        };
        for name in rest.next().map(String::as_str).unwrap_or_default().split(',') {
            if !STAGES.iter().any(|stage| stage.name == name) {
                bail!("no stage `{name}`; --list shows them");
            }
            list.push(name.to_owned());
        }
    }
    Ok(options)
}

fn run_stage(stage: &'static Stage, options: &Options) -> Option<Row> {
    let row = |counts, time, note: &str| {
        Some(Row {
            name: stage.name,
            counts,
            time,
            note: note.to_owned(),
        })
    };
    if !options.only.is_empty() && !options.only.iter().any(|name| name == stage.name) {
        return None;
    }
    if options.skip.iter().any(|name| name == stage.name) {
        return row(Counts::default(), Duration::ZERO, "skipped, as asked by --skip");
    }
    let stamp = Stamp::new(&format!("test-{}", stage.name)).paths(stage.inputs);
    let known = stamp
        .as_ref()
        .ok()
        .and_then(Stamp::note)
        .and_then(|note| parse_counts(&note));
    if let Some(counts) = known.filter(|_| !options.fresh) {
        return row(counts, Duration::ZERO, "unchanged");
    }
    println!("\n=== {}: {}", stage.name, stage.about);
    let started = Instant::now();
    match (stage.run)() {
        Ok(counts) => {
            if counts.failed == 0
                && let Ok(stamp) = stamp
                && let Err(error) = stamp.record(&line(counts))
            {
                eprintln!("warning: {error:#}");
            }
            row(counts, started.elapsed(), "")
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            let first = format!("{error:#}").lines().next().unwrap_or_default().to_owned();
            row(Counts { passed: 0, failed: 1 }, started.elapsed(), &first)
        }
    }
}

fn report(rows: &[Row]) -> Result<()> {
    println!(
        "\n{:<10} {:>7} {:>7} {:>8}",
        "stage", "passed", "failed", "seconds"
    );
    let mut total = Counts::default();
    for row in rows {
        let Counts { passed, failed } = row.counts;
        println!(
            "{:<10} {passed:>7} {failed:>7} {:>8.1}  {}",
            row.name,
            row.time.as_secs_f64(),
            row.note
        );
        total = total.and(row.counts);
    }
    println!("\n{}", line(total));
    // The table has said what failed; a second message below the closing line would hide it.
    if total.failed > 0 || total.passed == 0 {
        std::process::exit(1);
    }
    Ok(())
}

/// The plain line: `N passed, N failed`.
pub fn line(counts: Counts) -> String {
    format!("{} passed, {} failed", counts.passed, counts.failed)
}

/// Reads the last plain line of a text.
pub fn parse_counts(text: &str) -> Option<Counts> {
    text.lines().rev().find_map(|line| {
        let (passed, rest) = line.trim().split_once(" passed, ")?;
        let failed = rest.split_once(" failed")?.0;
        Some(Counts {
            passed: passed.parse().ok()?,
            failed: failed.parse().ok()?,
        })
    })
}

/// Reads the closing lines of Node's test runner, `ℹ pass 3` and so on. A test that was cancelled has not passed.
pub fn parse_node(text: &str) -> Option<Counts> {
    let number = |word: &str| {
        text.lines().rev().find_map(|line| {
            let rest = line.trim().trim_start_matches(['ℹ', '#']).trim_start();
            rest.strip_prefix(word)?.strip_prefix(' ')?.parse::<usize>().ok()
        })
    };
    Some(Counts {
        passed: number("pass")?,
        failed: number("fail")? + number("cancelled")?,
    })
}

/// Adds up the `test result: ok. 3 passed; 0 failed; …` lines of Rust's test harness. A binary that ended without
/// such a line is the caller's to notice, by its exit code.
pub fn parse_rust(text: &str) -> Counts {
    let mut total = Counts::default();
    for line in text
        .lines()
        .filter(|line| line.trim_start().starts_with("test result:"))
    {
        let number = |word: &str| {
            let before = line.split(word).next()?;
            before.split_whitespace().next_back()?.parse::<usize>().ok()
        };
        let counts = Counts {
            passed: number(" passed").unwrap_or_default(),
            failed: number(" failed").unwrap_or_default(),
        };
        total = total.and(counts);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_binaries_add_up() {
        let text = "running 3 tests\ntest result: ok. 3 passed; 0 failed; 0 ignored\n\n\
                    test result: FAILED. 1 passed; 2 failed; 0 ignored\n";
        assert_eq!(parse_rust(text), Counts { passed: 4, failed: 2 });
        assert_eq!(parse_rust("no result here"), Counts::default());
    }

    #[test]
    fn the_last_plain_line_counts() {
        assert_eq!(
            parse_counts("1 passed, 2 failed\nx\n3 passed, 4 failed\n"),
            Some(Counts { passed: 3, failed: 4 })
        );
        assert_eq!(
            parse_counts("3 passed, 4 failed, 1 skipped"),
            Some(Counts { passed: 3, failed: 4 })
        );
        assert_eq!(parse_counts("all passed"), None);
    }

    #[test]
    fn a_cancelled_node_test_is_a_failure() {
        let text = "✔ one\nℹ tests 4\nℹ suites 1\nℹ pass 2\nℹ fail 1\nℹ cancelled 1\nℹ skipped 0\n";
        assert_eq!(parse_node(text), Some(Counts { passed: 2, failed: 2 }));
        assert_eq!(
            parse_node("# pass 1\n# fail 0\n# cancelled 0\n"),
            Some(Counts { passed: 1, failed: 0 })
        );
        assert_eq!(parse_node("nothing"), None);
    }

    #[test]
    fn an_unknown_stage_is_refused() {
        assert!(parse(&["--only".into(), "nothing".into()]).is_err());
        assert!(parse(&["--only".into(), "native".into()]).is_ok());
    }
}
