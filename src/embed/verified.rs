//! A file that arrives in chunks and is believed only when it is whole.
//!
//! Nothing is cached or parsed before three checks have passed: the first bytes look like the file meant (a single-page
//! app answers 200 with its HTML for any path, a hub answers JSON or a Git LFS pointer), the size is the expected one,
//! and so is the sha256. The first check needs eight bytes, so a wrong file is refused before it is downloaded.

use sha2::{Digest, Sha256};

use crate::{Error, Result};

/// What the bytes should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// An ONNX protobuf: field 1, the IR version, comes first.
    Onnx,
    /// A JSON object.
    TokenizerJson,
    /// A pack; its own reader checks the rest.
    Pack,
}

impl FileKind {
    fn name(self) -> &'static str {
        match self {
            Self::Onnx => "ONNX model",
            Self::TokenizerJson => "tokenizer.json",
            Self::Pack => "pack",
        }
    }
}

/// What is known about the file beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// What the bytes should be.
    pub kind: FileKind,
    /// In bytes, where known.
    pub size: Option<u64>,
    /// Lower-case hex, where known.
    pub sha256: Option<String>,
}

/// How many bytes the first check looks at.
const HEAD: usize = 8;

/// Collects and checks.
pub struct VerifiedFile {
    expected: Expected,
    bytes: Vec<u8>,
    hash: Sha256,
    head_checked: bool,
}

impl VerifiedFile {
    /// Nothing has arrived yet.
    pub fn new(expected: Expected) -> Self {
        Self {
            expected,
            bytes: Vec::new(),
            hash: Sha256::new(),
            head_checked: false,
        }
    }

    /// How many bytes have arrived.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes the next bytes. After an error the file is of no use.
    pub fn push(&mut self, chunk: &[u8]) -> Result<()> {
        let arrived = (self.bytes.len() + chunk.len()) as u64;
        if self.expected.size.is_some_and(|size| arrived > size) {
            return Err(self.wrong_size("is longer than expected", arrived));
        }
        if self.bytes.is_empty() {
            self.reserve();
        }
        self.bytes.extend_from_slice(chunk);
        self.hash.update(chunk);
        if !self.head_checked && self.bytes.len() >= HEAD {
            self.check_head()?;
        }
        Ok(())
    }

    /// The whole file, if it is the one expected.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.check_head()?;
        let arrived = self.bytes.len() as u64;
        if self.expected.size.is_some_and(|size| arrived != size) {
            return Err(self.wrong_size("ended early", arrived));
        }
        let found = hex(&self.hash.finalize());
        match &self.expected.sha256 {
            Some(expected) if !expected.eq_ignore_ascii_case(&found) => {
                let name = self.expected.kind.name();
                Err(
                    Error::model_load(format!("the {name} is not the file expected: its sha256 differs"))
                        .with("expected", expected.as_str())
                        .with("found", found),
                )
            }
            _ => Ok(self.bytes),
        }
    }

    /// One allocation of the right size: growing by doubling would hold the model three times over for a moment. A size
    /// that was only claimed by a server is not trusted with memory; failing to reserve is not an error yet.
    fn reserve(&mut self) {
        if let (Some(size), Some(_)) = (self.expected.size, &self.expected.sha256) {
            let _ = self.bytes.try_reserve_exact(usize::try_from(size).unwrap_or(0));
        }
    }

    fn check_head(&mut self) -> Result<()> {
        self.head_checked = true;
        let kind = self.expected.kind;
        let head = self.bytes.trim_ascii_start();
        let right = match kind {
            // `ir_version` is a small number, and only `producer_name` or `graph` may follow it.
            FileKind::Onnx => matches!(self.bytes.as_slice(), [0x08, 1..=63, ..]),
            FileKind::TokenizerJson => head.first() == Some(&b'{'),
            FileKind::Pack => !looks_like_text(head),
        };
        if right {
            return Ok(());
        }
        let name = kind.name();
        Err(
            Error::model_load(format!("expected the {name}, found {}", describe(head)))
                .with("kind", name)
                .with(
                    "head",
                    String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(HEAD)]).into_owned(),
                ),
        )
    }

    fn wrong_size(&self, problem: &str, found: u64) -> Error {
        Error::model_load(format!("the {} {problem}", self.expected.kind.name()))
            .with("expected", self.expected.size)
            .with("found", found)
    }
}

