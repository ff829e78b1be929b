//! What is said of a source whose path is no folder.
//!
//! Takes the Application and the source; hands on the error with the field to mend.

use crate::argocd::{Application, Source};
use crate::render::RenderError;

/// The field of an Application in which the path of one of its sources stands.
fn path_field(application: &Application, source: &Source) -> String {
    let spec = &application.spec;
    if spec.source_hydrator.is_some() {
        return "spec.sourceHydrator.drySource.path".to_owned();
    }
    match spec.sources().iter().position(|other| other == source) {
        Some(index) if spec.is_multi_source() => format!("spec.sources[{index}].path"),
        _ => "spec.source.path".to_owned(),
    }
}

/// That the path of a source is no folder.
pub(super) fn missing(application: &Application, source: &Source, path: &str, is_file: bool) -> RenderError {
    let what = if is_file { "is a file, not a directory" } else { "does not exist" };
    RenderError::new(
        "source-path-missing",
        format!(
            "the source path {} {what}: Argo CD cannot generate manifests, syncing stops, and nothing is pruned",
            if path.is_empty() { &source.path } else { path }
        ),
        format!("Point {} at the folder, or remove the Application as well.", path_field(application, source)),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_that_is_missing_is_named_by_its_own_field() {
        let fields = |spec: serde_json::Value| {
            let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"}, "spec": spec});
            let application = Application::read(Arc::new(object), "argocd").unwrap();
            application.spec.dry_sources().iter().map(|source| path_field(&application, source)).collect::<Vec<_>>()
        };
        let (source, other) = (json!({"repoURL": "https://x.test/a", "path": "a"}), json!({"repoURL": "https://x.test/a", "path": "b"}));
        assert_eq!(fields(json!({"destination": {}, "source": source})), ["spec.source.path"]);
        assert_eq!(fields(json!({"destination": {}, "sources": [source, other]})), ["spec.sources[0].path", "spec.sources[1].path"]);
        let hydrator = json!({"drySource": source, "syncSource": {"targetBranch": "env", "path": "a"}});
        assert_eq!(fields(json!({"destination": {}, "sourceHydrator": hydrator})), ["spec.sourceHydrator.drySource.path"]);
    }
}
