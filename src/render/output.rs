//! What a renderer's program wrote, read as Argo CD reads it.
//!
//! Takes a text; hands on manifests. Where each object comes from is told by the caller.

use std::sync::Arc;

use super::request::RenderError;
use crate::manifest::{Content, Manifest, NonString, Origin, ResourceKey, non_string};
use crate::repo::ParsedFile;
use crate::repo::parsed::{DocumentPlace, ParsedObject};

/// The manifests of an output, lists expanded, in order.
///
/// # Errors
/// When a document is no Kubernetes object: Argo CD then generates no manifests at all.
///
/// Source: Argo CD `util/kube/kube.go:SplitYAML`, `reposerver/repository/repository.go:GenerateManifests`.
pub fn manifests(
    program: &str,
    file: &ParsedFile,
    mut origin: impl FnMut(&ParsedObject, &DocumentPlace) -> Origin,
) -> Result<Vec<Arc<Manifest>>, RenderError> {
    let help = "Render the source yourself and mend what does not come out as a Kubernetes object.";
    let mut manifests = Vec::with_capacity(file.objects.len());
    for object in &file.objects {
        let Some(place) = file.documents.get(object.document) else { continue };
        let origin = origin(object, place);
        let Some(key) = &object.key else {
            let message =
                format!("{program} renders a document without kind (line {} of its output), so Argo CD generates no manifests", place.line);
            return Err(RenderError::new("render-failed", message, help).at(&origin.path, origin.side, origin.line, 1));
        };
        if let Some(error) = non_string_metadata(&object.object, key, &origin) {
            return Err(error);
        }
        manifests.push(Arc::new(Manifest { key: key.clone(), object: object.object.clone(), origin }));
    }
    if let Some(error) = &file.error {
        let message = format!("what {program} renders cannot be read: {} (line {} of its output)", error.kind, error.line);
        return Err(RenderError::new("render-failed", message, help));
    }
    Ok(manifests)
}

/// The error about a label or annotation that is not a string, if the object has one: Argo CD generates no manifests because of it.
pub(super) fn non_string_metadata(object: &Content, key: &ResourceKey, origin: &Origin) -> Option<RenderError> {
    if object.is_plain() {
        return None;
    }
    let wrong = non_string(object.heading())?;
    let NonString { field, name, found } = wrong;
    let (place, help) = match name {
        Some(name) => (format!("metadata.{field}[\"{name}\"]"), format!("Put the value of {name} in quotes.")),
        None => (format!("metadata.{field}"), format!("Write {field} as a map of strings.")),
    };
    let message = format!(
        "{place} of {} is {found}; {field} must be strings. Argo CD cannot generate manifests and stops syncing the Application",
        key.named()
    );
    let error = RenderError::new("non-string-metadata", message, help).at(&origin.path, origin.side, origin.line, 1);
    Some(error.inside(origin.clone(), wrong.pointer(), key.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Side;

    fn read(text: &str) -> Result<Vec<Arc<Manifest>>, RenderError> {
        let origin = |_: &ParsedObject, place: &DocumentPlace| Origin {
            path: "chart/templates/a.yaml".into(),
            side: Side::Head,
            document: 0..0,
            line: place.line,
            within: String::new(),
            rendered: None,
        };
        manifests("helm", &ParsedFile::of_output(text.as_bytes()), origin)
    }

    #[test]
    fn empty_documents_are_dropped_and_lists_expanded() {
        let text = "---\n# nothing\n---\nkind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: a}}\n---\n\
                    apiVersion: v1\nkind: Secret\nmetadata: {name: b}\n";
        let names: Vec<String> = read(text).unwrap().iter().map(|manifest| manifest.key.to_string()).collect();
        assert_eq!(names, ["Service a", "Secret b"]);
    }

    #[test]
    fn a_document_without_kind_fails_the_whole_source() {
        let error = read("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\na: b\n").unwrap_err();
        assert!(error.message.contains("helm renders a document without kind (line 5 of its output)"), "{error}");
    }

    #[test]
    fn a_label_that_is_no_string_fails_the_whole_source() {
        let error = read("apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {tier: 1}}\n").unwrap_err();
        assert_eq!(error.rule, "non-string-metadata");
    }
}
