//! The Application that decides after the merge: its live object with the changes that its parent applies from Git.

mod ignored;

use std::sync::Arc;

pub use self::ignored::SetIgnores;

use serde_json::{Map, Value};

use crate::argocd::ApplicationSet;
use crate::argocd::names::{LAST_APPLIED, POST_DELETE_FINALIZER, PRE_DELETE_FINALIZER};
use crate::argocd::tracking::Tracking;
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
///
/// What is applied always has annotations, even where Git names none: Argo CD adds its marks, and kubectl the annotation of the apply. So
/// the others stay that somebody has set on the live object.
pub fn after_parent_sync(target: &Value, live: &Value, tracking: &Tracking) -> Arc<Value> {
    let last = annotation(live, LAST_APPLIED);
    let original = last.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
    let mut target = target.clone();
    tracking.carry_over(live, &mut target);
    if let (Some(metadata), Some(last)) = (target.get_mut("metadata").and_then(Value::as_object_mut), last) {
        let annotations = metadata.entry("annotations").or_insert(Value::Null);
        if annotations.is_null() {
            *annotations = Value::Object(Map::new());
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(LAST_APPLIED.to_owned(), Value::String(last.to_owned()));
        }
    }
    Arc::new(applied(&original, &target, live))
}

/// Annotations of generated Applications that keep their live value, whatever the set says.
const PRESERVED_ANNOTATIONS: [&str; 3] = ["notified.notifications.argoproj.io", "argocd.argoproj.io/refresh", "argocd.argoproj.io/hydrate"];

/// The live Application after its ApplicationSet's controller has brought it in line with what is generated: its spec is replaced, and so are
/// labels, annotations and finalizers, except what the set preserves or ignores.
///
/// Source: Argo CD `applicationset/controllers/applicationset_controller.go:createOrUpdateInCluster`.
pub fn after_set(generated: &Value, live: &Value, set: &ApplicationSet, ignores: &SetIgnores) -> Arc<Value> {
    let mut updated = live.clone();
    let empty = Map::new();
    let field =
        |object: &Value, name: &str| object.pointer(&format!("/metadata/{name}")).and_then(Value::as_object).cloned().unwrap_or_default();
    let preserved = |name: &str| -> Vec<&str> {
        let fields = &set.spec.preserved_fields;
        match name {
            "annotations" => fields.annotations.iter().map(String::as_str).chain(PRESERVED_ANNOTATIONS).collect(),
            _ => fields.labels.iter().map(String::as_str).collect(),
        }
    };
    if let Some(metadata) = updated.get_mut("metadata").and_then(Value::as_object_mut) {
        for name in ["labels", "annotations"] {
            let mut texts = field(generated, name);
            for (key, value) in field(live, name) {
                if preserved(name).contains(&key.as_str()) {
                    texts.insert(key, value);
                }
            }
            put_or_remove(metadata, name, Value::Object(texts));
        }
        let list = |object: &Value| object.pointer("/metadata/finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut finalizers = list(generated);
        finalizers.extend(list(live).into_iter().filter(is_of_hooks));
        put_or_remove(metadata, "finalizers", Value::Array(finalizers));
    }
    if let Some(object) = updated.as_object_mut() {
        object.insert("spec".to_owned(), generated.get("spec").cloned().unwrap_or(Value::Object(empty)));
    }
    Arc::new(ignores.keep_live(updated, live))
}

/// What of a live Application its set defines: without what Kubernetes and the controllers have written.
pub fn as_defined(live: &Value) -> Value {
    let mut metadata = Map::new();
    for name in ["name", "namespace", "labels", "annotations", "finalizers"] {
        if let Some(value) = live.pointer(&format!("/metadata/{name}")) {
            metadata.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(annotations) = metadata.get("annotations").and_then(Value::as_object) {
        let own = annotations.iter().filter(|(name, _)| !PRESERVED_ANNOTATIONS.contains(&name.as_str()));
        let own = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        put_or_remove(&mut metadata, "annotations", Value::Object(own));
    }
    if let Some(finalizers) = metadata.get("finalizers").and_then(Value::as_array) {
        let own = finalizers.iter().filter(|finalizer| !is_of_hooks(finalizer)).cloned().collect();
        put_or_remove(&mut metadata, "finalizers", Value::Array(own));
    }
    let mut object = Map::new();
    for name in ["apiVersion", "kind", "spec"] {
        object.extend(live.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    object.insert("metadata".to_owned(), Value::Object(metadata));
    Value::Object(object)
}

/// Whether a live Application is what its set makes of it.
pub fn is_in_line(generated: &Value, live: &Value, set: &ApplicationSet, ignores: &SetIgnores) -> bool {
    as_defined(&after_set(generated, live, set, ignores)) == as_defined(live)
}

fn is_of_hooks(finalizer: &Value) -> bool {
    finalizer.as_str().is_some_and(|text| text.starts_with(PRE_DELETE_FINALIZER) || text.starts_with(POST_DELETE_FINALIZER))
}

fn put_or_remove(fields: &mut Map<String, Value>, name: &str, value: Value) {
    let is_empty = value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty);
    if is_empty {
        fields.remove(name);
    } else {
        fields.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argocd::Settings;
    use serde_json::json;

    #[test]
    fn s9_81_a_field_that_git_never_named_stays_and_a_changed_list_goes_back() {
        let live = json!({"helm": {"parameters": [{"name": "max", "value": "40"}]}, "prune": false});
        assert_eq!(applied(&Value::Null, &json!({"prune": true}), &live), json!({"helm": live["helm"], "prune": true}));
        let target = json!({"helm": {"parameters": []}});
        assert_eq!(applied(&Value::Null, &target, &live)["helm"]["parameters"], json!([]));
    }

    #[test]
    fn an_annotation_that_somebody_set_stays_though_git_names_none_and_one_that_left_git_goes() {
        let tracking = Settings::default().tracking;
        let last = json!({"metadata": {"name": "a", "annotations": {"argocd.argoproj.io/tracking-id": "root:x", "old": "1"}}});
        let annotations = json!({"argocd.argoproj.io/tracking-id": "root:x", "old": "1", "mine": "2", LAST_APPLIED: last.to_string()});
        let live = json!({"metadata": {"name": "a", "annotations": annotations}});
        let after = after_parent_sync(&json!({"metadata": {"name": "a"}}), &live, &tracking);
        assert_eq!(
            after["metadata"]["annotations"],
            json!({"argocd.argoproj.io/tracking-id": "root:x", "mine": "2", LAST_APPLIED: last.to_string()})
        );
    }

    #[test]
    fn a_field_that_left_git_since_the_last_apply_is_removed() {
        let live = json!({"a": 1, "b": 2, "c": 3});
        assert_eq!(applied(&json!({"a": 1, "b": 2}), &json!({"a": 1}), &live), json!({"a": 1, "c": 3}));
    }
}
