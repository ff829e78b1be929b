//! `manual-sync-pending`: an Application that a person syncs has changes that wait.

use super::draft::{Draft, Findings};
use super::facts::{View, enumerate, named_with_data_first, of_conditions, plural};
use crate::argocd::AppId;
use crate::argocd::names::GROUP;
use crate::inventory::{Delivery, Entry};
use crate::manifest::ResourceKey;
use crate::plan::{Action, Condition, ONCE_APPLIED, Reason, SyncMode, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans.iter().filter(|plan| plan.sync.mode == SyncMode::Manual) {
        let Some(message) = message(view, plan) else { continue };
        let introduced = plan.changes.iter().any(|change| change.introduced && change.action != Action::None);
        findings.push(Draft::of_application(&plan.application, message).introduced(introduced).at(
            plan.origin.as_ref(),
            "/spec/syncPolicy",
            "no automated sync",
        ));
    }
    for (plan, condition) in of_conditions(view, ONCE_APPLIED) {
        findings.extend(lost_later(view, plan, condition));
    }
}

/// What an Application deletes once its parent is synced by hand, where that is more than it deletes as it is.
fn lost_later(view: &View<'_>, plan: &SyncPlan, condition: &Condition) -> Option<Draft> {
    condition.key.as_ref()?;
    let parent = view.entry(&plan.application.id).filter(|entry| entry.delivery() == Some(&Delivery::ParentSync))?.parent()?;
    let message = format!("`{}` stays as it is until `{}` is synced by hand; {}", plan.application.id.name, parent.name, condition.message);
    Some(Draft::of_application(&plan.application, message).introduced(plan.affected).at(
        plan.origin.as_ref(),
        "/spec",
        "waits for its parent",
    ))
}

/// What ticking prune deletes besides an Application that leaves Git: its objects, if its finalizer says so.
fn goes_along(view: &View<'_>, plan: &SyncPlan) -> String {
    let control = &view.facts.live.settings().namespace;
    let leaves = plan.changes.iter().filter(|change| change.reason == Reason::ManualSync && change.key.is(GROUP, "Application"));
    let told = leaves.filter_map(|change| {
        let id = AppId::new(&change.key.namespace, &change.key.name);
        let (application, _) = view.entry(&id)?.live.as_ref().filter(|(application, _)| application.cascades())?;
        let server = &view.plan_of(&id)?.server;
        let objects = view.facts.live.tracked_by(server, &id.instance(control));
        let keys: Vec<&ResourceKey> = objects.iter().map(|object| &object.key).collect();
        let named = || {
            format!(
                "Application {} with its {}: {}",
                application.id.name,
                plural(keys.len(), "live object"),
                named_with_data_first(&keys, 5)
            )
        };
        (!keys.is_empty()).then(named)
    });
    told.fold(String::new(), |text, told| text + "; with it goes " + &told)
}

fn message(view: &View<'_>, plan: &SyncPlan) -> Option<String> {
    let count = |actions: &[Action]| plan.changes.iter().filter(|change| actions.contains(&change.action)).count();
    let removals = plan.changes.iter().filter(|change| change.action == Action::Prune || change.reason == Reason::ManualSync).count();
    let kinds = [
        (count(&[Action::Create]), "creation"),
        (count(&[Action::Update, Action::Adopt, Action::Replace, Action::Recreate]), "update"),
        (removals, "removal"),
    ];
    let waiting: Vec<String> = kinds.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| plural(*count, noun)).collect();
    let total: usize = kinds.iter().map(|(count, _)| count).sum();
    if total == 0 {
        return None;
    }
    let wait = if total == 1 { "waits" } else { "wait" };
    let prune = match removals {
        0 => "",
        1 => "; the removal happens only if prune is ticked",
        _ => "; the removals happen only if prune is ticked",
    };
    let along = goes_along(view, plan);
    let (name, waiting) = (&plan.application.id.name, enumerate(&waiting, 3));
    let created_later = view.entry(&plan.application.id).filter(|entry| entry.live.is_none());
    let created_later = created_later.filter(|entry| entry.delivery() == Some(&Delivery::ParentSync)).and_then(Entry::parent);
    Some(match created_later {
        Some(parent) => format!("`{name}` does not exist before somebody syncs `{}`: {waiting} {wait} for that", parent.name),
        None => format!("`{name}` is synced by hand: {waiting} {wait} for somebody to sync it{prune}{along}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use serde_json::json;

    fn map(name: &str) -> serde_json::Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}})
    }

    fn run(mode: SyncMode, changes: Vec<crate::plan::Change>) -> Vec<crate::finding::Finding> {
        let mut plan = plan("vault", changes);
        plan.sync.mode = mode;
        Run { plans: vec![plan], ..Run::default() }.judge(&["manual-sync-pending"])
    }

    #[test]
    fn what_waits_is_counted_once_for_the_application() {
        let update = changed(map("a"), map("a"), map("a"), Action::Update, Reason::Differs { fields: 1 });
        let found = run(SyncMode::Manual, vec![update, removed(map("b"), Action::Leftover, Reason::ManualSync)]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "`vault` is synced by hand: 1 update and 1 removal wait for somebody to sync it; the removal happens only if prune is ticked"
        );
    }

    #[test]
    fn what_no_prune_deletes_does_not_wait() {
        let kept = removed(map("b"), Action::Leftover, Reason::PruneFalse { on_application: false });
        assert!(run(SyncMode::Manual, vec![kept]).is_empty());
    }

    #[test]
    fn a_new_application_waits_for_the_sync_of_its_parent() {
        let mut plan = plan("vault", vec![added(map("a"))]);
        plan.sync.mode = SyncMode::Manual;
        let mut inventory = inventory([(None, Some(application_object("vault")), None, Some("root"))]);
        for entry in inventory.entries.values_mut() {
            entry.head.as_mut().unwrap().delivery = Delivery::ParentSync;
        }
        let found = Run { plans: vec![plan], inventory, ..Run::default() }.judge(&["manual-sync-pending"]);
        assert_eq!(found[0].message, "`vault` does not exist before somebody syncs `root`: 1 creation waits for that");
    }

    #[test]
    fn automated_applications_and_those_in_sync_do_not_wait() {
        assert!(run(SyncMode::Automated, vec![added(map("a"))]).is_empty());
        assert!(run(SyncMode::Manual, vec![changed(map("a"), map("a"), map("a"), Action::None, Reason::InSync)]).is_empty());
    }
}
