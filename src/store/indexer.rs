//! From documents and queries to checked vectors.
//!
//! The indexer knows which texts of a document are embedded and what makes two vectors comparable: the embedder and
//! the fields, written down as the index's fingerprint. Whatever comes back from an embedder is checked here (count,
//! length, finite numbers) and scaled to unit length, so that everything behind it may rely on that.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::embed::pooling::normalise;
use crate::embed::{Embedder, Embedding, TextKind};
use crate::model::{Document, FieldPath, IndexFields};
use crate::storage::{TextHash, TextVector};
use crate::{Error, Result};

/// The path that stands for the whole document.
const WHOLE_DOCUMENT: &str = "$";

/// An embedder, the fields it is applied to, and what has been learnt about its vectors.
pub(super) struct Indexer {
    embedder: Rc<dyn Embedder>,
    fields: Vec<FieldPath>,
    fingerprint: String,
    /// Known from the start, or from the first vector on; all others must agree.
    dims: Cell<Option<usize>>,
}

/// A text to be embedded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HashedText {
    pub(super) hash: TextHash,
    pub(super) text: String,
}

impl HashedText {
    fn new(text: String) -> Self {
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let mut hash = TextHash::default();
        hash.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
        Self { hash, text }
    }
}

impl Indexer {
    /// Checks the fields, and the declared length of vectors against the embedder's own.
    fn new(embedder: Rc<dyn Embedder>, fields: &[String], declared: Option<usize>) -> Result<Self> {
        let dims = embedder.dims();
        if let (Some(declared), Some(dims)) = (declared, dims)
            && declared != dims
        {
            let message = format!("dims is {declared}, but the model makes vectors of {dims} numbers.");
            return Err(Error::invalid_argument(message)
                .with("declared", declared)
                .with("model", dims));
        }
        let whole = [WHOLE_DOCUMENT.to_owned()];
        let fields = if fields.is_empty() { &whole[..] } else { fields };
        Ok(Self {
            fingerprint: fingerprint(&embedder.fingerprint(), fields),
            fields: fields
                .iter()
                .map(|path| FieldPath::parse(path))
                .collect::<Result<_>>()?,
            embedder,
            dims: Cell::new(dims.or(declared)),
        })
    }

    /// An indexer where there is an embedder.
    pub(super) fn of(
        embedder: Option<Rc<dyn Embedder>>,
        fields: &[String],
        declared: Option<usize>,
    ) -> Result<Option<Rc<Self>>> {
        embedder
            .map(|embedder| Self::new(embedder, fields, declared).map(Rc::new))
            .transpose()
    }

    /// What the database remembers of the index.
    pub(super) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The length of vectors, as far as it is known.
    pub(super) fn dims(&self) -> Option<usize> {
        self.dims.get()
    }

    /// Takes the length of the stored vectors for its own, unless it knows better: then it says false.
    pub(super) fn agrees_on(&self, stored: Option<usize>) -> bool {
        if self.dims.get().is_none() {
            self.dims.set(stored);
        }
        stored.is_none() || stored == self.dims.get()
    }

    /// The texts of a document that are to be found, each once.
    pub(super) fn texts(&self, document: &Document, index: &IndexFields) -> Result<Vec<HashedText>> {
        let own: Vec<FieldPath>;
        let paths = match index {
            IndexFields::Default => &self.fields,
            IndexFields::None => return Ok(Vec::new()),
            IndexFields::Paths(paths) => {
                own = paths
                    .iter()
                    .map(|path| FieldPath::parse(path))
                    .collect::<Result<_>>()?;
                &own
            }
        };
        let mut seen = HashSet::new();
        let texts = paths
            .iter()
            .flat_map(|path| path.texts(document))
            .map(HashedText::new);
        Ok(texts.filter(|text| seen.insert(text.hash)).collect())
    }

    /// Embeds documents' texts, each once, in one call.
    pub(super) async fn embed_documents(
        &self,
        texts: Vec<HashedText>,
    ) -> Result<HashMap<TextHash, TextVector>> {
        let mut seen = HashSet::new();
        let texts = texts.into_iter().filter(|text| seen.insert(text.hash));
        let (hashes, texts): (Vec<_>, Vec<_>) = texts.map(|text| (text.hash, text.text)).unzip();
        let embeddings = self.embed(&texts, TextKind::Document).await?;
        let vectors = hashes.into_iter().zip(embeddings).map(|(text, embedding)| {
            (
                text,
                TextVector {
                    text,
                    vector: embedding.vector,
                    truncated: embedding.truncated,
                },
            )
        });
        Ok(vectors.collect())
    }

    /// Embeds queries, each once, in one call.
    pub(super) async fn embed_queries(
        &self,
        queries: BTreeSet<String>,
    ) -> Result<HashMap<String, Rc<[f32]>>> {
        let queries: Vec<String> = queries.into_iter().collect();
        let embeddings = self.embed(&queries, TextKind::Query).await?;
        Ok(queries
            .into_iter()
            .zip(embeddings)
            .map(|(query, embedding)| (query, embedding.vector))
            .collect())
    }

    async fn embed(&self, texts: &[String], kind: TextKind) -> Result<Vec<Embedding>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let embeddings = self.embedder.embed(texts, kind).await.map_err(embedder_failed)?;
        if embeddings.len() != texts.len() {
            let message = format!(
                "The embedder gave {} vectors for {} texts.",
                embeddings.len(),
                texts.len()
            );
            return Err(Error::embedding(message));
        }
        embeddings
            .into_iter()
            .map(|embedding| self.checked(embedding))
            .collect()
    }

    fn checked(&self, embedding: Embedding) -> Result<Embedding> {
        let got = embedding.vector.len();
        let expected = self.dims.get().unwrap_or(got);
        if got != expected || got == 0 {
            let message = format!("The embedder gave a vector of {got} numbers where {expected} belong.");
            return Err(Error::embedding(message)
                .with("expected", expected)
                .with("got", got));
        }
        if embedding.vector.iter().any(|number| !number.is_finite()) {
            return Err(Error::embedding(
                "The embedder gave a vector with a number that is not finite.",
            ));
        }
        self.dims.set(Some(expected));
        let mut vector = embedding.vector.to_vec();
        normalise(&mut vector);
        Ok(Embedding {
            vector: vector.into(),
            truncated: embedding.truncated,
        })
    }
}

/// Model and fields as one text. The order of fields does not change which vectors an item has.
fn fingerprint(embedder: &str, fields: &[String]) -> String {
    let fields: BTreeSet<&String> = fields.iter().collect();
    json!({ "embedder": embedder, "fields": fields }).to_string()
}

/// The index belongs to another embedder or to other fields.
pub(super) fn mismatch(stored: Option<&str>, requested: &str) -> Error {
    let message = "The stored index was made by another model or with other fields, and vectors of two models \
                   cannot be compared. Open with the former ones, or with `reindex: true` to embed everything anew.";
    Error::model_mismatch(message)
        .with("stored", stored)
        .with("requested", requested)
}

/// An embedder's own codes pass; anything else it throws is a failure to embed.
fn embedder_failed(error: Error) -> Error {
    match error {
        Error::Embedding(_) | Error::Aborted(_) | Error::Closed(_) | Error::ModelLoad(_) => error,
        other => {
            let cause = other.context().cause.clone().unwrap_or_else(|| other.to_string());
            Error::embedding("The embedder failed; nothing was stored.").caused_by(cause)
        }
    }
}
