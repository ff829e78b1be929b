//! The functions that expressions have besides CEL's own.
//!
//! | function | yields |
//! |---|---|
//! | `annotation(object, 'name')` | the annotation's value, or `''` |
//! | `label(object, 'name')` | the label's value, or `''` |
//! | `option(object, 'Prune')` | the value of `Prune=` in the object's sync options as Argo CD reads them, or `''` |
//! | `hasOption(object, 'Replace=true')` | whether the object's sync options hold exactly this entry |
//! | `field(object, '/spec/replicas')` | the value at a JSON pointer, or `null` |
//! | `items(value)` | the elements of a list; none of anything else |
//! | `keys(value)` | the keys of a map, sorted; none of anything else |
//! | `plural(3, 'object')` | `3 objects`, and `1 object` for one |
//!
//! All of them take `null` for an object.

use std::sync::Arc;

use cel::objects::{Key, Map};
use cel::{Context, DeclarationError, Value};

use crate::argocd::hook::list;
use crate::argocd::names::SYNC_OPTIONS;

/// Names of the functions.
pub(super) const NAMES: [&str; 8] = ["annotation", "label", "option", "hasOption", "field", "items", "keys", "plural"];

/// Adds the functions to a context.
pub(super) fn add(context: &mut Context<'_, '_>) -> Result<(), DeclarationError> {
    context.add_function("annotation", |object: Value, name: Arc<String>| metadata(&object, "annotations", &name))?;
    context.add_function("label", |object: Value, name: Arc<String>| metadata(&object, "labels", &name))?;
    context.add_function("option", |object: Value, key: Arc<String>| {
        let options = sync_options(&object);
        let value = list(Some(&options)).find_map(|entry| entry.strip_prefix(key.as_str())?.strip_prefix('=')).unwrap_or_default();
        Arc::new(value.to_owned())
    })?;
    context.add_function("hasOption", |object: Value, entry: Arc<String>| {
        list(Some(&sync_options(&object))).any(|one| one == entry.as_str())
    })?;
    context.add_function("field", |object: Value, pointer: Arc<String>| field(&object, &pointer))?;
    context.add_function("items", |value: Value| match value {
        Value::List(items) => items,
        _ => Arc::default(),
    })?;
    context.add_function("keys", |value: Value| Arc::new(keys(&value)))?;
    context.add_function("plural", |count: i64, noun: Arc<String>| {
        Arc::new(crate::rules::facts::plural(usize::try_from(count).unwrap_or(0), &noun))
    })?;
    Ok(())
}

fn keys(value: &Value) -> Vec<Value> {
    let Value::Map(Map { map }) = value else { return Vec::new() };
    let mut names: Vec<Arc<String>> = map
        .keys()
        .filter_map(|key| match key {
            Key::String(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    names.sort();
    names.into_iter().map(Value::String).collect()
}

fn sync_options(object: &Value) -> Arc<String> {
    metadata(object, "annotations", SYNC_OPTIONS)
}

fn metadata(object: &Value, map: &str, name: &str) -> Arc<String> {
    match member(object, "metadata").and_then(|metadata| member(metadata, map)).and_then(|entries| member(entries, name)) {
        Some(Value::String(text)) => text.clone(),
        _ => Arc::default(),
    }
}

fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Map(Map { map }) => map.get(&Key::from(name.to_owned())),
        _ => None,
    }
}

fn field(object: &Value, pointer: &str) -> Value {
    let mut value = object;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let next = match value {
            Value::List(items) => token.parse::<usize>().ok().and_then(|index| items.get(index)),
            other => member(other, &token),
        };
        match next {
            Some(next) => value = next,
            None => return Value::Null,
        }
    }
    value.clone()
}
