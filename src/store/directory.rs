//! What the store holds in memory of every item: times and vectors, not documents.
//!
//! Ordered by id, so that everything below a namespace prefix is one range. Vectors live in the flat index only; an
//! item keeps the hashes of its texts beside their rows. The directory mirrors committed state and nothing else:
//! what a batch has not committed yet lies over it (see `overlay`).

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::index::vector::{FlatIndex, Row};
use crate::model::{IndexFields, ItemId, Millis, Namespace};
use crate::storage::{Change, Entry, Revision, TextHash, TextVector};
use crate::{Error, Result};

/// All items, expired ones included until they are swept.
#[derive(Debug, Default)]
pub(super) struct Directory {
    items: BTreeMap<Rc<ItemId>, Known>,
    index: FlatIndex,
}

/// One item.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) created_at: Millis,
    pub(super) updated_at: Millis,
    pub(super) revision: Revision,
    pub(super) expires_at: Option<Millis>,
    pub(super) pending: bool,
    texts: Vec<Text>,
}

#[derive(Debug)]
struct Text {
    hash: TextHash,
    row: Row,
    truncated: bool,
}

impl Known {
    pub(super) fn alive_at(&self, now: Millis) -> bool {
        self.expires_at.is_none_or(|expiry| now < expiry)
    }

    /// Whether some text was longer than the model reads.
    pub(super) fn truncated(&self) -> bool {
        self.texts.iter().any(|text| text.truncated)
    }

    pub(super) fn vectors(&self) -> usize {
        self.texts.len()
    }

    /// The item's times as an entry, for what asks for no more.
    pub(super) fn times_of(&self, id: &ItemId) -> Entry {
        Entry {
            id: id.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            revision: self.revision,
            ttl: None,
            expires_at: self.expires_at,
            index: IndexFields::Default,
            pending: self.pending,
            vectors: Vec::new(),
        }
    }

    /// Whether the entry differs in nothing but its expiry, as after a refreshing read.
    fn same_content(&self, entry: &Entry) -> bool {
        let texts = || self.texts.iter().map(|text| text.hash);
        self.revision == entry.revision
            && self.created_at == entry.created_at
            && self.updated_at == entry.updated_at
            && self.pending == entry.pending
            && texts().eq(entry.vectors.iter().map(|vector| vector.text))
    }
}

impl Directory {
    /// Fills a directory at open.
    pub(super) fn from_entries(entries: Vec<Entry>) -> Result<Self> {
        let mut directory = Self::default();
        for entry in entries {
            directory.store(entry)?;
        }
        Ok(directory)
    }

    /// Follows one committed change.
    pub(super) fn apply(&mut self, change: Change) -> Result<()> {
        match change {
            Change::Stored(entry) => self.store(entry),
            Change::Removed(id) => {
                self.remove(&id);
                Ok(())
            }
        }
    }

    fn store(&mut self, entry: Entry) -> Result<()> {
        if let Some(known) = self.items.get_mut(&entry.id)
            && known.same_content(&entry)
        {
            known.expires_at = entry.expires_at;
            return Ok(());
        }
        self.remove(&entry.id);
        let texts = entry
            .vectors
            .iter()
            .map(|vector| self.add(vector))
            .collect::<Result<_>>();
        let texts = texts.map_err(|error| corrupted(&entry.id, &error))?;
        let known = Known {
            created_at: entry.created_at,
            updated_at: entry.updated_at,
            revision: entry.revision,
            expires_at: entry.expires_at,
            pending: entry.pending,
            texts,
        };
        self.items.insert(Rc::new(entry.id), known);
        Ok(())
    }

    fn add(&mut self, vector: &TextVector) -> Result<Text> {
        if self.index.dims() == 0 {
            self.index = FlatIndex::new(vector.vector.len());
        }
        let row = self.index.insert(&vector.vector)?;
        Ok(Text {
            hash: vector.text,
            row,
            truncated: vector.truncated,
        })
    }

    fn remove(&mut self, id: &ItemId) {
        let texts = self.items.remove(id).map(|known| known.texts).unwrap_or_default();
        texts.into_iter().for_each(|text| self.index.remove(text.row));
    }

    /// One item.
    pub(super) fn get(&self, id: &ItemId) -> Option<&Known> {
        self.items.get(id)
    }

    /// All items, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Rc<ItemId>, &Known)> {
        self.items.iter()
    }

    /// The items at or below a namespace, in order. A search costs what its own prefix holds.
    pub(super) fn below<'a>(
        &'a self,
        prefix: &'a Namespace,
    ) -> impl Iterator<Item = (&'a Rc<ItemId>, &'a Known)> {
        self.items
            .range(ItemId::first_at(prefix)..)
            .take_while(|(id, _)| id.namespace.starts_with(prefix))
    }

    /// The item's own vector of a text, to be used again when the text has not changed.
    pub(super) fn vector(&self, id: &ItemId, text: &TextHash) -> Option<TextVector> {
        let known = self.get(id)?.texts.iter().find(|known| known.hash == *text)?;
        let vector = Rc::from(self.index.vector(known.row)?);
        Some(TextVector {
            text: *text,
            vector,
            truncated: known.truncated,
        })
    }

    /// The best cosine of an item's vectors; `None` when it has none.
    pub(super) fn similarity(&self, known: &Known, query: &[f32]) -> Option<f32> {
        self.index.best(query, known.texts.iter().map(|text| text.row))
    }

    /// The length of the vectors, when there are any or have been.
    pub(super) fn dims(&self) -> Option<usize> {
        Some(self.index.dims()).filter(|&dims| dims > 0)
    }

    /// How many vectors are held.
    pub(super) fn vectors(&self) -> usize {
        self.index.len()
    }
}

fn corrupted(id: &ItemId, error: &Error) -> Error {
    Error::corrupted(format!(
        "The stored vectors of \"{}\" do not fit the index.",
        id.key.0
    ))
    .caused_by(error)
}
