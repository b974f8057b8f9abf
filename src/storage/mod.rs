//! Where items are kept. A backend is done when the contract suite is green on it.
//!
//! A call is one transaction: it happened whole, or the call is an error and nothing happened. No transaction handle
//! crosses the trait, and everything slow (embedding, hashing, serialising) is done before a call. A call that
//! resolved is durable.
//!
//! The store keeps a [`Entry`] per item in memory (times and vectors, not the document) and asks for what changed
//! since the sequence number that it knows, so that several tabs can share one database.

#[cfg(any(test, feature = "contract"))]
pub mod contract;
pub mod indexeddb;
pub mod memory;

use std::rc::Rc;

use async_trait::async_trait;

use crate::model::{IndexFields, ItemId, Millis, Namespace};
use crate::{Error, Result};

/// Numbers committed transactions that changed something, from 1.
pub type Sequence = u64;

/// Which put an item is of: the sequence number of the commit that stored it. No two puts of an item share one, not
/// within a millisecond, not under a clock that was set back, not across a delete. What a database of schema 100 holds
/// has 0 until it is put again.
pub type Revision = Sequence;

/// Which index of which database. A commit made against another one is refused, and nothing is followed across.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Epoch {
    /// Made up at random with the database: one that was deleted and made anew is not taken for the former.
    pub database: u64,
    /// Grows each time the index is replaced, so that a tab with another model cannot write stale vectors.
    pub number: u64,
}

/// One embedded text of an item.
#[derive(Debug, Clone, PartialEq)]
pub struct TextVector {
    /// Identifies the text that was embedded, so that an update embeds only what changed.
    pub text: TextHash,
    /// Unit length, `dims` numbers.
    pub vector: Rc<[f32]>,
    /// The text was longer than the model reads and was cut.
    pub truncated: bool,
}

/// The first 16 bytes of the text's SHA-256.
pub type TextHash = [u8; 16];

/// What the store keeps in memory of an item: everything but its document.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Where the item lives.
    pub id: ItemId,
    /// First put of this incarnation.
    pub created_at: Millis,
    /// Last put, for people. It is no version: see [`Entry::revision`].
    pub updated_at: Millis,
    /// Tells the last put from every other.
    pub revision: Revision,
    /// The item's own time to live in minutes; `None` never expires.
    pub ttl: Option<f64>,
    /// From this instant on the item does not exist.
    pub expires_at: Option<Millis>,
    /// What the put asked to be indexed.
    pub index: IndexFields,
    /// Written while no embedder was there: to be embedded at the next open that has one.
    pub pending: bool,
    /// One per text that was indexed.
    pub vectors: Vec<TextVector>,
}

impl Entry {
    /// Whether the item exists at `now`: at the instant of its expiry it is gone.
    pub fn alive_at(&self, now: Millis) -> bool {
        self.expires_at.is_none_or(|expiry| now < expiry)
    }
}

/// An item with its document, as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Times, index options and vectors.
    pub entry: Entry,
    /// The document as JSON text.
    pub value: Rc<str>,
}

/// A document to be stored, complete with its vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Put {
    /// Where the item goes.
    pub id: ItemId,
    /// The document as JSON text.
    pub value: Rc<str>,
    /// The operation's instant. The backend keeps `created_at` of a live predecessor and makes `updated_at` at least
    /// one millisecond later than that predecessor's.
    pub now: Millis,
    /// See [`Entry::ttl`].
    pub ttl: Option<f64>,
    /// See [`Entry::expires_at`].
    pub expires_at: Option<Millis>,
    /// See [`Entry::index`].
    pub index: IndexFields,
    /// See [`Entry::pending`].
    pub pending: bool,
    /// Replaces all vectors of a predecessor.
    pub vectors: Vec<TextVector>,
}

impl Put {
    /// What this put makes of its predecessor in the commit of that number: a live one passes on `created_at`, and
    /// time moves on from it.
    pub fn onto(self, predecessor: Option<&Entry>, revision: Revision) -> Record {
        let predecessor = predecessor.filter(|entry| entry.alive_at(self.now));
        let (created_at, updated_at) = match predecessor {
            Some(entry) => (entry.created_at, self.now.max(entry.updated_at.saturating_add(1))),
            None => (self.now, self.now),
        };
        let entry = Entry {
            id: self.id,
            created_at,
            updated_at,
            revision,
            ttl: self.ttl,
            expires_at: self.expires_at,
            index: self.index,
            pending: self.pending,
            vectors: self.vectors,
        };
        Record {
            entry,
            value: self.value,
        }
    }
}

/// One change within a commit. Changes apply in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Stores or replaces an item.
    Put(Put),
    /// Removes an item with its vectors; nothing when there is none.
    Delete(ItemId),
    /// A refreshing read: moves the expiry of an item that is alive at `now` and still of the put that was read;
    /// nothing otherwise. (The expiry was computed from that put's own ttl, a later one may have another.)
    Refresh {
        /// Which item.
        id: ItemId,
        /// The put that was read.
        revision: Revision,
        /// The read's instant.
        now: Millis,
        /// The new expiry.
        expires_at: Millis,
    },
    /// Removes an item if it has expired by `now`; nothing otherwise.
    Sweep {
        /// Which item.
        id: ItemId,
        /// The sweep's instant.
        now: Millis,
    },
}

