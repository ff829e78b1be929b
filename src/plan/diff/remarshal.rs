//! An object as Go would write it after reading it into its type: takes a built-in object, hands on the same with canonical
//! quantities and without empty values. An object that does not fit its type stays as it is (GE `diff/diff.go:remarshal`).

use serde_json::{Map, Number, Value};

use crate::manifest::base64;
use crate::plan::schema::{Field, Node, Shape, quantity};

/// Nothing that a cluster accepts is nested deeper; what is deeper stays as it is.
const DEPTH: usize = 100;

/// Whole numbers that were written as `1.0` become `1`, in any object.
pub(super) fn unify_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < 9.0e15) {
                #[allow(clippy::cast_possible_truncation, reason = "whole and small, checked above")]
                let whole = float as i64;
                *number = Number::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unify_numbers),
        Value::Object(map) => map.values_mut().for_each(unify_numbers),
        _ => {}
    }
}

/// Rewrites an object of a built-in kind. Nothing happens if it has an unknown field or a value of the wrong type.
pub(super) fn remarshal(node: Node<'_>, object: &mut Value) {
    if decodable(node, object, DEPTH) {
        rewrite(node, object, DEPTH);
    }
}

/// Rewrites a value whose unknown fields are dropped instead (`util/argo/normalizers/knowntypes_normalizer.go:remarshal`).
pub(super) fn remarshal_known_type(node: Node<'_>, value: &mut Value) {
    let mut copy = value.clone();
    rewrite(node, &mut copy, DEPTH);
    if decodable(node, &copy, DEPTH) {
        *value = copy;
    }
}

/// Whether Go reads the value into the type, unknown fields forbidden.
pub(super) fn decodable(node: Node<'_>, value: &Value, depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    if value.is_null() {
        return true;
    }
    match (node.shape(), value) {
        (Shape::Any, _) => true,
        (Shape::String, Value::String(_)) | (Shape::Boolean, Value::Bool(_)) | (Shape::Number, Value::Number(_)) => true,
        (Shape::Time, Value::String(text)) => text.parse::<jiff::Timestamp>().is_ok(),
        (Shape::Bytes, Value::String(text)) => base64::decode(text).is_some(),
        (Shape::Integer, Value::Number(number)) => number.is_i64() || number.is_u64(),
        (Shape::IntOrString, Value::String(_)) => true,
        (Shape::IntOrString, Value::Number(number)) => number.is_i64(),
        (Shape::Quantity, _) => quantity::canonical(value).is_some(),
        (Shape::List(_), Value::Array(items)) => match node.element() {
            Some(element) => items.iter().all(|item| decodable(element, item, depth - 1)),
            None => false,
        },
        (Shape::Map(_), Value::Object(map)) => match node.element() {
            Some(element) => map.values().all(|item| decodable(element, item, depth - 1)),
            None => false,
        },
        (Shape::Struct(_), Value::Object(map)) => map.iter().all(|(key, item)| match node.field(key) {
            Some((_, field)) => decodable(field, item, depth - 1),
            None => node.as_struct().is_some_and(|own| own.open || has_field_in_other_case(own.fields.keys(), key)),
        }),
        _ => false,
    }
}

/// Go's decoder takes a field name in any case; what it then writes stands under the right name, which the original lacks.
fn has_field_in_other_case<'k>(mut names: impl Iterator<Item = &'k String>, key: &str) -> bool {
    names.any(|name| name.eq_ignore_ascii_case(key))
}

