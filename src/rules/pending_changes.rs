//! `pending-changes`: what the sync that this change starts also carries out, because no sync has brought it to the cluster yet.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, enumerate, plural};
use crate::plan::{Change, SyncMode};

/// Changes that one finding names.
const MAX_NAMED: usize = 6;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans.iter().filter(|plan| plan.sync.mode == SyncMode::Automated && plan.sync.starts) {
        let earlier: Vec<&Change> = plan.changes.iter().filter(|change| change.earlier && change.reached).collect();
        let Some(first) = earlier.first() else { continue };
        let named: Vec<String> = earlier.iter().map(|change| format!("{} {}", change.action.as_str(), change.key.named())).collect();
        let message = format!(
            "The sync of {} also carries out {} that stood in Git before and {} never synced: {}",
            app_name(plan),
            plural(earlier.len(), "change"),
            if earlier.len() == 1 { "was" } else { "were" },
            enumerate(&named, MAX_NAMED)
        );
        let others = plan.changes.iter().any(|change| change.introduced && !change.earlier);
        let draft = Draft::of_plan(plan, message).introduced(others || plan.affected);
        findings.push(draft.at(first.origin().or(plan.origin.as_ref()), "", "waited for a sync"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::plan::{Action, Reason, SyncPlan};
    use serde_json::{Value, json};

    fn map(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}})
    }

    fn waiting(name: &str) -> Change {
        let change = changed(map(name), map(name), map(name), Action::Update, Reason::Differs { fields: 1 });
        Change { earlier: true, introduced: false, ..change }
    }

    fn run(edit: impl FnOnce(&mut SyncPlan)) -> Vec<String> {
        let mut plan = plan("web", vec![waiting("old"), added(map("new"))]);
        edit(&mut plan);
        let found = Run { plans: vec![plan], ..Run::default() }.judge(&["pending-changes"]);
        found.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn what_waited_for_a_sync_is_named() {
        let says = "The sync of `web` also carries out 1 change that stood in Git before and was never synced: update ConfigMap shop/old";
        assert_eq!(run(|_| ()), [says]);
    }

    #[test]
    fn what_this_change_brings_what_is_not_reached_and_what_no_sync_starts_are_left_out() {
        assert!(run(|plan| plan.changes.iter_mut().for_each(|change| change.earlier = false)).is_empty());
        assert!(run(|plan| plan.changes.iter_mut().for_each(|change| change.reached = false)).is_empty());
        assert!(run(|plan| plan.sync.starts = false).is_empty());
        assert!(run(|plan| plan.sync.mode = SyncMode::Manual).is_empty());
    }
}
