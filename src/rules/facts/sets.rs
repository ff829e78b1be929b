//! ApplicationSets in the facts: which one deletes an Application, and what goes along.

use super::View;
use crate::argocd::AppId;
use crate::argocd::names::GROUP;
use crate::inventory::SetEntry;
use crate::manifest::{Origin, ResourceKey};
use crate::plan::{SyncMode, SyncPlan};

/// The key of an ApplicationSet.
pub(in crate::rules) fn set_key(id: &AppId) -> ResourceKey {
    ResourceKey::new(GROUP, "ApplicationSet", &id.namespace, &id.name)
}

/// The set that deletes an Application, be it that it no longer generates it or that it goes itself.
pub(in crate::rules) fn deleted_by_set<'a>(view: &View<'a>, plan: &SyncPlan) -> Option<&'a SetEntry> {
    if plan.sync.mode != SyncMode::Deleted || view.change_of_application(&plan.application.id).is_some() {
        return None;
    }
    let id = &plan.application.id;
    let sets = &view.facts.inventory.sets;
    let of_base = view.entry(id).and_then(|entry| entry.base.as_ref()?.generated.as_ref()).and_then(|by| sets.get(&by.set));
    sets.values().find(|set| set.owned.contains(id)).or(of_base)
}

/// The plans of the Applications that a set deletes.
pub(in crate::rules) fn deleted_by<'a>(view: &View<'a>, set: &SetEntry) -> Vec<&'a SyncPlan> {
    view.facts.plans.iter().filter(|plan| deleted_by_set(view, plan).is_some_and(|found| found.id == set.id)).collect()
}

/// Where a set stands: at head, else at base.
pub(in crate::rules) fn set_origin(set: &SetEntry) -> Option<&Origin> {
    set.definition()?.manifest.as_ref().map(|manifest| &manifest.origin)
}
