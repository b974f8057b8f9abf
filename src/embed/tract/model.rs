//! An ONNX file, decoded and checked.
//!
//! The checks are those whose absence makes tract panic or read beyond what is there: names that nothing produces,
//! tensors whose bytes are not as many as their shape says, element types and external files it does not know.

use std::collections::HashSet;

use prost::Message;
use tract_onnx::pb::tensor_proto::{DataLocation, DataType};
use tract_onnx::pb::tensor_shape_proto::dimension::Value as DimValue;
use tract_onnx::pb::type_proto::Value as TypeValue;
use tract_onnx::pb::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};

use crate::{Error, Result};

/// More elements than any sentence encoder's tensor has.
const MAX_ELEMENTS: i64 = 1 << 30;

/// Names under which exporters give one vector per token.
const TOKEN_OUTPUTS: [&str; 2] = ["last_hidden_state", "token_embeddings"];

/// A decoded ONNX file.
pub struct OnnxModel {
    proto: ModelProto,
}

impl OnnxModel {
    /// Decodes and checks. The bytes are copied out; the caller may drop them.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let proto = ModelProto::decode(bytes).map_err(|error| {
            Error::model_load("the file is damaged or no ONNX model: it cannot be decoded").caused_by(error)
        })?;
        let graph = proto
            .graph
            .as_ref()
            .ok_or_else(|| Error::model_load("the ONNX file has no graph"))?;
        check_graph(graph)?;
        Ok(Self { proto })
    }

    pub(super) fn proto(&self) -> &ModelProto {
        &self.proto
    }

    pub(super) fn graph(&self) -> Option<&GraphProto> {
        self.proto.graph.as_ref()
    }

    /// Inputs that the caller has to give, in the graph's order.
    pub(super) fn inputs(&self) -> Vec<&str> {
        let Some(graph) = self.graph() else {
            return Vec::new();
        };
        let initialised: HashSet<_> = graph
            .initializer
            .iter()
            .map(|tensor| tensor.name.as_str())
            .collect();
        let names = graph.input.iter().map(|input| input.name.as_str());
        names.filter(|name| !initialised.contains(name)).collect()
    }

    /// The output that has one vector per token: by its usual names, else the first that is declared with three
    /// dimensions, else the first.
    pub(super) fn token_output(&self) -> Option<&str> {
        let outputs = &self.graph()?.output;
        let named = || {
            TOKEN_OUTPUTS
                .iter()
                .find_map(|name| outputs.iter().find(|output| output.name == *name))
        };
        let shaped = || outputs.iter().find(|output| rank(output) == Some(3));
        named()
            .or_else(shaped)
            .or_else(|| outputs.first())
            .map(|output| output.name.as_str())
    }

    /// How many rows the table has that token ids are looked up in, where that is plain to see.
    pub(super) fn vocabulary(&self) -> Option<usize> {
        let graph = self.graph()?;
        let lookup = |node: &&NodeProto| {
            node.op_type == "Gather" && node.input.get(1).is_some_and(|ids| ids == "input_ids")
        };
        let table = graph.node.iter().find(lookup)?.input.first()?;
        let tensor = graph.initializer.iter().find(|tensor| tensor.name == *table)?;
        tensor.dims.first().and_then(|rows| usize::try_from(*rows).ok())
    }
}

fn rank(output: &ValueInfoProto) -> Option<usize> {
    let TypeValue::TensorType(tensor) = output.r#type.as_ref()?.value.as_ref()?;
    tensor.shape.as_ref().map(|shape| shape.dim.len())
}

fn check_graph(graph: &GraphProto) -> Result<()> {
    graph.initializer.iter().try_for_each(check_tensor)?;
    let mut known: HashSet<&str> = graph
        .initializer
        .iter()
        .map(|tensor| tensor.name.as_str())
        .collect();
    for input in &graph.input {
        check_input(input)?;
        known.insert(&input.name);
    }
    for node in &graph.node {
        for attribute in &node.attribute {
            attribute
                .t
                .iter()
                .chain(&attribute.tensors)
                .try_for_each(check_tensor)?;
        }
        // ONNX demands that nodes are sorted, and tract would run in circles over a loop.
        if let Some(missing) = node
            .input
            .iter()
            .find(|name| !name.is_empty() && !known.contains(name.as_str()))
        {
            return Err(damaged("uses a value that nothing before it makes", missing));
        }
        for output in node.output.iter().filter(|name| !name.is_empty()) {
            if !known.insert(output) {
                return Err(damaged("makes one value twice", output));
            }
        }
    }
    match graph
        .output
        .iter()
        .find(|output| !known.contains(output.name.as_str()))
    {
        Some(output) => Err(damaged("promises an output that nothing makes", &output.name)),
        None if graph.output.is_empty() => Err(damaged("has no output", "")),
        None => Ok(()),
    }
}

fn check_input(input: &ValueInfoProto) -> Result<()> {
    let Some(TypeValue::TensorType(tensor)) = input.r#type.as_ref().and_then(|kind| kind.value.as_ref())
    else {
        return Err(damaged("has an input without a type", &input.name));
    };
    let dims = tensor.shape.iter().flat_map(|shape| &shape.dim);
    let too_large = |value: &DimValue| matches!(value, DimValue::DimValue(size) if *size > MAX_ELEMENTS);
    if dims.filter_map(|dim| dim.value.as_ref()).any(too_large) {
        return Err(damaged("has an input of impossible size", &input.name));
    }
    Ok(())
}

