//! `prune-collects-dependents`: what a pruned object owns goes with it, although somebody still needs it.

use super::draft::{Draft, Findings};
use super::facts::{References, View, is_claim_template_owner, next_sync, server_of, use_by};
use crate::argocd::names::GROUP;
use crate::manifest::ResourceKey;
use crate::plan::{Action, SyncMode, Tie};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let mut references = None;
    for (plan, change) in view.changes() {
        if change.action != Action::Prune
            || plan.sync.mode == SyncMode::Deleted
            || change.key.is("", "Namespace")
            || is_definition(&change.key)
            // What goes with an Application is `cascade-delete-application`'s business.
            || change.key.is(GROUP, "Application")
            // What a StatefulSet does with its claims is `prune-persistent-data`'s business.
            || is_claim_template_owner(&change.key)
        {
            continue;
        }
        let mut needed = Vec::new();
        for dependent in change.cascade.iter().filter(|dependent| dependent.tie == Tie::Owned) {
            let key = &dependent.key;
            if key.is("", "PersistentVolumeClaim") {
                needed.push(format!("{} with its data", key.named()));
                continue;
            }
            if !matches!(&*key.kind, "Secret" | "ConfigMap" | "ServiceAccount") || !key.group.is_empty() {
                continue;
            }
            let references = references.get_or_insert_with(|| References::new(view));
            let users = references.of(server_of(plan, change), key);
            if !users.is_empty() {
                needed.push(format!("{}, though {}", key.named(), use_by(plan, users)));
            }
        }
        if needed.is_empty() {
            continue;
        }
        let message = format!(
            "{} will be deleted by {}, and what it owns goes with it: {}; pods that run keep going until their next restart",
            change.key.named(),
            next_sync(plan),
            needed.join("; ")
        );
        findings.push(Draft::of_change(plan, change, message).at(change.base.as_ref().map(|base| &base.origin), "", "leaves Git"));
    }
}

fn is_definition(key: &ResourceKey) -> bool {
    key.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::{Change, Dependent, Reason};
    use serde_json::{Value, json};

    fn workload(secret: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "report", "namespace": "shop", "annotations": {"argocd.argoproj.io/tracking-id": "report:apps/Deployment:shop/report"}},
            "spec": {"template": {"spec": {"containers": [{"name": "main", "envFrom": [{"secretRef": {"name": secret}}]}]}}}})
    }

    fn run(live: &[Value], owned: &str) -> Vec<Finding> {
        let external =
            json!({"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": {"name": "login", "namespace": "shop"}});
        let cascade = vec![Dependent::direct(ResourceKey::new("", owned, "shop", "login"), Tie::Owned, None)];
        let change = Change { cascade, ..removed(external, Action::Prune, Reason::RemovedFromGit { automated: true }) };
        Run { plans: vec![plan("login", vec![change])], live: snapshot(live), ..Run::default() }.judge(&["prune-collects-dependents"])
    }

    #[test]
    fn a_secret_that_goes_with_its_owner_and_is_still_read_is_an_error() {
        let found = run(&[workload("login")], "Secret");
        assert_eq!(
            found[0].message,
            "ExternalSecret shop/login will be deleted by the next automatic sync of `login`, and what it owns goes with it: Secret shop/login, though \
             Deployment shop/report (Application `report`) reads it through envFrom; pods that run keep going until their next restart"
        );
    }

    #[test]
    fn a_claim_that_goes_with_its_owner_is_an_error_and_what_nobody_reads_is_fine() {
        assert_eq!(run(&[], "PersistentVolumeClaim").len(), 1);
        assert!(run(&[workload("another")], "Secret").is_empty());
        assert!(run(&[], "Pod").is_empty());
    }

    #[test]
    fn claims_of_a_statefulset_are_left_to_the_rule_about_data() {
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "login", "namespace": "shop"}});
        let claim = ResourceKey::new("", "PersistentVolumeClaim", "shop", "data-login-0");
        let cascade = vec![Dependent::direct(claim, Tie::Owned, None)];
        let change = Change { cascade, ..removed(set, Action::Prune, Reason::RemovedFromGit { automated: true }) };
        assert!(Run { plans: vec![plan("login", vec![change])], ..Run::default() }.judge(&["prune-collects-dependents"]).is_empty());
    }
}
