//! Objects that the change gives to an Application while another one, which it does not touch, renders them as well.
//!
//! Takes the plans; hands on those objects. Only Applications that lose something are rendered for it.

use std::collections::BTreeMap;

use super::super::applications::Discovered;
use super::super::sources::{Render, Sources};
use crate::argocd::AppId;
use crate::manifest::{ResourceKey, Side};
use crate::plan::{Action, Change, Reason, SyncPlan, World, application};
use crate::rules::RenderedElsewhere;

/// What the change takes from Applications that have no plan because nothing of them differs.
pub(super) fn rendered_elsewhere(
    plans: &BTreeMap<AppId, SyncPlan>,
    discovered: &Discovered,
    sources: &Sources<'_>,
    world: &World<'_>,
) -> Vec<RenderedElsewhere> {
    let control = &world.live.settings().namespace;
    let mut taken: BTreeMap<AppId, BTreeMap<&ResourceKey, &SyncPlan>> = BTreeMap::new();
    for plan in plans.values().filter(|plan| plan.affected) {
        for change in plan.changes.iter().filter(|change| change.introduced) {
            if let Some(other) = loser(change, control).filter(|other| !plans.contains_key(other)) {
                taken.entry(other).or_default().insert(&change.key, plan);
            }
        }
    }
    let mut found = Vec::new();
    for (other, objects) in taken {
        let Some(effective) = discovered.effective.get(&(Side::Head, other.clone())) else { continue };
        let Ok(server) = world.server(&effective.spec.destination) else { continue };
        let Render::Done(rendered) = sources.render(effective, Side::Head) else { continue };
        let automated = effective.automated_in(world.live.settings().version());
        for (manifest, placement) in application::placements(effective, &rendered.manifests, world, &server) {
            let Some(plan) = objects.get(&placement.key).filter(|plan| plan.server == server) else { continue };
            found.push(RenderedElsewhere {
                key: placement.key,
                application: plan.application.id.to_string(),
                other: other.clone(),
                other_heals: automated.is_some_and(|automated| automated.self_heal),
                origin: manifest.origin.clone(),
            });
        }
    }
    found
}

/// The Application that an object is taken from.
fn loser(change: &Change, control: &str) -> Option<AppId> {
    let Reason::TrackedBy { application } = &change.reason else { return None };
    let (namespace, name) = application.split_once('/').unwrap_or((control, application));
    (change.action == Action::Adopt).then(|| AppId::new(namespace, name))
}
