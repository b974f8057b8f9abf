//! An entry as bytes, as docs/format.md lays it out.
//!
//! Bytes rather than an object per entry: opening a store reads all entries, and a browser hands a thousand buffers
//! over much faster than a thousand objects with arrays in them. A checksum covers the whole, and the entry carries
//! the checksum of its document, so that a document and the vectors of another put are never taken for a pair.
//! Reading trusts nothing: whatever the bytes are, the answer is an entry or `corrupted`.

use std::rc::Rc;

use crate::model::{IndexFields, ItemId, Key, Namespace};
use crate::storage::{Entry, TextVector};
use crate::{Error, Result};

/// The first byte of an entry.
const LAYOUT: u8 = 2;
/// Schema 100 wrote entries without revision. They are read as they are: what is put from now on has a higher one.
const LAYOUT_WITHOUT_REVISION: u8 = 1;

const HAS_TTL: u8 = 1;
const HAS_EXPIRY: u8 = 2;
const PENDING: u8 = 4;
const INDEX_NONE: u8 = 8;
const INDEX_PATHS: u8 = 16;
const ALL_FLAGS: u8 = 31;

/// An entry, and the checksum of the document that was put with it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stored {
    pub(super) entry: Entry,
    pub(super) document: u32,
}

/// The checksum of a document's text.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Writes an entry.
pub(super) fn encode(stored: &Stored) -> Vec<u8> {
    let Stored { entry, document } = stored;
    let floats: usize = entry.vectors.iter().map(|vector| vector.vector.len()).sum();
    let mut out = Vec::with_capacity(256 + 4 * floats);
    out.extend([LAYOUT, 0, 0, 0, 0, flags(entry)]);
    out.extend(document.to_le_bytes());
    out.extend(entry.created_at.to_le_bytes());
    out.extend(entry.updated_at.to_le_bytes());
    out.extend(entry.revision.to_le_bytes());
    out.extend(entry.ttl.iter().flat_map(|ttl| ttl.to_le_bytes()));
    out.extend(entry.expires_at.iter().flat_map(|instant| instant.to_le_bytes()));
    put_strings(&mut out, &entry.id.namespace.0);
    put_string(&mut out, &entry.id.key.0);
    if let IndexFields::Paths(paths) = &entry.index {
        put_strings(&mut out, paths);
    }
    put_length(&mut out, entry.vectors.len());
    entry
        .vectors
        .iter()
        .for_each(|vector| put_vector(&mut out, vector));
    let sum = checksum(&out[5..]);
    out[1..5].copy_from_slice(&sum.to_le_bytes());
    out
}

fn flags(entry: &Entry) -> u8 {
    let bit = |on: bool, flag: u8| if on { flag } else { 0 };
    let index = match entry.index {
        IndexFields::Default => 0,
        IndexFields::None => INDEX_NONE,
        IndexFields::Paths(_) => INDEX_PATHS,
    };
    bit(entry.ttl.is_some(), HAS_TTL)
        | bit(entry.expires_at.is_some(), HAS_EXPIRY)
        | bit(entry.pending, PENDING)
        | index
}

fn put_vector(out: &mut Vec<u8>, vector: &TextVector) {
    out.extend(vector.text);
    out.push(u8::from(vector.truncated));
    put_length(out, vector.vector.len());
    out.extend(vector.vector.iter().flat_map(|number| number.to_le_bytes()));
}

fn put_strings(out: &mut Vec<u8>, strings: &[String]) {
    put_length(out, strings.len());
    strings.iter().for_each(|string| put_string(out, string));
}

fn put_string(out: &mut Vec<u8>, string: &str) {
    put_length(out, string.len());
    out.extend(string.as_bytes());
}

/// Lengths have 32 bits, as everything in a wasm memory does.
fn put_length(out: &mut Vec<u8>, length: usize) {
    out.extend((length as u32).to_le_bytes());
}

