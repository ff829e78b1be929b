//! Where an object does not fit its type: takes a type and an object, hands on unknown fields, wrongly typed values and missing fields.

use serde_json::{Map, Value};

use super::{Node, Shape, quantity};
use crate::manifest::pointer::escape;

/// A value of the wrong type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeError {
    /// JSON pointer.
    pub pointer: String,
    /// What must stand there, in words.
    pub expected: &'static str,
}

/// Fields that an object must have and does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingFields {
    /// JSON pointer of what should hold them.
    pub pointer: String,
    /// Their names.
    pub fields: Vec<String>,
}

/// Nothing a person writes is nested deeper; what is deeper is not looked at.
const DEPTH: usize = 64;

pub(super) fn unknown_fields(node: Node<'_>, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(node, object, &mut String::new(), DEPTH, &mut |problem| {
        if let Problem::Unknown(pointer) = problem {
            found.push(pointer);
        }
    });
    found
}

pub(super) fn type_errors(node: Node<'_>, object: &Value) -> Vec<TypeError> {
    let mut found = Vec::new();
    walk(node, object, &mut String::new(), DEPTH, &mut |problem| {
        if let Problem::Type(error) = problem {
            found.push(error);
        }
    });
    found
}

pub(super) fn missing_fields(node: Node<'_>, object: &Value) -> Vec<MissingFields> {
    let mut found = Vec::new();
    walk(node, object, &mut String::new(), DEPTH, &mut |problem| {
        if let Problem::Missing(missing) = problem {
            found.push(missing);
        }
    });
    found
}

enum Problem {
    Missing(MissingFields),
    Unknown(String),
    Type(TypeError),
}

fn walk(node: Node<'_>, value: &Value, pointer: &mut String, depth: usize, report: &mut dyn FnMut(Problem)) {
    if depth == 0 || value.is_null() {
        return;
    }
    let mut wrong = |expected| report(Problem::Type(TypeError { pointer: pointer.clone(), expected }));
    match node.shape() {
        Shape::Any => {}
        Shape::String | Shape::Time | Shape::Bytes if !value.is_string() => wrong("a string"),
        Shape::Integer if !is_integer(value) => wrong("an integer"),
        Shape::Boolean if !value.is_boolean() => wrong("a boolean"),
        Shape::Number if !value.is_number() => wrong("a number"),
        Shape::IntOrString if !value.is_string() && !is_integer(value) => wrong("an integer or a string"),
        Shape::Quantity if quantity::canonical(value).is_none() => wrong("a quantity"),
        Shape::Struct(_) => match value {
            Value::Object(map) => fields(node, map, pointer, depth, report),
            _ => wrong("an object"),
        },
        Shape::Map(_) => match (value, node.element()) {
            (Value::Object(map), Some(element)) => {
                for (key, inner) in map {
                    within(pointer, key, |pointer| walk(element, inner, pointer, depth - 1, report));
                }
            }
            _ => wrong("an object"),
        },
        Shape::List(_) => match (value, node.element()) {
            (Value::Array(items), Some(element)) => {
                for (index, inner) in items.iter().enumerate() {
                    within(pointer, &index.to_string(), |pointer| walk(element, inner, pointer, depth - 1, report));
                }
            }
            _ => wrong("a list"),
        },
        _ => {}
    }
}

fn fields(node: Node<'_>, map: &Map<String, Value>, pointer: &mut String, depth: usize, report: &mut dyn FnMut(Problem)) {
    let open = node.as_struct().is_some_and(|own| own.open);
    let required = node.as_struct().map(|own| own.required.as_slice()).unwrap_or_default();
    // A null is dropped before the API server asks what is there.
    // With a directive of a strategic merge patch it is no value by itself.
    let is_value = !map.contains_key("$patch");
    let missing: Vec<String> = required.iter().filter(|name| is_value && map.get(*name).is_none_or(Value::is_null)).cloned().collect();
    if !missing.is_empty() {
        report(Problem::Missing(MissingFields { pointer: pointer.clone(), fields: missing }));
    }
    for (key, inner) in map {
        within(pointer, key, |pointer| match node.field(key) {
            Some((_, field)) => walk(field, inner, pointer, depth - 1, report),
            None if open => {}
            None => report(Problem::Unknown(pointer.clone())),
        });
    }
}

fn within(pointer: &mut String, token: &str, act: impl FnOnce(&mut String)) {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(&escape(token));
    act(pointer);
    pointer.truncate(length);
}

/// A whole number, also one that YAML wrote as `1.0`.
pub(super) fn is_integer(value: &Value) -> bool {
    value.as_i64().is_some()
        || value.as_u64().is_some()
        || value.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() < 9.0e15)
}

#[cfg(test)]
mod tests {
    use super::super::Schemas;
    use serde_json::json;

    #[test]
    fn unknown_and_wrongly_typed_fields_are_named_by_pointer() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "annotations": {"a/b": "c"}},
            "spec": {"replicas": "two", "replicaz": 2, "template": {"spec": {"containers": [{"name": "a", "imag": "x",
                "resources": {"limits": {"cpu": 0.5, "memory": "1 GB"}}, "ports": [{"containerPort": "80"}]}]}}}});
        let schemas = Schemas::builtin();
        assert_eq!(schemas.unknown_fields(&object), ["/spec/replicaz", "/spec/template/spec/containers/0/imag"]);
        let pointers: Vec<_> = schemas.type_errors(&object).into_iter().map(|error| error.pointer).collect();
        assert_eq!(
            pointers,
            [
                "/spec/replicas",
                "/spec/template/spec/containers/0/ports/0/containerPort",
                "/spec/template/spec/containers/0/resources/limits/memory",
            ]
        );
    }
}
