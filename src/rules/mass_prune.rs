//! `mass-prune`: one sync deletes most of what an Application has.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, are_related_names, named_with_data_first};
use crate::manifest::ResourceKey;
use crate::plan::{Action, Change, SyncMode, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans.iter().filter(|plan| matches!(plan.sync.mode, SyncMode::Automated | SyncMode::Manual)) {
        let at_least = findings.number(plan, "atLeast", 3.0);
        let percent = findings.number(plan, "percent", 70.0);
        let pruned: Vec<&Change> =
            plan.changes.iter().filter(|change| change.action == Action::Prune && !goes_on(view, plan, change)).collect();
        let total = plan.changes.iter().filter(|change| change.live.is_some() && change.action != Action::Orphan).count();
        let share = pruned.len() as f64 / total.max(1) as f64 * 100.0;
        if (pruned.len() as f64) < at_least || share < percent {
            continue;
        }
        let keys: Vec<&ResourceKey> = pruned.iter().map(|change| &change.key).collect();
        let message = format!(
            "{} of {total} live objects of {} ({share:.0}%) are deleted by one sync, and Argo CD's guard against an empty Application does not apply: {}",
            pruned.len(),
            app_name(plan),
            named_with_data_first(&keys, 6)
        );
        let draft = Draft::of_plan(plan, message).introduced(pruned.iter().any(|change| change.introduced));
        findings.push(draft.at(plan.origin.as_ref(), "/spec/source", "renders far less than before"));
    }
}

/// Whether the object goes on under a related name, in another namespace, or in another Application.
fn goes_on(view: &View<'_>, plan: &SyncPlan, change: &Change) -> bool {
    let renamed = plan.changes.iter().any(|other| {
        other.action == Action::Create
            && other.key.kind == change.key.kind
            && other.key.group == change.key.group
            && are_related_names(&other.key.name, &change.key.name)
    });
    let moved =
        view.changes_of(&change.key).iter().any(|(other, taken)| other.application.id != plan.application.id && taken.target.is_some());
    renamed || moved
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::Reason;
    use serde_json::{Value, json};

    fn map(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}})
    }

    fn run(pruned: usize, kept: usize, created: &[&str]) -> Vec<Finding> {
        let gone =
            (0..pruned).map(|index| removed(map(&format!("gone{index}")), Action::Prune, Reason::RemovedFromGit { automated: true }));
        let kept = (0..kept).map(|index| {
            let map = map(&format!("kept{index}"));
            changed(map.clone(), map.clone(), map, Action::None, Reason::InSync)
        });
        let changes = gone.chain(kept).chain(created.iter().map(|name| added(map(name)))).collect();
        Run { plans: vec![plan("members", changes)], ..Run::default() }.judge(&["mass-prune"])
    }

    #[test]
    fn most_of_an_application_in_one_sync_is_an_error() {
        let found = run(3, 1, &[]);
        assert!(found[0].message.starts_with("3 of 4 live objects of `members` (75%) are deleted by one sync"), "{}", found[0].message);
    }

    #[test]
    fn a_few_objects_a_small_share_and_renames_are_fine() {
        assert!(run(2, 0, &[]).is_empty());
        assert!(run(3, 2, &[]).is_empty());
        assert!(run(3, 0, &["eu-gone0", "eu-gone1", "eu-gone2"]).is_empty());
    }
}