/// Reads an entry.
pub(super) fn decode(bytes: &[u8]) -> Result<Stored> {
    read(bytes).ok_or_else(|| {
        let message = "a stored entry is damaged; delete the database, or restore it from an export";
        Error::corrupted(message).with("length", bytes.len())
    })
}

fn read(bytes: &[u8]) -> Option<Stored> {
    let mut reader = Reader(bytes);
    let layout = reader.take(1)?[0];
    let sum = reader.u32()?;
    if !matches!(layout, LAYOUT | LAYOUT_WITHOUT_REVISION) || sum != checksum(reader.0) {
        return None;
    }
    let flags = reader.take(1)?[0];
    let document = reader.u32()?;
    let entry = read_entry(&mut reader, layout, flags)?;
    (reader.0.is_empty() && flags & !ALL_FLAGS == 0).then_some(Stored { entry, document })
}

fn read_entry(reader: &mut Reader, layout: u8, flags: u8) -> Option<Entry> {
    let has = |flag: u8| flags & flag != 0;
    let created_at = reader.i64()?;
    let updated_at = reader.i64()?;
    let revision = match layout {
        LAYOUT_WITHOUT_REVISION => 0,
        _ => u64::from_le_bytes(reader.array()?),
    };
    let ttl = if has(HAS_TTL) {
        Some(f64::from_le_bytes(reader.array()?))
    } else {
        None
    };
    let expires_at = if has(HAS_EXPIRY) {
        Some(reader.i64()?)
    } else {
        None
    };
    let namespace = Namespace(reader.strings()?);
    let key = Key(reader.string()?);
    let index = match (has(INDEX_NONE), has(INDEX_PATHS)) {
        (false, false) => IndexFields::Default,
        (true, false) => IndexFields::None,
        (false, true) => IndexFields::Paths(reader.strings()?),
        (true, true) => return None,
    };
    let vectors = reader.many(Reader::vector)?;
    let (id, pending) = (ItemId { namespace, key }, has(PENDING));
    Some(Entry {
        id,
        created_at,
        updated_at,
        revision,
        ttl,
        expires_at,
        index,
        pending,
        vectors,
    })
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok()
    }

    fn string(&mut self) -> Option<String> {
        let length = self.length()?;
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    /// A counted list. A count that lies runs out of bytes; nothing is reserved on its word.
    fn many<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.length()?;
        (0..count).map(|_| one(self)).collect()
    }

    fn strings(&mut self) -> Option<Vec<String>> {
        self.many(Self::string)
    }

    fn vector(&mut self) -> Option<TextVector> {
        let text = self.array()?;
        let truncated = match self.take(1)?[0] {
            0 => false,
            1 => true,
            _ => return None,
        };
        let bytes = self.length()?.checked_mul(4)?;
        let floats = self.take(bytes)?.chunks_exact(4);
        let vector: Rc<[f32]> = floats
            .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect();
        Some(TextVector {
            text,
            vector,
            truncated,
        })
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[allow(clippy::unwrap_used, clippy::panic)] // a test may
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn entries() -> impl Strategy<Value = Stored> {
        let id = (vec("\\PC{0,8}", 0..4), "\\PC{0,12}");
        let times = (
            any::<i64>(),
            any::<i64>(),
            any::<u64>(),
            option::of(-1e9..1e9f64),
            option::of(any::<i64>()),
        );
        let index = prop_oneof![
            Just(IndexFields::Default),
            Just(IndexFields::None),
            vec("\\PC{0,8}", 0..3).prop_map(IndexFields::Paths),
        ];
        let vector = (any::<[u8; 16]>(), vec(-1f32..1.0, 0..9), any::<bool>());
        let vector = vector.prop_map(|(text, vector, truncated)| TextVector {
            text,
            vector: vector.into(),
            truncated,
        });
        (id, times, index, any::<bool>(), vec(vector, 0..4), any::<u32>()).prop_map(
            |(
                (labels, key),
                (created_at, updated_at, revision, ttl, expires_at),
                index,
                pending,
                vectors,
                document,
            )| {
                let id = ItemId {
                    namespace: Namespace(labels),
                    key: Key(key),
                };
                let entry = Entry {
                    id,
                    created_at,
                    updated_at,
                    revision,
                    ttl,
                    expires_at,
                    index,
                    pending,
                    vectors,
                };
                Stored { entry, document }
            },
        )
    }

    /// The example of docs/format.md, assembled by hand from its table; the checksum is zlib's.
    #[test]
    fn an_entry_is_laid_out_as_the_format_document_says() {
        let entry = Entry {
            id: ItemId {
                namespace: Namespace(vec!["a".into()]),
                key: Key("k".into()),
            },
            created_at: 1,
            updated_at: 2,
            revision: 5,
            ttl: None,
            expires_at: Some(3),
            index: IndexFields::Default,
            pending: true,
            vectors: vec![TextVector {
                text: [7; 16],
                vector: [1.0, -2.0].into(),
                truncated: true,
            }],
        };
        #[rustfmt::skip]
        let mut expected = vec![
            2, 0, 0, 0, 0, // layout, checksum
            6, 0xef, 0xbe, 0xad, 0xde, // flags, document's checksum
            1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, // created, updated
            5, 0, 0, 0, 0, 0, 0, 0, // revision
            3, 0, 0, 0, 0, 0, 0, 0, // expires
            1, 0, 0, 0, 1, 0, 0, 0, b'a', 1, 0, 0, 0, b'k', // namespace, key
            1, 0, 0, 0, // one vector
            7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1, 2, 0, 0, 0, // text, truncated, dims
            0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, // 1.0, -2.0
        ];
        expected[1..5].copy_from_slice(&ZLIB_CRC32.to_le_bytes());
        let stored = Stored {
            entry,
            document: 0xdead_beef,
        };
        assert_eq!(encode(&stored), expected);

        // What schema 100 wrote: no revision.
        expected.drain(26..34);
        expected[0] = 1;
        expected[1..5].copy_from_slice(&ZLIB_CRC32_SCHEMA_100.to_le_bytes());
        let mut former = stored;
        former.entry.revision = 0;
        assert_eq!(decode(&expected), Ok(former));
    }

    const ZLIB_CRC32: u32 = 0x0f9a_d443;
    const ZLIB_CRC32_SCHEMA_100: u32 = 0xedeb_d7fc;

    proptest! {
        #[test]
        fn what_was_written_is_read(stored in entries()) {
            prop_assert_eq!(decode(&encode(&stored)), Ok(stored));
        }

        #[test]
        fn a_flipped_bit_is_noticed(stored in entries(), at in any::<prop::sample::Index>(), bit in 0..8u8) {
            let mut bytes = encode(&stored);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(decode(&bytes).unwrap_err().code(), "corrupted");
        }

        #[test]
        fn a_cut_or_lengthened_entry_is_noticed(stored in entries(), cut in any::<prop::sample::Index>()) {
            let bytes = encode(&stored);
            prop_assert!(decode(&bytes[..cut.index(bytes.len())]).is_err());
            prop_assert!(decode(&[&bytes[..], &[0]].concat()).is_err());
        }

        /// Past the checksum, too, no bytes crash the reader or make it reserve what is not there.
        #[test]
        fn any_bytes_are_an_entry_or_corrupted(mut body in vec(any::<u8>(), 0..200), small in any::<bool>()) {
            if small {
                body.iter_mut().for_each(|byte| *byte &= 1);
            }
            let mut bytes = vec![LAYOUT];
            bytes.extend(checksum(&body).to_le_bytes());
            bytes.extend(&body);
            if let Ok(stored) = decode(&bytes) {
                prop_assert_eq!(encode(&stored), bytes);
            }
        }
    }
}
