//! `templatePatch`: a strategic merge patch over a rendered Application.
//!
//! Source: Argo CD `applicationset/controllers/template/patch.go` and Kubernetes `apimachinery/pkg/util/strategicpatch`. Of an Application only
//! `metadata.finalizers` is a list that merges; all other lists are replaced.

use serde_json::{Map, Value};

use crate::argocd::shape;
use crate::manifest::reader::{self, Limits};

/// Levels of nesting that are followed.
const DEPTH: usize = 200;

/// Applies a patch that was rendered to text. The project stays as it was.
///
/// # Errors
/// Where the text is no patch of an Application.
pub(super) fn apply(object: Value, text: &str) -> Result<Value, String> {
    let stream = reader::read_stream(text, &Limits::default());
    let patch = match (stream.documents.into_iter().next(), stream.error) {
        (Some(document), _) => document.value,
        (None, Some(error)) => return Err(format!("error while converting template to json {text:?}: {}", error.kind)),
        (None, None) => return Ok(object),
    };
    if !patch.is_object() && !patch.is_null() {
        return Err(format!("invalid templatePatch {text:?}: it is no Application"));
    }
    if let Some(wrong) = shape::wrong_type(&patch).or_else(|| shape::wrong_metadata_type(&patch)) {
        return Err(format!("invalid templatePatch: {} is not {}", wrong.pointer.trim_start_matches('/').replace('/', "."), wrong.wanted));
    }
    let Value::Object(patch) = patch else { return Ok(object) };
    let project = object.pointer("/spec/project").cloned();
    let mut object = object;
    if let Value::Object(fields) = &mut object {
        merge(fields, patch, DEPTH)?;
    }
    match (object.get_mut("spec"), project) {
        (Some(Value::Object(spec)), Some(project)) => drop(spec.insert("project".to_owned(), project)),
        (Some(Value::Object(spec)), None) => drop(spec.remove("project")),
        _ => {}
    }
    Ok(object)
}

fn merge(target: &mut Map<String, Value>, mut patch: Map<String, Value>, depth: usize) -> Result<(), String> {
    if depth == 0 {
        return Err("the templatePatch is nested too deep".to_owned());
    }
    match patch.remove("$patch").as_ref().map(Value::as_str) {
        None | Some(Some("merge")) => {}
        Some(Some("replace")) => {
            *target = patch;
            return Ok(());
        }
        Some(Some("delete")) => {
            target.clear();
            return Ok(());
        }
        Some(other) => return Err(format!("unknown patch type {} in a templatePatch", other.unwrap_or_default())),
    }
    if let Some(Value::Array(kept)) = patch.remove("$retainKeys") {
        target.retain(|key, _| kept.iter().any(|name| name == key));
    }
    for (key, value) in patch {
        if let Some(field) = key.strip_prefix("$deleteFromPrimitiveList/") {
            if let (Some(Value::Array(items)), Value::Array(deleted)) = (target.get_mut(field), &value) {
                items.retain(|item| !deleted.contains(item));
            }
            continue;
        }
        if key.starts_with("$setElementOrder/") {
            continue;
        }
        match (target.get_mut(&key), value) {
            (_, Value::Null) => drop(target.remove(&key)),
            (Some(Value::Object(mine)), Value::Object(theirs)) => merge(mine, theirs, depth - 1)?,
            (Some(Value::Array(mine)), Value::Array(theirs)) if key == "finalizers" => {
                let fresh: Vec<Value> = theirs.into_iter().filter(|item| !mine.contains(item)).collect();
                mine.extend(fresh);
            }
            (_, Value::Object(theirs)) => {
                let mut fresh = Map::new();
                merge(&mut fresh, theirs, depth - 1)?;
                target.insert(key, Value::Object(fresh));
            }
            (_, value) => drop(target.insert(key, value)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn app() -> Value {
        json!({"metadata": {"name": "a", "finalizers": ["x"]}, "spec": {"project": "p", "source": {"helm": {"valueFiles": ["old.yaml"]}},
            "syncPolicy": {"automated": {"prune": false}}}})
    }

    #[test]
    fn s10_65_maps_merge_lists_are_replaced_and_the_project_stays() {
        let patch = "metadata:\n  annotations:\n    a: b\nspec:\n  project: other\n  source:\n    helm:\n      valueFiles:\n      - new.yaml\n  syncPolicy:\n    automated:\n      prune: true\n";
        let expected = json!({"metadata": {"name": "a", "finalizers": ["x"], "annotations": {"a": "b"}}, "spec": {"project": "p",
            "source": {"helm": {"valueFiles": ["new.yaml"]}}, "syncPolicy": {"automated": {"prune": true}}}});
        assert_eq!(apply(app(), patch), Ok(expected.clone()));
        let in_json = r#"{"metadata": {"annotations": {"a": "b"}}, "spec": {"source": {"helm": {"valueFiles": ["new.yaml"]}}, "syncPolicy": {"automated": {"prune": true}}}}"#;
        assert_eq!(apply(app(), in_json), Ok(expected));
        assert!(apply(app(), "hello world").is_err());
    }

    #[test]
    fn a_value_that_no_application_can_have_fails() {
        for (patch, problem) in [
            ("metadata: {labels: {team: yes}}", "metadata.labels.team is not a text"),
            ("metadata: {annotations: {a: 1}}", "metadata.annotations.a is not a text"),
            ("metadata: {finalizers: x}", "metadata.finalizers is not a list"),
            ("spec: {syncPolicy: {automated: {prune: 'true'}}}", "spec.syncPolicy.automated.prune is not true or false"),
        ] {
            assert_eq!(apply(app(), patch), Err(format!("invalid templatePatch: {problem}")));
        }
        assert!(apply(app(), "metadata: {labels: {team: null}}").is_ok());
    }

    #[test]
    fn nothing_changes_nothing_null_deletes_and_finalizers_are_joined() {
        assert_eq!(apply(app(), ""), Ok(app()));
        assert_eq!(apply(app(), "# only a comment\n"), Ok(app()));
        let without = apply(app(), "spec:\n  syncPolicy: null\n").unwrap();
        assert_eq!(without.pointer("/spec/syncPolicy"), None);
        let wiped = apply(app(), "spec:\n").unwrap();
        assert_eq!(wiped.get("spec"), None);
        let joined = apply(app(), "metadata:\n  finalizers: [z, x]\n").unwrap();
        assert_eq!(joined["metadata"]["finalizers"], json!(["x", "z"]));
        let replaced = apply(app(), "spec:\n  source:\n    $patch: replace\n    path: q\n").unwrap();
        assert_eq!(replaced["spec"]["source"], json!({"path": "q"}));
    }
}
