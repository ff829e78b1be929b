//! `image-updater-override`: Argo CD Image Updater keeps the images of an Application, so those in Git do not decide.

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, enumerate, writer_of};
use crate::manifest::annotation;

const FIELDS: [&str; 2] = ["kustomize/images", "helm/parameters"];

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans {
        let Some(entry) = view.entry(&plan.application.id) else { continue };
        let Some((application, live)) = &entry.live else { continue };
        let fields = kept_fields(live.object());
        if fields.is_empty() {
            continue;
        }
        let named: Vec<String> = fields.iter().map(|pointer| pointer.trim_start_matches("/spec/").replace('/', ".")).collect();
        let message = format!(
            "Argo CD Image Updater keeps {} of Application {}: the images come from there, and those in Git have no effect",
            enumerate(&named, 4),
            application.id.name
        );
        findings.push(Draft::of_application(application, message).introduced(plan.affected).at(
            plan.origin.as_ref(),
            "/spec/source",
            "overridden live",
        ));
    }
}

/// The lists that the updater has written into the live Application.
fn kept_fields(live: &Value) -> Vec<String> {
    let count = live.pointer("/spec/sources").and_then(Value::as_array).map_or(0, Vec::len);
    let sources = std::iter::once("/spec/source".to_owned()).chain((0..count).map(|index| format!("/spec/sources/{index}")));
    let announced = annotation(live, "argocd-image-updater.argoproj.io/image-list").is_some();
    sources
        .flat_map(|source| FIELDS.iter().map(move |field| format!("{source}/{field}")).collect::<Vec<_>>())
        .filter(|pointer| live.pointer(pointer).and_then(Value::as_array).is_some_and(|list| !list.is_empty()))
        .filter(|pointer| match writer_of(live, pointer) {
            Some(writer) => writer.manager.contains("image-updater"),
            None => announced,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use crate::finding::Finding;
    use serde_json::json;

    fn run(manager: &str, images: bool) -> Vec<Finding> {
        let mut live = application_object("shelf");
        if images {
            live["spec"]["source"]["kustomize"] = json!({"images": ["registry.example.test/shelf:9"]});
        }
        live["metadata"]["managedFields"] =
            json!([{"manager": manager, "fieldsV1": {"f:spec": {"f:source": {"f:kustomize": {"f:images": {}}}}}}]);
        let inventory = inventory([(Some(application_object("shelf")), Some(application_object("shelf")), Some(live), Some("root"))]);
        Run { plans: vec![plan("shelf", Vec::new())], inventory, ..Run::default() }.judge(&["image-updater-override"])
    }

    #[test]
    fn lists_of_the_updater_are_a_remark() {
        let found = run("argocd-image-updater", true);
        assert_eq!(
            found[0].message,
            "Argo CD Image Updater keeps source.kustomize.images of Application shelf: the images come from there, and those in Git have no effect"
        );
        assert_eq!(found[0].severity, crate::finding::Severity::Info);
    }

    #[test]
    fn lists_of_somebody_else_and_applications_without_them_are_fine() {
        assert!(run("argocd-server", true).is_empty());
        assert!(run("argocd-image-updater", false).is_empty());
    }
}
