//! Every way a call can fail, as one enum with stable codes.
//!
//! A code is a promise to applications: codes are only ever added. The message says what went wrong and what to do
//! about it; `details` carries what a program needs to react (the label, the position in a batch, the two
//! fingerprints); `cause` keeps the foreign error's own words. The table below is the only list: variant,
//! constructor and code are derived from it.

use serde_json::{Map, Value};

/// What is known about one failure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Context {
    /// What went wrong and what to do, for a person.
    pub message: String,
    /// What a program needs to react; empty when the code says it all.
    pub details: Map<String, Value>,
    /// The foreign error underneath, in its own words.
    pub cause: Option<String>,
}

macro_rules! errors {
    ($($(#[$doc:meta])* $variant:ident $constructor:ident $code:literal;)*) => {
        /// A failure with a stable code.
        #[derive(Debug, Clone, PartialEq, thiserror::Error)]
        pub enum Error { $($(#[$doc])* #[error("{}", .0.message)] $variant(Box<Context>),)* }

        impl Error {
            /// All codes, in the order of the table.
            pub const CODES: &'static [&'static str] = &[$($code),*];

            $($(#[$doc])* pub fn $constructor(message: impl Into<String>) -> Self {
                Self::$variant(Box::new(Context { message: message.into(), ..Context::default() }))
            })*

            /// The stable code, as `BurrowError.code` shows it.
            pub fn code(&self) -> &'static str { match self { $(Self::$variant(_) => $code,)* } }

            /// Message, details and cause.
            pub fn context(&self) -> &Context { match self { $(Self::$variant(context) => context,)* } }

            fn context_mut(&mut self) -> &mut Context { match self { $(Self::$variant(context) => context,)* } }

            /// The error of a code that came from elsewhere (a host adapter, a worker); unknown codes are `internal`.
            pub fn from_code(code: &str, message: impl Into<String>) -> Self {
                match code { $($code => Self::$constructor(message),)* _ => Self::internal(message) }
            }
        }
    };
}

errors! {
    /// A namespace or one of its labels breaks the rules.
    InvalidNamespace invalid_namespace "invalid_namespace";
    /// A key is empty or not a string.
    InvalidKey invalid_key "invalid_key";
    /// A value is not a JSON document.
    InvalidDocument invalid_document "invalid_document";
    /// A filter has an unknown or malformed operator.
    InvalidFilter invalid_filter "invalid_filter";
    /// Any other argument that cannot be used.
    InvalidArgument invalid_argument "invalid_argument";
    /// A semantic query on a store without an embedder.
    NoIndex no_index "no_index";
    /// A governance policy refused the write.
    PolicyDenied policy_denied "policy_denied";
    /// A write waits for the user's confirmation.
    NeedsConfirmation needs_confirmation "needs_confirmation";
    /// Somebody else changed the same thing.
    Conflict conflict "conflict";
    /// The device has no room left.
    QuotaExceeded quota_exceeded "quota_exceeded";
    /// The storage cannot be used at all (private window, refused, lost connection).
    StorageUnavailable storage_unavailable "storage_unavailable";
    /// Another tab holds an older version of the database open.
    StorageBlocked storage_blocked "storage_blocked";
    /// The database was written by a newer Burrow.
    SchemaTooNew schema_too_new "schema_too_new";
    /// Stored bytes are not what was written.
    Corrupted corrupted "corrupted";
    /// A model could not be fetched, verified or loaded.
    ModelLoad model_load "model_load";
    /// The index was made by another model or with other settings.
    ModelMismatch model_mismatch "model_mismatch";
    /// The embedder failed or gave unusable vectors.
    Embedding embedding "embedding";
    /// The caller's AbortSignal fired.
    Aborted aborted "aborted";
    /// The store was closed.
    Closed closed "closed";
    /// A bug in Burrow.
    Internal internal "internal";
}

/// The result of every fallible call.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Adds one detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.context_mut().details.insert(name.to_owned(), value.into());
        self
    }

    /// Keeps the foreign error underneath.
    #[must_use]
    pub fn caused_by(mut self, cause: impl ToString) -> Self {
        self.context_mut().cause = Some(cause.to_string());
        self
    }
}
