//! Objects that go with what another change deletes, whatever their own options say: everything in a deleted namespace, of a deleted kind, and
//! below a deleted owner.
//!
//! Takes the plans of one side; turns what seemed to stay there into what goes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::argocd::AppId;
use crate::manifest::ResourceKey;
use crate::plan::{Action, Change, Reason, SyncMode, SyncPlan};

/// An object on a cluster, by server.
type Place = (Arc<str>, ResourceKey);

/// Marks what goes along, and takes out of "what stays" all that goes.
pub(super) fn mark(plans: &mut BTreeMap<AppId, SyncPlan>) {
    let swept = swept(plans);
    if swept.is_empty() && !plans.values().flat_map(|plan| &plan.changes).any(|change| !change.stays.is_empty()) {
        return;
    }
    for plan in plans.values_mut() {
        let goes = if plan.sync.mode == SyncMode::Deleted { Action::Delete } else { Action::Prune };
        for change in plan.changes.iter_mut().filter(|change| seems_to_stay(change.action)) {
            let Some(with) = place(change).and_then(|place| swept.get(&place)) else { continue };
            (change.action, change.reached) = (goes, true);
            change.reason = Reason::GoesWith { object: with.clone() };
        }
    }
    let mut gone: HashSet<Place> = swept.into_keys().collect();
    gone.extend(plans.values().flat_map(|plan| &plan.changes).filter(|change| change.action.deletes() && change.reached).filter_map(place));
    for change in plans.values_mut().flat_map(|plan| &mut plan.changes) {
        let Some(server) = change.live.as_ref().map(|live| Arc::clone(&live.cluster)) else { continue };
        change.stays.retain(|dependent| !gone.contains(&(Arc::clone(&server), dependent.key.clone())));
    }
}

/// What goes with something that a change deletes, and with what.
fn swept(plans: &BTreeMap<AppId, SyncPlan>) -> HashMap<Place, String> {
    let mut swept: HashMap<Place, String> = HashMap::new();
    for change in plans.values().flat_map(|plan| &plan.changes).filter(|change| change.action.deletes() && change.reached) {
        let Some(live) = &change.live else { continue };
        for dependent in &change.cascade {
            swept.entry((Arc::clone(&live.cluster), dependent.key.clone())).or_insert_with(|| change.key.named());
        }
    }
    swept
}

fn seems_to_stay(action: Action) -> bool {
    matches!(action, Action::Leftover | Action::Retain | Action::Confirm | Action::Orphan)
}

fn place(change: &Change) -> Option<Place> {
    change.live.as_ref().map(|live| (Arc::clone(&live.cluster), change.key.clone()))
}