fn looks_like_text(head: &[u8]) -> bool {
    matches!(head, [b'<' | b'{' | b'[', ..] | []) || head.starts_with(b"version ")
}

/// What a wrong file most likely is, in words that point at the cause.
fn describe(head: &[u8]) -> &'static str {
    match head {
        [] => "nothing at all",
        [b'<', ..] => "an HTML page: the address answers with a web page instead of the file",
        [b'{' | b'[', ..] => "JSON: the address answers with a message or another file",
        head if head.starts_with(b"version ") => "a Git LFS pointer instead of the file it points to",
        [b'P', b'K', ..] => "a ZIP archive",
        [0x1f, 0x8b, ..] => "gzip data: the file has to be unpacked first",
        _ => "bytes of another kind",
    }
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONNX: &[u8] = b"\x08\x06\x12\x07pytorch";
    /// `sha256sum` of those bytes.
    const ONNX_SHA256: &str = "a0606f75966cecfacc87ee92b51c08b4f1a642b22d578b5c58bc039cc225ef6b";

    fn expected(kind: FileKind) -> Expected {
        Expected {
            kind,
            size: None,
            sha256: None,
        }
    }

    fn receive(expected: Expected, chunks: &[&[u8]]) -> Result<Vec<u8>> {
        let mut file = VerifiedFile::new(expected);
        for chunk in chunks {
            file.push(chunk)?;
        }
        file.finish()
    }

    fn refused(expected: Expected, chunks: &[&[u8]]) -> String {
        let error = receive(expected, chunks).unwrap_err();
        assert_eq!(error.code(), "model_load");
        error.to_string()
    }

    #[test]
    fn the_right_file_arrives_whole_whatever_the_chunks() {
        let exact = Expected {
            kind: FileKind::Onnx,
            size: Some(11),
            sha256: Some(ONNX_SHA256.to_uppercase()),
        };
        assert_eq!(receive(exact.clone(), &[ONNX]).unwrap(), ONNX);
        let bytes: Vec<_> = ONNX.chunks(1).collect();
        assert_eq!(receive(exact, &bytes).unwrap(), ONNX);
    }

    #[test]
    fn a_page_in_place_of_a_model_is_refused_at_its_first_bytes_and_named() {
        let mut file = VerifiedFile::new(expected(FileKind::Onnx));
        let error = file.push(b"\n<!doctype html><title>App</title>").unwrap_err();
        assert!(error.to_string().contains("HTML"), "{error}");
        for (head, word) in [
            (&b"{\"error\":\"not found\"}"[..], "JSON"),
            (b"version https://git-lfs.github.com/spec/v1", "LFS"),
            (b"PK\x03\x04....", "ZIP"),
            (b"\x1f\x8b\x08.....", "gzip"),
            (b"\x89PNG\r\n\x1a\n", "another kind"),
            (b"", "nothing"),
            (b"\x08", "another kind"),
        ] {
            assert!(
                refused(expected(FileKind::Onnx), &[head]).contains(word),
                "{word}"
            );
        }
        assert!(refused(expected(FileKind::TokenizerJson), &[b"<html></html>"]).contains("HTML"));
        assert!(refused(expected(FileKind::Pack), &[b"<html></html>"]).contains("HTML"));
    }

    #[test]
    fn too_short_and_too_long_are_refused() {
        let sized = |size| Expected {
            size: Some(size),
            ..expected(FileKind::Onnx)
        };
        assert!(refused(sized(12), &[ONNX]).contains("ended early"));
        assert!(refused(sized(10), &[ONNX]).contains("longer"));
    }

    #[test]
    fn one_changed_byte_is_refused() {
        let exact = Expected {
            kind: FileKind::Onnx,
            size: Some(11),
            sha256: Some(ONNX_SHA256.to_owned()),
        };
        assert!(refused(exact, &[b"\x08\x06\x12\x07pytorcH"]).contains("sha256"));
    }
}
