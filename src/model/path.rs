//! Field paths: which texts of a document are embedded.
//!
//! | path        | finds                                                        |
//! |-------------|--------------------------------------------------------------|
//! | `$`         | the whole document, as JSON                                  |
//! | `a.b`       | a field of a field                                           |
//! | `a[0]`, `a[-1]` | an element, counted from either end                      |
//! | `a[*].b`    | `b` of each element                                          |
//! | `*`         | each field of an object, each element of an array            |
//! | `{a,b.c}`   | several at once; what follows the brace applies to each      |
//!
//! Each value found is a text of its own; strings as they are, all else as JSON. What is missing or null is skipped.
//! A value that several routes reach (`{a,a}`) is found once, which also bounds the work by the size of the document.

use std::collections::HashSet;

use serde_json::Value;

use super::Document;
use crate::{Error, Result};

/// A parsed field path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    source: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Element(i64),
    Elements,
    Children,
    Any(Vec<Vec<Step>>),
}

impl FieldPath {
    /// Reads a path.
    ///
    /// ```
    /// use burrow::model::FieldPath;
    /// use serde_json::json;
    ///
    /// let document = json!({ "title": "Trip", "notes": [{ "text": "Pack" }, { "text": "Fly" }] });
    /// let path = FieldPath::parse("{title,notes[*].text}")?;
    /// assert_eq!(path.texts(document.as_object().unwrap()), ["Trip", "Pack", "Fly"]);
    ///
    /// assert_eq!(FieldPath::parse("notes[").unwrap_err().code(), "invalid_argument");
    /// # Ok::<(), burrow::Error>(())
    /// ```
    pub fn parse(source: &str) -> Result<Self> {
        let steps = if source == "$" {
            Ok(Vec::new())
        } else {
            parse_steps(source)
        };
        let steps = steps.map_err(|reason| {
            Error::invalid_argument(format!("Malformed field path \"{source}\": {reason}."))
                .with("path", source)
        })?;
        Ok(Self {
            source: source.to_owned(),
            steps,
        })
    }

    /// The path as written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The texts of a document, in document order of each step.
    pub fn texts(&self, document: &Document) -> Vec<String> {
        let root = Node::Document(document);
        let mut found = vec![root];
        for step in &self.steps {
            found = advance(&found, step);
        }
        found.into_iter().filter_map(Node::text).collect()
    }
}

/// A place in a document; the document itself is a map and not a [`Value`].
#[derive(Clone, Copy)]
enum Node<'a> {
    Document(&'a Document),
    Value(&'a Value),
}

impl<'a> Node<'a> {
    fn fields(self) -> Option<&'a Document> {
        match self {
            Self::Document(document) => Some(document),
            Self::Value(value) => value.as_object(),
        }
    }

    fn elements(self) -> Option<&'a Vec<Value>> {
        match self {
            Self::Document(_) => None,
            Self::Value(value) => value.as_array(),
        }
    }

    fn text(self) -> Option<String> {
        match self {
            Self::Document(document) => serde_json::to_string(document).ok(),
            Self::Value(Value::Null) => None,
            Self::Value(Value::String(text)) => Some(text.clone()),
            Self::Value(value) => Some(value.to_string()),
        }
    }

    fn address(self) -> usize {
        match self {
            Self::Document(document) => std::ptr::from_ref(document).addr(),
            Self::Value(value) => std::ptr::from_ref(value).addr(),
        }
    }
}

/// One step from each node, each target once.
fn advance<'a>(nodes: &[Node<'a>], step: &Step) -> Vec<Node<'a>> {
    let mut seen = HashSet::new();
    let targets = nodes.iter().flat_map(|&node| targets(node, step));
    targets.filter(|target| seen.insert(target.address())).collect()
}

