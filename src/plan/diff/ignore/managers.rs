//! `managedFieldsManagers`: takes out of a pair the fields that both sides have and differ in, and that a trusted manager owns
//! (`util/argo/managedfields/managed_fields.go:Normalize`).

use serde_json::{Map, Value};

use super::{IgnoreRules, Target};
use crate::plan::diff::field_set::{FieldSet, field_sets};
use crate::plan::diff::owner::Owners;
use crate::plan::diff::structured::{Merge, item_path};

impl IgnoreRules {
    /// Removes those fields from both sides. The target's key decides which managers are trusted.
    pub(in crate::plan::diff) fn remove_managed(&self, target: &mut Value, live: &mut Value, merge: Merge<'_>) {
        let managers = self.managers_of(&Target::of(target));
        if managers.is_empty() {
            return;
        }
        let sets: Vec<FieldSet> = field_sets(live).filter(|entry| managers.contains(&entry.manager)).map(|entry| entry.fields).collect();
        for set in &sets {
            if let (Value::Object(target), Value::Object(live)) = (&mut *target, &mut *live) {
                remove_in_maps(target, live, set, merge);
            }
        }
    }
}

fn remove_in_maps(target: &mut Map<String, Value>, live: &mut Map<String, Value>, set: &FieldSet, merge: Merge<'_>) {
    for (key, inner) in set.fields() {
        let (Some(theirs), Some(own)) = (target.get_mut(key), live.get_mut(key)) else { continue };
        if theirs == own {
            continue;
        }
        if inner.is_leaf() {
            target.remove(key);
            live.remove(key);
            continue;
        }
        let place = merge.field(key);
        match (theirs, own) {
            (Value::Object(theirs), Value::Object(own)) => remove_in_maps(theirs, own, inner, place),
            (Value::Array(theirs), Value::Array(own)) => remove_in_lists(theirs, own, inner, place),
            _ => {}
        }
    }
}

fn remove_in_lists(target: &mut [Value], live: &mut [Value], set: &FieldSet, merge: Merge<'_>) {
    for own in live {
        let Some(path) = item_path(own, merge) else { continue };
        let Some(inner) = set.item(&path) else { continue };
        let theirs = target.iter_mut().find(|item| item_path(item, merge).as_ref() == Some(&path));
        if let (Some(Value::Object(theirs)), Value::Object(own)) = (theirs, own) {
            remove_in_maps(theirs, own, inner, merge.element());
        }
    }
}

/// Whether one of the managers owns the live field.
pub(super) fn owns(managers: &[&str], live: &Value, pointer: &str) -> bool {
    !managers.is_empty() && managers.iter().any(|manager| Owners::of_manager(live, manager).of(pointer).is_some())
}
