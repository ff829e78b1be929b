//! `prune-referenced-object`: a ConfigMap, Secret or ServiceAccount is deleted although a workload still names it.

use super::draft::{Draft, Findings};
use super::facts::{References, View, is_rendered_by_any, next_sync, server_of, use_by};
use crate::plan::{Action, SyncMode};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let mut references = None;
    for (plan, change) in view.changes() {
        let is_read = change.key.group.is_empty() && matches!(&*change.key.kind, "ConfigMap" | "Secret" | "ServiceAccount");
        // One that another Application renders is there again at once, which `moved-between-apps` tells.
        let stays = || is_rendered_by_any(view, &change.key);
        if change.action != Action::Prune || plan.sync.mode == SyncMode::Deleted || !is_read || stays() {
            continue;
        }
        let references = references.get_or_insert_with(|| References::new(view));
        let users: Vec<_> =
            references.of(server_of(plan, change), &change.key).iter().filter(|user| !user.reference.optional).cloned().collect();
        if users.is_empty() {
            continue;
        }
        let message = format!(
            "{} will be deleted by {}, but {}: new pods of it cannot start",
            change.key.named(),
            next_sync(plan),
            use_by(plan, &users)
        );
        findings.push(Draft::of_change(plan, change, message).at(change.base.as_ref().map(|base| &base.origin), "", "leaves Git"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::{Change, Reason};
    use serde_json::{Value, json};

    fn map() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "env-old", "namespace": "shop"}})
    }

    fn workload(kind: &str, name: &str, optional: bool) -> Value {
        let spec = json!({"containers": [{"name": "main", "envFrom": [{"configMapRef": {"name": name, "optional": optional}}]}]});
        match kind {
            "CronJob" => json!({"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "nightly", "namespace": "shop"},
                "spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}}),
            _ => {
                json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "feed", "namespace": "shop"}, "spec": {"template": {"spec": spec}}})
            }
        }
    }

    fn run(live: &[Value], others: Vec<Change>) -> Vec<Finding> {
        let mut changes = vec![removed(map(), Action::Prune, Reason::RemovedFromGit { automated: true })];
        changes.extend(others);
        Run { plans: vec![plan("feed", changes)], live: snapshot(live), ..Run::default() }.judge(&["prune-referenced-object"])
    }

    #[test]
    fn a_live_workload_that_names_the_object_is_an_error() {
        let found = run(&[workload("CronJob", "env-old", false)], Vec::new());
        assert_eq!(
            found[0].message,
            "ConfigMap shop/env-old will be deleted by the next automatic sync of `feed`, but CronJob shop/nightly (of no Application) reads it through \
             envFrom: new pods of it cannot start"
        );
    }

    #[test]
    fn a_workload_that_moves_on_in_the_same_sync_and_optional_references_are_fine() {
        let moves = changed(
            workload("Deployment", "env-old", false),
            workload("Deployment", "env-new", false),
            workload("Deployment", "env-old", false),
            Action::Update,
            Reason::Differs { fields: 1 },
        );
        assert!(run(&[workload("Deployment", "env-old", false)], vec![moves]).is_empty());
        assert!(run(&[workload("CronJob", "env-old", true)], Vec::new()).is_empty());
        assert!(run(&[workload("CronJob", "another", false)], Vec::new()).is_empty());
    }
}
