//! `shared-resource`: two Applications render the same object on the same cluster and take it from each other.

use std::collections::BTreeMap;

use super::draft::{Draft, Findings};
use super::facts::{View, enumerate, server_of};
use crate::manifest::{Origin, ResourceKey};
use crate::plan::{Action, Change, SyncPlan};

/// Applications that one message names.
const MAX_NAMED: usize = 4;

/// One Application's part in it.
struct Share<'a> {
    name: &'a str,
    origin: Option<&'a Origin>,
    heals: bool,
    is_new: bool,
}

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (key, changes) in view.contested() {
        let mut by_server: BTreeMap<&str, Vec<(&SyncPlan, &Change)>> = BTreeMap::new();
        for (plan, change) in changes.iter().filter(|(plan, change)| is_rendered(plan, change)) {
            let sharing = by_server.entry(server_of(plan, change)).or_default();
            if !sharing.iter().any(|(other, _)| other.application.id == plan.application.id) {
                sharing.push((plan, change));
            }
        }
        for mut sharing in by_server.into_values() {
            let Some((first, _)) = sharing.first().copied() else { continue };
            sharing.retain(|(plan, _)| view.are_together(&first.application.id, &plan.application.id));
            if sharing.len() > 1 {
                findings.push(draft(key, first, sharing.iter().map(|(plan, change)| share(plan, change)).collect()));
            }
        }
    }
    for object in view.facts.rendered_elsewhere.iter().filter(|object| view.plan_of(&object.other).is_none()) {
        let taking = view.changes_of(&object.key).iter().find(|(plan, change)| {
            is_rendered(plan, change)
                && plan.application.id.to_string() == object.application
                && view.are_together(&plan.application.id, &object.other)
        });
        if let Some((plan, change)) = taking {
            let other = Share { name: &object.other.name, origin: Some(&object.origin), heals: object.other_heals, is_new: false };
            let taken = Share { is_new: true, ..share(plan, change) };
            findings.push(draft(&object.key, plan, vec![taken, other]));
        }
    }
}

fn share<'a>(plan: &'a SyncPlan, change: &'a Change) -> Share<'a> {
    let is_new = change.base.is_none() && change.introduced;
    Share { name: &plan.application.id.name, origin: change.origin(), heals: plan.sync.self_heal, is_new }
}

fn draft(key: &ResourceKey, plan: &SyncPlan, mut shares: Vec<Share<'_>>) -> Draft {
    shares.sort_by_key(|share| !share.is_new);
    let heal = shares.iter().filter(|share| share.heals).count() > 1;
    let effect = if heal { "they heal themselves, so they overwrite each other without end" } else { "each sync takes it from the other" };
    let names: Vec<String> = shares.iter().map(|share| format!("`{}`", share.name)).collect();
    let message = format!("{} is rendered by the Applications {}: {effect}", key.named(), enumerate(&names, MAX_NAMED));
    let is_new = shares.iter().any(|share| share.is_new);
    let draft = Draft::of_plan(plan, message).resource(key.clone()).grade(heal.then_some("both-heal")).introduced(is_new);
    shares.iter().take(MAX_NAMED).fold(draft, |draft, share| draft.at(share.origin, "", format!("rendered by `{}`", share.name)))
}

/// Whether an Application applies the object. Hooks, and the namespace that an option asks for, are not shared.
fn is_rendered(plan: &SyncPlan, change: &Change) -> bool {
    let applied = !matches!(change.action, Action::Skip | Action::Hook) && !change.action.is_removal();
    let is_asked_for = |origin: &Origin| change.key.is("", "Namespace") && plan.origin.as_ref() == Some(origin);
    applied && change.target.as_ref().is_some_and(|target| !is_asked_for(&target.origin))
}

#[cfg(test)]
mod tests {
    use super::super::RenderedElsewhere;
    use super::super::fixture::*;
    use super::*;
    use crate::argocd::AppId;
    use crate::finding::Severity;
    use crate::manifest::Side;
    use crate::plan::Reason;
    use serde_json::{Value, json};

