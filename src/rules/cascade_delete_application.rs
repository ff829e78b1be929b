//! `cascade-delete-application`: an Application goes, and its live finalizer takes everything along that it tracks; or a sync deletes it to make it anew.

mod recreated;

use std::collections::BTreeSet;

use super::draft::{Draft, Findings};
use super::facts::{View, consequences, deleted_by_set, named_with_data_first, plural};
use super::project_removed_in_use::hangs;
use crate::argocd::AppId;
use crate::argocd::names::{GROUP, RESOURCES_FINALIZER};
use crate::manifest::ResourceKey;
use crate::plan::{Action, Basis, Change, SyncMode, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    recreated::judge(view, findings);
    for plan in view.facts.plans.iter().filter(|plan| plan.sync.mode == SyncMode::Deleted) {
        // What may hang for want of its project is told with the project.
        if goes_with_its_parent(view, plan) || deleted_by_set(view, plan).is_some() || hangs(view, plan) {
            continue;
        }
        let deleted = deleted_with(view, plan);
        if deleted.is_empty() {
            continue;
        }
        let keys: Vec<&ResourceKey> = deleted.iter().map(|(_, change)| &change.key).collect();
        let whose = if plan.basis == Basis::Assumed { "the Application, as base has it" } else { "the live Application" };
        let mut message = format!(
            "Removing Application {} deletes {} ({RESOURCES_FINALIZER} is set on {whose}): {}",
            plan.application.id.name,
            plural(keys.len(), "live object"),
            named_with_data_first(&keys, 8)
        );
        message.push_str(&consequences(view, &deleted));
        let waits = deleted.iter().all(|(_, change)| !change.reached);
        if waits {
            message.push_str(&format!("; {}", what_holds_it_up(plan)));
        }
        findings.push(removal(view, plan, message).grade(waits.then_some("approval")));
    }
}

/// Why nothing is deleted yet.
fn what_holds_it_up(plan: &SyncPlan) -> String {
    match plan.conditions.iter().find(|condition| condition.kind.starts_with("Deletion")) {
        Some(waits) if waits.kind == "DeletionWaits" => "it waits for a person's approval first".to_owned(),
        Some(hangs) => hangs.message.clone(),
        None => "the sync that would remove it does not get that far for now".to_owned(),
    }
}

/// Whether the finalizer of another Application that goes as well deletes this one; that one's finding then counts its objects.
fn goes_with_its_parent(view: &View<'_>, plan: &SyncPlan) -> bool {
    let mut above: Vec<&AppId> = Vec::new();
    let mut current = plan;
    while let Some(parent) = deleting_parent(view, current) {
        let id = &parent.application.id;
        if *id == plan.application.id {
            // They delete each other: the one that the change removes counts for all.
            let first = above.iter().copied().chain([id]).min_by_key(|id| (is_defined(view, id), *id));
            return first != Some(id);
        }
        if above.contains(&id) {
            break;
        }
        above.push(id);
        current = parent;
    }
    !above.is_empty()
}

/// The other Application whose finalizer deletes this one.
fn deleting_parent<'a>(view: &View<'a>, plan: &SyncPlan) -> Option<&'a SyncPlan> {
    let (parent, change) = view.change_of_application(&plan.application.id)?;
    let by_finalizer = change.action == Action::Delete && parent.sync.mode == SyncMode::Deleted;
    (by_finalizer && parent.application.id != plan.application.id).then_some(parent)
}

fn is_defined(view: &View<'_>, id: &AppId) -> bool {
    view.entry(id).is_some_and(|entry| entry.head.is_some())
}

/// What the finalizer deletes, through Applications that are deleted with it or with one of its objects.
pub(super) fn deleted_with<'a>(view: &View<'a>, plan: &'a SyncPlan) -> Vec<(&'a SyncPlan, &'a Change)> {
    let mut deleted = Vec::new();
    let mut seen: BTreeSet<&AppId> = BTreeSet::from([&plan.application.id]);
    let mut pending = vec![plan];
    while let Some(plan) = pending.pop() {
        for change in plan.changes.iter().filter(|change| change.action == Action::Delete) {
            deleted.push((plan, change));
            let along = change.cascade.iter().map(|dependent| &dependent.key);
            for key in std::iter::once(&change.key).chain(along).filter(|key| key.is(GROUP, "Application")) {
                if let Some(child) = view.plan_of(&AppId::new(&key.namespace, &key.name))
                    && child.sync.mode == SyncMode::Deleted
                    && seen.insert(&child.application.id)
                {
                    pending.push(child);
                }
            }
        }
    }
    deleted
}

