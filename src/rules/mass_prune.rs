//! `mass-prune`: one sync deletes most of what an Application has, or one change deletes very much altogether.

use std::collections::{BTreeMap, HashSet};

use super::draft::{Draft, Findings};
use super::facts::{RelatedNames, View, app_name, enumerate, named_with_data_first, plural};
use crate::manifest::ResourceKey;
use crate::plan::{Action, Change, SyncMode, SyncPlan};

/// Applications that the finding about the change names.
const MAX_NAMED: usize = 5;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let mut of_change: Vec<(&SyncPlan, usize)> = Vec::new();
    for plan in view.facts.plans.iter().filter(|plan| matches!(plan.sync.mode, SyncMode::Automated | SyncMode::Manual)) {
        let pruned = pruned(view, plan);
        if pruned.is_empty() {
            continue;
        }
        of_change.push((plan, pruned.iter().filter(|change| change.introduced).count()));
        let at_least = findings.number(plan, "atLeast", 3.0);
        let percent = findings.number(plan, "percent", 70.0);
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
    of_change.retain(|(_, count)| *count > 0);
    let total: usize = of_change.iter().map(|(_, count)| count).sum();
    let limit = findings.number_of_change("inChange", 100.0);
    // Of a single Application its own share tells.
    if of_change.len() < 2 || (total as f64) < limit {
        return;
    }
    of_change.sort_by_key(|(plan, count)| (std::cmp::Reverse(*count), &plan.application.id));
    let named: Vec<String> = of_change.iter().map(|(plan, count)| format!("{} ({count})", app_name(plan))).collect();
    let message = format!(
        "this change deletes {} of {} altogether, and {limit} are the limit: {}",
        plural(total, "live object"),
        plural(of_change.len(), "Application"),
        enumerate(&named, MAX_NAMED)
    );
    let most = of_change.first().and_then(|(plan, _)| plan.origin.as_ref());
    findings.push(Draft::new(message).discriminator("change").at(most, "/spec/source", "loses most"));
}

/// What the sync deletes for good. What goes on under a related name, in another namespace or in another Application does not count.
fn pruned<'p>(view: &View<'_>, plan: &'p SyncPlan) -> Vec<&'p Change> {
    let mut made: BTreeMap<(&str, &str), HashSet<&str>> = BTreeMap::new();
    for change in plan.changes.iter().filter(|change| change.action == Action::Create) {
        made.entry((&change.key.group, &change.key.kind)).or_default().insert(&change.key.name);
    }
    let made: BTreeMap<(&str, &str), RelatedNames<'_>> = made.into_iter().map(|(kind, names)| (kind, RelatedNames::new(names))).collect();
    let goes_on = |change: &Change| {
        let renamed = made.get(&(&*change.key.group, &*change.key.kind)).is_some_and(|names| names.has(&change.key.name));
        let moved = || {
            view.changes_of(&change.key).iter().any(|(other, taken)| other.application.id != plan.application.id && taken.target.is_some())
        };
        renamed || moved()
    };
    plan.changes.iter().filter(|change| change.action == Action::Prune && !goes_on(change)).collect()
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
    fn very_much_in_several_applications_is_one_more_error_and_what_was_due_before_does_not_count() {
        let half = |name: &str, introduced: bool| {
            let gone = (0..60).map(|index| Change {
                introduced,
                ..removed(map(&format!("{name}{index}")), Action::Prune, Reason::RemovedFromGit { automated: true })
            });
            let kept = (0..60).map(|index| {
                let map = map(&format!("kept-{name}-{index}"));
                changed(map.clone(), map.clone(), map, Action::None, Reason::InSync)
            });
            plan(name, gone.chain(kept).collect())
        };
        let found = Run { plans: vec![half("a", true), half("b", true)], ..Run::default() }.judge(&["mass-prune"]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "this change deletes 120 live objects of 2 Applications altogether, and 100 are the limit: `a` (60) and `b` (60)"
        );
        assert!(Run { plans: vec![half("a", true), half("b", false)], ..Run::default() }.judge(&["mass-prune"]).is_empty());
    }

    #[test]
    fn a_few_objects_a_small_share_and_renames_are_fine() {
        assert!(run(2, 0, &[]).is_empty());
        assert!(run(3, 2, &[]).is_empty());
        assert!(run(3, 0, &["eu-gone0", "eu-gone1", "eu-gone2"]).is_empty());
    }
}
