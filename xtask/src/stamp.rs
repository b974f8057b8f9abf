//! Whether a step has to run again.
//!
//! A step names its inputs (files, folders, words). Their content is hashed; the hash is written to
//! `target/xtask/stamps/NAME` only after the step succeeded. Content and not time, because a fresh checkout, a branch
//! switch and a rebase all change times without changing anything.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Folders that hold products, never inputs.
const PRODUCTS: &[&str] = &["target", "node_modules", "dist", ".git"];

/// The inputs of one step, hashed as they are named.
pub struct Stamp {
    name: String,
    hash: Sha256,
}

impl Stamp {
    /// A step without inputs yet.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            hash: Sha256::new(),
        }
    }

    /// Adds words: options, versions.
    pub fn text(mut self, text: &str) -> Self {
        self.hash.update((text.len() as u64).to_le_bytes());
        self.hash.update(text);
        self
    }

    /// Adds the content of a file or, in name order, of all files below a folder. A path that does not exist is an
    /// input too: that it is absent.
    pub fn path(mut self, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut files = Vec::new();
        collect(path, &mut files).with_context(|| format!("cannot read {}", path.display()))?;
        for file in files {
            let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let name = file
                .strip_prefix(crate::paths::root())
                .unwrap_or(&file)
                .to_string_lossy()
                .into_owned();
            self = self.text(&name);
            self.hash.update((bytes.len() as u64).to_le_bytes());
            self.hash.update(&bytes);
        }
        Ok(self)
    }

    /// Adds several paths, relative to the checkout.
    pub fn paths(mut self, paths: &[&str]) -> Result<Self> {
        for path in paths {
            self = self.text(path).path(crate::paths::root().join(path))?;
        }
        Ok(self)
    }

    fn digest(&self) -> String {
        hex(&self.hash.clone().finalize())
    }

    fn file(&self) -> PathBuf {
        crate::paths::work().join("stamps").join(&self.name)
    }

    /// What was noted when the step last succeeded on these very inputs.
    pub fn note(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.file()).ok()?;
        let (digest, note) = text.split_once('\n')?;
        (digest == self.digest()).then(|| note.to_owned())
    }

    /// Whether the step has succeeded on these inputs and all its products are still there.
    pub fn fresh(&self, products: &[PathBuf]) -> bool {
        self.note().is_some() && products.iter().all(|product| product.exists())
    }

    /// Records success, with a note for later runs.
    pub fn record(&self, note: &str) -> Result<()> {
        let file = self.file();
        if let Some(dir) = file.parent() {
            std::fs::create_dir_all(dir)?;
        }
        std::fs::write(&file, format!("{}\n{note}", self.digest()))
            .with_context(|| format!("cannot write {}", file.display()))
    }
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_dir() {
        let mut entries = std::fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<_>>>()?;
        entries.sort();
        for entry in entries {
            let product = entry
                .file_name()
                .is_some_and(|name| PRODUCTS.iter().any(|product| name == *product));
            if !product {
                collect(&entry, files)?;
            }
        }
    } else if path.is_file() {
        files.push(path.to_owned());
    }
    Ok(())
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_depends_on_content_and_names_and_not_on_how_they_are_cut() {
        let digest = |words: &[&str]| {
            words
                .iter()
                .fold(Stamp::new("x"), |stamp, word| stamp.text(word))
                .digest()
        };
        assert_eq!(digest(&["a", "b"]), digest(&["a", "b"]));
        assert_ne!(digest(&["ab", ""]), digest(&["a", "b"]));
    }

    #[test]
    fn hexadecimal_keeps_leading_zeros() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }
}
