//! `hook-deletes-data`: a claim, a volume, a Namespace or a definition is a hook, and hooks are deleted.

use super::draft::{Draft, Findings};
use super::facts::{View, next_sync, plural};
use super::{prune_namespace, prune_persistent_data};
use crate::argocd::names::{HELM_HOOK, HOOK};
use crate::manifest::annotation;
use crate::plan::reason::LiveCopy;
use crate::plan::{Action, Change, Reason, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, change) in view.changes().filter(|(_, change)| change.action == Action::Hook) {
        let Reason::Hook { live_copy } = change.reason else { continue };
        let when = match live_copy {
            LiveCopy::Stays => continue,
            LiveCopy::DeletedFirst => format!("is a hook, and {} will delete it before it creates it again", next_sync(plan)),
            LiveCopy::DeletedAfter => format!("is a hook, and {} will delete it when it has succeeded", next_sync(plan)),
        };
        let Some((grade, loss)) = loss(view, plan, change) else { continue };
        let target = change.target.as_deref();
        let field = target.and_then(|target| [HOOK, HELM_HOOK].into_iter().find(|name| annotation(&target.object, name).is_some()));
        let pointer = field.map(|name| format!("/metadata/annotations/{}", name.replace('/', "~1"))).unwrap_or_default();
        let draft = Draft::of_change(plan, change, format!("{} {when}; {loss}", change.key.named())).grade(grade);
        findings.push(draft.at(target.map(|target| &target.origin), &pointer, "makes it a hook"));
    }
}

/// What is lost with the live copy, and how bad that is; `None` where it is no more than the object itself.
pub(super) fn loss(view: &View<'_>, plan: &SyncPlan, change: &Change) -> Option<(Option<&'static str>, String)> {
    if change.key.is("", "Namespace") {
        return Some((None, format!("the Namespace goes {}", prune_namespace::contents(plan, change))));
    }
    if change.key.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        let with = match change.cascade.len() {
            0 => "every object of its kind goes with it".to_owned(),
            count => format!("{} of its kind go with it", plural(count, "live object")),
        };
        return Some((None, with));
    }
    prune_persistent_data::fate(view, plan, change).map(|fate| (fate.grade, fate.sentence))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Severity;
    use serde_json::{Value, json};

    fn hook(kind: &str, live_copy: LiveCopy) -> Change {
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "data", "namespace": "shop"},
            "spec": {"volumeName": "pv-1"}, "status": {"phase": "Bound"}});
        let mut target = object.clone();
        target["metadata"]["annotations"] = json!({"argocd.argoproj.io/hook": "PreSync"});
        Change { action: Action::Hook, ..changed(object.clone(), target, object, Action::Hook, Reason::Hook { live_copy }) }
    }

    fn volume(policy: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1"},
            "spec": {"capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": policy, "claimRef": {"namespace": "shop", "name": "data"}}})
    }

    fn run(change: Change, policy: &str) -> Vec<crate::finding::Finding> {
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"},
            "spec": {"volumeName": "pv-1"}, "status": {"phase": "Bound"}});
        let run = Run { plans: vec![plan("orders", vec![change])], live: snapshot(&[claim, volume(policy)]), ..Run::default() };
        run.judge(&["hook-deletes-data"])
    }

    #[test]
    fn a_claim_that_becomes_a_hook_is_told_with_its_volume_and_when_it_goes() {
        let found = run(hook("PersistentVolumeClaim", LiveCopy::DeletedFirst), "Delete");
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!(
            found[0].message,
            "PersistentVolumeClaim shop/data is a hook, and the next automatic sync of `orders` will delete it before it creates it again; \
             volume pv-1 (1Gi) has reclaim policy Delete, so the data goes with it and only a backup or a VolumeSnapshot brings it back"
        );
        assert_eq!(found[0].places[0].pointer, "/metadata/annotations/argocd.argoproj.io~1hook");
        let after = run(hook("PersistentVolumeClaim", LiveCopy::DeletedAfter), "Retain");
        assert_eq!(after[0].severity, Severity::Warning);
        assert!(after[0].message.contains("will delete it when it has succeeded"), "{}", after[0].message);
    }

    #[test]
    fn a_hook_that_is_not_there_yet_and_hooks_without_data_are_fine() {
        assert!(run(hook("PersistentVolumeClaim", LiveCopy::Stays), "Delete").is_empty());
        assert!(run(hook("ConfigMap", LiveCopy::DeletedFirst), "Delete").is_empty());
    }

    #[test]
    fn a_namespace_that_is_a_hook_takes_everything_in_it() {
        let found = run(hook("Namespace", LiveCopy::DeletedFirst), "Delete");
        assert!(found[0].message.contains("the Namespace goes and the snapshot shows nothing else in it"), "{}", found[0].message);
    }
}
