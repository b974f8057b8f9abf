//! Small numbers in a graph: scalars, vectors, shapes.

use tract_onnx::pb::TensorProto;
use tract_onnx::pb::tensor_proto::DataType;

use super::graph::{Graph, attribute};

/// Chains of nodes over a constant are short; recursion stops here.
const MAX_DEPTH: usize = 8;

/// The numbers of a tensor.
pub(super) enum Numbers {
    F32(Vec<f32>),
    I8(Vec<i8>),
    U8(Vec<u8>),
    I32(Vec<i32>),
    I64(Vec<i64>),
}

impl Numbers {
    pub(super) fn of(tensor: &TensorProto) -> Option<Self> {
        let raw = tensor.raw_data.as_slice();
        let numbers = match DataType::try_from(tensor.data_type).ok()? {
            DataType::Float if raw.is_empty() => Self::F32(tensor.float_data.clone()),
            DataType::Float => Self::F32(read(raw, f32::from_le_bytes)),
            DataType::Int8 if raw.is_empty() => {
                Self::I8(tensor.int32_data.iter().map(|v| *v as i8).collect())
            }
            DataType::Int8 => Self::I8(read(raw, i8::from_le_bytes)),
            DataType::Uint8 if raw.is_empty() => {
                Self::U8(tensor.int32_data.iter().map(|v| *v as u8).collect())
            }
            DataType::Uint8 => Self::U8(raw.to_vec()),
            DataType::Int32 if raw.is_empty() => Self::I32(tensor.int32_data.clone()),
            DataType::Int32 => Self::I32(read(raw, i32::from_le_bytes)),
            DataType::Int64 if raw.is_empty() => Self::I64(tensor.int64_data.clone()),
            DataType::Int64 => Self::I64(read(raw, i64::from_le_bytes)),
            _ => return None,
        };
        let elements: i64 = tensor.dims.iter().product();
        (numbers.len() as i64 == elements).then_some(numbers)
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::I8(values) => values.len(),
            Self::U8(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::I64(values) => values.len(),
        }
    }

    /// As integers, whatever integers they are.
    pub(super) fn integers(&self) -> Option<Vec<i64>> {
        match self {
            Self::F32(_) => None,
            Self::I8(values) => Some(values.iter().map(|value| i64::from(*value)).collect()),
            Self::U8(values) => Some(values.iter().map(|value| i64::from(*value)).collect()),
            Self::I32(values) => Some(values.iter().map(|value| i64::from(*value)).collect()),
            Self::I64(values) => Some(values.clone()),
        }
    }

    /// As floats; integers too, since a graph may write a scalar as one and cast it.
    fn floats(self) -> Vec<f32> {
        match self {
            Self::F32(values) => values,
            Self::I8(values) => values.into_iter().map(f32::from).collect(),
            Self::U8(values) => values.into_iter().map(f32::from).collect(),
            Self::I32(values) => values.into_iter().map(|value| value as f32).collect(),
            Self::I64(values) => values.into_iter().map(|value| value as f32).collect(),
        }
    }
}

fn read<T, const WIDTH: usize>(raw: &[u8], from: impl Fn([u8; WIDTH]) -> T) -> Vec<T> {
    raw.as_chunks().0.iter().map(|bytes| from(*bytes)).collect()
}

impl<'m> Graph<'m> {
    /// The tensor that a value is: an initialiser, or what a Constant node holds.
    pub(super) fn tensor(&self, name: &'m str) -> Option<&'m TensorProto> {
        self.initialiser(name).or_else(|| {
            self.node(name, "Constant")
                .and_then(|node| attribute(node, "value")?.t.as_ref())
        })
    }

    /// The numbers that a value is, when it is constant up to its shape.
    pub(super) fn numbers(&self, name: &'m str) -> Option<Numbers> {
        self.folded(name, MAX_DEPTH)
    }

    fn folded(&self, name: &'m str, depth: usize) -> Option<Numbers> {
        if let Some(tensor) = self.tensor(name) {
            return Numbers::of(tensor);
        }
        let (node, 0) = self.producer(name)? else {
            return None;
        };
        match node.op_type.as_str() {
            "Constant" => {
                let value = node.attribute.first()?;
                match value.name.as_str() {
                    "value_float" => Some(Numbers::F32(vec![value.f])),
                    "value_floats" => Some(Numbers::F32(value.floats.clone())),
                    "value_int" => Some(Numbers::I64(vec![value.i])),
                    "value_ints" => Some(Numbers::I64(value.ints.clone())),
                    _ => None,
                }
            }
            "Cast" | "Unsqueeze" | "Squeeze" | "Reshape" if depth > 0 => {
                self.folded(node.input.first()?, depth - 1)
            }
            "Sqrt" if depth > 0 => {
                let numbers = self.folded(node.input.first()?, depth - 1)?;
                Some(Numbers::F32(
                    numbers.floats().into_iter().map(f32::sqrt).collect(),
                ))
            }
            _ => None,
        }
    }

    /// The one number that a value is.
    pub(super) fn scalar(&self, name: &'m str) -> Option<f32> {
        // A large tensor is not read just to see that it is no scalar.
        if self
            .tensor(name)
            .is_some_and(|tensor| tensor.dims.iter().any(|dim| *dim != 1))
        {
            return None;
        }
        match self.numbers(name)?.floats().as_slice() {
            [scalar] => Some(*scalar),
            _ => None,
        }
    }

    /// The vector that a value is: all of its dimensions but the last are one.
    pub(super) fn vector(&self, name: &'m str) -> Option<Vec<f32>> {
        let flat = |tensor: &TensorProto| tensor.dims.iter().rev().skip(1).all(|dim| *dim == 1);
        if self
            .tensor(name)
            .is_some_and(|tensor| !flat(tensor) || tensor.dims.is_empty())
        {
            return None;
        }
        match self.numbers(name)? {
            Numbers::F32(values) => Some(values),
            _ => None,
        }
    }

    /// The integers that a value is.
    pub(super) fn integers(&self, name: &'m str) -> Option<Vec<i64>> {
        self.numbers(name)?.integers()
    }

    /// A shape, as far as it is known: constant, or put together of constants and of other dimensions.
    pub(super) fn shape(&self, name: &'m str) -> Option<Vec<Option<i64>>> {
        if let Some(dims) = self.integers(name) {
            return Some(dims.into_iter().map(Some).collect());
        }
        let parts = &self.node(name, "Concat")?.input;
        let part = |name: &'m String| match self.integers(name) {
            Some(dims) => dims.into_iter().map(Some).collect(),
            None => vec![None],
        };
        Some(parts.iter().flat_map(part).collect())
    }
}
