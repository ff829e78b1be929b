//! Whether an automated sync starts.
//!
//! Takes the sync policy and the status of the Application's objects; hands on a [`SyncDecision`].

use super::change::{SyncDecision, SyncMode};
use crate::argocd::application::Automated;

/// How many objects of an Application are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// In Git and the cluster, equal.
    pub in_sync: usize,
    /// In Git, and different or missing in the cluster.
    pub out_of_sync: usize,
    /// Not in Git, would be pruned.
    pub extraneous: usize,
    /// Of those, hidden from the Application's status by `IgnoreExtraneous`.
    pub extraneous_ignored: usize,
    /// Live hooks that Git no longer has: they require pruning, but have no status.
    pub hooks_left: usize,
    /// Objects without a status: skipped ones, and copies that other controllers made.
    pub without: usize,
}

impl Status {
    /// Whether the Application shows as OutOfSync.
    pub fn is_out_of_sync(&self) -> bool {
        self.out_of_sync > 0 || self.extraneous > self.extraneous_ignored
    }

    fn only_pruning(&self) -> bool {
        self.out_of_sync == 0 && self.without == 0
    }

    fn everything_goes(&self) -> bool {
        self.in_sync == 0 && self.out_of_sync == 0 && self.without == 0
    }
}

/// Decides for a new revision, that is: nothing has been attempted at it yet.
///
/// Source: Argo CD `controller/appcontroller.go:autoSync`.
pub fn decide(automated: Option<&Automated>, status: &Status) -> SyncDecision {
    let Some(automated) = automated else {
        let reason = "the Application is synced by hand".to_owned();
        return SyncDecision { mode: SyncMode::Manual, prune: false, self_heal: false, starts: false, reason };
    };
    let decision = |mode, starts, reason: &str| SyncDecision {
        mode,
        prune: automated.prune,
        self_heal: automated.self_heal,
        starts,
        reason: reason.to_owned(),
    };
    if !status.is_out_of_sync() {
        return decision(SyncMode::Automated, false, "the Application is in sync; no sync starts");
    }
    if !automated.prune && status.only_pruning() {
        return decision(SyncMode::Automated, false, "only removals differ and prune is off; no sync starts");
    }
    if automated.prune && !automated.allow_empty && status.everything_goes() {
        let reason = "auto-sync will wipe out all resources: every live object would be pruned and allowEmpty is off";
        return decision(SyncMode::Refused, false, reason);
    }
    decision(SyncMode::Automated, true, "automated sync")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn automated(prune: bool, allow_empty: bool) -> Automated {
        Automated { enabled: None, prune, self_heal: true, allow_empty }
    }

    #[test]
    fn scenario_28_a_sync_that_would_wipe_everything_is_refused_unless_allowed() {
        let status = Status { extraneous: 2, ..Status::default() };
        assert_eq!(decide(Some(&automated(true, false)), &status).mode, SyncMode::Refused);
        let allowed = decide(Some(&automated(true, true)), &status);
        assert_eq!((allowed.mode, allowed.starts), (SyncMode::Automated, true));
    }

    #[test]
    fn scenario_29_one_surviving_object_disarms_the_guard() {
        let status = Status { extraneous: 2, in_sync: 1, ..Status::default() };
        assert!(decide(Some(&automated(true, false)), &status).starts);
    }

    #[test]
    fn scenario_30_only_removals_with_prune_off_start_nothing() {
        let status = Status { extraneous: 1, in_sync: 3, ..Status::default() };
        assert!(!decide(Some(&automated(false, false)), &status).starts);
        let with_update = Status { out_of_sync: 1, ..status };
        assert!(decide(Some(&automated(false, false)), &with_update).starts);
    }

    #[test]
    fn scenario_24_extraneous_objects_that_are_ignored_start_nothing() {
        let status = Status { extraneous: 1, extraneous_ignored: 1, in_sync: 1, ..Status::default() };
        assert!(!decide(Some(&automated(true, false)), &status).starts);
    }

    #[test]
    fn leftover_hooks_count_as_going_for_the_guard() {
        let status = Status { extraneous: 1, hooks_left: 1, ..Status::default() };
        assert_eq!(decide(Some(&automated(true, false)), &status).mode, SyncMode::Refused);
    }
}