fn targets<'a>(node: Node<'a>, step: &Step) -> Vec<Node<'a>> {
    let elements = node.elements();
    let fields = node.fields();
    match step {
        Step::Field(name) => fields
            .and_then(|fields| fields.get(name))
            .map(Node::Value)
            .into_iter()
            .collect(),
        Step::Element(index) => elements
            .and_then(|items| element(items, *index))
            .map(Node::Value)
            .into_iter()
            .collect(),
        Step::Elements => elements.into_iter().flatten().map(Node::Value).collect(),
        Step::Children => {
            let values = fields.into_iter().flat_map(Document::values);
            elements
                .into_iter()
                .flatten()
                .chain(values)
                .map(Node::Value)
                .collect()
        }
        Step::Any(routes) => {
            let follow =
                |route: &Vec<Step>| route.iter().fold(vec![node], |nodes, step| advance(&nodes, step));
            routes.iter().flat_map(follow).collect()
        }
    }
}

fn element(items: &[Value], index: i64) -> Option<&Value> {
    let index = if index < 0 {
        index.checked_add(i64::try_from(items.len()).ok()?)?
    } else {
        index
    };
    items.get(usize::try_from(index).ok()?)
}

/// What was read, or a reason that completes "Malformed field path: …".
type Reason<T> = std::result::Result<T, String>;

/// Reads `step`, `step.step`, `step[0]`, ….
fn parse_steps(source: &str) -> Reason<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = source;
    loop {
        // Brackets follow a name directly. Only at the start of a route is there none, as in `list.{[0],[2]}`.
        if !(steps.is_empty() && rest.starts_with('[')) {
            let (step, after) = parse_name(rest)?;
            steps.push(step);
            rest = after;
        }
        while let Some(inside) = rest.strip_prefix('[') {
            let (step, after) = parse_brackets(inside)?;
            steps.push(step);
            rest = after;
        }
        if rest.is_empty() {
            return Ok(steps);
        }
        rest = rest
            .strip_prefix('.')
            .ok_or_else(|| format!("expected \".\" or \"[\" before \"{rest}\""))?;
    }
}

/// A field name, `*` or a brace.
fn parse_name(rest: &str) -> Reason<(Step, &str)> {
    if let Some(inside) = rest.strip_prefix('{') {
        let (inside, after) = inside.split_once('}').ok_or("a brace is not closed")?;
        // Hence no route can hold a brace, and this recurses once at most.
        if inside.contains('{') {
            return Err("a brace within a brace".to_owned());
        }
        let routes = inside.split(',').map(|route| parse_steps(route.trim()));
        return Ok((Step::Any(routes.collect::<Reason<_>>()?), after));
    }
    let end = rest.find(['.', '[', ']', '{', '}']).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    match name {
        "" => Err("a field name is empty".to_owned()),
        "$" => Err("\"$\" stands alone; write \"a\" for the field a, not \"$.a\"".to_owned()),
        "*" => Ok((Step::Children, after)),
        name => Ok((Step::Field(name.to_owned()), after)),
    }
}

