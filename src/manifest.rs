//! Kubernetes objects as text: read YAML and JSON the way Kubernetes does, say what an object is called and where it stands.
//!
//! Takes text; hands on [`Manifest`]s (object and [`Origin`]), [`ResourceKey`]s and, on demand, spans.

pub mod base64;
pub mod key;
pub mod origin;
pub mod pointer;
pub mod reader;
pub mod span;

pub use key::ResourceKey;
pub use origin::{Manifest, Origin, Side};
pub use pointer::Pointer;

use serde_json::Value;

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
