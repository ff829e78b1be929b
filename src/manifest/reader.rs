//! Reads Kubernetes YAML and JSON exactly as kubectl and Argo CD do.
//!
//! Takes the bytes or text of a file or of a renderer's output, hands on values. Where fields stand in the text is found
//! later and only when asked for, by [`super::span`].

mod build;
mod duplicate;
mod error;
pub(crate) mod event;
pub(crate) mod json;
mod scalar;
pub(crate) mod stream;
mod strict;
mod text;
pub(crate) mod walk;
pub(crate) mod yaml;

use std::ops::Range;

use serde_json::Value;

pub use duplicate::DuplicateKey;
pub use error::{ReadError, ReadErrorKind};
pub use text::{Decoded, decode};

use error::Problem;

/// How much a text may ask of the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Levels of nesting of one document, aliases expanded. Kubernetes allows 10,000, but values that deep overflow the
    /// stack of an ordinary thread when they are cloned, written or dropped; real objects stay under 50.
    pub max_depth: usize,
    /// Bytes of one document.
    pub max_document_bytes: usize,
    /// Documents of one stream, empty ones not counted.
    pub max_documents: usize,
    /// Bytes that the aliases of one document may copy. This stands beside Kubernetes' own bound, which counts nodes.
    pub max_alias_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_depth: 500, max_document_bytes: 256 << 20, max_documents: 1_000_000, max_alias_bytes: 64 << 20 }
    }
}

/// One document of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// What Kubernetes reads; any JSON value but null.
    pub value: Value,
    /// Byte range of the document in the decoded text: all between two separators, comments included.
    pub range: Range<usize>,
    /// Line of the first content, counted from 1.
    pub line: u32,
    /// Keys that stand twice in one map, at most a hundred.
    pub duplicate_keys: Vec<DuplicateKey>,
}

/// The documents of a stream up to the first that cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    /// The documents in the order of the text. Empty and null documents are left out, as Argo CD does.
    pub documents: Vec<Document>,
    /// Why reading stopped before the end of the text.
    pub error: Option<ReadError>,
}

/// Reads every document of a stream in order, as `NewYAMLOrJSONDecoder` of Kubernetes does (apimachinery,
/// `pkg/util/yaml/decoder.go`): cut at lines that start with `---`, each part read by go-yaml v2 and made into JSON. A text
/// that starts with `{` is tried as JSON first. Duplicate keys are accepted: the last wins. Reading stops at the first
/// document that is bad; those before it are kept.
pub fn read_stream(text: &str, limits: &Limits) -> Stream {
    stream::read(text, limits)
}

/// Reads the one JSON value of a `.json` file as Argo CD does (`reposerver/repository/repository.go`,
/// `getObjsFromYAMLOrJSON`).
///
/// # Errors
/// When the text does not start with a JSON value, when a second one follows ([`ReadErrorKind::SecondJsonValue`]), or when
/// the value is over a limit.
pub fn read_json(text: &str) -> Result<Value, ReadError> {
    read_json_within(text, &Limits::default()).map(|(value, _)| value)
}

/// Like [`read_json`] with other limits; hands on the keys that stand twice as well, of which Go takes the last.
///
/// # Errors
/// As [`read_json`].
pub fn read_json_within(text: &str, limits: &Limits) -> Result<(Value, Vec<DuplicateKey>), ReadError> {
    one_json_value(text, limits).map_err(|problem| problem.locate(text))
}

fn one_json_value(text: &str, limits: &Limits) -> Result<(Value, Vec<DuplicateKey>), Problem> {
    let limit = limits.max_document_bytes;
    if text.len() > limit {
        return Err(Problem::new(ReadErrorKind::DocumentTooLong { limit }, 0));
    }
    let mut events = json::JsonEvents::new(text, 0..text.len());
    let (value, has_duplicates) = match build::build(&mut events, limits)? {
        Some(built) => (built.value, built.duplicate_keys),
        None => (Value::Null, false),
    };
    match events.peek() {
        // Go's `Decoder.More` takes a closing bracket for the end of an enclosing value.
        None | Some(b']' | b'}') if has_duplicates => Ok((value, duplicate::duplicate_keys(json::JsonEvents::new(text, 0..text.len())))),
        None | Some(b']' | b'}') => Ok((value, Vec::new())),
        Some(_) => Err(Problem::new(ReadErrorKind::SecondJsonValue, events.position())),
    }
}

#[cfg(test)]
mod tests;
