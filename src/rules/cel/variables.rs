//! The variables that expressions see: the change and its objects, its Application, and the installation.

use std::sync::Arc;

use cel::{Context, Env, Value};
use serde_json::{Value as Json, json};

use super::functions;
use super::value::from_json;
use crate::argocd::{TrackingMethod, hook};
use crate::plan::{Action, Change, Reason, SyncPlan};
use crate::snapshot::LiveState;

/// What is the same for all changes of a run.
pub(in crate::rules) struct Shared {
    env: Arc<Env>,
    argocd: Value,
}

/// What is the same for all changes of one Application.
pub(in crate::rules) struct Variables<'a> {
    shared: &'a Shared,
    app: Value,
}

impl Shared {
    /// For an installation of Argo CD.
    pub(in crate::rules) fn new(env: Arc<Env>, live: &LiveState) -> Self {
        let settings = live.settings();
        let version = settings.version();
        let tracking = match settings.tracking.method {
            TrackingMethod::Annotation | TrackingMethod::Unknown => "annotation",
            TrackingMethod::AnnotationAndLabel => "annotation+label",
            TrackingMethod::Label => "label",
        };
        let progressive = live.parameter("applicationsetcontroller.enable.progressive.syncs", "applicationSetProgressiveSyncs");
        let argocd = json!({
            "version": {"major": version.major, "minor": version.minor, "text": version.to_string()},
            "namespace": settings.namespace,
            "tracking": tracking,
            "progressiveSyncs": progressive == Some("true"),
        });
        Self { env, argocd: from_json(&argocd) }
    }
}

impl<'a> Variables<'a> {
    /// For an Application.
    pub(in crate::rules) fn new(shared: &'a Shared, plan: &SyncPlan) -> Self {
        let application = &plan.application;
        let destination = &application.spec.destination;
        let held = plan.changes.iter().filter(|change| !change.reached && change.action != Action::None);
        let waiting: Vec<Json> = held.map(|change| json!({"action": change.action.as_str(), "named": change.key.named()})).collect();
        let app = json!({
            "name": &*application.id.name,
            "namespace": &*application.id.namespace,
            "project": application.spec.project,
            "destination": {"server": &*plan.server, "name": destination.name, "namespace": destination.namespace},
            "options": application.spec.sync_policy.sync_options.0,
            "mode": plan.sync.mode.as_str(),
            "automated": application.automated().is_some(),
            "prune": plan.sync.prune,
            "selfHeal": plan.sync.self_heal,
            "starts": plan.sync.starts,
            "waiting": waiting,
        });
        Self { shared, app: from_json(&app) }
    }

    /// A context for one change.
    pub(in crate::rules) fn context<'c>(&self, change: &Change) -> Context<'c, 'c> {
        let mut context = Context::with_env(self.shared.env.clone());
        // Fails only where a name is taken already, which the tests of the functions would show.
        let _ = functions::add(&mut context);
        let object = |object: Option<&Json>| object.map_or(Value::Null, from_json);
        context.add_variable_from_value("object", object(change.target_object()));
        context.add_variable_from_value("oldObject", object(change.live_object()));
        context.add_variable_from_value("baseObject", object(change.base.as_ref().map(|base| &*base.object)));
        context.add_variable_from_value("change", from_json(&facts(change)));
        context.add_variable_from_value("app", self.app.clone());
        context.add_variable_from_value("argocd", self.shared.argocd.clone());
        context
    }
}

fn facts(change: &Change) -> Json {
    let (refused, cause): (&[String], &str) = match &change.reason {
        Reason::Fails { fields, cause, .. } => (fields, cause.as_str()),
        _ => (&[], ""),
    };
    let cascade: Vec<Json> = change
        .cascade
        .iter()
        .map(|dependent| {
            json!({
                "kind": &*dependent.key.kind, "namespace": &*dependent.key.namespace, "name": &*dependent.key.name,
                "named": dependent.key.named(), "because": dependent.tie.as_str(), "application": dependent.application,
            })
        })
        .collect();
    let diff: Vec<Json> = change
        .diff
        .iter()
        .map(|field| json!({"path": field.path, "live": field.live, "target": field.target, "owner": field.owner.as_deref().unwrap_or_default()}))
        .collect();
    json!({
        "action": change.action.as_str(),
        "reason": reason_word(&change.reason),
        "sentence": change.reason.to_string(),
        "phase": change.phase.as_str(),
        "wave": change.wave,
        "introduced": change.introduced,
        "reached": change.reached,
        "edited": is_edited(change),
        "hook": change.target_object().is_some_and(hook::is_hook),
        "group": &*change.key.group,
        "kind": &*change.key.kind,
        "namespace": &*change.key.namespace,
        "name": &*change.key.name,
        "named": change.key.named(),
        "refusedFields": refused,
        "refused": cause,
        "cascade": cascade,
        "diff": diff,
    })
}

/// Whether the change under review adds the object or edits its text.
fn is_edited(change: &Change) -> bool {
    match (&change.base, &change.target) {
        (Some(base), Some(target)) => base.object != target.object,
        (None, Some(_)) => true,
        (_, None) => false,
    }
}

/// The word by which expressions know a reason.
fn reason_word(reason: &Reason) -> &'static str {
    match reason {
        Reason::NotLive => "not-live",
        Reason::Differs { .. } => "differs",
        Reason::Reapplied { .. } => "reapplied",
        Reason::Untracked => "untracked",
        Reason::TrackedBy { .. } => "tracked-by",
        Reason::InSync => "in-sync",
        Reason::ReplaceOption => "replace-option",
        Reason::ForceOption => "force-option",
        Reason::IgnoredButWritten => "ignored-but-written",
        Reason::UnseenButWritten => "unseen-but-written",
        Reason::Hook { .. } => "hook",
        Reason::DeletionHook => "deletion-hook",
        Reason::Skipped => "skipped",
        Reason::UnknownHook { .. } => "unknown-hook",
        Reason::Fails { .. } => "fails",
        Reason::RemovedFromGit { .. } => "removed-from-git",
        Reason::OnlyAHookInGit { .. } => "only-a-hook-in-git",
        Reason::PruneOff => "prune-off",
        Reason::ManualSync => "manual-sync",
        Reason::NoSyncStarts => "no-sync-starts",
        Reason::PruneFalse { .. } => "prune-false",
        Reason::PruneConfirm { .. } => "prune-confirm",
        Reason::Cascade => "cascade",
        Reason::NoFinalizer => "no-finalizer",
        Reason::KeptOnDeletion { .. } => "kept-on-deletion",
        Reason::CrdUntracked => "crd-untracked",
        Reason::DestinationUnknown => "destination-unknown",
        Reason::DestinationMoved => "destination-moved",
        Reason::NotPermitted => "not-permitted",
        Reason::AutoCreatedNamespace => "auto-created-namespace",
        Reason::CreateNamespace => "create-namespace",
        Reason::NamespaceMetadata => "namespace-metadata",
    }
}
