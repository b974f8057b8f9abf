//! From what an application writes to what is fetched, checked and compared.
//!
//! A [`ModelSource`] is a preset's name, or an object whose fields overrule a preset or stand for themselves. It
//! resolves to one [`ModelSpec`] in which nothing is left to decide.
//!
//! Two identities come out, for two questions:
//! * `fingerprint`: may vectors made with this be compared with vectors made with that? Model file, precision, pooling,
//!   document prefix, lower-casing and limit decide; the query prefix does not, it never touches what is stored.
//! * `id`: is a pack made from that the pack for this? Everything that is written into a pack decides.
//!
//! The file's sha256 is its identity, its URL only where the hash is not known: a mirror changes neither.

mod urls;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::embed::pooling::Pooling;
use crate::embed::presets::{Preset, PresetFile};
use crate::embed::verified::hex;
use crate::{Error, Result};

/// The least that leaves room for one token between `[CLS]` and `[SEP]`.
const MIN_TOKENS: usize = 3;
/// More than any BERT has positions for.
const MAX_TOKENS: usize = 1 << 16;
/// All presets have this many positions, also the one that is cut earlier.
const PRESET_POSITIONS: usize = 512;
/// What BERT was made with.
const DEFAULT_MAX_TOKENS: usize = 512;

/// How a model's weights are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// A quarter of the memory, and faster.
    #[default]
    Int8,
    /// As trained.
    F32,
}

impl Precision {
    /// Its name, as it stands in a model source.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::F32 => "f32",
        }
    }
}

/// What an application writes. Where it gives bytes, the caller leaves the field as any JSON value and keeps the bytes.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelSource {
    /// A name of [`Preset::ALL`].
    pub preset: Option<String>,
    /// int8 unless given.
    pub precision: Option<Precision>,
    /// An ONNX file, or a folder laid out like a hub's repository.
    pub url: Option<String>,
    /// `tokenizer.json`, where it is not where the model's URL suggests.
    pub tokenizer_url: Option<String>,
    /// Model and tokenizer as bytes.
    pub files: Option<Value>,
    /// A pack: its URL, or any other value for bytes.
    pub pack: Option<Value>,
    /// Of the model file, or of the pack.
    pub sha256: Option<String>,
    /// Mean unless a preset says otherwise.
    pub pooling: Option<Pooling>,
    /// Put before a question.
    pub query_prefix: Option<String>,
    /// Put before something to be found.
    pub document_prefix: Option<String>,
    /// Overrules the tokenizer file.
    pub lowercase: Option<bool>,
    /// Longest sequence, `[CLS]` and `[SEP]` included.
    pub max_tokens: Option<usize>,
}

/// One file to get.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSpec {
    /// Absent when the application gave bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// In bytes, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Lower-case hex, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// A model with nothing left to decide. Either `pack` is there, and what is inside it rules, or `model` and `tokenizer`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelSpec {
    /// Names the pack in the device's cache.
    pub id: String,
    /// What makes vectors comparable; absent for a pack, which carries its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// How the weights are held.
    pub precision: Precision,
    /// The ONNX file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<FileSpec>,
    /// Its `tokenizer.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<FileSpec>,
    /// A pack made beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pack: Option<FileSpec>,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Put before a question.
    pub query_prefix: String,
    /// Put before something to be found.
    pub document_prefix: String,
    /// Overrules the tokenizer file; absent where the file is believed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowercase: Option<bool>,
    /// Longest sequence, `[CLS]` and `[SEP]` included.
    pub max_tokens: usize,
    /// Length of the vectors, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dims: Option<usize>,
    /// What the model was trained with before a question, for applications that want it as their query prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_instruction: Option<String>,
}

impl ModelSource {
    /// From JSON: a preset's name, or an object.
    pub fn parse(value: &Value) -> Result<Self> {
        if let Value::String(name) = value {
            return Ok(Self {
                preset: Some(name.clone()),
                ..Self::default()
            });
        }
        Self::deserialize(value).map_err(|error| {
            invalid("a model source is a preset's name or an object of known fields").caused_by(error)
        })
    }

