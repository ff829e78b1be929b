//! `prune-namespace`: a Namespace leaves Git and is deleted with everything in it.

use std::collections::BTreeMap;

use super::draft::{Draft, Findings};
use super::facts::{View, data_behind, enumerate, is_made_by_kubernetes, next_sync, plural};
use crate::plan::{Action, Change, Dependent, SyncMode, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let pruned = view
        .changes()
        .filter(|(plan, change)| change.action == Action::Prune && change.key.is("", "Namespace") && plan.sync.mode != SyncMode::Deleted);
    for (plan, change) in pruned {
        let mut message = format!("{} will be deleted by {}, {}", change.key.named(), next_sync(plan), contents(plan, change));
        message.push_str(&data_behind(view, &[(plan, change)]));
        findings.push(Draft::of_change(plan, change, message).at(change.base.as_ref().map(|base| &base.origin), "", "leaves Git"));
    }
}

/// What goes along, by who owns it.
pub(super) fn contents(plan: &SyncPlan, change: &Change) -> String {
    let objects: Vec<&Dependent> = change.cascade.iter().filter(|dependent| !is_made_by_kubernetes(dependent)).collect();
    if objects.is_empty() {
        return match plan.basis {
            crate::plan::Basis::Live => "and the snapshot shows nothing else in it; objects that it could not list go as well".into(),
            crate::plan::Basis::Assumed => "and everything in it goes along, also what no Application tracks".into(),
        };
    }
    let mut tracked: BTreeMap<&str, usize> = BTreeMap::new();
    let mut untracked = Vec::new();
    for object in &objects {
        match &object.application {
            Some(application) => *tracked.entry(application).or_default() += 1,
            None => untracked.push(format!("{} {}", object.key.kind, object.key.name)),
        }
    }
    let own = plan.application.id.to_string();
    let mut parts = Vec::new();
    if let Some(count) = tracked.remove(own.as_str()) {
        parts.push(format!("{count} of `{}`", plan.application.id.name));
    }
    parts.extend(tracked.into_iter().map(|(application, count)| {
        let name = application.rsplit('/').next().unwrap_or(application);
        format!("{count} of Application `{name}`")
    }));
    if !untracked.is_empty() {
        parts.push(format!("{} that no Application tracks ({})", untracked.len(), enumerate(&untracked, 8)));
    }
    format!("and with it {}: {}", plural(objects.len(), "live object"), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::manifest::ResourceKey;
    use crate::plan::{Reason, Tie};
    use serde_json::json;

    fn dependent(kind: &str, name: &str, application: Option<&str>) -> Dependent {
        Dependent::direct(ResourceKey::new("", kind, "billing", name), Tie::InNamespace, application.map(str::to_owned))
    }

    fn run(action: Action, cascade: Vec<Dependent>) -> Vec<crate::finding::Finding> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "billing"}});
        let change = Change { cascade, ..removed(namespace, action, Reason::RemovedFromGit { automated: true }) };
        Run { plans: vec![plan("billing", vec![change])], ..Run::default() }.judge(&["prune-namespace"])
    }

    #[test]
    fn what_goes_along_is_counted_by_owner_without_what_every_namespace_has() {
        let found = run(
            Action::Prune,
            vec![
                dependent("Deployment", "billing", Some("argocd/billing")),
                dependent("Deployment", "audit", Some("argocd/audit")),
                dependent("Secret", "tls-manual", None),
                dependent("PersistentVolumeClaim", "scratch", None),
                dependent("ConfigMap", "kube-root-ca.crt", None),
                dependent("ServiceAccount", "default", None),
            ],
        );
        assert_eq!(
            found[0].message,
            "Namespace billing will be deleted by the next automatic sync of `billing`, and with it 4 live objects: 1 of `billing`, \
             1 of Application `audit`, 2 that no Application tracks (Secret tls-manual and PersistentVolumeClaim scratch)"
        );
    }

    #[test]
    fn a_namespace_that_stays_is_fine() {
        for action in [Action::Retain, Action::Leftover, Action::Orphan, Action::Confirm] {
            assert!(run(action, Vec::new()).is_empty());
        }
    }

    #[test]
    fn the_data_of_claims_that_go_along_is_named_with_its_volume_and_policy() {
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d", "namespace": "billing"},
            "spec": {"volumeName": "pv1"}, "status": {"phase": "Bound"}});
        let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv1"},
            "spec": {"capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Delete", "claimRef": {"namespace": "billing", "name": "d"}}});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "billing"}});
        let cascade = vec![dependent("PersistentVolumeClaim", "d", Some("argocd/other"))];
        let change = Change { cascade, ..removed(namespace, Action::Prune, Reason::RemovedFromGit { automated: true }) };
        let run = Run { plans: vec![plan("billing", vec![change])], live: snapshot(&[claim, volume]), ..Run::default() };
        let message = &run.judge(&["prune-namespace"])[0].message;
        assert!(
            message.ends_with("; data goes with them (PersistentVolumeClaim billing/d on pv1 (1Gi), reclaim policy Delete)"),
            "{message}"
        );
    }
}
