//! `namespace-metadata-ignored`: a Namespace manifest in Git switches `managedNamespaceMetadata` off.

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, app_name};
use crate::argocd::Application;
use crate::plan::{Change, SyncPlan};

const POINTER: &str = "/spec/syncPolicy/managedNamespaceMetadata";

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans.iter().filter(|plan| manages(&plan.application)) {
        let Some(change) = plan.changes.iter().find(|change| is_manifest(plan, change)) else { continue };
        let message = format!(
            "{} has {} in Git, so `managedNamespaceMetadata` has no effect: its labels and annotations are not written",
            app_name(plan),
            change.key.named()
        );
        let before = view.entry(&plan.application.id).and_then(|entry| entry.base.as_ref());
        let managed_before =
            before.is_some_and(|before| before.application.object.pointer(POINTER) == plan.application.object.pointer(POINTER));
        let draft = Draft::of_change(plan, change, message).introduced(change.base.is_none() || !managed_before);
        findings.push(draft.at(change.origin(), "", "written as it stands here").at(plan.origin.as_ref(), POINTER, "has no effect"));
    }
}

/// Whether the Application has anything to write on its namespace.
///
/// Source: Argo CD `controller/sync_namespace.go:syncNamespace`.
fn manages(application: &Application) -> bool {
    let policy = &application.spec.sync_policy;
    let entries = |field: &str| {
        policy
            .managed_namespace_metadata
            .as_ref()
            .and_then(|managed| managed.get(field))
            .and_then(Value::as_object)
            .is_some_and(|map| !map.is_empty())
    };
    policy.sync_options.has("CreateNamespace=true") && (entries("labels") || entries("annotations"))
}

/// Whether the change is about a manifest of the destination namespace, and not about the namespace that the option makes.
fn is_manifest(plan: &SyncPlan, change: &Change) -> bool {
    let written = change.target.as_ref().is_some_and(|target| plan.origin.as_ref() != Some(&target.origin));
    written && change.key.is("", "Namespace") && *change.key.name == *plan.application.spec.destination.namespace
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use serde_json::json;

    fn run(options: &[&str], managed: Value, namespace: &str) -> usize {
        let manifest = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let mut plan = plan("web", vec![added(manifest)]);
        edit_spec(&mut plan, |spec| spec["syncPolicy"] = json!({"syncOptions": options, "managedNamespaceMetadata": managed}));
        Run { plans: vec![plan], ..Run::default() }.judge(&["namespace-metadata-ignored"]).len()
    }

    #[test]
    fn a_manifest_of_the_destination_namespace_beside_managed_metadata_is_named() {
        assert_eq!(run(&["CreateNamespace=true"], json!({"labels": {"team": "a"}}), "shop"), 1);
    }

    #[test]
    fn another_namespace_empty_metadata_and_a_missing_option_are_fine() {
        assert_eq!(run(&["CreateNamespace=true"], json!({"labels": {"team": "a"}}), "other"), 0);
        assert_eq!(run(&["CreateNamespace=true"], json!({"labels": {}}), "shop"), 0);
        assert_eq!(run(&[], json!({"labels": {"team": "a"}}), "shop"), 0);
    }

    #[test]
    fn the_namespace_that_the_option_makes_is_no_manifest() {
        let mut change = added(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
        let mut plan = plan("web", Vec::new());
        let made = crate::manifest::Manifest { origin: plan.origin.clone().unwrap(), ..(**change.target.as_ref().unwrap()).clone() };
        change.target = Some(std::sync::Arc::new(made));
        plan.changes = vec![change];
        edit_spec(&mut plan, |spec| {
            spec["syncPolicy"] = json!({"syncOptions": ["CreateNamespace=true"], "managedNamespaceMetadata": {"labels": {"team": "a"}}});
        });
        assert!(Run { plans: vec![plan], ..Run::default() }.judge(&["namespace-metadata-ignored"]).is_empty());
    }
}
