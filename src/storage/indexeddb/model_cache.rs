//! Models kept on the device, for all stores of an origin.
//!
//! A model is tens of megabytes, so it is kept in chunks: no single record or message is huge, a download can go on
//! where it stopped, and a damaged chunk is found by its own checksum.
//!
//! - **Complete or not there.** [`ModelCache::promote`] makes a model of a partial in one transaction, as
//!   [`ModelCache::put`] does of bytes; a reader sees the old model, or the new one.
//! - **Partial downloads are apart.** [`ModelCache::append`] adds the bytes at an offset, which must be the number of
//!   bytes received so far (`conflict` otherwise: another tab is downloading too), or 0 to start anew. What a partial
//!   holds is not verified against the model's own hash; whoever completes it does that, and promotes it.
//! - **Checked when read.** A chunk that is missing, of another length or with another checksum is `corrupted`;
//!   delete the model and fetch it again.

use js_sys::{Array, Function, Reflect};
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};

use super::codec::checksum;
use super::connection::Connection;
use super::records::{damaged, from_buffer, to_buffer};
use super::transaction::{Durability, Mode, Store, Transaction, between, result, results};
use super::version::{CHUNKS, MODEL_CACHE, MODELS};
use crate::{Error, Result};

/// The name of the database, which no store may have.
pub(super) const DATABASE: &str = "burrow-models";
/// Bytes in a chunk.
const CHUNK: usize = 4 << 20;
const WRITE: Mode = Mode::Write(Durability::Relaxed);

/// The models of this origin.
pub struct ModelCache {
    connection: Connection,
}

/// A complete or partial model, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedModel {
    /// The name that it was put under.
    pub id: String,
    /// Bytes, or bytes so far.
    pub size: u64,
    /// Whether it can be used.
    pub complete: bool,
    /// What was put beside it, as JSON text.
    pub meta: String,
}

/// A download that has begun, or one that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partial {
    /// Where to go on.
    pub received: u64,
    /// How many chunks [`ModelCache::partial_chunk`] or [`ModelCache::chunk`] has.
    pub chunks: usize,
    /// What was given with the last chunk, as JSON text.
    pub meta: String,
}

/// What `models` keeps of a model.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Entry {
    size: u64,
    /// Of each chunk, in order.
    checksums: Vec<u32>,
    meta: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Complete,
    Partial,
}

impl ModelCache {
    /// Opens the cache.
    pub async fn open() -> Result<Self> {
        Ok(Self {
            connection: Connection::open(DATABASE, &MODEL_CACHE).await?,
        })
    }

    /// The bytes of a complete model and what was put beside it.
    pub async fn get(&self, id: &str) -> Result<Option<(Vec<u8>, String)>> {
        self.run(Mode::Read, async |stores| {
            let Some(entry) = stores.entry(Kind::Complete, id).await? else {
                return Ok(None);
            };
            // No more than its chunks can hold: a damaged size must not ask for memory that is not there.
            let most = (entry.checksums.len() * CHUNK) as u64;
            let mut bytes = Vec::with_capacity(entry.size.min(most) as usize);
            for index in 0..entry.checksums.len() {
                bytes.extend(stores.chunk(Kind::Complete, id, &entry, index).await?);
            }
            let whole = bytes.len() as u64 == entry.size;
            if whole {
                Ok(Some((bytes, entry.meta)))
            } else {
                Err(damaged_model(id))
            }
        })
        .await
    }

    /// Keeps a model, in place of the one of that name and of its partial download.
    pub async fn put(&self, id: &str, bytes: &[u8], meta: &str) -> Result<()> {
        if id.is_empty() {
            return Err(Error::invalid_argument("a model needs a name"));
        }
        let checksums = bytes.chunks(CHUNK).map(checksum).collect();
        let entry = Entry {
            size: bytes.len() as u64,
            checksums,
            meta: meta.to_owned(),
        };
        self.run(WRITE, async |stores| {
            stores.remove(Kind::Partial, id)?;
            stores.remove(Kind::Complete, id)?;
            for (index, chunk) in bytes.chunks(CHUNK).enumerate() {
                stores.put_chunk(Kind::Complete, id, index, chunk)?;
            }
            stores.put_entry(Kind::Complete, id, &entry)
        })
        .await
    }

