//! The graph as questions about values: who makes it, what does it depend on, what is it a sum or a product of.

use std::collections::{BTreeSet, HashMap, HashSet};

use tract_onnx::pb::{AttributeProto, GraphProto, NodeProto, TensorProto};

use crate::embed::tract::model::OnnxModel;

/// Sums and products have a handful of terms; a hostile graph may nest without end.
const MAX_TERMS: usize = 16;

pub(super) struct Graph<'m> {
    /// The node that makes a value, and which of its outputs the value is.
    producers: HashMap<&'m str, (&'m NodeProto, usize)>,
    initialisers: HashMap<&'m str, &'m TensorProto>,
}

/// A product of scalars and other terms.
pub(super) struct Product<'m> {
    /// All constant scalars together.
    pub(super) scalar: f32,
    /// One of the factors was computed from a shape and is not known here.
    pub(super) shape_derived: bool,
    pub(super) terms: Vec<&'m str>,
}

/// What a value depends on otherwise than by its shape.
#[derive(Default)]
pub(super) struct Sources<'m> {
    pub(super) inputs: BTreeSet<&'m str>,
    pub(super) tensors: Vec<&'m TensorProto>,
    pub(super) uses_shape: bool,
}

impl<'m> Graph<'m> {
    pub(super) fn new(model: &'m OnnxModel) -> Option<Self> {
        let graph: &GraphProto = model.graph()?;
        let initialisers = graph
            .initializer
            .iter()
            .map(|tensor| (tensor.name.as_str(), tensor))
            .collect();
        let outputs = |node: &'m NodeProto| {
            node.output
                .iter()
                .enumerate()
                .map(move |(at, name)| (name.as_str(), (node, at)))
        };
        Some(Self {
            producers: graph.node.iter().flat_map(outputs).collect(),
            initialisers,
        })
    }

    /// Past nodes that change nothing when a model is run.
    pub(super) fn resolve(&self, mut name: &'m str) -> &'m str {
        while let Some((node, 0)) = self.producers.get(name) {
            match (node.op_type.as_str(), node.input.first()) {
                ("Identity" | "Dropout", Some(input)) => name = input,
                _ => break,
            }
        }
        name
    }

    /// The node that makes a value, and which output of it.
    pub(super) fn producer(&self, name: &'m str) -> Option<(&'m NodeProto, usize)> {
        self.producers.get(self.resolve(name)).copied()
    }

    /// The node that makes a value, if it is of this operator and the value its first output.
    pub(super) fn node(&self, name: &'m str, op: &str) -> Option<&'m NodeProto> {
        self.producer(name)
            .and_then(|(node, at)| (at == 0 && node.op_type == op).then_some(node))
    }

    /// The two operands of a node of this operator.
    pub(super) fn operands(&self, name: &'m str, op: &str) -> Option<[&'m str; 2]> {
        match self.node(name, op)?.input.as_slice() {
            [left, right] => Some([left, right]),
            _ => None,
        }
    }

    /// The first input of a node of this operator.
    pub(super) fn operand(&self, name: &'m str, op: &str) -> Option<&'m str> {
        self.node(name, op)?.input.first().map(String::as_str)
    }

    pub(super) fn initialiser(&self, name: &'m str) -> Option<&'m TensorProto> {
        self.initialisers.get(self.resolve(name)).copied()
    }

    /// Past any number of nodes of these operators, through their first input.
    pub(super) fn strip(&self, mut name: &'m str, ops: &[&str]) -> &'m str {
        while let Some((node, 0)) = self.producer(name) {
            match node.input.first() {
                Some(input) if ops.contains(&node.op_type.as_str()) => name = input,
                _ => break,
            }
        }
        self.resolve(name)
    }

    /// The terms of nested additions.
    pub(super) fn sum(&self, name: &'m str) -> Vec<&'m str> {
        let mut terms = Vec::new();
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            match self.operands(name, "Add") {
                Some(operands) if open.len() + terms.len() < MAX_TERMS => open.extend(operands),
                _ => terms.push(self.resolve(name)),
            }
        }
        terms
    }

    /// The factors of nested multiplications and divisions by scalars.
    pub(super) fn product(&self, name: &'m str) -> Product<'m> {
        let mut product = Product {
            scalar: 1.0,
            shape_derived: false,
            terms: Vec::new(),
        };
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            if let Some(scalar) = self.scalar(name) {
                product.scalar *= scalar;
            } else if self.is_shape_derived(name) {
                product.shape_derived = true;
            } else if open.len() + product.terms.len() >= MAX_TERMS {
                product.terms.push(name);
            } else if let Some(operands) = self.operands(name, "Mul") {
                open.extend(operands);
            } else if let Some([dividend, divisor]) = self.operands(name, "Div")
                && let Some(by) = self
                    .scalar(divisor)
                    .or_else(|| self.is_shape_derived(divisor).then_some(1.0))
            {
                product.scalar /= by;
                product.shape_derived |= self.scalar(divisor).is_none();
                open.push(dividend);
            } else {
                product.terms.push(self.resolve(name));
            }
        }
        product
    }

    /// Whether a value follows from shapes and constants alone, as `1/sqrt(head size)` does in some exports.
    fn is_shape_derived(&self, name: &'m str) -> bool {
        let arithmetic = ["Sqrt", "Div", "Cast", "Reciprocal"];
        if !self
            .producer(name)
            .is_some_and(|(node, _)| arithmetic.contains(&node.op_type.as_str()))
        {
            return false;
        }
        let sources = self.sources(name);
        sources.uses_shape && sources.inputs.is_empty()
    }

    /// Everything that a value's numbers come from.
    pub(super) fn sources(&self, name: &'m str) -> Sources<'m> {
        let mut sources = Sources::default();
        let mut seen = HashSet::new();
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            if name.is_empty() || !seen.insert(name) {
                continue;
            }
            if let Some(tensor) = self.initialisers.get(name) {
                sources.tensors.push(tensor);
            } else if let Some((node, _)) = self.producers.get(name) {
                if matches!(node.op_type.as_str(), "Shape" | "Size") {
                    sources.uses_shape = true;
                    continue;
                }
                sources
                    .tensors
                    .extend(attribute(node, "value").and_then(|value| value.t.as_ref()));
                open.extend(node.input.iter().map(String::as_str));
            } else {
                sources.inputs.insert(name);
            }
        }
        sources
    }
}

pub(super) fn attribute<'m>(node: &'m NodeProto, name: &str) -> Option<&'m AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

pub(super) fn int(node: &NodeProto, name: &str) -> Option<i64> {
    attribute(node, name).map(|attribute| attribute.i)
}

pub(super) fn float(node: &NodeProto, name: &str) -> Option<f32> {
    attribute(node, name).map(|attribute| attribute.f)
}

pub(super) fn ints<'m>(node: &'m NodeProto, name: &str) -> Option<&'m [i64]> {
    attribute(node, name).map(|attribute| attribute.ints.as_slice())
}
