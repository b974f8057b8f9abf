//! The pack: a model as the encoder wants it, in one file.
//!
//! An ONNX file says how a model was written down; a pack says how it will be read. Weights lie in the order of the
//! kernels' loads, so opening a pack is checking it: nothing is parsed but a short header, nothing is copied, and the
//! bytes that came from disk are the bytes the products read. `docs/format.md` has the layout byte by byte; the code's
//! side of it is [`header`] and [`layout`].
//!
//! Invariants:
//! * where everything lies follows from the header alone. There is no table of offsets that could lie;
//! * a pack that opens is whole: its length and its checksum are those of what was written. Anything else is
//!   `corrupted`, never a panic and never a wrong vector;
//! * the format is numbered. A pack of another version is `model_load`, and is made again from the model file.

mod header;
mod layout;
mod panels;
mod write;

pub use header::{Header, PackInfo};
pub use layout::Layout;
pub use panels::{OwnedLayer, OwnedLinear, OwnedPanels};
pub use write::PackWriter;

use xxhash_rust::xxh64::Xxh64;

use super::bytes::AlignedBytes;
use super::embeddings::Embeddings;
use super::kernels::{self, Tight};
use super::layer::Layer;
use crate::{Error, Result};

/// What a pack begins with.
pub const MAGIC: &[u8; 8] = b"BURROWPK";
/// The version this code writes and reads.
pub const VERSION: u32 = 1;

/// Bytes before the header: magic, checksum, version, length of the header, length of the file.
const PRELUDE: usize = 64;
/// The checksum covers everything from here on, in every version.
const CHECKED_FROM: usize = 16;

/// A pack that has been checked and is ready for the kernels.
#[derive(Debug)]
pub struct Pack {
    bytes: AlignedBytes,
    header: Header,
    layout: Layout,
    /// One for each of the layout's int8 weights.
    tight: Vec<Tight>,
}

impl Pack {
    /// Checks a pack and takes it over. Its weights are brought into the order of this build's int8 kernels, in place.
    pub fn open(mut bytes: AlignedBytes) -> Result<Self> {
        let header_length = check_prelude(&bytes)?;
        let json = bytes
            .get(PRELUDE..PRELUDE + header_length)
            .ok_or_else(|| corrupted("has a header without end"))?;
        let header: Header = serde_json::from_slice(json)
            .map_err(|error| corrupted("has an unreadable header").caused_by(error))?;
        header
            .validate()
            .map_err(|error| corrupted("contradicts itself").caused_by(error))?;
        let layout = Layout::new(&header, PRELUDE + header_length)?;
        if layout.end() != bytes.len() {
            return Err(corrupted("is not as long as its header says").with("expected", layout.end()));
        }
        let tight = layout
            .int8_values()
            .map(|(values, depth)| kernels::int8::arrange(values.of_mut(&mut bytes), depth))
            .collect();
        let pack = Self {
            bytes,
            header,
            layout,
            tight,
        };
        pack.vocabulary_text()?;
        Ok(pack)
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The tokens in the order of their ids; a gap is an empty string.
    pub fn vocabulary(&self) -> Result<impl Iterator<Item = &str>> {
        Ok(self.vocabulary_text()?.split('\n'))
    }

    fn vocabulary_text(&self) -> Result<&str> {
        let text = std::str::from_utf8(self.layout.vocabulary.of(&self.bytes))
            .map_err(|error| corrupted("has a vocabulary that is not text").caused_by(error))?;
        if text.split('\n').count() > self.header.config.vocab {
            return Err(corrupted("has more tokens than word embeddings"));
        }
        Ok(text)
    }

    /// Size in memory.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn embeddings(&self) -> Embeddings<'_> {
        self.layout.embeddings(&self.bytes, self.header.config.eps)
    }

    pub(super) fn layers(&self) -> Vec<Layer<'_>> {
        self.layout.layers(&self.bytes, &self.tight, &self.header.config)
    }
}

/// Checks everything before the header and gives the header's length.
fn check_prelude(bytes: &[u8]) -> Result<usize> {
    let u32_at = |at: usize| bytes[at..].first_chunk().copied().map_or(0, u32::from_le_bytes);
    let u64_at = |at: usize| bytes[at..].first_chunk().copied().map_or(0, u64::from_le_bytes);
    if bytes.len() < PRELUDE {
        return Err(corrupted("is too short").with("length", bytes.len()));
    }
    if &bytes[..MAGIC.len()] != MAGIC {
        return Err(corrupted("does not begin like one"));
    }
    if u64_at(24) != bytes.len() as u64 {
        return Err(corrupted("has been cut")
            .with("expected", u64_at(24))
            .with("length", bytes.len()));
    }
    if u64_at(8) != checksum(bytes) {
        return Err(corrupted("has changed since it was written"));
    }
    match u32_at(16) {
        VERSION => Ok(u32_at(20) as usize),
        version => {
            let message = "the model pack is of a version that this Burrow does not read: make it again";
            Err(Error::model_load(message)
                .with("version", version)
                .with("expected", VERSION))
        }
    }
}

/// XXH64, fed in pieces: a browser runs a function's first call in slow code and replaces it between calls, and 34 MB in
/// one call would be all slow code.
fn checksum(bytes: &[u8]) -> u64 {
    let mut state = Xxh64::new(0);
    bytes[CHECKED_FROM..]
        .chunks(1 << 16)
        .for_each(|piece| state.update(piece));
    state.digest()
}

fn corrupted(problem: &str) -> Error {
    Error::corrupted(format!("the model pack {problem}: install the model again"))
}

#[cfg(test)]
mod tests;
