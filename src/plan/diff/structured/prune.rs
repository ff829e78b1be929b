//! Taking out what Argo CD applied before and no longer does (structured-merge-diff `merge/update.go:prune`).

use serde_json::Value;

use super::super::field_set::FieldSet;
use super::{Merge, item_path};

/// Removes from `merged` every place of `last` that nobody in `owners` owns. What others added below a place that goes, goes with it.
pub(super) fn prune(merged: &mut Value, last: &FieldSet, owners: &[&FieldSet], place: Merge<'_>) {
    match merged {
        Value::Object(map) if !place.atomic_map() => {
            map.retain(|key, inner| {
                let Some(own_last) = last.field(key) else { return true };
                let below: Vec<&FieldSet> = owners.iter().filter_map(|set| set.field(key)).collect();
                // A field that the schema names is a member as soon as something below it is.
                let member = |set: &FieldSet| set.member || place.names(key) && !set.is_leaf();
                if member(own_last) && !below.iter().any(|set| member(set)) {
                    return false;
                }
                prune(inner, own_last, &below, place.field(key));
                true
            });
        }
        Value::Array(items) => {
            items.retain_mut(|item| {
                let Some(path) = item_path(item, place) else { return true };
                let Some(own_last) = last.item(&path) else { return true };
                let below: Vec<&FieldSet> = owners.iter().filter_map(|set| set.item(&path)).collect();
                if own_last.member && !below.iter().any(|set| set.member) {
                    return false;
                }
                prune(item, own_last, &below, place.element());
                true
            });
        }
        _ => {}
    }
}
