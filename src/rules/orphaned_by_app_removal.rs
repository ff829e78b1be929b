//! `orphaned-by-app-removal`: an Application goes without a finalizer, and its objects run on with nobody managing them.

use super::cascade_delete_application::removal;
use super::draft::Findings;
use super::facts::{View, named_with_data_first, plural};
use crate::manifest::ResourceKey;
use crate::plan::{Reason, SyncMode, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans.iter().filter(|plan| plan.sync.mode == SyncMode::Deleted) {
        let left: Vec<&ResourceKey> = plan
            .changes
            .iter()
            .filter(|change| change.reason == Reason::NoFinalizer && !is_taken_over(view, plan, &change.key))
            .map(|change| &change.key)
            .collect();
        if left.is_empty() {
            continue;
        }
        let message = format!(
            "Removing Application {} leaves {} running unmanaged, because the live Application has no resources-finalizer: {}",
            plan.application.id.name,
            plural(left.len(), "live object"),
            named_with_data_first(&left, 8)
        );
        findings.push(removal(view, plan, message));
    }
}

/// Whether another Application renders the object, and so goes on managing it.
fn is_taken_over(view: &View<'_>, old: &SyncPlan, key: &ResourceKey) -> bool {
    view.changes_of(key).iter().any(|(plan, change)| change.target.is_some() && plan.server == old.server)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::plan::Action;
    use serde_json::json;

    fn run(action: Action, reason: Reason) -> Vec<crate::finding::Finding> {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api", "namespace": "shop"}});
        let mut plan = plan("payments", vec![removed(deployment, action, reason)]);
        plan.sync.mode = SyncMode::Deleted;
        Run { plans: vec![plan], ..Run::default() }.judge(&["orphaned-by-app-removal"])
    }

    #[test]
    fn objects_without_a_manager_are_a_warning() {
        let found = run(Action::Orphan, Reason::NoFinalizer);
        assert_eq!(found[0].severity, crate::finding::Severity::Warning);
        assert!(found[0].message.ends_with("has no resources-finalizer: Deployment shop/api"), "{}", found[0].message);
    }

    #[test]
    fn objects_that_another_application_takes_over_are_not_orphaned() {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}});
        let mut old = plan("old", vec![removed(map.clone(), Action::Orphan, Reason::NoFinalizer)]);
        old.sync.mode = SyncMode::Deleted;
        let adopted = changed(map.clone(), map.clone(), map, Action::Adopt, Reason::TrackedBy { application: "old".into() });
        let run = Run { plans: vec![old, plan("other", vec![adopted])], ..Run::default() };
        assert!(run.judge(&["orphaned-by-app-removal"]).is_empty());
    }

    #[test]
    fn a_cascade_and_a_namespace_that_stays_are_not_orphaned() {
        assert!(run(Action::Delete, Reason::Cascade).is_empty());
        assert!(run(Action::Orphan, Reason::AutoCreatedNamespace).is_empty());
    }
}
