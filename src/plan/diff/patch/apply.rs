//! Applying a patch.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{DELETE_PRIMITIVES, DEPTH, DIRECTIVE, PatchError, Place, RETAIN_KEYS, SET_ORDER, holds_objects, identity, key_of, positions};
use crate::plan::schema::Node;

/// Applies a patch to an object. Directives that find nothing to act on leave what Kubernetes leaves.
pub(in super::super) fn apply(
    object: &mut Map<String, Value>,
    patch: Map<String, Value>,
    node: Option<Node<'_>>,
) -> Result<(), PatchError> {
    merge_map(object, patch, node, DEPTH)
}

fn merge_map(
    original: &mut Map<String, Value>,
    mut patch: Map<String, Value>,
    node: Option<Node<'_>>,
    depth: usize,
) -> Result<(), PatchError> {
    if depth == 0 {
        return Err(PatchError::TooDeep);
    }
    match patch.get(DIRECTIVE).and_then(Value::as_str) {
        Some("replace") => {
            patch.remove(DIRECTIVE);
            *original = patch;
            return Ok(());
        }
        Some("delete") => {
            original.clear();
            return Ok(());
        }
        _ => {}
    }
    if let Some(Value::Array(kept)) = patch.remove(RETAIN_KEYS) {
        original.retain(|key, _| kept.iter().any(|name| name == key));
    }
    let orders: Vec<_> = patch.keys().filter(|key| key.starts_with(SET_ORDER)).cloned().collect();
    for order_key in orders {
        let (Some(Value::Array(order)), Some(field)) = (patch.remove(&order_key), order_key.strip_prefix(SET_ORDER)) else { continue };
        merge_ordered(original, &mut patch, field, &order, node, depth)?;
    }
    for (key, value) in patch {
        if let Some(field) = key.strip_prefix(DELETE_PRIMITIVES) {
            if let (Some(Value::Array(items)), Value::Array(deleted)) = (original.get_mut(field), &value) {
                items.retain(|item| !deleted.contains(item));
            }
            continue;
        }
        match (original.get_mut(&key), value) {
            (_, Value::Null) => {
                original.remove(&key);
            }
            (Some(Value::Object(old)), Value::Object(new)) => {
                let place = Place::of(node, &key);
                if place.replaces() {
                    *old = new;
                } else {
                    merge_map(old, new, place.node, depth - 1)?;
                }
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                let place = Place::of(node, &key);
                if place.merges() {
                    let order = new.clone();
                    merge_list(old, new, place, depth)?;
                    let before = old.clone();
                    reorder(old, &order, &before, place.merge_key())?;
                } else {
                    *old = new;
                }
            }
            (_, mut new) => {
                discard_nulls(&mut new);
                remove_directives(&mut new);
                original.insert(key, new);
            }
        }
    }
    Ok(())
}

/// Merges a list whose order the patch states.
fn merge_ordered(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    field: &str,
    order: &[Value],
    node: Option<Node<'_>>,
    depth: usize,
) -> Result<(), PatchError> {
    let place = Place::of(node, field);
    if let Some(Value::Array(deleted)) = patch.remove(&format!("{DELETE_PRIMITIVES}{field}"))
        && let Some(Value::Array(items)) = original.get_mut(field)
    {
        items.retain(|item| !deleted.contains(item));
    }
    let changes = match patch.remove(field) {
        Some(Value::Array(items)) => Some(items),
        Some(other) => {
            patch.insert(field.to_owned(), other);
            return Ok(());
        }
        None => None,
    };
    match (original.get_mut(field), changes) {
        (Some(Value::Array(items)), changes) => {
            let server_order = items.clone();
            if let Some(changes) = changes {
                merge_list(items, changes, place, depth)?;
            }
            reorder(items, order, &server_order, place.merge_key())
        }
        (_, Some(mut changes)) => {
            changes.retain(|item| item.get(DIRECTIVE).is_none());
            original.insert(field.to_owned(), Value::Array(changes));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn merge_list(original: &mut Vec<Value>, patch: Vec<Value>, place: Place<'_>, depth: usize) -> Result<(), PatchError> {
    if !holds_objects(original.iter().chain(&patch))? {
        let mut present: HashSet<String> = original.iter().map(|item| identity(item, None)).collect();
        original.extend(patch.into_iter().filter(|item| present.insert(identity(item, None))));
        return Ok(());
    }
    let Some(key) = place.merge_key() else { return Err(PatchError::MixedList) };
    let element = place.node.and_then(Node::element);
    let (deletions, changes): (Vec<_>, Vec<_>) =
        patch.into_iter().partition(|item| item.get(DIRECTIVE).is_some_and(|word| word == "delete"));
    let gone: HashSet<String> = deletions.iter().map(|item| identity(item, Some(key))).collect();
    original.retain(|item| !gone.contains(&identity(item, Some(key))));
    let mut places = positions(original, Some(key));
    for change in changes {
        key_of(&change, key)?;
        let own = identity(&change, Some(key));
        match (places.get(&own).and_then(|index| original.get_mut(*index)), change) {
            (Some(Value::Object(old)), Value::Object(new)) => merge_map(old, new, element, depth - 1)?,
            (_, change) => {
                places.insert(own, original.len());
                original.push(change);
            }
        }
    }
    Ok(())
}

/// Puts what the patch names in the patch's order and keeps the rest where the live order had it (`normalizeElementOrder`).
fn reorder(items: &mut Vec<Value>, order: &[Value], server_order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if let Some(key) = key {
        for item in items.iter() {
            key_of(item, key)?;
        }
    }
    let (order, server_order) = (positions(order, key), positions(server_order, key));
    let at = |places: &HashMap<String, usize>, item: &Value| places.get(&identity(item, key)).copied();
    let (mut named, mut server_only): (Vec<_>, Vec<_>) = std::mem::take(items).into_iter().partition(|item| at(&order, item).is_some());
    named.sort_by_cached_key(|item| at(&order, item));
    server_only.sort_by_cached_key(|item| at(&server_order, item).unwrap_or(usize::MAX));
    let (mut named, mut server_only) = (named.into_iter().peekable(), server_only.into_iter().peekable());
    loop {
        let left_first = match (server_only.peek(), named.peek()) {
            (Some(left), Some(right)) => match (at(&server_order, left), at(&server_order, right)) {
                (Some(left), Some(right)) => left < right,
                _ => false,
            },
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return Ok(()),
        };
        items.extend(if left_first { server_only.next() } else { named.next() });
    }
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, inner| !inner.is_null());
            map.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

fn remove_directives(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, inner| inner.get(DIRECTIVE).is_none());
            map.values_mut().for_each(remove_directives);
        }
        Value::Array(items) => {
            items.retain(|item| item.get(DIRECTIVE).is_none());
            items.iter_mut().for_each(remove_directives);
        }
        _ => {}
    }
}
