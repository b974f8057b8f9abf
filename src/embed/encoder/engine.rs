//! The engine that runs a pack.

use std::cell::RefCell;

use super::bytes::AlignedBytes;
use super::layer::{Layer, Scratch};
use super::pack::{Header, Pack};
use crate::embed::pooling::Pooling;
use crate::embed::sentence::Engine;
use crate::{Error, Result};

/// Tokens that are run at once. Enough that every product has full chunks of rows, and a bound on memory: a batch of any
/// size needs no more than this many tokens do, or than its longest sequence.
const GROUP: usize = 512;

/// A model from a pack, ready to run.
#[derive(Debug)]
pub struct Encoder {
    pack: Pack,
    /// Kept from call to call, so that a query allocates next to nothing.
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    x: Vec<f32>,
    scratch: Scratch,
}

impl Encoder {
    /// Checks a pack and takes its bytes over; they are all the memory the weights will ever need.
    pub fn from_pack(bytes: impl Into<AlignedBytes>) -> Result<Self> {
        Ok(Self {
            pack: Pack::open(bytes.into())?,
            state: RefCell::default(),
        })
    }

    /// What the pack says about itself.
    pub fn header(&self) -> &Header {
        self.pack.header()
    }

    /// The pack.
    pub fn pack(&self) -> &Pack {
        &self.pack
    }

    fn check(&self, ids: &[u32]) -> Result<()> {
        let config = &self.pack.header().config;
        if ids.is_empty() || ids.len() > config.positions {
            let message =
                "a sequence has at least one token and at most as many as the model has positions for";
            let error = Error::embedding(message).with("tokens", ids.len());
            return Err(error.with("positions", config.positions));
        }
        match ids.iter().find(|id| **id as usize >= config.vocab) {
            Some(id) => Err(Error::embedding("a token that the model does not know").with("token", *id)),
            None => Ok(()),
        }
    }

    fn run_group(&self, sequences: &[&[u32]], pooling: Pooling, layers: &[Layer]) -> Vec<Vec<f32>> {
        let hidden = self.hidden_size();
        let State { x, scratch } = &mut *self.state.borrow_mut();
        let spans = self.pack.embeddings().embed(sequences, x);
        let Some((last, others)) = layers.split_last() else {
            return Vec::new();
        };
        for layer in others {
            layer.run(x, &spans, scratch);
        }
        match pooling {
            Pooling::Cls => {
                let first = last.run_first_tokens(x, &spans, scratch);
                first.chunks_exact(hidden).map(<[f32]>::to_vec).collect()
            }
            Pooling::Mean => {
                last.run(x, &spans, scratch);
                spans
                    .iter()
                    .map(|rows| pooling.pool(&x[rows.start * hidden..rows.end * hidden], hidden))
                    .collect()
            }
        }
    }
}

impl Engine for Encoder {
    fn hidden_size(&self) -> usize {
        self.pack.header().config.hidden
    }

    fn run(&self, sequences: &[&[u32]], pooling: Pooling) -> Result<Vec<Vec<f32>>> {
        sequences.iter().try_for_each(|ids| self.check(ids))?;
        let layers = self.pack.layers();
        let groups = group(sequences);
        Ok(groups
            .into_iter()
            .flat_map(|group| self.run_group(group, pooling, &layers))
            .collect())
    }
}

/// Splits a batch, in order, into groups of at most [`GROUP`] tokens; a longer sequence is a group of its own.
fn group<'a, 'b>(mut sequences: &'a [&'b [u32]]) -> Vec<&'a [&'b [u32]]> {
    let mut groups = Vec::new();
    while !sequences.is_empty() {
        let mut tokens = 0;
        let fits = |ids: &&&[u32]| {
            tokens += ids.len();
            tokens <= GROUP
        };
        let count = sequences.iter().take_while(fits).count().max(1);
        let (group, rest) = sequences.split_at(count);
        groups.push(group);
        sequences = rest;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_the_order_and_stay_within_the_bound() {
        let (long, short) = (vec![0; GROUP + 1], vec![0; GROUP / 2]);
        let sequences: Vec<&[u32]> = vec![&short, &short, &short, &long, &short];
        let sizes: Vec<usize> = group(&sequences).iter().map(|group| group.len()).collect();
        assert_eq!(sizes, [2, 1, 1, 1]);
        assert!(group(&[]).is_empty());
    }
}
