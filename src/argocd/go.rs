//! How Go reads and compares the fields of Argo CD's types.
//!
//! Takes values; hands on what they are to the controllers.

pub(crate) mod path;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads `null` as a field that is not there.
///
/// Source: Go `encoding/json.Unmarshal`.
pub(crate) fn null_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Whether a value is what Go takes a field without a value for: the fields of a map count as they stand.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(on) => !on,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
