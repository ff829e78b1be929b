//! The defaults of Kubernetes' own scheme: takes an object of a built-in kind, fills in what the API server would, as far as the scheme's
//! defaulting functions go (`pkg/apis/*/v1/defaults.go`; defaults from markers come out of the type table).

mod core;
mod kinds;

use serde_json::{Map, Value, json};

use crate::argocd::go::is_zero;
use crate::plan::schema::{Node, Shape};

/// Nesting limit.
const DEPTH: usize = 100;

/// Fills in the defaults. Where a `retainKeys` field is missing altogether, the patch that adds its default leaves its directive behind,
/// which Argo CD then shows as a difference.
pub(super) fn apply(node: Node<'_>, object: &mut Value) {
    leave_retain_keys(node, object);
    walk(node, object, DEPTH);
}

fn walk(node: Node<'_>, value: &mut Value, depth: usize) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Array(items) => {
            if let Some(element) = node.element() {
                items.iter_mut().for_each(|item| walk(element, item, depth - 1));
            }
        }
        Value::Object(map) => match node.as_struct() {
            Some(own) => {
                kinds::apply(&own.name, map);
                for default in &own.defaults {
                    if default.pointer {
                        set_missing(map, &default.field, default.value.clone());
                    } else if !is_zero(&default.value) {
                        set_zero(map, &default.field, default.value.clone());
                    }
                }
                for (name, inner) in map.iter_mut() {
                    if let Some((_, inner_node)) = node.field(name) {
                        walk(inner_node, inner, depth - 1);
                    }
                }
                core::apply_after_children(&own.name, map);
            }
            None => {
                if let (Shape::Map(_), Some(element)) = (node.shape(), node.element()) {
                    map.values_mut().for_each(|inner| walk(element, inner, depth - 1));
                }
            }
        },
        _ => {}
    }
}

/// A Deployment without `strategy` gets it as a patch with `$retainKeys`, and nothing takes the directive out again.
fn leave_retain_keys(node: Node<'_>, object: &mut Value) {
    let Some((_, spec_node)) = node.field("spec") else { return };
    let Some(own) = spec_node.as_struct() else { return };
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if own.name == "apps/v1.DeploymentSpec" && !spec.contains_key("strategy") {
        spec.insert("strategy".to_owned(), json!({"$retainKeys": ["rollingUpdate", "type"]}));
    }
}

/// Sets a field that is absent or `null`.
fn set_missing(map: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    if map.get(field).is_none_or(Value::is_null) {
        map.insert(field.to_owned(), value.into());
    }
}

/// Sets a field that is absent, `null`, empty text or zero: one that is no pointer in Go.
fn set_zero(map: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    if map.get(field).is_none_or(is_zero) {
        map.insert(field.to_owned(), value.into());
    }
}

/// The object under a field, made if it is absent.
fn object_at<'m>(map: &'m mut Map<String, Value>, field: &str) -> Option<&'m mut Map<String, Value>> {
    set_missing(map, field, json!({}));
    map.get_mut(field)?.as_object_mut()
}

fn text_at<'m>(map: &'m Map<String, Value>, field: &str) -> &'m str {
    map.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The objects of a list field.
fn objects_at<'m>(map: &'m mut Map<String, Value>, field: &str) -> impl Iterator<Item = &'m mut Map<String, Value>> {
    map.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}
