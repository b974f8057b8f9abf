//! The tail of the log of changes: per commit, under its sequence number, which items it touched.
//!
//! It only has to tell an open tab what to read again, so it is short: what is older than [`LENGTH`] commits, or wider
//! than [`WIDTH`] items, is cheaper to load whole. A commit too wide, or one that replaced the index, leaves `null`.

use std::collections::HashSet;

use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};

use super::records::{damaged, item_id, item_key};
use super::transaction::{Store, above, result, up_to};
use crate::Result;
use crate::model::ItemId;
use crate::storage::Sequence;

/// How many commits are kept, at least.
const LENGTH: Sequence = 1024;
/// The log is shortened once in so many commits.
const SHORTEN_EVERY: Sequence = 64;
/// The most items that one commit lists, and that one answer gathers.
const WIDTH: usize = 4096;

/// Writes the line of a commit.
pub(super) fn write<'a>(log: &Store, sequence: Sequence, ids: impl ExactSizeIterator<Item = &'a ItemId>) -> Result<()> {
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
    let lines: Array = result(log.get_all(Some(above(&key(known))?), None)?).await?.unchecked_into();
    if Sequence::from(lines.length()) != newest - known || lines.iter().any(|line| line.is_null()) {
        return Ok(None);
    }
    let mut ids = Vec::new();
    let mut seen = HashSet::new();
    for line in lines.iter() {
        let line: Array = line.dyn_into().map_err(|_| damaged("a line of the log"))?;
        for key in line.iter() {
            let id = item_id(&key).ok_or_else(|| damaged("a line of the log"))?;
            if seen.insert(id.clone()) {
                ids.push(id);
            }
        }
    }
    Ok((ids.len() <= WIDTH).then_some(ids))
}

fn key(sequence: Sequence) -> JsValue {
    JsValue::from_f64(sequence as f64)
}
