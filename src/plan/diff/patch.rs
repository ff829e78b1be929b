//! Strategic merge patches: takes two states and their type, hands on the patch between them, and applies one
//! (apimachinery `util/strategicpatch/patch.go`).

mod apply;
mod create;

use std::collections::HashMap;

use serde_json::Value;

pub(super) use apply::apply;
pub(super) use create::{Ignore, create};

use crate::plan::schema::{Node, PatchStrategy};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder/";
const DELETE_PRIMITIVES: &str = "$deleteFromPrimitiveList/";

/// Why two states have no strategic merge patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PatchError {
    /// A list that is merged by key has an element without it.
    #[error("an element of a list that is merged by {0} has no {0}")]
    NoMergeKey(String),
    /// A list mixes objects and plain values, or holds lists.
    #[error("a list that is merged has elements of different types")]
    MixedList,
    /// Deeper than anything a cluster accepts.
    #[error("the object is nested too deeply")]
    TooDeep,
}

/// Nesting limit.
const DEPTH: usize = 100;

/// The type and merge rules of what stands under a key.
#[derive(Clone, Copy)]
struct Place<'s> {
    node: Option<Node<'s>>,
    patch: Option<&'s PatchStrategy>,
}

impl<'s> Place<'s> {
    fn of(parent: Option<Node<'s>>, key: &str) -> Place<'s> {
        let Some(parent) = parent else { return Place { node: None, patch: None } };
        match parent.field(key) {
            Some((field, node)) => Place { node: Some(node), patch: Some(&field.patch) },
            // A value of a map has a type but no merge rules.
            None => Place { node: if parent.as_struct().is_none() { parent.element() } else { None }, patch: None },
        }
    }

    fn merges(self) -> bool {
        self.patch.is_some_and(|patch| patch.merge)
    }

    fn replaces(self) -> bool {
        self.patch.is_some_and(|patch| patch.replace)
    }

    fn retains_keys(self) -> bool {
        self.patch.is_some_and(|patch| patch.retain_keys)
    }

    fn merge_key(self) -> Option<&'s str> {
        self.patch.and_then(|patch| patch.key.as_deref())
    }
}

/// What Go's `%v` prints of a merge key or a primitive.
fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

fn key_of<'v>(item: &'v Value, key: &str) -> Result<&'v Value, PatchError> {
    item.as_object().ok_or(PatchError::MixedList)?.get(key).ok_or_else(|| PatchError::NoMergeKey(key.to_owned()))
}

/// Whether the elements are all objects (`true`) or all plain values.
fn holds_objects<'v>(mut items: impl Iterator<Item = &'v Value>) -> Result<bool, PatchError> {
    let Some(first) = items.next() else { return Ok(false) };
    if first.is_array() || items.any(|item| item.is_object() != first.is_object() || item.is_array()) {
        return Err(PatchError::MixedList);
    }
    Ok(first.is_object())
}

/// What tells list elements apart: the merge key, or the value itself, as JSON.
fn identity(item: &Value, key: Option<&str>) -> String {
    key.map_or(Some(item), |key| item.get(key)).map(Value::to_string).unwrap_or_default()
}

/// Where each element stands first.
fn positions(items: &[Value], key: Option<&str>) -> HashMap<String, usize> {
    items.iter().enumerate().rev().map(|(index, item)| (identity(item, key), index)).collect()
}

/// Sorts by the printed key. Equal ones come out in reverse, as Go's insertion sort leaves them under `<=`: so a Service port that stands
/// there for two protocols is matched as Argo CD matches it.
fn sorted_by_key<'v>(items: &'v [Value], key: &str) -> Result<Vec<(String, &'v Value)>, PatchError> {
    let mut sorted = items.iter().rev().map(|item| Ok((printed(key_of(item, key)?), item))).collect::<Result<Vec<_>, PatchError>>()?;
    sorted.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(sorted)
}