    /// Removes a model and its partial download; nothing when there is none.
    pub async fn delete(&self, id: &str) -> Result<()> {
        self.run(WRITE, async |stores| {
            stores.remove(Kind::Partial, id)?;
            stores.remove(Kind::Complete, id)
        })
        .await
    }

    /// All models, complete ones first, by name.
    pub async fn list(&self) -> Result<Vec<CachedModel>> {
        self.run(Mode::Read, async |stores| {
            let requests = [
                stores.models.get_all_keys(None, None)?,
                stores.models.get_all(None, None)?,
            ];
            let [keys, values] = <[JsValue; 2]>::try_from(results(&requests).await?).unwrap_or_default();
            let (keys, values): (Array, Array) = (keys.unchecked_into(), values.unchecked_into());
            keys.iter()
                .zip(values.iter())
                .map(|(key, value)| listed(&key, &value))
                .collect()
        })
        .await
    }

    /// The download of a model that has begun.
    pub async fn partial(&self, id: &str) -> Result<Option<Partial>> {
        self.found(Kind::Partial, id).await
    }

    /// A complete model, for [`ModelCache::chunk`]: the whole at once is what memory is short of.
    pub async fn complete(&self, id: &str) -> Result<Option<Partial>> {
        self.found(Kind::Complete, id).await
    }

    /// Makes a partial download, which has to be whole, the complete model `id` in place of the one of that name.
    pub async fn promote(&self, partial: &str, id: &str, meta: &str) -> Result<()> {
        self.run(WRITE, async |stores| {
            let Some(entry) = stores.entry(Kind::Partial, partial).await? else {
                return Err(Error::invalid_argument(format!(
                    "there is no download {partial:?}"
                )));
            };
            stores.remove(Kind::Complete, id)?;
            for index in 0..entry.checksums.len() {
                // From record to record, never all of them here: a request is answered after those before it.
                let chunk = result(
                    stores
                        .chunks
                        .get(&chunk_key(Kind::Partial, partial, index as f64))?,
                )
                .await?;
                if chunk.is_undefined() {
                    return Err(damaged_model(partial));
                }
                stores.put_buffer(&chunk_key(Kind::Complete, id, index as f64), &chunk)?;
            }
            stores.remove(Kind::Partial, partial)?;
            let meta = meta.to_owned();
            stores.put_entry(Kind::Complete, id, &Entry { meta, ..entry })
        })
        .await
    }

    async fn found(&self, kind: Kind, id: &str) -> Result<Option<Partial>> {
        self.run(Mode::Read, async |stores| {
            let entry = stores.entry(kind, id).await?;
            let partial = |entry: Entry| Partial {
                received: entry.size,
                chunks: entry.checksums.len(),
                meta: entry.meta,
            };
            Ok(entry.map(partial))
        })
        .await
    }

    /// The bytes of one chunk of a partial download, as they were appended.
    pub async fn partial_chunk(&self, id: &str, index: usize) -> Result<Vec<u8>> {
        self.chunk_of(Kind::Partial, id, index).await
    }

    /// The bytes of one chunk of a complete model.
    pub async fn chunk(&self, id: &str, index: usize) -> Result<Vec<u8>> {
        self.chunk_of(Kind::Complete, id, index).await
    }

    async fn chunk_of(&self, kind: Kind, id: &str, index: usize) -> Result<Vec<u8>> {
        self.run(Mode::Read, async |stores| {
            let entry = stores.entry(kind, id).await?.unwrap_or_default();
            if index >= entry.checksums.len() {
                let message = format!("there is no chunk {index} of {id:?}");
                return Err(Error::invalid_argument(message));
            }
            stores.chunk(kind, id, &entry, index).await
        })
        .await
    }

    /// Keeps the bytes of a download from `offset` on, and tells how many there are now. A chunk is kept as it is
    /// given: gather some megabytes first.
    pub async fn append(&self, id: &str, offset: u64, chunk: &[u8], meta: &str) -> Result<u64> {
        self.run(WRITE, async |stores| {
            let mut entry = stores.entry(Kind::Partial, id).await?.unwrap_or_default();
            if offset == 0 {
                stores.remove(Kind::Partial, id)?;
                entry = Entry::default();
            }
            if offset != entry.size {
                let message = format!("{} bytes of {id:?} are here, not {offset}", entry.size);
                return Err(Error::conflict(message).with("received", entry.size));
            }
            stores.put_chunk(Kind::Partial, id, entry.checksums.len(), chunk)?;
            entry.checksums.push(checksum(chunk));
            entry.size += chunk.len() as u64;
            entry.meta = meta.to_owned();
            stores.put_entry(Kind::Partial, id, &entry)?;
            Ok(entry.size)
        })
        .await
    }