fn parse_brackets(inside: &str) -> Reason<(Step, &str)> {
    let (index, after) = inside.split_once(']').ok_or("a bracket is not closed")?;
    if index == "*" {
        return Ok((Step::Elements, after));
    }
    let digits = index.strip_prefix('-').unwrap_or(index);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match index.parse() {
        Ok(index) if plain => Ok((Step::Element(index), after)),
        _ => Err(format!("\"[{index}]\" is neither a whole number nor \"[*]\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(path: &str, document: &Value) -> Vec<String> {
        FieldPath::parse(path)
            .unwrap()
            .texts(document.as_object().unwrap())
    }

    #[test]
    fn each_form_finds_its_texts() {
        let document = json!({
            "a": { "b": "ab", "c": 1 },
            "list": ["x", "y", "z"],
            "rows": [{ "b": "r0" }, { "c": 1 }, { "b": null }, { "b": { "d": true } }],
            "grid": [["00", "01"], ["10"]],
            "t": "t",
        });
        for (path, expected) in [
            ("a.b", vec!["ab"]),
            ("a.c", vec!["1"]),
            ("a", vec![r#"{"b":"ab","c":1}"#]),
            ("list[0]", vec!["x"]),
            ("list[-1]", vec!["z"]),
            ("list[-3]", vec!["x"]),
            ("list[3]", vec![]),
            ("list[-4]", vec![]),
            ("list[*]", vec!["x", "y", "z"]),
            ("list.*", vec!["x", "y", "z"]),
            ("list", vec![r#"["x","y","z"]"#]),
            ("rows[*].b", vec!["r0", r#"{"d":true}"#]),
            ("rows[3].b.d", vec!["true"]),
            ("grid[*][0]", vec!["00", "10"]),
            ("grid[0][-1]", vec!["01"]),
            ("list.{[2],[0]}", vec!["z", "x"]),
            ("a.*", vec!["ab", "1"]),
            ("{a.b,t}", vec!["ab", "t"]),
            ("{t, a.b}", vec!["t", "ab"]),
            ("{t,t}", vec!["t"]),
            ("a.{c,b}", vec!["1", "ab"]),
            ("{rows[0],a}.b", vec!["r0", "ab"]),
            ("t.b", vec![]),
            ("t[0]", vec![]),
            ("a[0]", vec![]),
            ("missing.b", vec![]),
            ("a.toString", vec![]),
        ] {
            assert_eq!(texts(path, &document), expected, "{path}");
        }
    }

    #[test]
    fn a_dollar_is_the_whole_document_and_a_star_each_of_its_fields() {
        let document = json!({ "b": "x", "a": 1.5, "n": null });
        assert_eq!(texts("$", &document), [r#"{"b":"x","a":1.5,"n":null}"#]);
        assert_eq!(texts("*", &document), ["x", "1.5"]);
    }

    #[test]
    fn any_field_name_works() {
        let document =
            json!({ "constructor": "c", "__proto__": "p", "$ref": "r", "a b": "s", "名": "n", "a*": "w" });
        for (path, text) in [
            ("constructor", "c"),
            ("__proto__", "p"),
            ("$ref", "r"),
            ("a b", "s"),
            ("名", "n"),
            ("a*", "w"),
        ] {
            assert_eq!(texts(path, &document), [text]);
        }
    }

    #[test]
    fn a_malformed_path_is_refused_by_name() {
        for path in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "a[",
            "a]",
            "a[]",
            "a[x]",
            "a[1",
            "a[1.5]",
            "a[+1]",
            "a[--1]",
            "a[ 1]",
            "a[0]b",
            "a.[0]",
            "{",
            "}",
            "{a",
            "a}",
            "{}",
            "{a,}",
            "{a,{b}}",
            "{a}b",
            "a{b}",
            "$.a",
            "a.$",
            "$[0]",
            "[99999999999999999999]",
        ] {
            let error = FieldPath::parse(path).unwrap_err();
            assert_eq!(error.code(), "invalid_argument", "{path}");
            assert!(error.context().message.contains(path), "{path}");
        }
    }

    #[test]
    fn a_reason_tells_what_to_mend() {
        for (path, reason) in [
            ("{a,{b}}", "a brace within a brace"),
            ("{a", "a brace is not closed"),
            ("a[0", "a bracket is not closed"),
            ("a[x]", "neither a whole number"),
            ("a..b", "a field name is empty"),
            ("$.a", "not \"$.a\""),
            ("a[0]b", "expected \".\" or \"[\" before \"b\""),
        ] {
            let error = FieldPath::parse(path).unwrap_err();
            assert!(error.context().message.contains(reason), "{error}");
        }
    }

    #[test]
    fn many_routes_to_one_value_do_not_multiply_the_work() {
        let deep = (0..60).fold(json!("x"), |inner, _| json!({ "a": inner }));
        assert_eq!(texts(&["{a,a}"; 60].join("."), &deep), ["x"]);
    }
}