    fn map(data: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}, "data": {"a": data}})
    }

    fn kept(data: &str) -> Change {
        changed(map(data), map(data), map(data), Action::None, Reason::InSync)
    }

    fn run(one: Change, other: Change, heal: bool) -> Vec<(Severity, bool)> {
        let mut plans = vec![plan("web", vec![one]), plan("worker", vec![other])];
        plans.iter_mut().for_each(|plan| plan.sync.self_heal = heal);
        let found = Run { plans, ..Run::default() }.judge(&["shared-resource"]);
        found.into_iter().map(|finding| (finding.severity, finding.introduced)).collect()
    }

    #[test]
    fn an_object_that_a_second_application_renders_is_a_warning_and_a_fight_under_self_heal_an_error() {
        assert_eq!(run(kept("1"), added(map("2")), false), [(Severity::Warning, true)]);
        assert_eq!(run(kept("1"), added(map("1")), true), [(Severity::Error, true)]);
    }

    #[test]
    fn an_old_conflict_is_not_new_and_an_object_that_one_of_them_drops_is_shared_no_more() {
        assert_eq!(run(kept("1"), kept("1"), false), [(Severity::Warning, false)]);
        let dropped = removed(map("1"), Action::Leftover, Reason::PruneOff);
        assert!(run(dropped, added(map("1")), true).is_empty());
    }

    #[test]
    fn equal_objects_on_different_clusters_are_two() {
        let mut other = plan("worker", vec![added(map("1"))]);
        other.server = "https://other.example.test".into();
        let plans = vec![plan("web", vec![added(map("1"))]), other];
        assert!(Run { plans, ..Run::default() }.judge(&["shared-resource"]).is_empty());
    }

    #[test]
    fn all_that_render_it_are_named_in_one_finding_with_the_new_ones_first() {
        let plans = vec![plan("a", vec![kept("1")]), plan("b", vec![added(map("1"))]), plan("c", vec![kept("1")])];
        let found = Run { plans, ..Run::default() }.judge(&["shared-resource"]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "ConfigMap shop/settings is rendered by the Applications `b`, `a` and `c`: each sync takes it from the other"
        );
    }

    #[test]
    fn an_application_that_the_change_does_not_touch_counts_as_well() {
        let taken = Change { action: Action::Adopt, base: None, ..kept("1") };
        let mut taking = plan("web", vec![taken]);
        taking.sync.self_heal = true;
        let elsewhere = RenderedElsewhere {
            key: ResourceKey::new("", "ConfigMap", "shop", "settings"),
            application: "argocd/web".to_owned(),
            other: AppId::new("argocd", "worker"),
            other_heals: true,
            origin: origin("apps/worker/settings.yaml", Side::Head),
        };
        let found = Run { plans: vec![taking], rendered_elsewhere: vec![elsewhere], ..Run::default() }.judge(&["shared-resource"]);
        assert_eq!(found.iter().map(|finding| (finding.severity, finding.introduced)).collect::<Vec<_>>(), [(Severity::Error, true)]);
        assert_eq!(&*found[0].places[1].origin.path, "apps/worker/settings.yaml");
    }

    #[test]
    fn without_a_snapshot_only_applications_that_belong_together_share() {
        let run = |parents: [Option<&'static str>; 2]| {
            let mut plans = vec![plan("web", vec![kept("1")]), plan("worker", vec![added(map("1"))])];
            plans.iter_mut().for_each(|plan| plan.basis = crate::plan::Basis::Assumed);
            let names = ["web", "worker"].into_iter().zip(parents);
            let mut inventory = inventory(names.map(|(name, parent)| {
                let object = Some(application_object(name));
                (object.clone(), object, None, parent)
            }));
            for (id, entry) in &mut inventory.entries {
                let head = entry.head.as_mut().unwrap();
                let moved = origin(&format!("clusters/{}/app.yaml", id.name), Side::Head);
                head.manifest = std::sync::Arc::new(crate::manifest::Manifest { origin: moved, ..(*head.manifest).clone() });
            }
            let live = crate::snapshot::LiveState::assumed(Vec::new());
            Run { plans, inventory, live, ..Run::default() }.judge(&["shared-resource"]).len()
        };
        assert_eq!([run([Some("root"), Some("root")]), run([Some("dev"), Some("prod")]), run([None, None])], [1, 0, 0]);
    }
}