/// What one item became.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The item now looks like this.
    Stored(Entry),
    /// The item is gone.
    Removed(ItemId),
}

/// What a reader that knew an older sequence has to apply.
#[derive(Debug, Clone, PartialEq)]
pub enum Changes {
    /// The latest state of each item that changed since, up to `sequence`.
    Since {
        /// The newest committed sequence.
        sequence: Sequence,
        /// See [`IndexState::epoch`].
        epoch: Epoch,
        /// One per changed item.
        changes: Vec<Change>,
    },
    /// Too much has happened, or the index was replaced: load a snapshot.
    Reload,
}

/// Everything the store needs at open, read in bulk.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The newest committed sequence.
    pub sequence: Sequence,
    /// The index as the database remembers it.
    pub index: IndexState,
    /// Every item, expired ones included, ordered by namespace and key.
    pub entries: Vec<Entry>,
}

/// What the database remembers of its index.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexState {
    /// Of which database this is the index, and the how manieth.
    pub epoch: Epoch,
    /// Model, weights, pooling, document prefix and fields, as the store describes them; `None` before the first.
    pub fingerprint: Option<String>,
    /// The length of all vectors, settled by the first one; `None` before.
    pub dims: Option<usize>,
}

impl IndexState {
    /// Settles the length of vectors, or fails with `model_mismatch` where it is settled already and another.
    pub fn settle_dims<'a>(&mut self, vectors: impl IntoIterator<Item = &'a TextVector>) -> Result<()> {
        for vector in vectors {
            let dims = vector.vector.len();
            let settled = *self.dims.get_or_insert(dims);
            if settled != dims {
                return Err(Self::other_dims(settled, dims));
            }
        }
        Ok(())
    }

    /// The index has vectors of one length, the embedder makes them of another.
    pub fn other_dims(stored: usize, dims: usize) -> Error {
        let message = format!(
            "The stored vectors have {stored} numbers and this embedder's {dims}, so they cannot be compared. Open with \
             the former embedder, or with `reindex: true` to embed everything anew."
        );
        Error::model_mismatch(message)
            .with("storedDims", stored)
            .with("dims", dims)
    }
}

/// The vectors that writes bring.
pub fn vectors_of(writes: &[Write]) -> impl Iterator<Item = &TextVector> {
    let puts = writes.iter().filter_map(|write| match write {
        Write::Put(put) => Some(put),
        _ => None,
    });
    puts.flat_map(|put| &put.vectors)
}

/// New vectors for one item, computed from the document of this put.
#[derive(Debug, Clone, PartialEq)]
pub struct Reindexed {
    /// Which item.
    pub id: ItemId,
    /// The put that was embedded.
    pub revision: Revision,
    /// The new vectors.
    pub vectors: Vec<TextVector>,
}

/// Whether a document, as JSON text, is wanted.
pub type Wanted<'a> = dyn Fn(&str) -> Result<bool> + 'a;

/// What [`Storage::sift`] found in one go.
#[derive(Debug, Clone, PartialEq)]
pub struct Sifted {
    /// Items whose documents are wanted, in order.
    pub found: Vec<ItemId>,
    /// Where to go on; `None` at the end.
    pub last: Option<ItemId>,
}

/// The answer to [`Storage::replace_index`].
#[derive(Debug, Clone, PartialEq)]
pub enum Replaced {
    /// Done; the index's new state.
    Done(IndexState),
    /// Nothing was written: these items were written meanwhile, or are missing from the list. Embed them and ask again.
    Stale(Vec<ItemId>),
}

/// A place to keep items. See the module for what every call promises.
#[async_trait(?Send)]
pub trait Storage {
    /// Reads everything but the documents.
    async fn load(&self) -> Result<Snapshot>;

    /// Reads what changed after `sequence`.
    async fn changes(&self, sequence: Sequence) -> Result<Changes>;

    /// Reads documents; `None` where there is none. Expired items are returned: the store decides by its clock.
    async fn read(&self, ids: &[ItemId]) -> Result<Vec<Option<Record>>>;

    /// Looks through the documents at or below a namespace, in order and from after an item on, as many as one go
    /// takes. Much faster than reading them one by one; the documents stay with the storage.
    async fn sift(&self, prefix: &Namespace, after: Option<&ItemId>, wanted: &Wanted<'_>) -> Result<Sifted>;

    /// Applies all writes or none, provided that the index is still at `epoch` and that vectors are as long as the
    /// index's (else `model_mismatch`). Gives the new sequence and what each touched item became; a commit that
    /// changed nothing keeps the sequence.
    async fn commit(&self, epoch: Epoch, writes: Vec<Write>) -> Result<Changes>;

    /// Replaces fingerprint and all vectors in one transaction, clears [`Entry::pending`], and counts as a commit
    /// that older readers answer with [`Changes::Reload`]. `items` lists every stored item, those without vectors and
    /// expired ones too; a listed item that no longer exists is passed over. Fails with `model_mismatch` when the
    /// database is another than [`Epoch::database`] says: its revisions are not comparable.
    async fn replace_index(
        &self,
        database: u64,
        fingerprint: Option<String>,
        items: Vec<Reindexed>,
    ) -> Result<Replaced>;

    /// Waits for what is under way and lets go of the database. Calling it twice is no error; all other calls are
    /// `closed` from then on.
    async fn close(&self) -> Result<()>;
}
