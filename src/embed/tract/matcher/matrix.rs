//! Weight matrices: f32, or integers with a scale and a zero point, transposed or not.

use tract_onnx::pb::NodeProto;

use super::constants::Numbers;
use super::graph::{Graph, int, ints};
use super::{Matched, Unrecognised, unrecognised};
use crate::embed::weights::{LayerWeights, Matrix};

/// What a signed or an unsigned byte can be.
const EIGHT_BITS: std::ops::RangeInclusive<i64> = -128..=255;

/// A matrix as it stands in the file; integers may have any kind of scale yet.
pub(super) struct RawMatrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    numbers: RawNumbers,
}

enum RawNumbers {
    F32(Vec<f32>),
    /// Zero point taken off.
    Integers {
        values: Vec<i16>,
        scale: Scale,
    },
}

enum Scale {
    Whole(f32),
    Rows(Vec<f32>),
    Columns(Vec<f32>),
}

/// What [`Matrix::I8`] wants a scale of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScaleOf {
    Row,
    Column,
}

impl RawMatrix {
    /// As weights. Integers stay integers when they fit and their scale is the wanted one; else they become floats.
    pub(super) fn into_matrix(self, wanted: ScaleOf) -> Matrix {
        let (rows, columns) = (self.rows, self.columns);
        let (values, scale) = match self.numbers {
            RawNumbers::F32(values) => return Matrix::F32(values),
            RawNumbers::Integers { values, scale } => (values, scale),
        };
        let count = if wanted == ScaleOf::Row { rows } else { columns };
        let fitting = match (&scale, wanted) {
            (Scale::Whole(one), _) => Some(vec![*one; count]),
            (Scale::Rows(each), ScaleOf::Row) | (Scale::Columns(each), ScaleOf::Column) => Some(each.clone()),
            _ => None,
        };
        let narrow: Option<Vec<i8>> = values.iter().map(|value| i8::try_from(*value).ok()).collect();
        match (narrow, fitting) {
            (Some(values), Some(scale)) => Matrix::I8 { values, scale },
            _ => Matrix::F32(floats(&values, &scale, columns)),
        }
    }

    /// One row, as floats.
    pub(super) fn row(&self, row: usize) -> Option<Vec<f32>> {
        let range = row.checked_mul(self.columns)?..(row + 1).checked_mul(self.columns)?;
        match &self.numbers {
            RawNumbers::F32(values) => values.get(range).map(<[f32]>::to_vec),
            RawNumbers::Integers { values, scale } => {
                let here = match scale {
                    Scale::Rows(each) => Scale::Whole(*each.get(row)?),
                    Scale::Whole(one) => Scale::Whole(*one),
                    Scale::Columns(each) => Scale::Columns(each.clone()),
                };
                values
                    .get(range)
                    .map(|values| floats(values, &here, self.columns))
            }
        }
    }

    pub(super) fn transposed(self) -> Self {
        let (rows, columns) = (self.rows, self.columns);
        let numbers = match self.numbers {
            RawNumbers::F32(values) => RawNumbers::F32(transpose(&values, rows, columns)),
            RawNumbers::Integers { values, scale } => {
                let scale = match scale {
                    Scale::Rows(each) => Scale::Columns(each),
                    Scale::Columns(each) => Scale::Rows(each),
                    whole => whole,
                };
                RawNumbers::Integers {
                    values: transpose(&values, rows, columns),
                    scale,
                }
            }
        };
        Self {
            rows: columns,
            columns: rows,
            numbers,
        }
    }

    fn integers(
        values: Numbers,
        shape: (usize, usize),
        scale: &[f32],
        zero: &[i64],
        rows_scaled: bool,
    ) -> Matched<Self> {
        let (rows, columns) = shape;
        let Some(mut values) = narrow(&values) else {
            return unrecognised("a weight is quantised to something else than eight bits");
        };
        let count = if rows_scaled { rows } else { columns };
        let fits = |length: usize| length == 1 || length == count;
        if !fits(scale.len()) || !(zero.is_empty() || fits(zero.len())) || values.len() != rows * columns {
            return unrecognised("a weight's scale or zero point fits neither the tensor nor its channels");
        }
        let zero: Option<Vec<i16>> = zero
            .iter()
            .map(|zero| EIGHT_BITS.contains(zero).then_some(*zero as i16))
            .collect();
        let Some(zero) = zero else {
            return unrecognised("a weight's zero point is no number of eight bits");
        };
        for (at, value) in values.iter_mut().enumerate() {
            let channel = if rows_scaled { at / columns } else { at % columns };
            *value -= zero
                .get(if zero.len() == 1 { 0 } else { channel })
                .copied()
                .unwrap_or(0);
        }
        let scale = match scale {
            [one] => Scale::Whole(*one),
            each if rows_scaled => Scale::Rows(each.to_vec()),
            each => Scale::Columns(each.to_vec()),
        };
        Ok(Self {
            rows,
            columns,
            numbers: RawNumbers::Integers { values, scale },
        })
    }
}

fn narrow(values: &Numbers) -> Option<Vec<i16>> {
    match values {
        Numbers::I8(values) => Some(values.iter().map(|value| i16::from(*value)).collect()),
        Numbers::U8(values) => Some(values.iter().map(|value| i16::from(*value)).collect()),
        _ => None,
    }
}

fn floats(values: &[i16], scale: &Scale, columns: usize) -> Vec<f32> {
    let factor = |at: usize| match scale {
        Scale::Whole(one) => *one,
        Scale::Rows(each) => each[at / columns],
        Scale::Columns(each) => each[at % columns],
    };
    values
        .iter()
        .enumerate()
        .map(|(at, value)| f32::from(*value) * factor(at))
        .collect()
}

