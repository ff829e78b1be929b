//! What becomes of the Applications of both sides' ApplicationSets.
//!
//! Takes the sets of both sides; hands on their entries in the inventory, and the Applications that they delete or take along.

use std::collections::{BTreeMap, BTreeSet};

use super::{SetGround, SetSide};
use crate::argocd::names::GROUP;
use crate::argocd::{AppId, ApplicationsSync, Propagation};
use crate::inventory::{Inventory, SetEntry};
use crate::manifest::ResourceKey;

/// The sets of both sides.
pub(in crate::check) fn entries(
    ground: &SetGround<'_>,
    base: BTreeMap<AppId, SetSide>,
    head: BTreeMap<AppId, SetSide>,
) -> BTreeMap<AppId, SetEntry> {
    let ids: BTreeSet<AppId> = base.keys().chain(head.keys()).cloned().collect();
    let (mut base, mut head) = (base, head);
    let entry = |id: AppId| {
        let base = base.remove(&id).and_then(|side| side.definition);
        let head = head.remove(&id).and_then(|side| side.definition);
        let live = ground.live.get(&id).cloned();
        let in_force = head
            .as_ref()
            .map(|head| &head.set)
            .or_else(|| live.as_ref().map(|(set, _)| set))
            .or_else(|| base.as_ref().map(|base| &base.set));
        let policy = in_force.map_or(ApplicationsSync::SYNC, |set| ground.controller.policy_of(set));
        let owned = ground.owned_by(&id).iter().map(|(application, _)| application.id.clone()).collect();
        (id.clone(), SetEntry { id, base, head, live, owned, policy, progressive: ground.controller.progressive })
    };
    ids.into_iter().map(entry).collect()
}

/// Applications that their ApplicationSet deletes, because it no longer generates them, with the reason. `assumed` says that no live state is
/// known.
///
/// Source: Argo CD `applicationset/controllers/applicationset_controller.go:deleteInCluster`.
pub(in crate::check) fn no_longer_generated(inventory: &Inventory, assumed: bool) -> Vec<(AppId, String)> {
    let mut found = Vec::new();
    for set in inventory.sets.values().filter(|set| set.policy.deletes) {
        for id in set.no_longer_generated() {
            // Where live state is known, only what the set owns is its to delete.
            let is_live = inventory.entries.get(&id).is_some_and(|entry| entry.live.is_some());
            if set.owned.contains(&id) || (!is_live && assumed) {
                found.push((id, format!("ApplicationSet {} no longer generates it", set.id)));
            }
        }
    }
    found
}

/// The Applications that go with an ApplicationSet that is deleted, with the reason.
pub(in crate::check) fn with_their_set(
    key: &ResourceKey,
    inventory: &Inventory,
    assumed: bool,
    propagation: Propagation,
) -> Vec<(AppId, String)> {
    if !key.is(GROUP, "ApplicationSet") {
        return Vec::new();
    }
    let id = AppId::new(&key.namespace, &key.name);
    let Some(set) = inventory.sets.get(&id) else { return Vec::new() };
    set.goes_with_it(!assumed, propagation).into_iter().map(|gone| (gone, format!("it goes with ApplicationSet {id}"))).collect()
}
