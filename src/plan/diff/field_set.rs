//! Sets of fields as server-side apply keeps them: takes `managedFields`, hands on, per entry, a tree of the fields that it owns.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A node in a set of fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    /// The place itself is in the set, not only what is below.
    pub(super) member: bool,
    fields: BTreeMap<String, FieldSet>,
    items: BTreeMap<String, FieldSet>,
}

/// One entry of `metadata.managedFields`.
pub(super) struct Entry<'v> {
    pub(super) manager: &'v str,
    /// `Apply` or `Update`.
    pub(super) operation: &'v str,
    pub(super) subresource: &'v str,
    pub(super) fields: FieldSet,
}

/// The entries of an object, in order.
pub(super) fn field_sets(object: &Value) -> impl Iterator<Item = Entry<'_>> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.into_iter().flatten().filter_map(|entry| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let fields = FieldSet::read(entry.get("fieldsV1")?.as_object()?);
        Some(Entry { manager: text("manager"), operation: text("operation"), subresource: text("subresource"), fields })
    })
}

impl FieldSet {
    /// Reads `fieldsV1`.
    pub(super) fn read(fields: &Map<String, Value>) -> FieldSet {
        let mut set = FieldSet::default();
        for (name, inner) in fields {
            if name == "." {
                set.member = true;
                continue;
            }
            let Some(inner) = inner.as_object() else { continue };
            let mut child = FieldSet::read(inner);
            child.member |= inner.is_empty();
            match name.split_once(':') {
                Some(("f", field)) => {
                    set.fields.insert(field.to_owned(), child);
                }
                Some((form @ ("k" | "v"), text)) => {
                    if let Ok(value) = serde_json::from_str::<Value>(text) {
                        set.items.insert(format!("{form}:{value}"), child);
                    }
                }
                _ => {
                    set.items.insert(name.clone(), child);
                }
            }
        }
        set
    }

    /// Nothing below it.
    pub(super) fn is_leaf(&self) -> bool {
        self.fields.is_empty() && self.items.is_empty()
    }

    /// The fields below it.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&String, &FieldSet)> {
        self.fields.iter()
    }

    /// A field below it.
    pub(super) fn field(&self, name: &str) -> Option<&FieldSet> {
        self.fields.get(name)
    }

    /// A list element below it, by its path (`k:{…}` or `v:…`).
    pub(super) fn item(&self, path: &str) -> Option<&FieldSet> {
        self.items.get(path)
    }

    /// Adds a field and hands it on.
    pub(super) fn add_field(&mut self, name: &str) -> &mut FieldSet {
        self.fields.entry(name.to_owned()).or_default()
    }

    /// Adds a list element and hands it on.
    pub(super) fn add_item(&mut self, path: String) -> &mut FieldSet {
        self.items.entry(path).or_default()
    }
}
