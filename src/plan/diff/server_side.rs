//! Server-side diff, approximated: takes what server-side apply would merge, hands on what Argo CD keeps of the dry run's answer
//! (GE `diff/diff.go:removeWebhookMutation`).

use serde_json::{Map, Value};

use super::fill_defaults;
use crate::plan::schema::Node;

/// The merged object with what the server fills in again put back to its live value: Argo CD takes what `argocd-controller` does not own for the
/// work of a webhook. So a defaulted field that leaves Git is no difference, although the sync resets it.
pub(super) fn without_mutations(mut merged: Value, live: &Value, node: Option<Node<'static>>) -> Value {
    let Some(node) = node else { return merged };
    let mut filled = merged.clone();
    fill_defaults(node, &mut filled);
    name_claim_templates(&mut filled);
    put_back(&mut merged, &filled, Some(live));
    merged
}

/// The server writes version and kind into the claim templates of a StatefulSet.
fn name_claim_templates(object: &mut Value) {
    if object.get("kind").is_none_or(|kind| kind != "StatefulSet") {
        return;
    }
    let templates = object.pointer_mut("/spec/volumeClaimTemplates").and_then(Value::as_array_mut);
    for template in templates.into_iter().flatten().filter_map(Value::as_object_mut) {
        for (field, value) in [("apiVersion", "v1"), ("kind", "PersistentVolumeClaim")] {
            template.entry(field).or_insert_with(|| Value::from(value));
        }
    }
}

/// `live` is `None` below what the live object does not have.
fn put_back(merged: &mut Value, filled: &Value, live: Option<&Value>) {
    match (merged, filled) {
        (Value::Object(merged), Value::Object(filled)) => put_back_fields(merged, filled, live.and_then(Value::as_object)),
        (Value::Array(merged), Value::Array(filled)) => {
            let live = live.and_then(Value::as_array).filter(|live| live.len() == merged.len());
            for (index, (merged, filled)) in merged.iter_mut().zip(filled).enumerate() {
                put_back(merged, filled, live.and_then(|live| live.get(index)));
            }
        }
        // An empty value that the server takes for none.
        (merged, filled) if !filled.is_object() && !filled.is_array() && merged != filled => merged.clone_from(filled),
        _ => {}
    }
}

fn put_back_fields(merged: &mut Map<String, Value>, filled: &Map<String, Value>, live: Option<&Map<String, Value>>) {
    // What the server drops by itself is never there.
    merged.retain(|name, _| filled.contains_key(name));
    for (name, inner) in merged.iter_mut() {
        if let Some(filled) = filled.get(name) {
            put_back(inner, filled, live.and_then(|live| live.get(name)));
        }
    }
    for (name, own) in live.into_iter().flatten() {
        if filled.contains_key(name) && !merged.contains_key(name) {
            merged.insert(name.clone(), own.clone());
        }
    }
}