fn check_tensor(tensor: &TensorProto) -> Result<()> {
    if tensor.data_location == Some(DataLocation::External as i32) || !tensor.external_data.is_empty() {
        return Err(Error::model_load(
            "the ONNX file keeps its weights in a second file; export it as one file",
        )
        .with("tensor", tensor.name.as_str()));
    }
    let elements = tensor
        .dims
        .iter()
        .try_fold(
            1_i64,
            |product, dim| {
                if *dim < 0 { None } else { product.checked_mul(*dim) }
            },
        )
        .filter(|elements| *elements <= MAX_ELEMENTS)
        .ok_or_else(|| damaged("has a tensor of impossible size", &tensor.name))?;
    let Some(width) = width(tensor.data_type) else {
        return Err(
            Error::model_load("the ONNX file has a tensor of a kind that cannot be read")
                .with("tensor", tensor.name.as_str())
                .with("dataType", tensor.data_type),
        );
    };
    // Without raw bytes the numbers are in a list of their own, whose length tract checks.
    if !tensor.raw_data.is_empty() && tensor.raw_data.len() as i64 != elements * width {
        return Err(damaged("has a tensor that is cut short", &tensor.name));
    }
    Ok(())
}

/// Bytes of one element.
fn width(data_type: i32) -> Option<i64> {
    match DataType::try_from(data_type).ok()? {
        DataType::Bool | DataType::Uint8 | DataType::Int8 => Some(1),
        DataType::Float16 | DataType::Int16 | DataType::Uint16 => Some(2),
        DataType::Float | DataType::Int32 | DataType::Uint32 => Some(4),
        DataType::Double | DataType::Int64 | DataType::Uint64 => Some(8),
        _ => None,
    }
}

fn damaged(problem: &str, name: &str) -> Error {
    Error::model_load(format!("the ONNX file is damaged: its graph {problem}")).with("name", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(op: &str, inputs: &[&str], output: &str) -> NodeProto {
        NodeProto {
            op_type: op.to_owned(),
            input: inputs.iter().map(|name| (*name).to_owned()).collect(),
            output: vec![output.to_owned()],
            ..NodeProto::default()
        }
    }

    fn parse(graph: GraphProto) -> Result<OnnxModel> {
        OnnxModel::parse(
            &ModelProto {
                graph: Some(graph),
                ir_version: 7,
                ..ModelProto::default()
            }
            .encode_to_vec(),
        )
    }

    fn floats(name: &str, dims: &[i64], bytes: usize) -> TensorProto {
        TensorProto {
            name: name.to_owned(),
            dims: dims.to_vec(),
            data_type: DataType::Float as i32,
            raw_data: vec![0; bytes],
            ..TensorProto::default()
        }
    }

    fn graph() -> GraphProto {
        GraphProto {
            initializer: vec![floats("w", &[2, 3], 24)],
            node: vec![node("Identity", &["w"], "y")],
            output: vec![ValueInfoProto {
                name: "y".to_owned(),
                ..ValueInfoProto::default()
            }],
            ..GraphProto::default()
        }
    }

    fn refused(change: impl FnOnce(&mut GraphProto)) -> Error {
        let mut graph = graph();
        change(&mut graph);
        let error = parse(graph).err().unwrap();
        assert_eq!(error.code(), "model_load");
        error
    }

    #[test]
    fn a_sound_graph_is_accepted() {
        let model = parse(graph()).unwrap();
        assert_eq!((model.token_output(), model.inputs().len()), (Some("y"), 0));
    }

    #[test]
    fn bytes_that_are_no_protobuf_are_refused() {
        for bytes in [
            &b"<!doctype html>"[..],
            b"\x08",
            b"",
            b"\x08\x07\x3a\xff\xff\xff\xff\x0f",
        ] {
            assert_eq!(OnnxModel::parse(bytes).err().unwrap().code(), "model_load");
        }
    }

    #[test]
    fn a_graph_that_does_not_hang_together_is_refused() {
        refused(|graph| graph.node[0].input[0] = "x".to_owned());
        refused(|graph| graph.node[0].input[0] = "y".to_owned());
        refused(|graph| graph.output[0].name = "z".to_owned());
        refused(|graph| graph.output.clear());
        refused(|graph| graph.node.push(node("Identity", &["w"], "y")));
        refused(|graph| graph.input.push(ValueInfoProto::default()));
    }

    #[test]
    fn a_tensor_that_is_not_what_its_shape_says_is_refused() {
        refused(|graph| graph.initializer[0].raw_data.truncate(23));
        refused(|graph| graph.initializer[0].dims[0] = -1);
        refused(|graph| graph.initializer[0].dims = vec![i64::MAX, 2]);
        refused(|graph| graph.initializer[0].data_type = 17);
        let external =
            refused(|graph| graph.initializer[0].data_location = Some(DataLocation::External as i32));
        assert!(external.to_string().contains("second file"));
    }
}
