//! Objects as kubectl prints them: YAML or JSON, single, in streams or in `List`s.
//!
//! Takes a file's bytes; hands on a [`Batch`]: the objects as compact JSON in one text.

use std::ops::Range;

use serde_json::Value;

use crate::manifest::annotation;

/// Annotation of test data: the name of the cluster that an object lives in.
const CLUSTER_ANNOTATION: &str = "presync.test/cluster";

/// Objects from one file.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Their JSON.
    pub(super) text: Vec<u8>,
    pub(super) items: Vec<Item>,
}

/// One object of a [`Batch`].
#[derive(Debug)]
pub(super) struct Item {
    pub(super) range: Range<usize>,
    /// Name of its cluster, where the object itself says it.
    pub(super) cluster: Option<String>,
}

/// What is wrong with a text, and in which line.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) line: usize,
    pub(super) message: String,
}

/// The documents of a YAML or JSON stream.
pub(super) fn documents(bytes: &[u8]) -> Result<Vec<Value>, SyntaxError> {
    use serde::Deserialize;
    let text = String::from_utf8_lossy(bytes);
    let mut values = Vec::new();
    for document in serde_yaml::Deserializer::from_str(&text) {
        let value = Value::deserialize(document)
            .map_err(|error| SyntaxError { line: error.location().map_or(1, |location| location.line()), message: error.to_string() })?;
        values.push(value);
    }
    Ok(values)
}

/// The objects of a file.
pub(super) fn read(bytes: &[u8]) -> Result<Batch, SyntaxError> {
    let mut batch = Batch::default();
    let mut pending = documents(bytes)?;
    pending.reverse();
    while let Some(mut value) = pending.pop() {
        if is_list(&value)
            && let Some(Value::Array(items)) = value.get_mut("items").map(Value::take)
        {
            pending.extend(items.into_iter().rev());
        } else if !value.is_null() {
            batch.push(&value);
        }
    }
    Ok(batch)
}

impl Batch {
    fn push(&mut self, value: &Value) {
        let start = self.text.len();
        self.text.extend_from_slice(value.to_string().as_bytes());
        let cluster = annotation(value, CLUSTER_ANNOTATION).map(str::to_owned);
        self.items.push(Item { range: start..self.text.len(), cluster });
    }
}

/// Whether an object is a list of objects.
fn is_list(value: &Value) -> bool {
    value["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) && value["items"].is_array()
}
