//! The set of fields that a manager owns, as `managedFields` writes it.
//!
//! Takes the part of an object that was written; hands on its `fieldsV1`.

use serde_json::{Map, Value, json};

/// Lists whose items are known by keys, with the keys.
const KEYED: [(&str, &[&str]); 6] = [
    ("containers", &["name"]),
    ("env", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
    ("conditions", &["type"]),
    ("ownerReferences", &["uid"]),
];
/// Maps that are written as a whole.
const ATOMIC: [&str; 4] = ["selector", "fieldRef", "configMapRef", "resource"];

/// The fields of the part, without those that say what the object is.
pub(super) fn of(part: &Value) -> Value {
    let mut fields = tree("", part);
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|name, _| name != "f:apiVersion" && name != "f:kind");
        if let Some(metadata) = fields.get_mut("f:metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| name != "f:name" && name != "f:namespace");
        }
    }
    fields
}

fn tree(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(fields) if !ATOMIC.contains(&name) => {
            let mut owned: Map<String, Value> = fields.iter().map(|(name, value)| (format!("f:{name}"), tree(name, value))).collect();
            if ["labels", "annotations", "requests", "limits"].contains(&name) {
                owned.insert(".".to_owned(), json!({}));
            }
            Value::Object(owned)
        }
        Value::Array(items) => {
            items.iter().map(|item| keyed(name, item)).collect::<Option<Map<String, Value>>>().map_or_else(|| json!({}), Value::Object)
        }
        _ => json!({}),
    }
}

/// An item of a list that is known by keys.
fn keyed(list: &str, item: &Value) -> Option<(String, Value)> {
    let keys: &[&str] = match list {
        "ports" if item.get("containerPort").is_some() => &["containerPort", "protocol"],
        "ports" => &["port", "protocol"],
        _ => KEYED.iter().find(|(name, _)| *name == list)?.1,
    };
    let known: Map<String, Value> = keys.iter().filter_map(|key| Some(((*key).to_owned(), item.get(*key)?.clone()))).collect();
    let mut owned = tree("", item);
    owned["."] = json!({});
    Some((format!("k:{}", Value::Object(known)), owned))
}
