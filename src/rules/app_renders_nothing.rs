//! `app-renders-nothing`: everything that is live would be pruned, so automated sync refuses, and a manual sync with prune wipes it out.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, plural};
use crate::plan::{Reason, SyncMode, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans {
        let (grade, message) = if is_guarded(plan) {
            let instance = plan.application.id.instance(&view.facts.live.settings().namespace);
            let live = view.facts.live.tracked_by(&plan.server, &instance).len();
            let message = format!(
                "{} renders no manifests after this change ({}): automated sync refuses with \"auto-sync will wipe out all resources\" and stays \
                 stuck, and a manual sync with prune deletes everything",
                app_name(plan),
                plural(live, "live object")
            );
            (None, message)
        } else if is_emptied_by_hand(plan) {
            let goes = plan.changes.iter().filter(|change| change.reason == Reason::ManualSync).count();
            let what = if goes == plan.changes.len() { "everything".to_owned() } else { format!("{goes} of them") };
            let message = format!(
                "{} renders no manifests after this change ({}): the next manual sync with prune ticked deletes {what}",
                app_name(plan),
                plural(plan.changes.len(), "live object")
            );
            (Some("manual"), message)
        } else {
            continue;
        };
        let pointer = if plan.application.spec.is_multi_source() { "/spec/sources" } else { "/spec/source" };
        let draft = Draft::of_plan(plan, message).grade(grade).introduced(plan.affected);
        findings.push(draft.at(plan.origin.as_ref(), pointer, "renders nothing"));
    }
}

/// Whether Argo CD's own guard stops the sync.
///
/// Source: Argo CD `controller/appcontroller.go:autoSync`.
fn is_guarded(plan: &SyncPlan) -> bool {
    plan.conditions.iter().any(|condition| condition.kind == "WouldPruneEverything")
}

/// Whether a person who syncs with prune removes all there is; there is no guard then.
fn is_emptied_by_hand(plan: &SyncPlan) -> bool {
    plan.sync.mode == SyncMode::Manual
        && plan.changes.iter().any(|change| change.reason == Reason::ManualSync)
        && plan.changes.iter().all(|change| change.target.is_none() && change.action.is_removal())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::{Finding, Severity};
    use crate::plan::{Action, Change};
    use serde_json::{Value, json};

    fn map(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}})
    }

    fn run(mode: SyncMode, guarded: bool, changes: Vec<Change>) -> Vec<Finding> {
        let mut plan = plan("blog", changes);
        plan.sync.mode = mode;
        if guarded {
            plan.conditions = vec![condition("WouldPruneEverything", "auto-sync will wipe out all resources", "Application")];
        }
        Run { plans: vec![plan], ..Run::default() }.judge(&["app-renders-nothing"])
    }

    #[test]
    fn an_application_that_the_guard_of_automated_sync_stops_is_an_error() {
        let found = run(SyncMode::Refused, true, Vec::new());
        assert!(found[0].message.starts_with("`blog` renders no manifests after this change (0 live objects)"), "{}", found[0].message);
        assert_eq!((found[0].application.as_deref(), found[0].severity), (Some("argocd/blog"), Severity::Error));
    }

    #[test]
    fn an_emptied_application_that_a_person_syncs_is_a_warning() {
        let found = run(SyncMode::Manual, false, vec![removed(map("a"), Action::Leftover, Reason::ManualSync)]);
        assert_eq!(found[0].severity, Severity::Warning);
    }

    #[test]
    fn other_refusals_and_applications_that_keep_something_are_fine() {
        assert!(run(SyncMode::Refused, false, Vec::new()).is_empty());
        assert!(run(SyncMode::Manual, false, Vec::new()).is_empty());
        let kept = changed(map("b"), map("b"), map("b"), Action::None, Reason::InSync);
        assert!(run(SyncMode::Manual, false, vec![removed(map("a"), Action::Leftover, Reason::ManualSync), kept]).is_empty());
        assert!(run(SyncMode::Automated, false, vec![removed(map("a"), Action::Leftover, Reason::PruneOff)]).is_empty());
    }
}
