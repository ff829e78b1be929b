//! Objects as kubectl prints them: YAML or JSON, single, in streams or in `List`s.
//!
//! Takes a file's bytes; hands on [`Batch`]es: the objects, without secret values, as compact JSON in few texts.
//! JSON is read item by item without building the whole tree, because one `List` may hold a cluster.

mod json;

use std::ops::Range;

use serde_json::Value;

use super::clusters::{SecretLimit, limit_of_secret};
use super::peek::Peek;
use super::redact::{may_hold_secrets, redact};
use crate::manifest::annotation;
use crate::manifest::reader::{Limits, ReadError, ReadErrorKind, decode, read_stream};

/// Annotation of test data: the name of the cluster that an object lives in.
const CLUSTER_ANNOTATION: &str = "presync.test/cluster";

/// Some of the objects of a file.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Their JSON.
    pub(super) text: Vec<u8>,
    pub(super) items: Vec<Item>,
    /// Objects that were left out, and why.
    pub(super) left_out: Vec<String>,
}

/// One object of a [`Batch`].
#[derive(Debug)]
pub(super) struct Item {
    pub(super) range: Range<usize>,
    /// Name of its cluster, where the object itself says it.
    pub(super) cluster: Option<String>,
    /// What it says, as a cluster Secret, about its cluster and would not say any more without its values.
    pub(super) limit: Option<SecretLimit>,
}

/// What is wrong with a text, and in which line.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) line: usize,
    pub(super) message: String,
}

impl SyntaxError {
    /// Says what kind of thing is wrong without repeating text, which may be a secret.
    fn of(error: &ReadError) -> Self {
        let message = match &error.kind {
            ReadErrorKind::Yaml(_) => "this is not valid YAML".to_owned(),
            ReadErrorKind::Json(_) => "this is not valid JSON".to_owned(),
            ReadErrorKind::Separator(_) => "nothing but a comment may follow the document separator `---`".to_owned(),
            ReadErrorKind::UnknownAnchor(_) => "there is no anchor before this alias".to_owned(),
            ReadErrorKind::Tag { tag, .. } => format!("this scalar cannot be read as {tag}"),
            ReadErrorKind::Number(_) => "this is not a number that a Kubernetes object can hold".to_owned(),
            other => other.to_string(),
        };
        Self { line: error.line as usize, message: format!("{message} (column {})", error.column) }
    }
}

/// The documents of a YAML or JSON stream.
pub(super) fn documents(bytes: &[u8]) -> Result<Vec<Value>, SyntaxError> {
    let decoded = decode(bytes);
    let stream = read_stream(&decoded.text, &Limits::default());
    match stream.error {
        Some(error) => Err(SyntaxError::of(&error)),
        None => Ok(stream.documents.into_iter().map(|document| document.value).collect()),
    }
}

/// The objects of a file.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Batch>, SyntaxError> {
    if let Some(batches) = json::read(bytes) {
        return Ok(batches);
    }
    let mut batch = Batch::default();
    let mut pending = documents(bytes)?;
    pending.reverse();
    while let Some(mut value) = pending.pop() {
        let kind = value["kind"].as_str().unwrap_or_default().to_owned();
        match value.get_mut("items").filter(|items| is_list(&kind) && items.is_array()).map(Value::take) {
            Some(Value::Array(mut items)) => {
                let api_version = value["apiVersion"].as_str().unwrap_or_default();
                items.iter_mut().for_each(|item| name_kind(item, &kind, api_version));
                pending.extend(items.into_iter().rev());
            }
            _ => batch.push(value),
        }
    }
    Ok(vec![batch])
}

impl Batch {
    /// Adds an object without its secret values.
    pub(super) fn push(&mut self, mut object: Value) {
        let limit = limit_of_secret(&object);
        redact(&mut object);
        if let Some(why) = Peek::value(&object).why_nameless() {
            self.left_out.push(why);
            return;
        }
        let start = self.text.len();
        self.text.extend_from_slice(object.to_string().as_bytes());
        let cluster = annotation(&object, CLUSTER_ANNOTATION).map(str::to_owned);
        self.items.push(Item { range: start..self.text.len(), cluster, limit });
    }
}

/// Whether a kind is that of a list of objects.
fn is_list(kind: &str) -> bool {
    kind.ends_with("List")
}

/// Items of a typed list such as `SecretList`, as the API server itself writes it, do not repeat their kind.
fn name_kind(item: &mut Value, list_kind: &str, api_version: &str) {
    let kind = list_kind.trim_end_matches("List");
    if let Some(map) = item.as_object_mut().filter(|map| !kind.is_empty() && !map.contains_key("kind")) {
        map.insert("kind".to_owned(), kind.into());
        map.entry("apiVersion").or_insert_with(|| api_version.into());
    }
}
