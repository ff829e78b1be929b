//! Override files in Git: `.argocd-source.yaml` and `.argocd-source-<instance>.yaml` in the source's folder.
//!
//! Takes a source and a tree; hands on the source with what the files say merged in.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Inputs;
use super::request::{RenderError, Request};
use crate::argocd::Source;
use crate::manifest::Origin;
use crate::manifest::reader::{self, Limits};

/// The override files of a request, in the order in which they are merged.
fn files(request: &Request<'_>) -> [String; 2] {
    let folder: &[&str] = if request.path.is_empty() { &[] } else { &[&request.path, "/"] };
    let of_one = [".argocd-source-", &request.identity.instance, ".yaml"];
    [[folder, &[".argocd-source.yaml"]].concat().concat(), [folder, &of_one].concat().concat()]
}

/// Adds the override files to what a render reads.
pub(super) fn add_inputs(request: &Request<'_>, inputs: &mut Inputs) {
    files(request).iter().for_each(|file| inputs.file(file));
}

/// What the override files say, those that win last. A file that cannot be read says nothing here.
pub(super) fn read(request: &Request<'_>) -> Vec<(Origin, Value)> {
    let read = |path: &String| {
        let entry = request.tree.file_behind(path)?;
        let bytes = request.tree.read_entry(&entry).ok()?;
        let document = reader::read_stream(&reader::decode(&bytes).text, &Limits::default()).documents.into_iter().next()?;
        let origin = Origin { path: entry.path, side: request.side, document: 0..0, line: 1, within: String::new(), rendered: None };
        Some((origin, document.value))
    };
    files(request).iter().filter_map(read).collect()
}

/// The source with its override files merged in; `None` where there are none.
///
/// # Errors
/// When a file cannot be merged: Argo CD then generates no manifests.
///
/// Source: Argo CD `reposerver/repository/repository.go:mergeSourceParameters`.
pub(super) fn merged(request: &Request<'_>) -> Result<Option<Source>, RenderError> {
    let mut merged: Option<Source> = None;
    for path in files(request) {
        let Some(entry) = request.tree.file_behind(&path) else { continue };
        let broken =
            |reason: String| {
                RenderError::new("render-failed", format!("the override file {path} cannot be used: {reason}"), "Mend or remove the file.")
                    .at(&entry.path, request.side, 1, 1)
            };
        let bytes = request.tree.read_entry(&entry).map_err(|error| broken(error.to_string()))?;
        let stream = reader::read_stream(&reader::decode(&bytes).text, &Limits::default());
        if let Some(error) = stream.error {
            return Err(broken(error.kind.to_string()));
        }
        let Some(Value::Object(patch)) = stream.documents.into_iter().next().map(|document| document.value) else {
            return Err(broken("it is not a map of source settings".to_owned()));
        };
        let before = merged.as_ref().unwrap_or(&request.source);
        let Ok(Value::Object(mut fields)) = serde_json::to_value(before) else { continue };
        merge(&mut fields, patch, true);
        merged = Some(Source::deserialize(Value::Object(fields)).map_err(|error| broken(error.to_string()))?);
    }
    Ok(merged.map(|source| Source {
        chart: request.source.chart.clone(),
        path: request.source.path.clone(),
        repo_url: request.source.repo_url.clone(),
        target_revision: request.source.target_revision.clone(),
        ..source
    }))
}

/// A JSON merge patch. Argo CD reads the result into the struct that it came from, so that a null removes nothing, except in the free-form
/// `valuesObject`.
fn merge(target: &mut Map<String, Value>, patch: Map<String, Value>, is_typed: bool) {
    for (name, value) in patch {
        let typed_below = is_typed && name != "valuesObject";
        match value {
            Value::Null if is_typed => {}
            Value::Null => drop(target.remove(&name)),
            Value::Object(patch) => {
                let below = target.entry(name).or_insert_with(|| Value::Object(Map::new()));
                if !below.is_object() {
                    *below = Value::Object(Map::new());
                }
                if let Value::Object(below) = below {
                    merge(below, patch, typed_below);
                }
            }
            value => drop(target.insert(name, value)),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::render::fixture::{Setup, tree};
    use serde_json::json;

    fn source(settings: Value) -> Source {
        Source::deserialize(settings).unwrap()
    }

    fn overridden(files: &[(&str, &str)], instance: &str, before: &Source) -> Result<Option<Source>, RenderError> {
        let setup = Setup::new(instance);
        merged(&setup.request(&tree(files, &[]), before))
    }

    #[test]
    fn s10_04_the_file_for_all_applications_is_merged_in() {
        let before = source(json!({"repoURL": "r", "path": "app", "kustomize": {"namePrefix": "a-", "images": ["old:0.1"]}}));
        let file = "kustomize:\n  images:\n  - shop/web:0.2\npath: elsewhere\nchart: x\n";
        let after = overridden(&[("app/.argocd-source.yaml", file)], "testapp", &before).unwrap().unwrap();
        assert_eq!(serde_json::to_value(&after.kustomize).unwrap(), json!({"namePrefix": "a-", "images": ["shop/web:0.2"]}));
        assert_eq!((after.path.as_str(), after.chart.as_str()), ("app", ""));
    }

    #[test]
    fn s10_05_the_file_for_one_application_wins_and_is_for_that_one_only() {
        let before = source(json!({"repoURL": "r", "path": "app"}));
        let files = [
            ("app/.argocd-source.yaml", "kustomize: {images: ['shop/web:0.2']}"),
            ("app/.argocd-source-testapp.yaml", "kustomize: {images: ['shop/web:0.3']}"),
        ];
        let image = |instance: &str| {
            let after = overridden(&files, instance, &before).unwrap().unwrap();
            after.kustomize.unwrap()["images"][0].as_str().unwrap().to_owned()
        };
        assert_eq!((image("testapp"), image("testapp2")), ("shop/web:0.3".to_owned(), "shop/web:0.2".to_owned()));
        assert!(overridden(&files[1..], "testapp2", &before).unwrap().is_none());
    }

    #[test]
    fn a_null_removes_nothing_but_in_free_form_values() {
        let before = source(json!({"path": "app", "helm": {"releaseName": "r", "valuesObject": {"a": 1, "b": 2}}}));
        let file = "helm: {releaseName: null, valuesObject: {a: null}}";
        let after = overridden(&[("app/.argocd-source.yaml", file)], "x", &before).unwrap().unwrap();
        assert_eq!(serde_json::to_value(&after.helm).unwrap(), json!({"releaseName": "r", "valuesObject": {"b": 2}}));
    }

    #[test]
    fn a_file_that_cannot_be_merged_is_named() {
        let before = source(json!({"path": "app"}));
        for file in ["", "- a", "kustomize: [1", "directory: {recurse: maybe}"] {
            let error = overridden(&[("app/.argocd-source.yaml", file)], "x", &before).unwrap_err();
            assert!(error.message.contains("app/.argocd-source.yaml"), "{file}: {error}");
        }
    }
}
