//! What happens to an object that left Git, or whose Application goes: options on the live object and on the Application.

use serde_json::Value;

use super::change::Action;
use super::reason::Reason;
use crate::argocd::options::{self, SyncOptions};
use crate::argocd::{Version, hook};
use crate::snapshot::LiveObject;

/// What the sync that removes an object knows.
#[derive(Clone, Copy)]
pub struct Operation<'a> {
    /// Whether the sync prunes.
    pub prune: bool,
    /// Whether it runs by itself.
    pub automated: bool,
    /// Whether it runs at all.
    pub starts: bool,
    /// The Application's sync options.
    pub options: &'a SyncOptions,
    /// Argo CD's version.
    pub version: Version,
}

/// The value of `Prune=` or `Delete=` that counts, and whether it comes from the Application.
///
/// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:isPruningDisabled`; before 3.4 only the live object counts.
pub fn effective<'a>(key: &str, live: &'a Value, options: &'a SyncOptions, version: Version) -> Option<(&'a str, bool)> {
    if let Some(value) = options::object_value(live, key) {
        return Some((value, false));
    }
    if version.reads_application_prune_and_delete() { options.value(key).map(|value| (value, true)) } else { None }
}

/// Whether Argo CD's sync makes a task of a live object that has no target: hooks and skipped objects are left alone.
///
/// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:getSyncTasks`.
pub fn is_prunable(live: &Value) -> bool {
    !hook::is_hook(live) && !hook::is_skipped(live)
}

/// What a sync does to a live object that Git no longer has. An approval that a person gave before the sync starts does not count.
///
/// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:runTasks` (confirmation comes first) and `pruneObject`.
pub fn of_removed(live: &Value, operation: Operation<'_>) -> (Action, Reason) {
    let option = effective("Prune", live, operation.options, operation.version);
    let runs = operation.starts || !operation.automated;
    match option {
        Some(("confirm", on_application)) if runs => (Action::Confirm, Reason::PruneConfirm { on_application }),
        // A sync that somebody starts with prune does not delete it either.
        Some(("false", on_application)) if !operation.prune && !operation.automated => {
            (Action::Leftover, Reason::PruneFalse { on_application })
        }
        _ if !operation.prune && !operation.automated => (Action::Leftover, Reason::ManualSync),
        _ if !operation.prune => (Action::Leftover, Reason::PruneOff),
        Some(("false", on_application)) => (Action::Retain, Reason::PruneFalse { on_application }),
        _ if !runs => (Action::Leftover, Reason::NoSyncStarts),
        _ => (Action::Prune, Reason::RemovedFromGit { automated: operation.automated }),
    }
}

/// What the deletion of an Application with a live finalizer does to one of its objects.
///
/// Source: Argo CD `controller/appcontroller.go:shouldBeDeleted`.
pub fn of_deleted_application(live: &LiveObject, options: &SyncOptions, version: Version) -> (Action, Reason) {
    let object = live.object();
    if live.key.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        return (Action::Orphan, Reason::KeptOnDeletion { because: "its kind: CustomResourceDefinitions never go with an Application" });
    }
    if effective("Delete", object, options, version).is_some_and(|(value, _)| value == "false") {
        return (Action::Orphan, Reason::KeptOnDeletion { because: "Delete=false" });
    }
    if options::is_kept_by_helm(object) {
        return (Action::Orphan, Reason::KeptOnDeletion { because: "helm.sh/resource-policy: keep" });
    }
    (Action::Delete, Reason::Cascade)
}