/// A finding about an Application that goes: introduced as the change of its parent is, and pointing at the definition that goes.
pub(super) fn removal(view: &View<'_>, plan: &SyncPlan, message: String) -> Draft {
    let introduced = match view.change_of_application(&plan.application.id) {
        Some((_, change)) => change.introduced,
        None => plan.affected,
    };
    let base = view.entry(&plan.application.id).and_then(|entry| entry.base.as_ref()).map(|base| &base.manifest.origin);
    Draft::of_application(&plan.application, message).introduced(introduced).assumed(plan.basis == Basis::Assumed).at(
        base.or(plan.origin.as_ref()),
        "",
        "this Application goes",
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Severity;
    use crate::plan::Reason;
    use serde_json::json;

    fn claim() -> serde_json::Value {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"}})
    }

    fn run(action: Action, reason: Reason, mode: SyncMode) -> Run {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api", "namespace": "shop"}});
        let mut plan = plan("payments", vec![removed(deployment, action, reason.clone()), removed(claim(), action, reason)]);
        plan.sync.mode = mode;
        Run { plans: vec![plan], live: snapshot(&[claim()]), ..Run::default() }
    }

    #[test]
    fn what_goes_with_the_application_is_named_with_data_first() {
        let found = run(Action::Delete, Reason::Cascade, SyncMode::Deleted).judge(&["cascade-delete-application"]);
        assert_eq!(
            found[0].message,
            "Removing Application payments deletes 2 live objects (resources-finalizer.argocd.argoproj.io is set on the live Application): \
             PersistentVolumeClaim shop/data and Deployment shop/api; data goes with them, whatever Prune=false says \
             (PersistentVolumeClaim shop/data, reclaim policy unknown)"
        );
    }

    #[test]
    fn it_is_the_only_loud_finding_about_the_objects_that_go() {
        let loud = run(Action::Delete, Reason::Cascade, SyncMode::Deleted).loud();
        assert_eq!(loud, [("cascade-delete-application".to_owned(), Severity::Error)]);
    }

    #[test]
    fn applications_that_go_along_are_counted_with_the_topmost() {
        let mut top = plan("top", vec![removed(application_object("child"), Action::Delete, Reason::Cascade)]);
        let mut child = plan("child", vec![removed(claim(), Action::Delete, Reason::Cascade)]);
        (top.sync.mode, child.sync.mode) = (SyncMode::Deleted, SyncMode::Deleted);
        let found = Run { plans: vec![child, top], ..Run::default() }.judge(&["cascade-delete-application"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.starts_with("Removing Application top deletes 2 live objects"), "{}", found[0].message);
        assert!(found[0].message.contains("PersistentVolumeClaim shop/data"), "{}", found[0].message);
    }

    #[test]
    fn a_deletion_that_waits_or_hangs_is_a_warning() {
        let waits = Change { reached: false, ..removed(claim(), Action::Delete, Reason::Cascade) };
        let mut plan = plan("payments", vec![waits]);
        plan.sync.mode = SyncMode::Deleted;
        let found = |conditions| {
            let plan = SyncPlan { conditions, ..plan.clone() };
            let found = Run { plans: vec![plan], ..Run::default() }.judge(&["cascade-delete-application"]);
            (found[0].severity, found[0].message.clone())
        };
        let (severity, message) = found(vec![condition("DeletionWaits", "it waits for a person's approval because of x", "Pod")]);
        assert_eq!(severity, Severity::Warning);
        assert!(message.ends_with("; it waits for a person's approval first"), "{message}");
        assert!(found(vec![condition("DeletionHangs", "it hangs", "Pod")]).1.ends_with("; it hangs"));
        assert!(found(Vec::new()).1.ends_with("; the sync that would remove it does not get that far for now"));
    }

    #[test]
    fn objects_that_stay_are_no_deletion() {
        assert!(run(Action::Orphan, Reason::NoFinalizer, SyncMode::Deleted).judge(&["cascade-delete-application"]).is_empty());
    }
}
