//! Secrets: their keys stay, their values go; of clusters only what destinations need stays; of Helm releases nothing does.

use k8s_openapi::ByteString;
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{REDACTED, mark};
use crate::argocd::names::LAST_APPLIED;
use crate::snapshot::clusters::{CLUSTER_SECRET, SECRET_TYPE_LABEL};

/// Entries of a cluster Secret that destinations and generators read.
const CLUSTER_ENTRIES: [&str; 3] = ["name", "server", "project"];
/// Fields that a Secret has; anything else in it is dropped.
const FIELDS: [&str; 7] = ["apiVersion", "kind", "metadata", "type", "immutable", "data", "stringData"];
/// Values shorter than this appear in annotations by chance.
const SHORTEST_VALUE: usize = 4;
/// How many bytes of annotations times values are compared; beyond that all annotations go.
const COMPARISONS: usize = 64 << 20;

/// Redacts a Secret. Returns whether anything changed.
pub(super) fn redact(secret: &mut Map<String, Value>) -> bool {
    let before = secret.len();
    secret.retain(|field, _| FIELDS.contains(&field.as_str()));
    let mut changed = secret.len() != before;
    let label = |map: &Map<String, Value>, name: &str| {
        map.get("metadata").and_then(|metadata| metadata.get("labels")?.get(name)?.as_str()).map(str::to_owned)
    };
    let is_cluster = label(secret, SECRET_TYPE_LABEL).as_deref() == Some(CLUSTER_SECRET);
    let is_release = secret.get("type").and_then(Value::as_str) == Some("helm.sh/release.v1");
    let mut values = Vec::new();
    for field in ["data", "stringData"] {
        if is_release {
            changed |= secret.remove(field).is_some();
            continue;
        }
        match secret.get_mut(field) {
            None | Some(Value::Null) => {}
            Some(Value::Object(data)) => changed |= redact_data(data, is_cluster, &mut values),
            Some(other) => changed |= mark(other),
        }
    }
    let annotations = secret.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    if let Some(Value::Object(annotations)) = annotations {
        changed |= annotations.remove(LAST_APPLIED).is_some();
        changed |= redact_annotations(annotations, &values);
    }
    changed
}

/// Replaces the values and collects what they were.
fn redact_data(data: &mut Map<String, Value>, is_cluster: bool, values: &mut Vec<Vec<u8>>) -> bool {
    let mut changed = false;
    data.retain(|name, value| {
        if is_cluster && CLUSTER_ENTRIES.contains(&name.as_str()) {
            return true;
        }
        if let Some(text) = value.as_str().filter(|text| *text != REDACTED) {
            values.push(text.as_bytes().to_vec());
        }
        values.extend(ByteString::deserialize(&*value).map(|ByteString(bytes)| bytes));
        changed |= is_cluster || mark(value);
        !is_cluster
    });
    values.retain(|value| value.len() >= SHORTEST_VALUE);
    changed
}

/// Replaces annotations that repeat a value, or that hold an object with data of its own.
fn redact_annotations(annotations: &mut Map<String, Value>, values: &[Vec<u8>]) -> bool {
    let bytes: usize = annotations.values().map(|value| value.as_str().map_or(0, str::len)).sum();
    let too_many = bytes.saturating_mul(values.len()) > COMPARISONS;
    let mut changed = false;
    for value in annotations.values_mut() {
        let Some(text) = value.as_str() else { continue };
        let repeats = too_many || values.iter().any(|secret| memmem::find(text.as_bytes(), secret).is_some());
        if repeats || holds_data(text) {
            changed |= mark(value);
        }
    }
    changed
}

fn holds_data(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && (text.contains("\"data\"") || text.contains("\"stringData\"") || text.contains("\\u"))
}
