//! Whether an automated sync starts.
//!
//! Takes the sync policy and the status of the Application's objects; hands on a [`SyncDecision`].

use super::attempt::Attempt;
use super::change::{SyncDecision, SyncMode};
use crate::argocd::application::Automated;

/// What the comparison says about one object.
///
/// Source: Argo CD `controller/state.go:CompareAppState`, the loop over managed resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In Git and the cluster, equal.
    Synced,
    /// In Git, and different or missing in the cluster.
    OutOfSync,
    /// Not in Git, would be pruned.
    Extraneous {
        /// `IgnoreExtraneous` hides it from the Application's status.
        ignored: bool,
    },
    /// A live hook without a target: it requires pruning, but has no status.
    HookLeft,
    /// It has no status: skipped, or a copy that another controller made.
    Without,
}

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
    /// `managedNamespaceMetadata` is another one than in the last sync.
    pub namespace_metadata_changed: bool,
}

impl Status {
    /// Counts one object.
    pub fn count(&mut self, standing: Standing) {
        match standing {
            Standing::Synced => self.in_sync += 1,
            Standing::OutOfSync => self.out_of_sync += 1,
            Standing::Extraneous { ignored } => {
                self.extraneous += 1;
                self.extraneous_ignored += usize::from(ignored);
            }
            Standing::HookLeft => self.hooks_left += 1,
            Standing::Without => self.without += 1,
        }
    }

    /// Whether the Application shows as OutOfSync.
    pub fn is_out_of_sync(&self) -> bool {
        self.out_of_sync > 0 || self.extraneous > self.extraneous_ignored || self.namespace_metadata_changed
    }

    fn only_pruning(&self) -> bool {
        self.out_of_sync == 0 && self.without == 0
    }

    fn everything_goes(&self) -> bool {
        self.in_sync == 0 && self.out_of_sync == 0 && self.without == 0
    }
}

/// Whether a sync starts, and what it takes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether and how a sync runs.
    pub sync: SyncDecision,
    /// Self-heal: only objects that are out of sync are applied, and no hook runs.
    pub partial: bool,
    /// Name of the remark for a sync that is refused.
    pub condition: Option<&'static str>,
}

/// Decides whether an automated sync starts.
///
/// Source: Argo CD `controller/appcontroller.go:autoSync`.
pub fn decide(automated: Option<&Automated>, status: &Status, attempt: &Attempt) -> Decision {
    let Some(automated) = automated else {
        let reason = "the Application is synced by hand".to_owned();
        return SyncDecision { mode: SyncMode::Manual, prune: false, self_heal: false, starts: false, reason }.into();
    };
    let decision = |mode, starts, reason: String| -> Decision {
        SyncDecision { mode, prune: automated.prune, self_heal: automated.self_heal, starts, reason }.into()
    };
    let idle = |reason: &str| decision(SyncMode::Automated, false, format!("{reason}; no sync starts"));
    if !status.is_out_of_sync() {
        return idle("the Application is in sync");
    }
    if !automated.prune && status.only_pruning() {
        return idle("only removals differ and prune is off");
    }
    let waited = match attempt {
        Attempt::New => None,
        Attempt::Failed { message } => {
            let said = if message.is_empty() { String::new() } else { format!(" ({message})") };
            let reason = format!("the last sync to this revision failed{said}, and Argo CD does not try it again by itself");
            return Decision { condition: Some("LastSyncFailed"), ..decision(SyncMode::Refused, false, reason) };
        }
        Attempt::Succeeded { .. } if !automated.self_heal => return idle("this revision was synced before and self-heal is off"),
        Attempt::Succeeded { wait } => Some(wait),
    };
    if automated.prune && !automated.allow_empty && status.everything_goes() {
        let reason = "auto-sync will wipe out all resources: every live object would be pruned and allowEmpty is off";
        return Decision { condition: Some("WouldPruneEverything"), ..decision(SyncMode::Refused, false, reason.to_owned()) };
    }
    let Some(wait) = waited else { return decision(SyncMode::Automated, true, "automated sync".to_owned()) };
    let when = if wait.is_zero() { String::new() } else { format!(" in {}s", wait.as_secs()) };
    let reason = format!("this revision was synced before; self-heal starts{when} and applies only what is out of sync, without hooks");
    // A sync of no object in particular is one of all objects.
    let partial = status.out_of_sync + status.extraneous + status.hooks_left + status.without > 0;
    Decision { partial, ..decision(SyncMode::Automated, true, reason) }
}

