//! The sync that an Application is in: asked for by a person or started by Argo CD, and not ended yet.
//!
//! Takes the live Application; hands on an [`Operation`].

use jiff::Timestamp;
use serde_json::Value;

use crate::argocd::names::DELETION_APPROVED;
use crate::argocd::options::SyncOptions;
use crate::manifest::annotation;

/// Characters of what Argo CD says about a sync that are repeated.
const MAX_SAID: usize = 200;

/// How Argo CD says what a sync waits for. Other messages may hold what admission webhooks say and are not repeated.
///
/// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:setRunningPhase` and `Sync`, `controller/sync.go:SyncAppState`.
const WAITS: [&str; 4] = [
    "waiting for healthy state of ",
    "waiting for completion of hook ",
    "waiting for deletion of ",
    "Sync operation blocked by sync window",
];

/// How it says that a person has to approve a deletion.
const WAITS_FOR_APPROVAL: &str = "waiting for pruning confirmation of ";

/// A sync that has not ended. It goes on with the revision, the sources and the options that it was started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Whether it deletes what left Git.
    pub prune: bool,
    /// The sync options in effect: its own list, whatever the Application's spec has.
    pub options: SyncOptions,
    /// When it started; `None` where it has not yet.
    pub since: Option<Timestamp>,
    /// How far it is.
    pub progress: Progress,
}

/// How far a sync is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has not started yet.
    Asked,
    /// It is under way, and waits for what the message says.
    Running {
        /// What Argo CD says; `None` where that is not repeated.
        waits: Option<String>,
    },
    /// It goes on when a person approves a deletion.
    NeedsApproval {
        /// What Argo CD says.
        waits: String,
    },
    /// It failed and will be tried again.
    Retrying {
        /// The next attempt is to the newest revision.
        takes_newest: bool,
    },
    /// A person, or the controller's timeout, ends it.
    Ending,
}

/// The sync that a live Application is in. `operation` alone decides: a state that says `Running` without it is a remainder.
///
/// Source: Argo CD `controller/appcontroller.go:autoSync` and `processRequestedAppOperation`; the options are those of
/// `controller/sync.go:SyncAppState`, which reads none from the spec.
pub fn of(application: &Value) -> Option<Operation> {
    let operation = application.get("operation").filter(|operation| operation.is_object())?;
    let state = application.pointer("/status/operationState").unwrap_or(&Value::Null);
    let text = |name: &str| state.get(name).and_then(Value::as_str).unwrap_or_default();
    let started = matches!(text("phase"), "Running" | "Terminating");
    let since = text("startedAt").parse::<Timestamp>().ok().filter(|_| started);
    // What runs is the state's copy.
    let asked = state.get("operation").filter(|_| started).unwrap_or(operation);
    let flag = |pointer: &str| asked.pointer(pointer).and_then(Value::as_bool).unwrap_or(false);
    let options = asked.pointer("/sync/syncOptions").and_then(Value::as_array).into_iter().flatten();
    let message = text("message");
    let progress = match text("phase") {
        "Terminating" => Progress::Ending,
        "Running" if state.get("finishedAt").is_some_and(|time| !time.is_null()) => {
            Progress::Retrying { takes_newest: flag("/retry/refresh") }
        }
        "Running" if message.starts_with(WAITS_FOR_APPROVAL) && !is_approved(application, since) => {
            Progress::NeedsApproval { waits: said(message) }
        }
        "Running" => Progress::Running { waits: WAITS.iter().any(|start| message.starts_with(start)).then(|| said(message)) },
        _ => Progress::Asked,
    };
    let options = SyncOptions(options.filter_map(Value::as_str).map(str::to_owned).collect());
    Some(Operation { prune: flag("/sync/prune"), options, since, progress })
}

/// Whether a person has approved the deletions of a sync that started at this time.
///
/// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:IsDeletionConfirmed`.
fn is_approved(application: &Value, since: Option<Timestamp>) -> bool {
    let approved = annotation(application, DELETION_APPROVED).and_then(|text| text.parse::<Timestamp>().ok());
    approved.zip(since).is_some_and(|(approved, since)| approved >= since)
}

fn said(message: &str) -> String {
    message.lines().next().unwrap_or_default().chars().take(MAX_SAID).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn running(operation: &Value, state: Value) -> Operation {
        let mut application = json!({
            "spec": {"syncPolicy": {"syncOptions": ["RespectIgnoreDifferences=true", "CreateNamespace=true"]}},
            "operation": operation, "status": {"operationState": state},
        });
        application["status"]["operationState"]["operation"] = operation.clone();
        of(&application).unwrap()
    }

    #[test]
    fn s9_53_an_operation_with_a_list_of_its_own_has_none_of_the_options_of_the_spec() {
        let operation = json!({"sync": {"prune": true, "syncOptions": ["ServerSideApply=true"]}});
        for phase in ["Running", "Succeeded"] {
            let found = running(&operation, json!({"phase": phase}));
            assert_eq!((found.options, found.prune), (SyncOptions(vec!["ServerSideApply=true".into()]), true), "{phase}");
        }
        assert_eq!(running(&json!({"sync": {}}), json!({"phase": "Running"})).options, SyncOptions::default());
    }

    #[test]
    fn only_what_has_not_ended_is_an_operation() {
        assert_eq!(of(&json!({"status": {"operationState": {"phase": "Running"}}})), None, "nothing goes on with it");
        assert_eq!(of(&json!({"operation": null})), None);
        assert_eq!(of(&json!({"operation": {"sync": {}}})).unwrap().progress, Progress::Asked);
        let old = json!({"phase": "Succeeded", "startedAt": "2026-11-30T01:00:00Z"});
        assert_eq!(running(&json!({"sync": {}}), old).since, None, "the state is that of the sync before");
    }

    #[test]
    fn how_far_it_is_comes_from_the_phase_and_the_message() {
        let progress = |state: Value| running(&json!({"sync": {}, "retry": {"limit": -1, "refresh": true}}), state).progress;
        assert_eq!(progress(json!({"phase": "Terminating"})), Progress::Ending);
        let failed = json!({"phase": "Running", "finishedAt": "2026-11-30T01:00:00Z", "message": "denied. Retrying attempt #3"});
        assert_eq!(progress(failed), Progress::Retrying { takes_newest: true });
        let hook = "waiting for completion of hook batch/Job/migrate";
        assert_eq!(progress(json!({"phase": "Running", "message": hook})), Progress::Running { waits: Some(hook.into()) });
        let webhook = json!({"phase": "Running", "message": "denied the request: token=abc"});
        assert_eq!(progress(webhook), Progress::Running { waits: None }, "what others say is not repeated");
        let long = format!("{hook}{}\nmore", "x".repeat(500));
        let Progress::Running { waits: Some(waits) } = progress(json!({"phase": "Running", "message": long})) else { panic!() };
        assert_eq!(waits.chars().count(), MAX_SAID);
    }

    #[test]
    fn an_approval_counts_from_the_start_of_the_sync() {
        let at = |approved: &str| {
            of(&json!({
                "metadata": {"annotations": {DELETION_APPROVED: approved}}, "operation": {"sync": {}},
                "status": {"operationState": {"phase": "Running", "startedAt": "2026-11-30T02:00:00Z",
                    "message": "waiting for pruning confirmation of /PersistentVolumeClaim/data"}},
            }))
            .unwrap()
            .progress
        };
        assert!(matches!(at("2026-11-30T01:00:00Z"), Progress::NeedsApproval { .. }));
        assert_eq!(at("2026-11-30T03:00:00Z"), Progress::Running { waits: None });
    }
}
