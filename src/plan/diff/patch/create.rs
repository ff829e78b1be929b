//! The patch from one state to another.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    DELETE_PRIMITIVES, DEPTH, DIRECTIVE, PatchError, Place, RETAIN_KEYS, SET_ORDER, holds_objects, identity, key_of, positions, printed,
    sorted_by_key,
};
use crate::plan::schema::Node;

/// Which half of a difference is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Ignore {
    /// Only what is added or changed.
    Deletions,
    /// Only what is removed.
    ChangesAndAdditions,
}

/// The patch that leads from `original` to `modified`; empty if nothing is to be done.
pub(in super::super) fn create(
    original: &Map<String, Value>,
    modified: &Map<String, Value>,
    node: Option<Node<'_>>,
    ignore: Ignore,
) -> Result<Map<String, Value>, PatchError> {
    diff_maps(original, modified, node, ignore, false, DEPTH)
}

fn diff_maps(
    original: &Map<String, Value>,
    modified: &Map<String, Value>,
    node: Option<Node<'_>>,
    ignore: Ignore,
    retain_keys: bool,
    depth: usize,
) -> Result<Map<String, Value>, PatchError> {
    if depth == 0 {
        return Err(PatchError::TooDeep);
    }
    let mut patch = Map::new();
    for (key, new) in modified {
        match (original.get(key), new) {
            (Some(Value::Object(old)), Value::Object(new_map)) => {
                let place = Place::of(node, key);
                if place.replaces() {
                    if ignore == Ignore::Deletions {
                        patch.insert(key.clone(), new.clone());
                    }
                    continue;
                }
                let inner = diff_maps(old, new_map, place.node, ignore, place.retains_keys(), depth - 1)?;
                if !inner.is_empty() {
                    patch.insert(key.clone(), Value::Object(inner));
                }
            }
            (Some(Value::Array(old)), Value::Array(new_list)) if Place::of(node, key).merges() => {
                diff_lists(key, old, new_list, Place::of(node, key), ignore, depth, &mut patch)?;
            }
            (Some(old), new) if old == new => {}
            _ if ignore == Ignore::Deletions => {
                patch.insert(key.clone(), new.clone());
            }
            _ => {}
        }
    }
    if ignore == Ignore::ChangesAndAdditions {
        for key in original.keys().filter(|key| !modified.contains_key(*key)) {
            patch.insert(key.clone(), Value::Null);
        }
    }
    if retain_keys {
        let kept: Vec<_> = modified.iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| key.clone()).collect();
        let clears = original.keys().any(|key| !modified.contains_key(key));
        if !kept.is_empty() && (!patch.is_empty() || clears) {
            patch.insert(RETAIN_KEYS.to_owned(), json!(kept));
        }
    }
    Ok(patch)
}

fn diff_lists(
    field: &str,
    original: &[Value],
    modified: &[Value],
    place: Place<'_>,
    ignore: Ignore,
    depth: usize,
    patch: &mut Map<String, Value>,
) -> Result<(), PatchError> {
    if original.is_empty() {
        if !modified.is_empty() && ignore == Ignore::Deletions {
            patch.insert(field.to_owned(), Value::Array(modified.to_vec()));
        }
        return Ok(());
    }
    if !holds_objects(original.iter().chain(modified))? {
        diff_primitives(field, original, modified, ignore, patch);
        return Ok(());
    }
    let Some(key) = place.merge_key() else { return Err(PatchError::MixedList) };
    let (mut changes, deletions) = diff_objects(original, modified, place, key, ignore, depth)?;
    sort_like(&mut changes, modified, key);
    let same_order = original.len() == modified.len() && {
        let mut same = true;
        for (old, new) in original.iter().zip(modified) {
            same &= key_of(old, key)? == key_of(new, key)?;
        }
        same
    };
    changes.extend(deletions);
    let order_matters = match ignore {
        Ignore::Deletions => !changes.is_empty() || !same_order,
        Ignore::ChangesAndAdditions => !changes.is_empty(),
    };
    if order_matters {
        let order = modified.iter().map(|item| Ok(json!({key: key_of(item, key)?}))).collect::<Result<Vec<_>, PatchError>>()?;
        if !order.is_empty() {
            patch.insert(format!("{SET_ORDER}{field}"), Value::Array(order));
        }
    }
    if !changes.is_empty() {
        patch.insert(field.to_owned(), Value::Array(changes));
    }
    Ok(())
}

fn diff_objects(
    original: &[Value],
    modified: &[Value],
    place: Place<'_>,
    key: &str,
    ignore: Ignore,
    depth: usize,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let (mut changes, mut deletions) = (Vec::new(), Vec::new());
    let element = place.node.and_then(Node::element);
    let (old, new) = (sorted_by_key(original, key)?, sorted_by_key(modified, key)?);
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    loop {
        // Both lists are sorted by key, so the smaller key of the two is missing in the other list.
        let order = match (old.peek(), new.peek()) {
            (Some((old_key, _)), Some((new_key, _))) => old_key.cmp(new_key),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return Ok((changes, deletions)),
        };
        match order {
            std::cmp::Ordering::Less => {
                if let (Some((_, item)), Ignore::ChangesAndAdditions) = (old.next(), ignore) {
                    deletions.push(json!({DIRECTIVE: "delete", key: key_of(item, key)?}));
                }
            }
            std::cmp::Ordering::Greater => {
                if let (Some((_, item)), Ignore::Deletions) = (new.next(), ignore) {
                    changes.push(item.clone());
                }
            }
            std::cmp::Ordering::Equal => {
                if let (Some((_, Value::Object(old))), Some((_, Value::Object(new)))) = (old.next(), new.next()) {
                    let mut inner = diff_maps(old, new, element, ignore, place.retains_keys(), depth - 1)?;
                    if !inner.is_empty() {
                        inner.insert(key.to_owned(), new.get(key).cloned().unwrap_or_default());
                        changes.push(Value::Object(inner));
                    }
                }
            }
        }
    }
}

fn sort_like(changes: &mut [Value], order: &[Value], key: &str) {
    let places = positions(order, Some(key));
    changes.sort_by_cached_key(|item| places.get(&identity(item, Some(key))).copied().unwrap_or(usize::MAX));
}

fn diff_primitives(field: &str, original: &[Value], modified: &[Value], ignore: Ignore, patch: &mut Map<String, Value>) {
    let order = (format!("{SET_ORDER}{field}"), Value::Array(modified.to_vec()));
    match ignore {
        Ignore::Deletions => {
            let mut present: HashMap<String, usize> = HashMap::new();
            for item in original {
                *present.entry(printed(item)).or_default() += 1;
            }
            let is_new = |item: &&Value| match present.get_mut(&printed(item)) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            };
            let added: Vec<_> = modified.iter().filter(is_new).cloned().collect();
            if !added.is_empty() {
                patch.insert(field.to_owned(), Value::Array(added));
            }
            if original != modified {
                patch.extend([order]);
            }
        }
        Ignore::ChangesAndAdditions => {
            let kept: HashSet<String> = modified.iter().map(printed).collect();
            let mut seen = HashSet::new();
            let gone = |item: &&Value| !kept.contains(&printed(item)) && seen.insert(printed(item));
            let deleted: Vec<_> = original.iter().filter(gone).cloned().collect();
            if !deleted.is_empty() {
                patch.insert(format!("{DELETE_PRIMITIVES}{field}"), Value::Array(deleted));
                patch.extend([order]);
            }
        }
    }
}
