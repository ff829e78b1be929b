//! `prune-unrendered`: objects that no source ever rendered count as the Application's own and are deleted.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, data_behind, holds_data, named_with_data_first, plural};
use crate::argocd::TrackingMethod;
use crate::manifest::ResourceKey;
use crate::plan::{Action, Basis, Change, SyncMode, SyncPlan};

/// What to do where tracking ids mark the objects.
const HELP_FOR_ANNOTATIONS: &str = "To keep them, put them back into Git, put `argocd.argoproj.io/sync-options: Prune=false` on the live objects, \
                                    or take the annotation `argocd.argoproj.io/tracking-id` off them, before prune is turned on.";

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans.iter().filter(|plan| plan.basis == Basis::Live && plan.sync.mode != SyncMode::Deleted) {
        let pruned = unrendered(plan);
        let Some(first) = pruned.iter().max_by_key(|change| (holds_data(&change.key), std::cmp::Reverse(&change.key))) else { continue };
        // What base rendered is not known where it rendered nothing at all.
        let base_is_known = plan.changes.iter().any(|change| change.base.is_some());
        if !base_is_known {
            continue;
        }
        let keys: Vec<&ResourceKey> = pruned.iter().map(|change| &change.key).collect();
        let by_label = view.facts.live.settings().tracking.method == TrackingMethod::Label;
        let why = if by_label { "they carry its instance label, which an operator may have copied" } else { "they carry its tracking id" };
        let behind: Vec<(&SyncPlan, &Change)> = pruned.iter().map(|change| (plan, *change)).collect();
        let message = format!(
            "The sync of {} deletes {} that the base revision does not render either ({why}): {}{}",
            app_name(plan),
            plural(pruned.len(), "live object"),
            named_with_data_first(&keys, 8),
            data_behind(view, &behind)
        );
        let draft = Draft::of_change(plan, first, message).at(plan.origin.as_ref(), "/spec/syncPolicy", "prunes them");
        findings.push(if by_label { draft } else { draft.help(HELP_FOR_ANNOTATIONS) });
    }
}

/// Objects that the sync prunes because of this change, and that base does not render.
fn unrendered(plan: &SyncPlan) -> Vec<&Change> {
    plan.changes.iter().filter(|change| change.action == Action::Prune && change.base.is_none() && change.introduced).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::plan::Reason;
    use serde_json::{Value, json};

    fn object(kind: &str, name: &str) -> Value {
        let version = if kind == "StatefulSet" { "apps/v1" } else { "v1" };
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}})
    }

    fn pruned(kind: &str, name: &str, at_base: bool, introduced: bool) -> Change {
        let change = removed(object(kind, name), Action::Prune, Reason::RemovedFromGit { automated: true });
        Change { base: change.base.clone().filter(|_| at_base), introduced, ..change }
    }

    fn run(mut changes: Vec<Change>) -> Vec<crate::finding::Finding> {
        let kept = object("Service", "kept");
        changes.push(changed(kept.clone(), kept.clone(), kept, Action::None, Reason::InSync));
        Run { plans: vec![plan("olap", changes)], ..Run::default() }.judge(&["prune-unrendered"])
    }

    #[test]
    fn objects_that_nothing_rendered_are_one_error_on_the_worst_of_them() {
        let found = run(vec![pruned("ConfigMap", "olap-conf", false, true), pruned("StatefulSet", "olap-0", false, true)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].resource.as_ref().unwrap().to_string(), "apps/StatefulSet shop/olap-0");
        assert!(found[0].message.ends_with("StatefulSet shop/olap-0 and ConfigMap shop/olap-conf"), "{}", found[0].message);
        assert!(found[0].help.contains("tracking-id"), "{}", found[0].help);
    }

    #[test]
    fn what_becomes_of_data_is_told() {
        let found = run(vec![pruned("PersistentVolumeClaim", "olap-data", false, true)]);
        let data = "; data goes with them (PersistentVolumeClaim shop/olap-data, reclaim policy unknown)";
        assert!(found[0].message.ends_with(data), "{}", found[0].message);
    }

    #[test]
    fn objects_that_base_renders_and_prunes_that_were_due_before_are_fine() {
        assert!(run(vec![pruned("ConfigMap", "a", true, true)]).is_empty());
        assert!(run(vec![pruned("ConfigMap", "a", false, false)]).is_empty());
    }
}