/// Whether the deletion of the Application waits for a person's approval because of this object.
///
/// Source: Argo CD `controller/state.go:isObjRequiresDeletionConfirmation`.
pub fn deletion_needs_approval(live: &Value, options: &SyncOptions, version: Version) -> bool {
    ["Delete", "Prune"].iter().any(|key| effective(key, live, options, version).is_some_and(|(value, _)| value == "confirm"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argocd::names::{HELM_RESOURCE_POLICY, SYNC_OPTIONS};
    use crate::plan::sample;
    use serde_json::json;

    fn live(options: &str) -> Value {
        json!({"kind": "Pod", "metadata": {"name": "p", "annotations": {SYNC_OPTIONS: options}}})
    }

    fn action(live: &Value, prune: bool, options: &[&str], version: &str) -> Action {
        let options = SyncOptions(options.iter().map(|&one| one.to_owned()).collect());
        let version = Version::parse(version).unwrap();
        of_removed(live, Operation { prune, automated: true, starts: true, options: &options, version }).0
    }

    #[test]
    fn s9_16_prune_off_leaves_it_whatever_its_options() {
        assert_eq!(action(&live("Prune=false"), false, &[], "3.5"), Action::Leftover);
        assert_eq!(action(&live(""), false, &[], "3.5"), Action::Leftover);
    }

    #[test]
    fn s9_17_prune_false_on_the_live_object_retains_it() {
        assert_eq!(action(&live("Prune=false"), true, &[], "3.5"), Action::Retain);
    }

    #[test]
    fn s9_18_prune_false_on_the_application_counts_from_3_4() {
        assert_eq!(action(&live(""), true, &["Prune=false"], "3.4"), Action::Retain);
        assert_eq!(action(&live(""), true, &["Prune=false"], "3.3"), Action::Prune);
    }

    #[test]
    fn s9_19_the_live_object_wins_over_the_application() {
        assert_eq!(action(&live("Prune=true"), true, &["Prune=false"], "3.5"), Action::Prune);
    }

    #[test]
    fn a_manual_sync_may_prune_only_what_is_not_protected() {
        let reason = |options: &str, on_application: &[&str], version: &str| {
            let options_of_application = SyncOptions(on_application.iter().map(|&one| one.to_owned()).collect());
            let version = Version::parse(version).unwrap();
            let operation = Operation { prune: false, automated: false, starts: false, options: &options_of_application, version };
            of_removed(&live(options), operation)
        };
        assert_eq!(reason("", &[], "3.5"), (Action::Leftover, Reason::ManualSync));
        assert_eq!(reason("Prune=false", &[], "3.5"), (Action::Leftover, Reason::PruneFalse { on_application: false }));
        assert_eq!(reason("", &["Prune=false"], "3.4"), (Action::Leftover, Reason::PruneFalse { on_application: true }));
        assert_eq!(reason("", &["Prune=false"], "3.3"), (Action::Leftover, Reason::ManualSync));
        assert_eq!(reason("Prune=true", &["Prune=false"], "3.5"), (Action::Leftover, Reason::ManualSync));
    }

    #[test]
    fn s9_20_a_confirmation_is_waited_for() {
        assert_eq!(action(&live("Prune=confirm"), true, &[], "3.5"), Action::Confirm);
    }

    #[test]
    fn s9_75_a_confirmation_is_waited_for_even_with_prune_off() {
        assert_eq!(action(&live("Prune=confirm"), false, &[], "3.5"), Action::Confirm);
    }

    #[test]
    fn s9_25_hooks_and_skipped_objects_are_never_pruned() {
        assert!(!is_prunable(&json!({"metadata": {"annotations": {"argocd.argoproj.io/hook": "PreSync"}}})));
        assert!(!is_prunable(&json!({"metadata": {"annotations": {"argocd.argoproj.io/hook": "Skip"}}})));
        assert!(is_prunable(&json!({"metadata": {"annotations": {"helm.sh/hook": "crd-install"}}})));
    }

    #[test]
    fn s9_27_keep_and_delete_false_count_only_on_deletion() {
        let keep = json!({"kind": "Pod", "metadata": {"name": "p", "annotations": {HELM_RESOURCE_POLICY: "keep"}}});
        assert_eq!(action(&keep, true, &[], "3.5"), Action::Prune);
        let version = Version::ASSUMED;
        let deleted = |object: Value, options: &[&str]| {
            let options = SyncOptions(options.iter().map(|&one| one.to_owned()).collect());
            of_deleted_application(&sample::live(object), &options, version).0
        };
        assert_eq!(deleted(keep, &[]), Action::Orphan);
        assert_eq!(deleted(live("Delete=false"), &[]), Action::Orphan);
        assert_eq!(deleted(live("Prune=false"), &[]), Action::Delete);
        assert_eq!(deleted(live(""), &["Delete=false"]), Action::Orphan);
        assert_eq!(deleted(live("Delete=foo"), &["Delete=false"]), Action::Delete);
    }

    #[test]
    fn s9_79_confirm_on_either_option_makes_the_deletion_wait() {
        let none = SyncOptions::default();
        let version = Version::ASSUMED;
        assert!(deletion_needs_approval(&live("Delete=confirm"), &none, version));
        assert!(deletion_needs_approval(&live("Prune=confirm"), &none, version));
        let app = SyncOptions(vec!["Delete=confirm".into()]);
        assert!(deletion_needs_approval(&live(""), &app, version));
        assert!(!deletion_needs_approval(&live("Delete=true"), &app, version));
        assert!(deletion_needs_approval(&live("Delete=true,Prune=confirm"), &app, version));
    }
}
