//! JSON as CEL values. Whole numbers become `int` wherever they fit, so that arithmetic with literals works.

use std::collections::HashMap;
use std::sync::Arc;

use cel::Value;
use cel::objects::{Key, Map};
use serde_json::Value as Json;

/// A CEL value of the same content. Recursion is bounded by the depth that the readers of manifests accept.
pub(in crate::rules) fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), _, _) => Value::Int(value),
            (None, Some(value), _) => Value::UInt(value),
            (None, None, value) => Value::Float(value.unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(Arc::new(text.clone())),
        Json::Array(items) => Value::List(Arc::new(items.iter().map(from_json).collect())),
        Json::Object(fields) => map(fields.iter().map(|(name, value)| (name.clone(), from_json(value)))),
    }
}

/// A CEL map with text keys.
pub(super) fn map(entries: impl IntoIterator<Item = (String, Value)>) -> Value {
    let entries: HashMap<Key, Value> = entries.into_iter().map(|(name, value)| (Key::from(name), value)).collect();
    Value::Map(Map { map: Arc::new(entries) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn positive_whole_numbers_are_int_and_not_uint() {
        assert_eq!(from_json(&json!(3)), Value::Int(3));
        assert_eq!(from_json(&json!(-3)), Value::Int(-3));
        assert_eq!(from_json(&json!(u64::MAX)), Value::UInt(u64::MAX));
        assert_eq!(from_json(&json!(1.5)), Value::Float(1.5));
    }
}
