//! Applications that the change leaves alone, and to whose workloads it does something through another Application.
//!
//! Takes the plans; hands on the entries of those Applications.

use std::collections::{BTreeMap, BTreeSet};

use super::super::applications::Discovered;
use crate::argocd::AppId;
use crate::inventory::Entry;
use crate::plan::SyncPlan;
use crate::rules::workload_of;
use crate::snapshot::LiveState;

/// Those whose workloads are scaled by an autoscaler that the change adds or edits.
pub(super) fn scaled<'d>(plans: &BTreeMap<AppId, SyncPlan>, discovered: &'d Discovered, live: &LiveState) -> Vec<&'d Entry> {
    let control = &live.settings().namespace;
    let mut found: BTreeSet<AppId> = BTreeSet::new();
    for plan in plans.values().filter(|plan| plan.affected) {
        let rendered = plan.changes.iter().filter_map(|change| Some((change, change.target.as_ref()?)));
        let altered = rendered.filter(|(change, target)| change.base.as_ref().is_none_or(|base| base.object != target.object));
        let workloads = altered.filter_map(|(change, target)| workload_of(&change.key, &target.object));
        let owners = workloads.filter_map(|workload| live.get(&plan.server, &workload)?.tracking.as_deref());
        found.extend(owners.map(|instance| AppId::of_instance(instance, control)));
    }
    found.into_iter().filter(|id| !plans.contains_key(id)).filter_map(|id| discovered.inventory.entries.get(&id)).collect()
}
