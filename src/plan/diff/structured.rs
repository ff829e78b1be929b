//! Structured merge: takes a target and a live object with managedFields, hands on what server-side apply by Argo CD would make of it
//! (structured-merge-diff `merge/update.go:Apply`, `typed/merge.go`).

mod prune;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::field_set::{FieldSet, field_sets};
use crate::plan::schema::{Field, ListMerge, Node};

/// The field manager of Argo CD's applies.
pub(super) const MANAGER: &str = "argocd-controller";

/// Why the comparison fails; Argo CD shows it as a ComparisonError.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StructuredError {
    /// The kind's schema does not have the field.
    #[error("field not declared in schema: {0}")]
    UnknownField(String),
    /// The value does not have the field's type.
    #[error("{pointer} must be {expected}")]
    WrongType {
        /// JSON pointer.
        pointer: String,
        /// What must stand there.
        expected: &'static str,
    },
    /// A list that is merged by key holds a key twice.
    #[error("duplicate entries for key {0}")]
    Duplicate(String),
}

/// How a place is merged.
#[derive(Clone, Copy)]
pub(super) struct Merge<'s> {
    node: Option<Node<'s>>,
    field: Option<&'s Field>,
}

impl<'s> Merge<'s> {
    /// A whole object. Without a type, maps are merged and lists are taken whole.
    pub(super) fn root(node: Option<Node<'s>>) -> Merge<'s> {
        Merge { node, field: None }
    }

    /// What stands under a key.
    pub(super) fn field(self, key: &str) -> Merge<'s> {
        let Some(node) = self.node else { return Merge::root(None) };
        match node.field(key) {
            Some((field, node)) => Merge { node: Some(node), field: Some(field) },
            None => Merge::root(if node.as_struct().is_none() { node.element() } else { None }),
        }
    }

    /// What the elements are.
    pub(super) fn element(self) -> Merge<'s> {
        Merge::root(self.node.and_then(Node::element))
    }

    fn atomic_map(self) -> bool {
        self.field.is_some_and(|field| field.atomic) || self.node.and_then(Node::as_struct).is_some_and(|own| own.atomic)
    }

    fn list(self) -> &'s ListMerge {
        self.field.map_or(&ListMerge::Atomic, |field| &field.list)
    }

    /// A field that the schema names: it counts as owned by who owns something below it.
    fn names(self, key: &str) -> bool {
        self.node.is_some_and(|node| node.field(key).is_some())
    }
}

/// The path of a list element in a field set; `None` in a list that is taken whole, or without its keys.
pub(super) fn item_path(item: &Value, list: Merge<'_>) -> Option<String> {
    match list.list() {
        ListMerge::Atomic => None,
        ListMerge::Set => Some(format!("v:{item}")),
        ListMerge::Map(names) => {
            let element = list.element();
            let mut keys = Map::new();
            for name in names {
                let default = || element.node.and_then(|node| node.field(name)).and_then(|(field, _)| field.default.as_ref());
                if let Some(value) = item.get(name).or_else(default) {
                    keys.insert(name.clone(), value.clone());
                }
            }
            (!keys.is_empty()).then(|| format!("k:{}", Value::Object(keys)))
        }
    }
}

/// What the live object becomes, or `None` if nothing changes. `live` is normalised, `managed` is the live object with its managedFields.
pub(super) fn predict(target: &Value, live: &Value, managed: &Value, node: Option<Node<'_>>) -> Result<Option<Value>, StructuredError> {
    let root = Merge::root(node);
    check_duplicates(target, root)?;
    let mut merged = merge(Some(live), target, root);
    let mut last = FieldSet::default();
    let mut others = Vec::new();
    for entry in field_sets(managed) {
        if entry.manager == MANAGER && entry.operation == "Apply" && entry.subresource.is_empty() {
            last = entry.fields;
        } else {
            others.push(entry.fields);
        }
    }
    let mut own = FieldSet::default();
    collect(target, root, &mut own);
    let mut owners: Vec<&FieldSet> = others.iter().collect();
    owners.push(&own);
    prune::prune(&mut merged, &last, &owners, root);
    Ok((merged != *live).then_some(merged))
}

/// Whether a previous apply owns nothing that the target lacks.
pub(super) fn owns_nothing_more(target: &Value, managed: &Value, node: Option<Node<'_>>) -> bool {
    let entries = managed.pointer("/metadata/managedFields").and_then(Value::as_array);
    let own = entries.into_iter().flatten().filter(|entry| {
        entry.get("manager").is_some_and(|name| name == MANAGER)
            && entry.get("operation").is_some_and(|word| word == "Apply")
            && entry.get("subresource").is_none_or(|name| name == "")
    });
    own.filter_map(|entry| entry.get("fieldsV1").and_then(Value::as_object)).all(|fields| covers(fields, target, Merge::root(node)))
}

