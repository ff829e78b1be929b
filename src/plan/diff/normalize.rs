//! What Argo CD evens out before it compares: takes an object, hands on the same with Secrets, roles and Endpoints in one form
//! (GE `diff/diff.go:Normalize`) and, for custom resources, fields of known types rewritten.

use serde_json::{Map, Value, json};

use super::duration;
use super::remarshal::remarshal_known_type;
use crate::manifest::base64;
use crate::plan::schema::{Schemas, quantity};

/// The kind-independent and kind-specific part; ignore rules come after it.
pub(super) fn normalize(object: &mut Value, ignore_aggregated_roles: bool) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("creationTimestamp");
    }
    let (group, kind) = group_kind(object);
    match (group, kind) {
        ("", "Secret") => secret(object),
        ("", "Endpoints") => endpoints(object),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => role(object, ignore_aggregated_roles),
        _ => {}
    }
}

/// Group and kind of an object; empty where it has none.
pub(super) fn group_kind(object: &Value) -> (&str, &str) {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    (text("apiVersion").split_once('/').map_or("", |(group, _)| group), text("kind"))
}

fn secret(object: &mut Value) {
    let Some(map) = object.as_object_mut() else { return };
    let clear = match map.get("stringData") {
        Some(Value::Object(clear)) => clear.clone(),
        _ => Map::new(),
    };
    if map.get("stringData").is_some_and(Value::is_object) {
        let data = map.entry("data").or_insert_with(|| json!({}));
        if !data.is_object() {
            *data = json!({});
        }
        if let Some(data) = data.as_object_mut() {
            for (key, value) in clear {
                let encoded = match value {
                    Value::String(text) => Value::String(base64::encode(text.as_bytes())),
                    other => other,
                };
                data.insert(key, encoded);
            }
        }
        map.remove("stringData");
    }
    let Some(data) = map.get_mut("data").and_then(Value::as_object_mut) else { return };
    let readable = data.values().all(|value| value.is_null() || value.as_str().is_some_and(|text| base64::decode(text).is_some()));
    if readable {
        for value in data.values_mut() {
            let bytes = value.as_str().and_then(base64::decode).unwrap_or_default();
            *value = Value::String(base64::encode(&bytes));
        }
    }
}

fn role(object: &mut Value, ignore_aggregated: bool) {
    let Some(map) = object.as_object_mut() else { return };
    let aggregated = map.get("aggregationRule").is_some_and(Value::is_object);
    if ignore_aggregated && aggregated {
        map.insert("rules".to_owned(), Value::Null);
    }
    if map.get("rules").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        map.insert("rules".to_owned(), Value::Null);
    }
}

/// The protocol is TCP where none is given, and subsets, addresses and ports are sorted.
fn endpoints(object: &mut Value) {
    let Some(subsets) = object.get_mut("subsets").and_then(Value::as_array_mut) else { return };
    for subset in subsets.iter_mut() {
        for port in subset.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(port) = port.as_object_mut() {
                let protocol = port.entry("protocol").or_insert_with(|| json!("TCP"));
                if protocol == "" {
                    *protocol = json!("TCP");
                }
            }
        }
        for field in ["addresses", "notReadyAddresses", "ports"] {
            if let Some(items) = subset.get_mut(field).and_then(Value::as_array_mut) {
                items.sort_by_cached_key(Value::to_string);
            }
        }
    }
    subsets.sort_by_cached_key(Value::to_string);
}

/// A field of a custom resource that holds a built-in type (`resource.customizations.knownTypeFields`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownTypeField {
    /// The path, split at dots; lists on the way are gone through.
    pub(super) path: Vec<String>,
    /// What stands there.
    pub(super) known: KnownType,
}

/// A built-in type that custom resources use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownType {
    Quantity,
    Duration,
    /// A struct of the core group, by its name in the table of types.
    Core(&'static str),
}

impl KnownType {
    /// As the settings name it: `core/Quantity`, `meta/v1/Duration` or `core/v1/PodSpec`.
    pub(super) fn named(written: &str) -> Option<KnownType> {
        match written {
            "core/Quantity" => Some(KnownType::Quantity),
            "meta/v1/Duration" => Some(KnownType::Duration),
            _ => {
                let name = written.strip_prefix("core/v1/")?;
                let node = Schemas::named_type(&format!("core/v1.{name}"))?;
                Some(KnownType::Core(&node.as_struct()?.name))
            }
        }
    }
}

/// Rewrites the known-type fields (`util/argo/normalizers/knowntypes_normalizer.go:Normalize`).
pub(super) fn known_types(object: &mut Value, fields: &[KnownTypeField]) {
    for field in fields {
        rewrite_at(object, &field.path, field.known);
    }
}

fn rewrite_at(value: &mut Value, path: &[String], known: KnownType) {
    if let Value::Array(items) = value {
        for item in items.iter_mut().filter(|item| item.is_object()) {
            rewrite_at(item, path, known);
        }
        return;
    }
    let Some((head, rest)) = path.split_first() else {
        rewrite(value, known);
        return;
    };
    if let Some(inner) = value.get_mut(head) {
        rewrite_at(inner, rest, known);
    }
}

fn rewrite(value: &mut Value, known: KnownType) {
    let canonical = match known {
        KnownType::Quantity => quantity::canonical(value).map(|text| text.into_owned()),
        KnownType::Duration => value.as_str().and_then(duration::canonical),
        KnownType::Core(name) => {
            if let Some(node) = Schemas::named_type(name) {
                remarshal_known_type(node, value);
            }
            None
        }
    };
    if let Some(text) = canonical {
        *value = Value::String(text);
    }
}

#[cfg(test)]
mod tests {
    use super::normalize;
    use serde_json::json;

    #[test]
    fn s9_55_string_data_is_encoded_into_data() {
        let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}, "data": {"a": "eA==", "n": null}});
        normalize(&mut secret, false);
        assert_eq!(secret, json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "Yg==", "n": ""}}));
    }

    #[test]
    fn s9_58_empty_rules_and_aggregated_rules_become_null() {
        let role = |rules, aggregation| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": rules, "aggregationRule": aggregation});
        let mut empty = role(json!([]), json!(null));
        normalize(&mut empty, false);
        assert_eq!(empty, role(json!(null), json!(null)));
        let mut aggregated = role(json!([{"verbs": ["get"]}]), json!({}));
        normalize(&mut aggregated, false);
        assert_eq!(aggregated, role(json!([{"verbs": ["get"]}]), json!({})));
        normalize(&mut aggregated, true);
        assert_eq!(aggregated, role(json!(null), json!({})));
    }
}