    /// Waits for what is under way and closes.
    pub async fn close(&self) {
        self.connection.close().await;
    }

    async fn run<T>(&self, mode: Mode, work: impl AsyncFn(&Stores) -> Result<T>) -> Result<T> {
        self.connection
            .transaction(&[MODELS, CHUNKS], mode, async |transaction| {
                work(&Stores::of(transaction)?).await
            })
            .await
    }
}

/// The stores of one transaction.
struct Stores {
    models: Store,
    chunks: Store,
}

impl Stores {
    fn of(transaction: &Transaction) -> Result<Self> {
        Ok(Self {
            models: transaction.store(MODELS)?,
            chunks: transaction.store(CHUNKS)?,
        })
    }

    async fn entry(&self, kind: Kind, id: &str) -> Result<Option<Entry>> {
        let value = result(self.models.get(&model_key(kind, id))?).await?;
        if value.is_undefined() {
            Ok(None)
        } else {
            parse(&value, id).map(Some)
        }
    }

    fn put_entry(&self, kind: Kind, id: &str, entry: &Entry) -> Result<()> {
        let text = serde_json::to_string(entry)
            .map_err(|error| Error::internal("unwritable model").caused_by(error))?;
        self.models.put(&model_key(kind, id), &text.into())
    }

    async fn chunk(&self, kind: Kind, id: &str, entry: &Entry, index: usize) -> Result<Vec<u8>> {
        let value = result(self.chunks.get(&chunk_key(kind, id, index as f64))?).await?;
        let bytes = from_buffer(&value).filter(|bytes| entry.checksums.get(index) == Some(&checksum(bytes)));
        release(&value);
        bytes.ok_or_else(|| damaged_model(id))
    }

    fn put_chunk(&self, kind: Kind, id: &str, index: usize, bytes: &[u8]) -> Result<()> {
        self.put_buffer(&chunk_key(kind, id, index as f64), &to_buffer(bytes))
    }

    /// The database takes its copy at once.
    fn put_buffer(&self, key: &JsValue, buffer: &JsValue) -> Result<()> {
        let put = self.chunks.put(key, buffer);
        release(buffer);
        put
    }

    fn remove(&self, kind: Kind, id: &str) -> Result<()> {
        self.models.delete(&model_key(kind, id))?;
        let all = between(&chunk_key(kind, id, 0.0), &chunk_key(kind, id, f64::INFINITY))?;
        self.chunks.delete_range(all)
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
        }
    }
}

fn model_key(kind: Kind, id: &str) -> JsValue {
    Array::of2(&kind.name().into(), &id.into()).into()
}

fn chunk_key(kind: Kind, id: &str, index: f64) -> JsValue {
    Array::of3(&kind.name().into(), &id.into(), &index.into()).into()
}

fn listed(key: &JsValue, value: &JsValue) -> Result<CachedModel> {
    let key: &Array = key.unchecked_ref();
    let id = key
        .get(1)
        .as_string()
        .ok_or_else(|| damaged("the list of models"))?;
    let entry = parse(value, &id)?;
    let complete = key.get(0) == Kind::Complete.name();
    Ok(CachedModel {
        id,
        size: entry.size,
        complete,
        meta: entry.meta,
    })
}

fn parse(value: &JsValue, id: &str) -> Result<Entry> {
    let text = value.as_string().ok_or_else(|| damaged_model(id))?;
    serde_json::from_str(&text).map_err(|error| damaged_model(id).caused_by(error))
}

/// Gives a buffer's memory back now, where the engine can. A collector waits until tens of megabytes have gathered, on
/// top of the model that is being moved.
fn release(buffer: &JsValue) {
    let transfer = Reflect::get(buffer, &"transfer".into()).ok();
    if let Some(transfer) = transfer.as_ref().and_then(|value| value.dyn_ref::<Function>()) {
        // What cannot be moved is collected later.
        let _ = transfer.call1(buffer, &0.into());
    }
}

fn damaged_model(id: &str) -> Error {
    let message = format!("the cached model {id:?} is damaged; delete it and fetch it again");
    Error::corrupted(message).with("model", id)
}
