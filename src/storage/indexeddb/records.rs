//! Records of a store's database: how keys, entries, documents and the state look as JavaScript values.

use std::rc::Rc;

use js_sys::{Array, ArrayBuffer, Uint8Array};
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};

use super::codec::{self, Stored};
use super::plan::Outcome;
use super::transaction::{Store, above, from_to_below, result, results};
use super::version::DATABASE;
use crate::model::{ItemId, Key, Namespace};
use crate::storage::{Change, Changes, Epoch, IndexState, Sequence, Sifted, Wanted};
use crate::{Error, Result};

/// Entries read at once: some ten milliseconds of the page's thread, and a bounded message between processes.
const BATCH: u32 = 1000;
/// The key of the state in `meta`.
const STATE: &str = "state";
/// Documents looked through at once. They are not parsed by the page's thread but by the store's, in a worker.
const SIFTED: u32 = 1000;

/// `[[label, …], key]`: IndexedDB orders it as [`ItemId`] does.
pub(super) fn item_key(id: &ItemId) -> JsValue {
    Array::of2(&labels(&id.namespace), &JsValue::from_str(&id.key.0)).into()
}

fn labels(namespace: &Namespace) -> Array {
    namespace.0.iter().map(|label| JsValue::from_str(label)).collect()
}

/// The keys of what lies at or below a namespace, and after an item: an array is above every text that may stand in
/// its place.
pub(super) fn below(namespace: &Namespace, after: Option<&ItemId>) -> Result<idb::KeyRange> {
    let end = labels(namespace);
    end.push(&Array::new());
    let lower = match after {
        Some(id) => item_key(id),
        None => Array::of1(&labels(namespace)).into(),
    };
    from_to_below(&lower, after.is_some(), &Array::of1(&end))
}

/// The item of a key.
pub(super) fn item_id(key: &JsValue) -> Option<ItemId> {
    let parts: &Array = key.dyn_ref()?;
    let labels: Array = parts.get(0).dyn_into().ok()?;
    let labels = labels
        .iter()
        .map(|label| label.as_string())
        .collect::<Option<_>>()?;
    Some(ItemId {
        namespace: Namespace(labels),
        key: Key(parts.get(1).as_string()?),
    })
}

/// What cannot have been written by us.
pub(super) fn damaged(what: &str) -> Error {
    Error::corrupted(format!(
        "{what} is damaged; delete the database, or restore it from an export"
    ))
}

/// Bytes as IndexedDB keeps them: the buffer itself is one object less to revive than a view of it.
pub(super) fn to_buffer(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).buffer().into()
}

/// The bytes of a stored buffer.
pub(super) fn from_buffer(value: &JsValue) -> Option<Vec<u8>> {
    let buffer: &ArrayBuffer = value.dyn_ref()?;
    Some(Uint8Array::new(buffer).to_vec())
}

fn entry(value: &JsValue) -> Result<Stored> {
    codec::decode(&from_buffer(value).ok_or_else(|| damaged("a stored entry"))?)
}

/// The entries of these items.
pub(super) async fn read_entries(entries: &Store, ids: &[ItemId]) -> Result<Vec<Option<Stored>>> {
    let get = |id: &ItemId| entries.get(&item_key(id));
    let requests = ids.iter().map(get).collect::<Result<Vec<_>>>()?;
    let found = results(&requests).await?;
    let decode = |(value, id): (&JsValue, &ItemId)| match value.is_undefined() {
        true => Ok(None),
        false => entry(value).and_then(|stored| belongs(stored, id)).map(Some),
    };
    found.iter().zip(ids).map(decode).collect()
}

fn belongs(stored: Stored, id: &ItemId) -> Result<Stored> {
    if stored.entry.id == *id {
        Ok(stored)
    } else {
        Err(damaged("a stored entry"))
    }
}

/// Hands all entries to `take`, in order.
pub(super) async fn each_batch(entries: &Store, mut take: impl FnMut(Stored) -> Result<()>) -> Result<()> {
    let mut after: Option<JsValue> = None;
    loop {
        let range = after.as_ref().map(above).transpose()?;
        let batch: Array = result(entries.get_all(range, Some(BATCH))?)
            .await?
            .unchecked_into();
        for (position, value) in batch.iter().enumerate() {
            let stored = entry(&value)?;
            if position + 1 == BATCH as usize {
                after = Some(next_start(&stored, after.as_ref())?);
            }
            take(stored)?;
        }
        if batch.length() < BATCH {
            return Ok(());
        }
    }
}

/// The key to go on after. It comes from the record's own bytes, so it must be seen to advance.
fn next_start(last: &Stored, before: Option<&JsValue>) -> Result<JsValue> {
    let advances = before
        .and_then(item_id)
        .is_none_or(|before| last.entry.id > before);
    if advances {
        Ok(item_key(&last.entry.id))
    } else {
        Err(damaged("a stored entry"))
    }
}

/// Writes an entry alone.
pub(super) fn put_entry(entries: &Store, stored: &Stored) -> Result<()> {
    entries.put(&item_key(&stored.entry.id), &to_buffer(&codec::encode(stored)))
}

