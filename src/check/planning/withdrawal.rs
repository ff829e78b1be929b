//! Applications that use a version of a kind which the change takes out of its CustomResourceDefinition.
//!
//! Takes the plans; hands on, with the plans that those Applications have then, what is to be planned once more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use memchr::memmem;
use rayon::prelude::*;

use super::super::applications::Discovered;
use super::super::sources::Sources;
use crate::argocd::AppId;
use crate::inventory::Entry;
use crate::manifest::Side;
use crate::plan::{Action, KIND_WITHDRAWN, SyncPlan, Withdrawn, World};
use crate::repo::EntryKind;

/// What the change takes away: without what was due before. Once for what happens by itself and once for what a person starts.
pub(super) fn of(plans: &BTreeMap<AppId, SyncPlan>, before: &BTreeMap<AppId, SyncPlan>) -> [(bool, Withdrawn); 2] {
    let due = Withdrawn::by(before.values());
    let all = Withdrawn::by(plans.values().filter(|plan| plan.affected));
    [true, false].map(|automated| {
        (automated, all.only(|loss| loss.automated == automated && !due.losses().iter().any(|due| due.takes_as_much(loss))))
    })
}

/// Other Applications that may use what goes: those that have live objects of the kind, and those that read a file which names it.
pub(super) fn users<'d>(withdrawn: &Withdrawn, discovered: &'d Discovered, sources: &Sources<'_>, world: &World<'_>) -> Vec<&'d Entry> {
    let control = &world.live.settings().namespace;
    let mut found: BTreeSet<AppId> = BTreeSet::new();
    for loss in withdrawn.losses() {
        let live = world.live.of_kind(&loss.server, &loss.group, &loss.kind).iter();
        found.extend(live.filter_map(|object| Some(AppId::of_instance(object.tracking.as_deref()?, control))));
        let tree = &sources.revisions.head;
        let names = memmem::Finder::new(loss.kind.as_bytes());
        let files = tree.entries().par_iter().filter(|entry| matches!(entry.kind, EntryKind::File | EntryKind::Executable));
        let files = files.filter(|entry| tree.read_entry(entry).is_ok_and(|bytes| names.find(&bytes).is_some()));
        let files: Vec<Arc<str>> = files.map(|entry| Arc::clone(&entry.path)).collect();
        for ((_, id), application) in discovered.effective.iter().filter(|((side, _), _)| *side == Side::Head) {
            let is_there = world.server(&application.spec.destination).is_ok_and(|server| server == loss.server);
            if is_there && sources.may_be_parent(application, Side::Head, &files) {
                found.insert(id.clone());
            }
        }
    }
    let is_other = |id: &AppId| withdrawn.losses().iter().any(|loss| loss.by != *id);
    found.into_iter().filter(is_other).filter_map(|id| discovered.inventory.entries.get(&id)).collect()
}

/// Whether this plan fails because of what goes.
pub(super) fn hits(plan: &SyncPlan, withdrawn: &Withdrawn) -> bool {
    let is_gone = |group: &str, kind: &str| withdrawn.losses().iter().any(|loss| loss.group == group && loss.kind == kind);
    plan.conditions.iter().any(|condition| condition.kind == KIND_WITHDRAWN)
        || plan.changes.iter().any(|change| change.action == Action::Fail && is_gone(&change.key.group, &change.key.kind))
}