fn covers(fields: &Map<String, Value>, target: &Value, merge: Merge<'_>) -> bool {
    fields.iter().all(|(name, inner)| {
        let Some(inner) = inner.as_object() else { return true };
        match name.split_once(':') {
            Some(("f", key)) => target.get(key).is_some_and(|value| covers(inner, value, merge.field(key))),
            Some((form @ ("k" | "v"), text)) => {
                let (Some(items), Ok(path)) = (target.as_array(), serde_json::from_str::<Value>(text)) else { return false };
                let found = items.iter().find(|item| match (form, &path) {
                    ("k", Value::Object(keys)) => keys.iter().all(|(key, own)| item.get(key) == Some(own)),
                    _ => **item == path,
                });
                found.is_some_and(|item| covers(inner, item, merge.element()))
            }
            _ => true,
        }
    })
}

fn check_duplicates(value: &Value, merge: Merge<'_>) -> Result<(), StructuredError> {
    match value {
        Value::Object(map) if !merge.atomic_map() => map.iter().try_for_each(|(key, inner)| check_duplicates(inner, merge.field(key))),
        Value::Array(items) if *merge.list() != ListMerge::Atomic => {
            let mut seen = HashSet::new();
            for item in items {
                if let Some(path) = item_path(item, merge) {
                    if seen.contains(&path) {
                        return Err(StructuredError::Duplicate(path));
                    }
                    seen.insert(path);
                }
                check_duplicates(item, merge.element())?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn merge(live: Option<&Value>, target: &Value, place: Merge<'_>) -> Value {
    match (live, target) {
        (Some(Value::Object(live)), Value::Object(target)) if !(place.atomic_map() || live.is_empty() && target.is_empty()) => {
            let mut merged = live.clone();
            for (key, value) in target {
                let inner = merge(live.get(key), value, place.field(key));
                merged.insert(key.clone(), inner);
            }
            Value::Object(merged)
        }
        (Some(Value::Array(live)), Value::Array(target))
            if *place.list() != ListMerge::Atomic && !(live.is_empty() && target.is_empty()) =>
        {
            Value::Array(merge_lists(live, target, place))
        }
        (Some(live @ (Value::Object(_) | Value::Array(_))), Value::Null) if !is_empty(live) => live.clone(),
        (_, target) => target.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// Keeps the live order of live-only elements and the target's order of its own (`typed/merge.go:visitListItems`).
fn merge_lists(live: &[Value], target: &[Value], place: Merge<'_>) -> Vec<Value> {
    let path = |item: &Value| item_path(item, place).unwrap_or_else(|| item.to_string());
    let live_paths: Vec<String> = live.iter().map(path).collect();
    let target_paths: Vec<String> = target.iter().map(path).collect();
    let in_live: HashMap<&str, &Value> = live_paths.iter().map(String::as_str).zip(live).collect();
    let in_target: HashSet<&str> = target_paths.iter().map(String::as_str).collect();
    let mut shared = target_paths.iter().map(String::as_str).filter(|path| in_live.contains_key(path)).peekable();
    let mut done: HashSet<&str> = HashSet::new();
    let mut merged = Vec::with_capacity(live.len().max(target.len()));
    let mut live_items = live_paths.iter().map(String::as_str).zip(live).peekable();
    let mut target_items = target_paths.iter().map(String::as_str).zip(target).peekable();
    loop {
        if let (Some((left, _)), Some((right, _))) = (live_items.peek(), target_items.peek())
            && left != right
            && in_target.contains(left)
            && shared.peek().is_some_and(|next| next != left)
        {
            live_items.next();
            continue;
        }
        match (live_items.peek().copied(), target_items.peek().copied()) {
            (Some((left, _)), Some((right, item))) if left == right => {
                merged.push(merge(in_live.get(right).copied(), item, place.element()));
                done.insert(right);
                live_items.next();
                target_items.next();
                shared.next();
            }
            (Some((left, item)), _) if !in_target.contains(left) => {
                merged.push(item.clone());
                live_items.next();
            }
            (left, Some((right, item))) => {
                if left.is_some_and(|(left, _)| done.contains(left)) {
                    live_items.next();
                }
                merged.push(merge(in_live.get(right).copied(), item, place.element()));
                done.insert(right);
                target_items.next();
                if shared.peek() == Some(&right) {
                    shared.next();
                }
            }
            (Some(_), None) => {
                live_items.next();
            }
            (None, None) => return merged,
        }
    }
}

/// The fields that a target sets (`typed/tofieldset.go`).
fn collect(value: &Value, place: Merge<'_>, set: &mut FieldSet) {
    match value {
        Value::Object(map) if !place.atomic_map() && !map.is_empty() => {
            for (key, inner) in map {
                collect(inner, place.field(key), set.add_field(key));
            }
        }
        Value::Array(items) if *place.list() != ListMerge::Atomic && !items.is_empty() => {
            for item in items {
                if let Some(path) = item_path(item, place) {
                    let inner = set.add_item(path);
                    inner.member = true;
                    if *place.list() != ListMerge::Set {
                        collect(item, place.element(), inner);
                    }
                }
            }
        }
        _ => set.member = true,
    }
}