fn rewrite(node: Node<'_>, value: &mut Value, depth: usize) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Object(map) => match node.shape() {
            Shape::Struct(_) => rewrite_struct(node, map, depth),
            Shape::Map(_) => {
                let Some(element) = node.element() else { return };
                for inner in map.values_mut() {
                    rewrite_element(element, inner, depth);
                }
            }
            _ => {}
        },
        Value::Array(items) => {
            let Some(element) = node.element() else { return };
            for item in items {
                rewrite_element(element, item, depth);
            }
        }
        Value::String(text) => match node.shape() {
            Shape::Bytes => {
                if let Some(bytes) = base64::decode(text) {
                    *text = base64::encode(&bytes);
                }
            }
            Shape::Quantity => rewrite_quantity(value),
            _ => {}
        },
        Value::Number(_) if *node.shape() == Shape::Quantity => rewrite_quantity(value),
        _ => {}
    }
}

fn rewrite_quantity(value: &mut Value) {
    let canonical = quantity::canonical(value).map(|text| text.into_owned());
    if let Some(text) = canonical {
        *value = Value::String(text);
    }
}

fn rewrite_element(element: Node<'_>, value: &mut Value, depth: usize) {
    if value.is_null() {
        *value = zero(element.shape());
    } else {
        rewrite(element, value, depth - 1);
    }
}

fn rewrite_struct(node: Node<'_>, map: &mut Map<String, Value>, depth: usize) {
    let open = node.as_struct().is_some_and(|own| own.open);
    map.retain(|key, value| {
        let Some((field, inner)) = node.field(key) else { return open };
        if value.is_null() && !field.pointer && !field.omit_empty {
            *value = zero(&field.shape);
        }
        rewrite(inner, value, depth - 1);
        !(field.omit_empty && is_empty(field, value))
    });
}

/// What `null` becomes where Go has no pointer.
fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::String => Value::String(String::new()),
        Shape::Integer | Shape::IntOrString => Value::from(0),
        Shape::Boolean => Value::Bool(false),
        Shape::Quantity => Value::String("0".to_owned()),
        Shape::Struct(_) => Value::Object(Map::new()),
        _ => Value::Null,
    }
}

fn is_empty(field: &Field, value: &Value) -> bool {
    match value {
        Value::Null => !matches!(field.shape, Shape::Struct(_)) || field.pointer,
        _ if field.pointer => false,
        Value::Bool(flag) => !flag && field.shape == Shape::Boolean,
        Value::Number(number) => field.shape == Shape::Integer && number.as_i64() == Some(0),
        Value::String(text) => text.is_empty() && matches!(field.shape, Shape::String | Shape::Bytes),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty() && matches!(field.shape, Shape::Map(_)),
    }
}

#[cfg(test)]
mod tests {
    use super::remarshal;
    use crate::plan::schema::Schemas;
    use serde_json::{Value, json};

    fn after(mut object: Value) -> Value {
        let node = Schemas::builtin().scheme_type(&object).expect("built in");
        remarshal(node, &mut object);
        object
    }

    #[test]
    fn s9_58_an_empty_list_of_pull_secrets_is_dropped() {
        let object = json!({"apiVersion": "v1", "kind": "ServiceAccount", "imagePullSecrets": [], "metadata": {"name": "a", "labels": {}}});
        assert_eq!(after(object), json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}));
    }

    #[test]
    fn quantities_become_canonical_and_pointers_keep_zero() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 0, "minReadySeconds": 0, "paused": false,
            "template": {"spec": {"containers": [{"name": "a", "image": "", "resources": {"limits": {"cpu": 0.2, "memory": "1024Mi"}}}]}}}});
        let expected = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 0,
            "template": {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "200m", "memory": "1Gi"}}}]}}}});
        assert_eq!(after(object), expected);
    }

    #[test]
    fn an_unknown_field_or_a_wrong_type_leaves_the_object_alone() {
        for spec in [json!({"replicaz": 1, "minReadySeconds": 0}), json!({"replicas": "two", "minReadySeconds": 0})] {
            let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec});
            assert_eq!(after(object.clone()), object);
        }
    }

    #[test]
    fn base64_with_line_breaks_is_written_without() {
        let object = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "YWJj\n"}});
        assert_eq!(after(object), json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "YWJj"}}));
    }
}
