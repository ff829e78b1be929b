//! JSON merge for kinds without a built-in type: takes original, target and live, hands on the predicted live object
//! (apimachinery `util/jsonmergepatch/patch.go`, GE `utils/json/json.go`).

use serde_json::{Map, Value};

/// What the live object becomes, or `None` if it stays as it is.
pub(super) fn predict(original: &Map<String, Value>, target: &Map<String, Value>, live: &Map<String, Value>) -> Option<Map<String, Value>> {
    let trimmed = trim_map(original, live);
    let mut patch = changes_only(difference(&trimmed, target));
    let deletions = deletions_only(difference(original, target));
    merge_deletions(&mut patch, deletions);
    if patch.is_empty() {
        return None;
    }
    let mut predicted = live.clone();
    apply(&mut predicted, patch);
    Some(predicted)
}

/// Live with the fields that the original has. Elements past the original's list stay.
fn trim_map(original: &Map<String, Value>, live: &Map<String, Value>) -> Map<String, Value> {
    let kept = original.iter().filter_map(|(key, own)| live.get(key).map(|value| (key.clone(), trim(own, value))));
    kept.collect()
}

fn trim(original: &Value, live: &Value) -> Value {
    match (original, live) {
        (Value::Object(original), Value::Object(live)) => Value::Object(trim_map(original, live)),
        (Value::Array(original), Value::Array(live)) => Value::Array(trim_list(original, live)),
        _ => live.clone(),
    }
}

/// As [`trim_map`], for a list (GE `utils/json/json.go:RemoveListFields`).
pub(super) fn trim_list(original: &[Value], live: &[Value]) -> Vec<Value> {
    live.iter().enumerate().map(|(index, item)| original.get(index).map_or_else(|| item.clone(), |own| trim(own, item))).collect()
}

/// The merge patch from one object to another; lists are taken whole.
pub(super) fn difference(from: &Map<String, Value>, to: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = Map::new();
    for (key, new) in to {
        match (from.get(key), new) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let inner = difference(old, new);
                if !inner.is_empty() {
                    patch.insert(key.clone(), Value::Object(inner));
                }
            }
            (Some(old), new) if old == new => {}
            _ => {
                patch.insert(key.clone(), new.clone());
            }
        }
    }
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    patch
}

fn changes_only(patch: Map<String, Value>) -> Map<String, Value> {
    let kept = patch.into_iter().filter_map(|(key, value)| match value {
        Value::Null => None,
        Value::Object(inner) if !inner.is_empty() => {
            let inner = changes_only(inner);
            (!inner.is_empty()).then_some((key, Value::Object(inner)))
        }
        other => Some((key, other)),
    });
    kept.collect()
}

fn deletions_only(patch: Map<String, Value>) -> Map<String, Value> {
    let kept = patch.into_iter().filter_map(|(key, value)| match value {
        Value::Null => Some((key, Value::Null)),
        Value::Object(inner) => {
            let inner = deletions_only(inner);
            (!inner.is_empty()).then_some((key, Value::Object(inner)))
        }
        _ => None,
    });
    kept.collect()
}

/// Deletions lose against changes of the same field.
fn merge_deletions(patch: &mut Map<String, Value>, deletions: Map<String, Value>) {
    for (key, deletion) in deletions {
        match (patch.get_mut(&key), deletion) {
            (None, deletion) => {
                patch.insert(key, deletion);
            }
            (Some(Value::Object(own)), Value::Object(inner)) => merge_deletions(own, inner),
            _ => {}
        }
    }
}

/// Applies a merge patch (RFC 7396).
pub(super) fn apply(object: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (key, value) in patch {
        match (object.get_mut(&key), value) {
            (_, Value::Null) => {
                object.remove(&key);
            }
            (Some(Value::Object(old)), Value::Object(new)) => apply(old, new),
            (_, Value::Object(new)) => {
                let mut fresh = Map::new();
                apply(&mut fresh, new);
                object.insert(key, Value::Object(fresh));
            }
            (_, new) => {
                object.insert(key, new);
            }
        }
    }
}
