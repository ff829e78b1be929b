//! What stands in `metadata`: takes an object, hands on single fields, and labels or annotations that are no text.

use serde_json::Value;

use super::pointer::escape;

/// A string field of `metadata`, if it is there and a string.
pub fn metadata_str<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get("metadata")?.get(field)?.as_str()
}

/// The value of an annotation, if it is there and a string.
pub fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

/// The value of a label, if it is there and a string.
pub fn label<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(name)?.as_str()
}

/// Labels or annotations that are no map of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonString<'a> {
    /// `labels` or `annotations`.
    pub field: &'static str,
    /// The label or annotation; `None` where the field itself is no map.
    pub name: Option<&'a str>,
    /// What stands there, with its article.
    pub found: &'static str,
}

impl NonString<'_> {
    /// JSON pointer of what is wrong.
    pub fn pointer(&self) -> String {
        match self.name {
            Some(name) => format!("/metadata/{}/{}", self.field, escape(name)),
            None => format!("/metadata/{}", self.field),
        }
    }
}

/// The first annotation or label of the object itself that is no string. One of them fails manifest generation for the whole Application;
/// a null map passes, a null value does not.
///
/// Source: Argo CD `util/kube/kube.go:nestedNullableStringMap`.
pub fn non_string(object: &Value) -> Option<NonString<'_>> {
    ["annotations", "labels"].into_iter().find_map(|field| match object.get("metadata")?.get(field)? {
        Value::Null => None,
        Value::Object(entries) => {
            let (name, value) = entries.iter().find(|(_, value)| !value.is_string())?;
            Some(NonString { field, name: Some(name), found: named_kind(value) })
        }
        other => Some(NonString { field, name: None, found: named_kind(other) }),
    })
}

fn named_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_that_fails_manifest_generation_is_found() {
        let found = |metadata: Value| {
            let object = json!({ "metadata": metadata });
            non_string(&object).map(|wrong| (wrong.pointer(), wrong.found))
        };
        for (metadata, expected) in [
            (json!({"labels": {"a": "b", "c": 5}}), Some(("/metadata/labels/c", "a number"))),
            (json!({"annotations": {"d/e": true, "g": "true"}}), Some(("/metadata/annotations/d~1e", "a boolean"))),
            (json!({"annotations": {"f": null}, "labels": {"a": 1}}), Some(("/metadata/annotations/f", "null"))),
            (json!({"labels": ["a"]}), Some(("/metadata/labels", "a list"))),
            (json!({"labels": null, "annotations": {}}), None),
        ] {
            assert_eq!(found(metadata.clone()), expected.map(|(pointer, kind)| (pointer.to_owned(), kind)), "{metadata}");
        }
    }
}
