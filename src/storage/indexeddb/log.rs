//! The tail of the log of changes: per commit, under its sequence number, which items it touched.
//!
//! It only has to tell an open tab what to read again, so it is short: what is older than [`LENGTH`] commits, or wider
//! than [`WIDTH`] items, is cheaper to load whole. A commit too wide, or one that replaced the index, leaves `null`.

use std::collections::BTreeSet;

use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};

use super::records::{damaged, item_id, item_key};
use super::transaction::{Store, between, result, up_to};
use crate::Result;
use crate::model::ItemId;
use crate::storage::Sequence;

/// How many commits are kept, at least.
const LENGTH: Sequence = 256;
/// The log is shortened once in so many commits.
const SHORTEN_EVERY: Sequence = 64;
/// The most items that one commit lists, and that one answer gathers.
const WIDTH: usize = 1000;
/// Lines read at once.
const BATCH: usize = 32;

/// Writes the line of a commit.
pub(super) fn write<'a>(
    log: &Store,
    sequence: Sequence,
    ids: impl ExactSizeIterator<Item = &'a ItemId>,
) -> Result<()> {
    let line = match ids.len() > WIDTH {
        true => JsValue::NULL,
        false => ids.map(item_key).collect::<Array>().into(),
    };
    write_line(log, sequence, &line)
}

/// Writes the line of a commit after which every reader must load anew.
pub(super) fn write_reload(log: &Store, sequence: Sequence) -> Result<()> {
    write_line(log, sequence, &JsValue::NULL)
}

fn write_line(log: &Store, sequence: Sequence, line: &JsValue) -> Result<()> {
    log.put(&key(sequence), line)?;
    if sequence.is_multiple_of(SHORTEN_EVERY) && sequence > LENGTH {
        log.delete_range(up_to(&key(sequence - LENGTH))?)?;
    }
    Ok(())
}

/// The items touched after `known` and up to `newest`; `None` when the log cannot tell.
pub(super) async fn read(log: &Store, known: Sequence, newest: Sequence) -> Result<Option<Vec<ItemId>>> {
    if newest - known > LENGTH {
        return Ok(None);
    }
    let mut ids = BTreeSet::new();
    for first in (known + 1..=newest).step_by(BATCH) {
        let last = newest.min(first + BATCH as Sequence - 1);
        let lines = result(log.get_all(Some(between(&key(first), &key(last))?), None)?).await?;
        let lines: Array = lines.unchecked_into();
        if Sequence::from(lines.length()) != last + 1 - first || lines.iter().any(|line| line.is_null()) {
            return Ok(None);
        }
        for line in lines.iter() {
            ids.extend(items_of(line)?);
        }
        if ids.len() > WIDTH {
            return Ok(None);
        }
    }
    Ok(Some(ids.into_iter().collect()))
}

fn items_of(line: JsValue) -> Result<Vec<ItemId>> {
    let keys: Option<Array> = line.dyn_into().ok();
    let items = keys.and_then(|keys| keys.iter().map(|key| item_id(&key)).collect());
    items.ok_or_else(|| damaged("a line of the log"))
}

fn key(sequence: Sequence) -> JsValue {
    JsValue::from_f64(sequence as f64)
}