/// Writes what an item has become.
pub(super) fn put_outcome(entries: &Store, documents: &Store, outcome: &Outcome) -> Result<()> {
    let key = item_key(&outcome.id);
    match &outcome.entry {
        Some(stored) => put_entry(entries, stored)?,
        None => {
            entries.delete(&key)?;
            documents.delete(&key)?;
        }
    }
    match &outcome.document {
        Some(text) => documents.put(&key, &JsValue::from_str(text)),
        None => Ok(()),
    }
}

/// The text of a stored document, if it is the one that was put with this entry.
pub(super) fn document_text(document: &JsValue, stored: &Stored) -> Result<Rc<str>> {
    let text = document
        .as_string()
        .filter(|text| codec::checksum(text.as_bytes()) == stored.document);
    text.map(Rc::from).ok_or_else(|| damaged("a stored document"))
}

/// The records of `meta`: the state as JSON text, and the database's number.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) sequence: Sequence,
    epoch: u64,
    fingerprint: Option<String>,
    /// Schema 100 did not write it, so there it is `None` until the first vector is written or looked for.
    #[serde(default)]
    dims: Option<usize>,
    #[serde(skip)]
    database: u64,
}

impl State {
    pub(super) fn index(&self) -> IndexState {
        IndexState {
            epoch: self.epoch(),
            fingerprint: self.fingerprint.clone(),
            dims: self.dims,
        }
    }

    fn epoch(&self) -> Epoch {
        Epoch {
            database: self.database,
            number: self.epoch,
        }
    }

    pub(super) fn since(&self, changes: Vec<Change>) -> Changes {
        Changes::Since {
            sequence: self.sequence,
            epoch: self.epoch(),
            changes,
        }
    }

    pub(super) fn expect_epoch(&self, epoch: Epoch) -> Result<()> {
        if self.epoch() == epoch {
            return Ok(());
        }
        Err(Error::model_mismatch("the index was replaced by another tab").with("epoch", self.epoch))
    }

    /// Fails when this is not the database that is meant.
    pub(super) fn expect_database(&self, database: u64) -> Result<()> {
        if self.epoch().database == database {
            return Ok(());
        }
        Err(Error::model_mismatch(
            "the database was deleted and made anew by another tab",
        ))
    }

    /// Takes the length of vectors that an index with this state has settled on.
    pub(super) fn settle(&mut self, index: IndexState) {
        self.dims = index.dims;
    }

    pub(super) fn replace_index(&mut self, fingerprint: Option<String>, dims: Option<usize>) {
        self.sequence += 1;
        self.epoch += 1;
        self.fingerprint = fingerprint;
        self.dims = dims;
    }
}

/// Reads the state; a new database has a number alone.
pub(super) async fn read_state(meta: &Store) -> Result<State> {
    let requests = [meta.get(&STATE.into())?, meta.get(&DATABASE.into())?];
    let found = results(&requests).await?;
    let [value, number] = found.as_slice() else {
        return Err(Error::internal("two requests have two results"));
    };
    let damaged = || damaged("the store's state");
    let mut state = match (value.is_undefined(), value.as_string()) {
        (true, _) => State::default(),
        (_, Some(text)) => serde_json::from_str(&text).map_err(|error| damaged().caused_by(error))?,
        (_, None) => return Err(damaged()),
    };
    state.database = number.as_f64().ok_or_else(damaged)? as u64;
    Ok(state)
}

/// Looks through documents from some place on; see [`Storage::sift`](crate::storage::Storage::sift). Only what is
/// wanted has its key translated.
pub(super) async fn sift(
    documents: &Store,
    range: impl Fn() -> Result<idb::KeyRange>,
    wanted: &Wanted<'_>,
) -> Result<Sifted> {
    let requests = [
        documents.get_all_keys(Some(range()?), Some(SIFTED))?,
        documents.get_all(Some(range()?), Some(SIFTED))?,
    ];
    let answers = results(&requests).await?;
    let lists: Vec<&Array> = answers.iter().filter_map(JsCast::dyn_ref).collect();
    let [keys, texts] = lists.as_slice() else {
        return Err(Error::internal("two requests have two results"));
    };
    let id = |at: u32| item_id(&keys.get(at)).ok_or_else(|| damaged("a stored key"));
    let mut found = Vec::new();
    for (at, text) in (0..).zip(texts.iter()) {
        let text = text.as_string().ok_or_else(|| damaged("a stored document"))?;
        if wanted(&text)? {
            found.push(id(at)?);
        }
    }
    let last = match keys.length() {
        SIFTED => Some(id(SIFTED - 1)?),
        _ => None,
    };
    Ok(Sifted { found, last })
}

/// Writes the state.
pub(super) fn write_state(meta: &Store, state: &State) -> Result<()> {
    let text =
        serde_json::to_string(state).map_err(|error| Error::internal("unwritable state").caused_by(error))?;
    meta.put(&STATE.into(), &text.into())
}
