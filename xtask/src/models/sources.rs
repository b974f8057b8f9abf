//! Where a model file can come from.

use super::catalogue::ModelFile;
use crate::{paths, process};
use anyhow::{Context, Result, bail};
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Fetches a file to the given place, or says why it cannot.
type Fetch = fn(&ModelFile, &Path) -> Result<()>;

/// In the order in which they are tried.
pub const ALL: &[(&str, Fetch)] = &[("Maven", from_maven), ("the model hub", from_hub)];

/// The version that carries all of them; others lack some.
const ARTIFACT_VERSION: &str = "0.36.2";

/// The Maven coordinates of the artifact that holds the file.
pub fn artifact(file: &ModelFile) -> String {
    format!(
        "dev.langchain4j:langchain4j-embeddings-{}:{ARTIFACT_VERSION}",
        file.artifact
    )
}

/// The file's public address. `BURROW_MODEL_HUB` names a mirror.
pub fn hub_url(file: &ModelFile) -> String {
    let hub = std::env::var("BURROW_MODEL_HUB").unwrap_or_else(|_| "https://huggingface.co".into());
    format!("{hub}/Xenova/{}/resolve/main/{}", file.model, file.hub)
}

/// One jar holds a model and its tokenizer, so jars are kept until the folder of jars is no longer needed.
fn from_maven(file: &ModelFile, to: &Path) -> Result<()> {
    if process::find("mvn").is_none() {
        bail!("there is no `mvn` (Debian: apt-get install maven)");
    }
    let jar = jar_of(file)?;
    let archive = std::fs::File::open(&jar).with_context(|| format!("cannot read {}", jar.display()))?;
    let mut archive = zip::ZipArchive::new(archive).with_context(|| format!("{}", jar.display()))?;
    let mut entry = archive
        .by_name(file.jar_entry)
        .with_context(|| format!("{} in the jar", file.jar_entry))?;
    copy_with_progress(&mut entry, to, file.size)
}

fn jar_of(file: &ModelFile) -> Result<PathBuf> {
    let dir = paths::work().join("jars");
    let jar = dir.join(format!(
        "langchain4j-embeddings-{}-{ARTIFACT_VERSION}.jar",
        file.artifact
    ));
    if !jar.is_file() {
        let mut maven = process::command("mvn");
        maven.args([
            "-q",
            "-B",
            "dependency:copy",
            &format!("-Dartifact={}", artifact(file)),
        ]);
        process::output(maven.arg(format!("-DoutputDirectory={}", dir.display())))?;
    }
    Ok(jar)
}

fn from_hub(file: &ModelFile, to: &Path) -> Result<()> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_recv_response(Some(Duration::from_secs(60)))
        .build()
        .into();
    let url = hub_url(file);
    let mut response = agent.get(&url).call().with_context(|| url.clone())?;
    copy_with_progress(&mut response.body_mut().as_reader(), to, file.size).with_context(|| url)
}

fn copy_with_progress(from: &mut dyn Read, to: &Path, size: u64) -> Result<()> {
    let mut out = std::fs::File::create(to).with_context(|| format!("cannot write {}", to.display()))?;
    let mut buffer = vec![0; 1 << 20];
    let (mut done, mut shown) = (0u64, Instant::now());
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        done += count as u64;
        if done > size {
            bail!("more than the expected {size} bytes arrived");
        }
        out.write_all(&buffer[..count])?;
        if std::io::stdout().is_terminal() && shown.elapsed() > Duration::from_millis(200) {
            print!("\r  {:.0} of {:.0} MB ", done as f64 / 1e6, size as f64 / 1e6);
            std::io::stdout().flush()?;
            shown = Instant::now();
        }
    }
    println!("\r  {:.1} of {:.1} MB", done as f64 / 1e6, size as f64 / 1e6);
    out.sync_all()
        .with_context(|| format!("cannot write {}", to.display()))
}
