//! The sum of three look-ups that BERT starts with.

use super::graph::Graph;
use super::matrix::{RawMatrix, ScaleOf};
use super::{Matched, unrecognised};
use crate::embed::weights::Matrix;

/// Nodes that repeat or reshape a looked-up row without changing it.
const RESHAPING: [&str; 4] = ["Expand", "Unsqueeze", "Squeeze", "Reshape"];

pub(super) struct Embeddings {
    pub(super) vocab: usize,
    pub(super) positions: usize,
    pub(super) word: Matrix,
    pub(super) position: Matrix,
    pub(super) token_type0: Vec<f32>,
}

/// A table and what it is looked up by.
struct Lookup<'m> {
    table: RawMatrix,
    by: By<'m>,
}

enum By<'m> {
    Index(&'m str),
    /// A Slice of the table, or the table itself.
    Place,
}

#[derive(PartialEq, Eq)]
enum Role {
    Word,
    Position,
    TokenType,
}

/// Whether a value is a sum in which token ids are looked up.
pub(super) fn is_sum_of_lookups<'m>(graph: &Graph<'m>, name: &'m str) -> bool {
    graph.sum(name).into_iter().any(|term| {
        let term = graph.strip(term, &["DequantizeLinear"]);
        graph
            .operands(term, "Gather")
            .is_some_and(|[_, ids]| is_input(graph, ids, "input_ids"))
    })
}

/// The three tables.
pub(super) fn embeddings<'m>(graph: &Graph<'m>, name: &'m str) -> Matched<Embeddings> {
    let (mut word, mut position, mut token_type0) = (None, None, None);
    for term in graph.sum(name) {
        // A token type that is always the first may have been folded to its row.
        if let Some(row) = graph.vector(term) {
            set(&mut token_type0, row)?;
            continue;
        }
        let lookup = lookup(graph, term)?;
        match role(graph, &lookup)? {
            Role::Word => set(&mut word, lookup.table)?,
            Role::Position => set(&mut position, lookup.table)?,
            Role::TokenType => set(&mut token_type0, lookup.table.row(0).unwrap_or_default())?,
        }
    }
    let (Some(word), Some(position)) = (word, position) else {
        return unrecognised("there is no table of words or none of positions");
    };
    let hidden = word.columns;
    Ok(Embeddings {
        vocab: word.rows,
        positions: position.rows,
        word: word.into_matrix(ScaleOf::Row),
        position: position.into_matrix(ScaleOf::Row),
        token_type0: token_type0.unwrap_or_else(|| vec![0.0; hidden]),
    })
}

fn set<T>(place: &mut Option<T>, value: T) -> Matched<()> {
    if place.replace(value).is_some() {
        return unrecognised("there are two tables of one kind");
    }
    Ok(())
}

fn lookup<'m>(graph: &Graph<'m>, name: &'m str) -> Matched<Lookup<'m>> {
    let name = graph.strip(name, &RESHAPING);
    if let Some([table, ids]) = graph.operands(name, "Gather") {
        return Ok(Lookup {
            table: graph.matrix(table)?,
            by: By::Index(ids),
        });
    }
    if let Some(node) = graph.node(name, "DequantizeLinear")
        && let [looked_up, scale, zero] = node.input.as_slice()
        && let Some([table, ids]) = graph.operands(looked_up, "Gather")
    {
        return Ok(Lookup {
            table: graph.quantised_table(table, scale, zero)?,
            by: By::Index(ids),
        });
    }
    let table = graph.operand(name, "Slice").unwrap_or(name);
    match graph.matrix(table) {
        Ok(table) => Ok(Lookup { table, by: By::Place }),
        Err(_) => unrecognised("the sum has a term that is no look-up in a table"),
    }
}

fn role(graph: &Graph<'_>, lookup: &Lookup<'_>) -> Matched<Role> {
    let By::Index(index) = lookup.by else {
        return Ok(Role::Position);
    };
    if is_input(graph, index, "input_ids") {
        return Ok(Role::Word);
    }
    let sources = graph.sources(index);
    if sources.inputs.contains("token_type_ids") {
        return Ok(Role::TokenType);
    }
    if sources.inputs.iter().any(|input| *input != "position_ids") {
        return unrecognised("its positions depend on the tokens, as RoBERTa's do");
    }
    // Stored indices are either 0, 1, 2 … for positions or all 0 for the token type.
    let stored: Vec<_> = sources
        .tensors
        .iter()
        .filter(|tensor| tensor.dims.iter().product::<i64>() > 2)
        .filter_map(|tensor| super::constants::Numbers::of(tensor)?.integers())
        .collect();
    if !stored.is_empty()
        && stored
            .iter()
            .all(|indices| indices.iter().all(|index| *index == 0))
    {
        return Ok(Role::TokenType);
    }
    if stored
        .iter()
        .any(|indices| (0..).zip(indices).any(|(at, index)| at != *index))
    {
        return unrecognised("its positions do not count from zero");
    }
    // Without stored indices: `zeros_like` for the token type, or a range for positions. Only tables tell them apart.
    let few = lookup.table.rows <= 4 && sources.inputs.is_empty();
    Ok(if few { Role::TokenType } else { Role::Position })
}

fn is_input<'m>(graph: &Graph<'m>, name: &'m str, input: &str) -> bool {
    let name = graph.strip(name, &["Cast"]);
    name == input && graph.producer(name).is_none()
}
