//! The Application that decides after the merge: its live object with the changes that its parent, or a person, applies from Git.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::argocd::names::LAST_APPLIED;
use crate::manifest::annotation;

/// The live object after `target` was applied to it. Fields that neither `target` nor `original` name stay as they are live;
/// fields that `original` names and `target` does not are removed. Lists are taken whole, as for every custom resource.
///
/// Source: Argo CD `gitops-engine/pkg/diff/diff.go:ThreeWayDiff` and kubectl's JSON merge patch for custom resources.
pub fn applied(original: &Value, target: &Value, live: &Value) -> Value {
    match (target, live) {
        (Value::Object(target), Value::Object(live)) => {
            let nothing = Map::new();
            let original = original.as_object().unwrap_or(&nothing);
            let wanted = |name: &str| target.get(name).filter(|value| !value.is_null());
            let kept = live.iter().filter(|(name, _)| wanted(name).is_none() && !original.contains_key(*name));
            let mut result: Map<String, Value> = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
            for (name, value) in target.iter().filter(|(_, value)| !value.is_null()) {
                let before = original.get(name).unwrap_or(&Value::Null);
                let merged = match live.get(name) {
                    Some(live) => applied(before, value, live),
                    None => value.clone(),
                };
                result.insert(name.clone(), merged);
            }
            Value::Object(result)
        }
        _ => target.clone(),
    }
}

/// The live object after its parent's sync has applied `target`; the annotation of the last apply says what was there before.
pub fn after_parent_sync(target: &Value, live: &Value) -> Arc<Value> {
    let original = annotation(live, LAST_APPLIED).and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
    Arc::new(applied(&original, target, live))
}

/// The live object after a person has applied what changed in its file between `base` and `head`, and nothing else.
pub fn after_edit(base: &Value, head: &Value, live: &Value) -> Arc<Value> {
    Arc::new(edited(base, head, live))
}

fn edited(base: &Value, head: &Value, live: &Value) -> Value {
    match (base, head, live) {
        (Value::Object(base), Value::Object(head), Value::Object(live)) => {
            let mut result = live.clone();
            for name in base.keys().filter(|name| !head.contains_key(*name)) {
                result.remove(name);
            }
            for (name, after) in head {
                let before = base.get(name).unwrap_or(&Value::Null);
                if before == after {
                    continue;
                }
                let merged = match live.get(name) {
                    Some(live) => edited(before, after, live),
                    None => after.clone(),
                };
                result.insert(name.clone(), merged);
            }
            Value::Object(result)
        }
        _ => head.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scenario_81_a_field_that_git_never_named_stays_and_a_changed_list_goes_back() {
        let live = json!({"helm": {"parameters": [{"name": "max", "value": "40"}]}, "prune": false});
        assert_eq!(applied(&Value::Null, &json!({"prune": true}), &live), json!({"helm": live["helm"], "prune": true}));
        let target = json!({"helm": {"parameters": []}});
        assert_eq!(applied(&Value::Null, &target, &live)["helm"]["parameters"], json!([]));
    }

    #[test]
    fn a_field_that_left_git_since_the_last_apply_is_removed() {
        let live = json!({"a": 1, "b": 2, "c": 3});
        assert_eq!(applied(&json!({"a": 1, "b": 2}), &json!({"a": 1}), &live), json!({"a": 1, "c": 3}));
    }

    #[test]
    fn an_edit_moves_only_what_it_touches() {
        let live = json!({"prune": false, "path": "a", "extra": 1});
        let after = after_edit(&json!({"prune": true, "path": "a", "old": 1}), &json!({"prune": true, "path": "b"}), &live);
        assert_eq!(*after, json!({"prune": false, "path": "b", "extra": 1}));
    }
}
