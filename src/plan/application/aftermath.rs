//! What a sync takes along without naming it, and what it leaves behind.
//!
//! Takes the changes of a sync; adds what hangs on pruned objects, and changes for objects that nothing manages any more.

use std::collections::HashSet;
use std::sync::Arc;

use super::Planner;
use super::row::Row;
use crate::argocd::Propagation;
use crate::manifest::{Manifest, ResourceKey};
use crate::plan::change::{Action, Change, Phase};
use crate::plan::dependents::{self, Deletion};
use crate::plan::pairing::Pair;
use crate::plan::permission;
use crate::plan::reason::{LiveCopy, Reason, Refused};
use crate::plan::removal::{self, Operation};
use crate::snapshot::LiveObject;

impl Planner<'_> {
    /// Adds to each object that is deleted, be it for good, to be created again or once a person approves it, what hangs on it.
    pub(super) fn find_dependents(&self, changes: &mut [Change], operation: Operation<'_>) {
        let deleted = |change: &Change| {
            matches!(change.action, Action::Prune | Action::Recreate) || deletes_as_hook(change) || is_deleted_in_vain(change)
        };
        let awaits = |change: &Change| change.action == Action::Confirm && operation.prune;
        let going: HashSet<ResourceKey> = changes.iter().filter(|change| deleted(change)).map(|change| change.key.clone()).collect();
        let awaiting = changes.iter().filter(|change| awaits(change)).map(|change| change.key.clone());
        let once_approved: HashSet<ResourceKey> = awaiting.chain(going.iter().cloned()).collect();
        if once_approved.is_empty() {
            return;
        }
        let instance = self.input.application.id.instance(&self.settings().namespace);
        // A claim that loses its StatefulSet counts as the Application's own at the next comparison.
        let follows = |freed: &LiveObject| {
            self.world.live.is_tracked(freed) == Some(&*instance)
                && self.self_referenced(freed)
                && self.world.sees(&self.server, &freed.key)
                && permission::live_object(&self.input.application, self.world, &self.server, freed)
                && removal::is_prunable(freed.object())
                && removal::of_removed(freed.object(), operation).0 == Action::Prune
                && !self.targets.manifests.iter().any(|target| target.key == freed.key)
        };
        for change in changes.iter_mut().filter(|change| deleted(change) || awaits(change)) {
            let Some(live) = &change.live else { continue };
            let prunes = matches!(change.action, Action::Prune | Action::Confirm);
            let orphans = prunes && self.options().prune_propagation() == Propagation::Orphan;
            let going = if change.action == Action::Confirm { &once_approved } else { &going };
            let hangs = dependents::of(live, self.world.live, Deletion { going, orphans, follows: &follows });
            (change.cascade, change.stays) = (hangs.go, hangs.stay);
        }
    }

    /// Objects that leave Git, or the cluster, without anything noticing: untracked CustomResourceDefinitions, and what stays on
    /// a cluster that the Application leaves.
    pub(super) fn left_behind(&self, order: usize) -> Vec<Change> {
        let mut rows = Vec::new();
        let at_head: HashSet<&ResourceKey> = self.targets.manifests.iter().map(|target| &target.key).collect();
        if self.input.previous_server.is_none() {
            let mut gone: Vec<&Arc<Manifest>> = self.base.values().filter(|manifest| !at_head.contains(&manifest.key)).collect();
            gone.sort_by(|a, b| a.key.cmp(&b.key));
            for manifest in gone {
                let is_definition = manifest.key.is("apiextensions.k8s.io", "CustomResourceDefinition");
                if let Some(live) = self.world.live.get(&self.server, &manifest.key).filter(|_| is_definition)
                    && self.world.live.is_tracked(live).is_none()
                {
                    let pair = Pair { key: manifest.key.clone(), target: None, live: Some(Arc::clone(live)) };
                    rows.push(Row::new(&pair, Action::Orphan, Reason::CrdUntracked));
                }
            }
        }
        if let Some(previous) = &self.input.previous_server {
            let instance = self.input.application.id.instance(&self.settings().namespace);
            for live in self.world.live.tracked_by(previous, &instance).iter().filter(|live| self.self_referenced(live)) {
                let pair = Pair { key: live.key.clone(), target: None, live: Some(Arc::clone(live)) };
                let mut row = Row::new(&pair, Action::Orphan, Reason::DestinationMoved);
                row.cluster = Some(self.world.cluster_label(previous));
                rows.push(row);
            }
        }
        rows.into_iter().enumerate().map(|(index, row)| row.change(order + index + 1, Phase::Sync, 0, true)).collect()
    }
}

/// Whether `Force=true` deletes the object and does not get it back.
fn is_deleted_in_vain(change: &Change) -> bool {
    matches!(change.reason, Reason::Fails { cause: Refused::ForceDeletes, .. })
}

/// Whether a hook takes the live object under its name, and with it what hangs on it. Pods of Jobs are not worth a word.
fn deletes_as_hook(change: &Change) -> bool {
    let deletes = matches!(change.reason, Reason::Hook { live_copy: LiveCopy::DeletedFirst | LiveCopy::DeletedAfter });
    change.action == Action::Hook && deletes && !change.key.is("batch", "Job") && !change.key.is("", "Pod")
}
