//! Which stores a database has, the steps that led there, and their numbers.
//!
//! A schema's version, the stores it expects and the steps to run are all derived from one table. A step, once
//! released, is never edited: add another, and a row in docs/format.md.
//!
//! A schema number is `hundreds` and `steps`: 100, 101, … belong to one generation, 200 starts the next. A step within
//! a generation only adds what older code of that generation can ignore, so that an application that is rolled back
//! still opens its users' databases. A new generation may change anything; older code refuses it, untouched.

/// IndexedDB's version of a database.
pub(super) type Version = u32;

/// One step: what it leads to, and the stores that it adds. All stores have keys of their own (out of line).
pub(super) struct Step {
    pub(super) to: Version,
    pub(super) adds: &'static [&'static str],
    /// Gives the database the number that tells it from one made anew in its place: [`DATABASE`] in this store.
    pub(super) numbers: Option<&'static str>,
}

/// A kind of database.
pub(super) struct Schema {
    /// For messages.
    pub(super) what: &'static str,
    /// Ascending.
    pub(super) steps: &'static [Step],
}

/// Sequence number, index state, the database's number.
pub(super) const META: &str = "meta";
/// The key in [`META`] of the database's number.
pub(super) const DATABASE: &str = "database";
/// Entries: times, index options, vectors.
pub(super) const ENTRIES: &str = "entries";
/// Documents, as JSON text.
pub(super) const DOCUMENTS: &str = "documents";
/// The tail of the log of changes.
pub(super) const CHANGES: &str = "changes";

/// A store's database.
pub(super) const STORE: Schema = Schema {
    what: "store",
    steps: &[
        Step {
            to: 100,
            adds: &[META, ENTRIES, DOCUMENTS, CHANGES],
            numbers: None,
        },
        // Entries have revisions, which code of generation 1 cannot read.
        Step {
            to: 200,
            adds: &[],
            numbers: Some(META),
        },
    ],
};

/// What is known of each model, complete or partial.
pub(super) const MODELS: &str = "models";
/// The bytes of models, in chunks.
pub(super) const CHUNKS: &str = "chunks";

/// The database of models, shared by all stores of an origin.
pub(super) const MODEL_CACHE: Schema = Schema {
    what: "model cache",
    steps: &[Step {
        to: 100,
        adds: &[MODELS, CHUNKS],
        numbers: None,
    }],
};

impl Schema {
    /// The version that this code writes.
    pub(super) fn version(&self) -> Version {
        self.steps.last().map_or(0, |step| step.to)
    }

    /// See [`judge`].
    pub(super) fn judge(&self, found: Version) -> Verdict {
        let numbers: Vec<Version> = self.steps.iter().map(|step| step.to).collect();
        judge(&numbers, found)
    }
}

/// What to do with a database that was found at a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is empty or older, and the steps after `found` bring it here.
    Upgrade,
    /// Use it as it is.
    Open,
    /// It belongs to a newer generation.
    TooNew,
    /// No Burrow ever wrote this number.
    Foreign,
}

/// Judges a database at version `found` (0: just created) by the numbers of all steps, ascending.
pub(super) fn judge(steps: &[Version], found: Version) -> Verdict {
    let Some(&current) = steps.last() else {
        return Verdict::Foreign;
    };
    match found {
        0 => Verdict::Upgrade,
        _ if found == current => Verdict::Open,
        _ if found > current && found / 100 == current / 100 => Verdict::Open,
        _ if found > current => Verdict::TooNew,
        _ if steps.contains(&found) => Verdict::Upgrade,
        _ => Verdict::Foreign,
    }
}

/// Whether the steps start at 100 and each is the successor of the last, within its generation or opening the next.
#[cfg(test)]
pub(super) fn is_complete(steps: &[Version]) -> bool {
    let follows = |pair: &[Version]| match pair {
        [a, b] => *b == a + 1 && b % 100 != 0 || *b == (a / 100 + 1) * 100,
        _ => true,
    };
    steps.first() == Some(&100) && steps.windows(2).all(follows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_schema_is_upgraded_and_a_newer_step_of_the_generation_still_opens() {
        let steps = [100, 101, 200, 201];
        let verdicts = [0, 100, 101, 200, 201, 202, 299, 300].map(|found| judge(&steps, found));
        use Verdict::*;
        assert_eq!(
            verdicts,
            [Upgrade, Upgrade, Upgrade, Upgrade, Open, Open, Open, TooNew]
        );
    }

    #[test]
    fn a_number_that_no_release_wrote_is_foreign() {
        assert_eq!(
            [1, 99, 102, 150].map(|found| judge(&[100, 101, 200], found)),
            [Verdict::Foreign; 4]
        );
    }

    #[test]
    fn no_schema_has_a_gap() {
        for schema in [STORE, MODEL_CACHE] {
            let numbers: Vec<Version> = schema.steps.iter().map(|step| step.to).collect();
            assert!(is_complete(&numbers), "{}: {numbers:?}", schema.what);
            assert_eq!(Some(&schema.version()), numbers.last());
        }
    }

    #[test]
    fn a_gap_in_the_steps_is_noticed() {
        assert!(is_complete(&[100]));
        assert!(is_complete(&[100, 101, 102, 200, 300, 301]));
        for gap in [
            &[][..],
            &[1],
            &[101],
            &[100, 102],
            &[100, 201],
            &[100, 300],
            &[100, 100],
            &[200, 100],
        ] {
            assert!(!is_complete(gap), "{gap:?}");
        }
    }
}