impl From<SyncDecision> for Decision {
    /// A sync of all objects.
    fn from(sync: SyncDecision) -> Self {
        Self { sync, partial: false, condition: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(automated: Option<&Automated>, status: &Status) -> SyncDecision {
        super::decide(automated, status, &Attempt::New).sync
    }

    fn automated(prune: bool, allow_empty: bool) -> Automated {
        Automated { enabled: None, prune, self_heal: true, allow_empty }
    }

    #[test]
    fn s9_28_a_sync_that_would_wipe_everything_is_refused_unless_allowed() {
        let status = Status { extraneous: 2, ..Status::default() };
        assert_eq!(decide(Some(&automated(true, false)), &status).mode, SyncMode::Refused);
        let allowed = decide(Some(&automated(true, true)), &status);
        assert_eq!((allowed.mode, allowed.starts), (SyncMode::Automated, true));
    }

    #[test]
    fn s9_29_one_surviving_object_disarms_the_guard() {
        let status = Status { extraneous: 2, in_sync: 1, ..Status::default() };
        assert!(decide(Some(&automated(true, false)), &status).starts);
    }

    #[test]
    fn s9_30_only_removals_with_prune_off_start_nothing() {
        let status = Status { extraneous: 1, in_sync: 3, ..Status::default() };
        assert!(!decide(Some(&automated(false, false)), &status).starts);
        let with_update = Status { out_of_sync: 1, ..status };
        assert!(decide(Some(&automated(false, false)), &with_update).starts);
    }

    #[test]
    fn s9_24_extraneous_objects_that_are_ignored_start_nothing() {
        let status = Status { extraneous: 1, extraneous_ignored: 1, in_sync: 1, ..Status::default() };
        assert!(!decide(Some(&automated(true, false)), &status).starts);
    }

    #[test]
    fn leftover_hooks_count_as_going_for_the_guard() {
        let status = Status { extraneous: 1, hooks_left: 1, ..Status::default() };
        assert_eq!(decide(Some(&automated(true, false)), &status).mode, SyncMode::Refused);
    }

    #[test]
    fn s9_32_a_revision_that_failed_before_starts_nothing() {
        let status = Status { out_of_sync: 1, ..Status::default() };
        let failed = Attempt::Failed { message: "boom".into() };
        let decision = super::decide(Some(&automated(true, false)), &status, &failed).sync;
        assert_eq!((decision.mode, decision.starts), (SyncMode::Refused, false));
        assert!(decision.reason.contains("(boom)"), "{}", decision.reason);
    }

    #[test]
    fn a_revision_that_was_synced_starts_only_what_self_heal_takes_in() {
        let status = Status { out_of_sync: 1, in_sync: 1, ..Status::default() };
        let synced = Attempt::Succeeded { wait: jiff::SignedDuration::from_secs(18) };
        let heals = super::decide(Some(&automated(true, false)), &status, &synced);
        assert!(heals.sync.starts && heals.partial && heals.sync.reason.contains("in 18s"), "{}", heals.sync.reason);
        let without = Automated { self_heal: false, ..automated(true, false) };
        assert!(!super::decide(Some(&without), &status, &synced).sync.starts);
        let metadata = Status { in_sync: 1, namespace_metadata_changed: true, ..Status::default() };
        let all = super::decide(Some(&automated(true, false)), &metadata, &synced);
        assert!(all.sync.starts && !all.partial, "no object is out of sync, so all are applied");
    }

    #[test]
    fn changed_metadata_of_the_namespace_starts_a_sync_unless_prune_is_off_and_nothing_else_differs() {
        let status = Status { in_sync: 1, namespace_metadata_changed: true, ..Status::default() };
        assert!(decide(Some(&automated(true, false)), &status).starts);
        assert!(!decide(Some(&automated(false, false)), &status).starts);
    }
}