fn transpose<T: Copy>(values: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns)
        .flat_map(|column| (0..rows).map(move |row| values[row * columns + column]))
        .collect()
}

/// Turns what is left in integers of a layer into floats.
pub(super) fn in_floats(layer: &mut LayerWeights) {
    let LayerWeights {
        q,
        k,
        v,
        attention_output,
        intermediate,
        output,
        ..
    } = layer;
    for linear in [q, k, v, attention_output, intermediate, output] {
        if matches!(linear.weight, Matrix::I8 { .. }) {
            linear.weight = Matrix::F32(linear.weight.to_f32(linear.output));
        }
    }
}

impl<'m> Graph<'m> {
    /// The constant matrix that a value is.
    pub(super) fn matrix(&self, name: &'m str) -> Matched<RawMatrix> {
        // One transposition on either side of the dequantisation is all that exporters write.
        if let Some(node) = self.node(name, "Transpose") {
            let inner = node.input.first().map(String::as_str).unwrap_or_default();
            if ints(node, "perm").is_some_and(|perm| perm != [1, 0]) {
                return unrecognised("a weight is permuted");
            }
            return Ok(self.stored(inner)?.transposed());
        }
        self.stored(name)
    }

    fn stored(&self, name: &'m str) -> Matched<RawMatrix> {
        if let Some(node) = self.node(name, "DequantizeLinear") {
            return self.dequantised(node);
        }
        let (shape, numbers) = self.two_dimensional(name)?;
        match numbers {
            Numbers::F32(values) => Ok(RawMatrix {
                rows: shape.0,
                columns: shape.1,
                numbers: RawNumbers::F32(values),
            }),
            _ => unrecognised("a weight is integers without a scale"),
        }
    }

    fn two_dimensional(&self, name: &'m str) -> Matched<((usize, usize), Numbers)> {
        let missing = || Unrecognised("what should be a weight is computed".to_owned());
        let tensor = self.tensor(name).ok_or_else(missing)?;
        let numbers = Numbers::of(tensor)
            .ok_or_else(|| Unrecognised("a weight is of a kind other than f32, i8 and u8".to_owned()))?;
        let dims: Vec<_> = tensor
            .dims
            .iter()
            .map(|dim| usize::try_from(*dim).unwrap_or(0))
            .collect();
        match dims.as_slice() {
            [rows, columns] | [1, rows, columns] if *rows > 0 && *columns > 0 => {
                Ok(((*rows, *columns), numbers))
            }
            _ => unrecognised("a weight is not a matrix"),
        }
    }

    fn dequantised(&self, node: &'m NodeProto) -> Matched<RawMatrix> {
        let input = |at: usize| node.input.get(at).map(String::as_str).unwrap_or_default();
        let rows_scaled = matches!(int(node, "axis").unwrap_or(1), 0 | -2);
        if int(node, "block_size").is_some_and(|size| size > 0) {
            return unrecognised("a weight is quantised in blocks");
        }
        if let Some(inner) = self.operand(input(0), "Transpose") {
            let ((rows, columns), numbers) = self.two_dimensional(inner)?;
            let shape = (rows, columns);
            // The axis counts in the transposed tensor.
            return Ok(self
                .quantised(shape, numbers, input(1), input(2), !rows_scaled)?
                .transposed());
        }
        let (shape, numbers) = self.two_dimensional(input(0))?;
        self.quantised(shape, numbers, input(1), input(2), rows_scaled)
    }

    fn quantised(
        &self,
        shape: (usize, usize),
        numbers: Numbers,
        scale: &'m str,
        zero: &'m str,
        rows_scaled: bool,
    ) -> Matched<RawMatrix> {
        let Some(scale) = self.scales(scale) else {
            return unrecognised("a weight's scale is computed");
        };
        let zero = self.zero_points(zero)?;
        RawMatrix::integers(numbers, shape, &scale, &zero, rows_scaled)
    }

    /// The matrix of integers that a value is, with scale and zero point from elsewhere in the graph.
    pub(super) fn integer_matrix(&self, name: &'m str, scale: &[f32], zero: &'m str) -> Matched<RawMatrix> {
        let zero = self.zero_points(zero)?;
        if let Some(inner) = self.operand(name, "Transpose") {
            let (shape, numbers) = self.two_dimensional(inner)?;
            return Ok(RawMatrix::integers(numbers, shape, scale, &zero, true)?.transposed());
        }
        let (shape, numbers) = self.two_dimensional(name)?;
        RawMatrix::integers(numbers, shape, scale, &zero, false)
    }

    /// A looked-up table that is dequantised after the look-up.
    pub(super) fn quantised_table(
        &self,
        table: &'m str,
        scale: &'m str,
        zero: &'m str,
    ) -> Matched<RawMatrix> {
        let (shape, numbers) = self.two_dimensional(table)?;
        self.quantised(shape, numbers, scale, zero, true)
    }

    fn scales(&self, name: &'m str) -> Option<Vec<f32>> {
        self.scalar(name)
            .map(|scale| vec![scale])
            .or_else(|| self.vector(name))
    }

    /// Empty where there is none.
    fn zero_points(&self, name: &'m str) -> Matched<Vec<i64>> {
        if name.is_empty() {
            return Ok(Vec::new());
        }
        self.integers(name)
            .ok_or_else(|| Unrecognised("a weight's zero point is computed".to_owned()))
    }
}