    /// Decides everything.
    pub fn resolve(&self) -> Result<ModelSpec> {
        let preset = self.find_preset()?;
        let sha256 = self.sha256.as_deref().map(checked_sha256).transpose()?;
        if let Some(pack) = &self.pack {
            return self.resolve_pack(preset, pack, sha256);
        }
        let precision = self.precision.unwrap_or_default();
        let (mut model, tokenizer) = self.locate(preset, precision)?;
        if let Some(sha256) = sha256 {
            // The size belongs to the file that the preset had in mind.
            model.size = model.size.filter(|_| model.sha256.as_ref() == Some(&sha256));
            model.sha256 = Some(sha256);
        }
        if model.url.is_none() && model.sha256.is_none() {
            return Err(invalid(
                "a model given as bytes needs its sha256, which tells its vectors from others'",
            ));
        }
        let mut spec = self.settings(preset, precision)?;
        (spec.model, spec.tokenizer) = (Some(model), Some(tokenizer));
        spec.fingerprint = Some(fingerprint(&spec));
        spec.id = identify(preset, &spec);
        Ok(spec)
    }

    fn find_preset(&self) -> Result<Option<&'static Preset>> {
        let Some(name) = &self.preset else {
            return Ok(None);
        };
        let known = || Preset::ALL.iter().map(|preset| preset.name).collect::<Vec<_>>();
        Preset::find(name).map(Some).ok_or_else(|| {
            invalid(format!(
                "there is no preset {name:?}; there are {}",
                known().join(", ")
            ))
            .with("preset", name.as_str())
            .with("known", known())
        })
    }

    fn locate(&self, preset: Option<&Preset>, precision: Precision) -> Result<(FileSpec, FileSpec)> {
        let pinned = |file: PresetFile| FileSpec {
            url: None,
            size: file.size,
            sha256: file.sha256.map(str::to_owned),
        };
        let mut model = preset
            .map(|preset| pinned(preset.model(precision)))
            .unwrap_or_default();
        let mut tokenizer = preset.map(|preset| pinned(preset.tokenizer)).unwrap_or_default();
        if self.files.is_some() {
            if self.url.is_some() || self.tokenizer_url.is_some() {
                return Err(invalid("a model comes from files or from a URL, not both"));
            }
            return Ok((model, tokenizer));
        }
        let folder = preset.map(Preset::folder);
        let base = self.url.as_deref().or(folder.as_deref()).ok_or_else(|| {
            invalid("a model source needs a preset, a url, files or a pack, to say where the model is")
        })?;
        let urls = urls::derive(base, precision)?;
        model.url = Some(urls.model);
        tokenizer.url = Some(self.tokenizer_url.clone().unwrap_or(urls.tokenizer));
        Ok((model, tokenizer))
    }

    fn settings(&self, preset: Option<&Preset>, precision: Precision) -> Result<ModelSpec> {
        let positions = if preset.is_some() {
            PRESET_POSITIONS
        } else {
            MAX_TOKENS
        };
        let max_tokens = self
            .max_tokens
            .or(preset.map(|preset| preset.max_tokens))
            .unwrap_or(DEFAULT_MAX_TOKENS);
        if !(MIN_TOKENS..=positions).contains(&max_tokens) {
            return Err(invalid(format!(
                "maxTokens has to lie between {MIN_TOKENS} and {positions}"
            ))
            .with("maxTokens", max_tokens));
        }
        let prefix = |given: &Option<String>, preset: Option<&str>| {
            given
                .clone()
                .unwrap_or_else(|| preset.unwrap_or_default().to_owned())
        };
        Ok(ModelSpec {
            id: String::new(),
            fingerprint: None,
            precision,
            model: None,
            tokenizer: None,
            pack: None,
            pooling: self
                .pooling
                .or(preset.map(|preset| preset.pooling))
                .unwrap_or(Pooling::Mean),
            query_prefix: prefix(&self.query_prefix, preset.map(|preset| preset.query_prefix)),
            document_prefix: prefix(&self.document_prefix, preset.map(|preset| preset.document_prefix)),
            lowercase: self.lowercase.or(preset.map(|preset| preset.lowercase)),
            max_tokens,
            dims: preset.map(|preset| preset.dims),
            query_instruction: preset
                .and_then(|preset| preset.query_instruction)
                .map(str::to_owned),
        })
    }

    fn resolve_pack(
        &self,
        preset: Option<&Preset>,
        pack: &Value,
        sha256: Option<String>,
    ) -> Result<ModelSpec> {
        let settings = [
            ("url", self.url.is_some()),
            ("tokenizerUrl", self.tokenizer_url.is_some()),
            ("files", self.files.is_some()),
            ("pooling", self.pooling.is_some()),
            ("queryPrefix", self.query_prefix.is_some()),
            ("documentPrefix", self.document_prefix.is_some()),
            ("lowercase", self.lowercase.is_some()),
            ("maxTokens", self.max_tokens.is_some()),
        ];
        if let Some((name, _)) = settings.iter().find(|(_, given)| *given) {
            let message =
                format!("a pack has its settings inside, {name} cannot overrule it; make another pack");
            return Err(invalid(message).with("field", *name));
        }
        let url = pack.as_str().map(str::to_owned);
        if url.is_none() && sha256.is_none() {
            return Err(invalid("a pack given as bytes needs its sha256"));
        }
        let mut spec = self.settings(preset, self.precision.unwrap_or_default())?;
        spec.pack = Some(FileSpec {
            url,
            size: None,
            sha256,
        });
        spec.id = identify(preset, &spec);
        Ok(spec)
    }
}

