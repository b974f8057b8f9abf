//! tract runs the graph.
//!
//! One plan serves all lengths: the sequence length stays a symbol. The batch is one, because sequences are never
//! padded, and because dynamic quantisation takes its scale from the whole batch, so that in a larger one a text's
//! vector would depend on its neighbours.
//!
//! Two things in files are ignored, since they contradict shapes fixed here and tract insists on them: `value_info`,
//! and the shapes of outputs.

use std::sync::Arc;

use tract_onnx::prelude::*;

use super::model::OnnxModel;
use crate::embed::pooling::Pooling;
use crate::embed::sentence::Engine;
use crate::{Error, Result};

/// What a sentence encoder may want to be given.
#[derive(Clone, Copy)]
enum Input {
    Ids,
    Mask,
    Types,
    Positions,
}

impl Input {
    fn named(name: &str) -> Option<Self> {
        match name {
            "input_ids" => Some(Self::Ids),
            "attention_mask" => Some(Self::Mask),
            "token_type_ids" => Some(Self::Types),
            "position_ids" => Some(Self::Positions),
            _ => None,
        }
    }

    fn values(self, ids: &[u32]) -> Vec<i64> {
        match self {
            Self::Ids => ids.iter().map(|id| i64::from(*id)).collect(),
            Self::Mask => vec![1; ids.len()],
            Self::Types => vec![0; ids.len()],
            Self::Positions => (0..ids.len() as i64).collect(),
        }
    }
}

/// A sentence encoder that tract runs.
pub struct TractEngine {
    plan: Arc<TypedRunnableModel>,
    inputs: Vec<Input>,
    hidden_size: usize,
    vocabulary: Option<usize>,
}

impl TractEngine {
    /// Type-checks and optimises the graph.
    pub fn load(model: OnnxModel) -> Result<Self> {
        let inputs = known_inputs(&model)?;
        let output = model
            .token_output()
            .ok_or_else(|| Error::model_load("the ONNX model has no output to take vectors from"))?
            .to_owned();
        let vocabulary = model.vocabulary();
        let (plan, hidden_size) = plan(model, &output, inputs.len()).map_err(|error| {
            Error::model_load("tract cannot load this ONNX model").caused_by(format!("{error:#}"))
        })?;
        let hidden_size = hidden_size.ok_or_else(|| {
            Error::model_load(
                "the ONNX model's output has not one vector of floats per token; export it without pooling",
            )
            .with("output", output.as_str())
        })?;
        let engine = Self {
            plan,
            inputs,
            hidden_size,
            vocabulary,
        };
        engine.try_out()?;
        Ok(engine)
    }

    /// Some graphs load and then fail on every text (tract cannot sum up token ids, as RoBERTa's positions want).
    fn try_out(&self) -> Result<()> {
        self.run_one(&[0, 0], Pooling::Cls).map(drop).map_err(|error| {
            let cause = error.context().cause.clone().unwrap_or_else(|| error.to_string());
            Error::model_load("tract loads this ONNX model but cannot run it").caused_by(cause)
        })
    }

    /// One row per token.
    fn tokens(&self, ids: &[u32]) -> TractResult<Vec<f32>> {
        let mut values = tvec!();
        for input in &self.inputs {
            let row = tract_ndarray::Array2::from_shape_vec((1, ids.len()), input.values(ids))?;
            values.push(row.into_tensor().into());
        }
        let outputs = self.plan.run(values)?;
        let output = outputs
            .first()
            .ok_or_else(|| TractError::msg("the plan gave no output"))?;
        Ok(output.to_plain_array_view::<f32>()?.iter().copied().collect())
    }

    fn run_one(&self, ids: &[u32], pooling: Pooling) -> Result<Vec<f32>> {
        let unknown = |id: &&u32| self.vocabulary.is_some_and(|rows| **id as usize >= rows);
        if let Some(id) = ids.iter().find(unknown) {
            return Err(Error::embedding(
                "the tokenizer gives ids that the model does not know; they do not belong together",
            )
            .with("id", *id)
            .with("vocabulary", self.vocabulary));
        }
        let tokens = self.tokens(ids).map_err(|error| {
            Error::embedding("tract could not run the model on this text")
                .with("tokens", ids.len())
                .caused_by(format!("{error:#}"))
        })?;
        if tokens.len() != ids.len() * self.hidden_size {
            return Err(Error::embedding("the model did not give one vector per token"));
        }
        Ok(pooling.pool(&tokens, self.hidden_size))
    }
}

impl Engine for TractEngine {
    fn hidden_size(&self) -> usize {
        self.hidden_size
    }

    fn run(&self, sequences: &[&[u32]], pooling: Pooling) -> Result<Vec<Vec<f32>>> {
        sequences.iter().map(|ids| self.run_one(ids, pooling)).collect()
    }
}

fn known_inputs(model: &OnnxModel) -> Result<Vec<Input>> {
    let names = model.inputs();
    let foreign = names.iter().find(|name| Input::named(name).is_none());
    if foreign.is_some() || !names.contains(&"input_ids") {
        return Err(Error::model_load(
            "not a sentence encoder: its inputs have to be input_ids and, if it has them, attention_mask, \
             token_type_ids and position_ids",
        )
        .with("inputs", names));
    }
    Ok(names.into_iter().filter_map(Input::named).collect())
}

/// The plan, and the length of its vectors if it gives one per token.
fn plan(
    model: OnnxModel,
    output: &str,
    inputs: usize,
) -> TractResult<(Arc<TypedRunnableModel>, Option<usize>)> {
    let onnx = tract_onnx::onnx()
        .with_ignore_value_info(true)
        .with_ignore_output_shapes(true);
    let mut graph = onnx.model_for_proto_model(model.proto())?;
    // tract has copied the weights; the next steps copy them again.
    drop(model);
    let length: TDim = graph.symbols.sym("S").into();
    for input in 0..inputs {
        let shape = tvec!(1.into(), length.clone());
        graph.set_input_fact(input, InferenceFact::dt_shape(i64::datum_type(), shape))?;
    }
    let outlet = graph
        .find_outlet_label(output)
        .ok_or_else(|| TractError::msg("the output has no outlet"))?;
    graph.select_output_outlets(&[outlet])?;
    let graph = graph.into_typed()?.into_decluttered()?;
    let hidden_size = hidden_size(&graph)?;
    Ok((graph.into_optimized()?.into_runnable()?, hidden_size))
}

fn hidden_size(graph: &TypedModel) -> TractResult<Option<usize>> {
    let fact = graph.output_fact(0)?;
    let hidden = fact
        .shape
        .last()
        .and_then(|dim| usize::try_from(dim.to_i64().ok()?).ok());
    Ok(hidden.filter(|hidden| *hidden > 0 && fact.rank() == 3 && fact.datum_type == f32::datum_type()))
}