/// The text that stored vectors carry.
fn fingerprint(spec: &ModelSpec) -> String {
    let lowercase = match spec.lowercase {
        Some(true) => "yes",
        Some(false) => "no",
        None => "file",
    };
    format!(
        "model={};precision={};pooling={};lowercase={lowercase};maxTokens={};documentPrefix={}",
        identity(spec.model.as_ref()),
        spec.precision.name(),
        spec.pooling.name(),
        spec.max_tokens,
        // Last and quoted, so that no prefix can imitate another field.
        Value::from(spec.document_prefix.as_str()),
    )
}

fn identity(file: Option<&FileSpec>) -> String {
    let file = file.cloned().unwrap_or_default();
    match (file.sha256, file.url) {
        (Some(sha256), _) => format!("sha256:{sha256}"),
        (None, Some(url)) => format!("url:{url}"),
        (None, None) => "bytes".to_owned(),
    }
}

fn identify(preset: Option<&Preset>, spec: &ModelSpec) -> String {
    let name = preset.map_or("model", |preset| preset.name);
    let content = [
        spec.fingerprint.clone().unwrap_or_default(),
        spec.query_prefix.clone(),
        identity(spec.tokenizer.as_ref()),
        identity(spec.pack.as_ref()),
    ];
    // Lengths first: no two different contents are the same text.
    let text: String = content
        .iter()
        .map(|part| format!("{}:{part};", part.len()))
        .collect();
    let digest = hex(&Sha256::digest(text.as_bytes()));
    let kind = if spec.pack.is_some() {
        "pack"
    } else {
        spec.precision.name()
    };
    format!("{name}-{kind}-{}", &digest[..16])
}

fn checked_sha256(text: &str) -> Result<String> {
    let right = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    right
        .then(|| text.to_ascii_lowercase())
        .ok_or_else(|| invalid("sha256 has to be 64 hexadecimal digits").with("sha256", text))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::invalid_argument(message)
}

#[cfg(test)]
mod tests;
