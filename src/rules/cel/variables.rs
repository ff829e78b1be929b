//! The variables that expressions see: the change and its objects, its Application, and the installation.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::{Context, Env, Value};
use serde_json::{Value as Json, json};

use super::around::Around;
use super::budget::Budget;
use super::functions;
use super::value::from_json;
use crate::argocd::{TrackingMethod, hook};
use crate::inventory::Entry;
use crate::manifest::ResourceKey;
use crate::plan::{Action, Change, Reason, SYNC_NEEDS_APPROVAL, SYNC_RUNNING, SyncPlan};
use crate::rules::definition::Cel;
use crate::rules::facts::{View, server_of};
use crate::snapshot::LiveState;

/// What is the same for all changes of a run.
pub(in crate::rules) struct Shared<'a> {
    env: Arc<Env>,
    live: &'a LiveState,
    argocd: Value,
    now: Value,
    /// Namespaces as Git has them.
    namespaces: BTreeMap<&'a str, &'a Json>,
    around: Around<'a>,
    budget: Budget,
}

/// The variables as expressions see them, and what a rule may spend on them.
pub(in crate::rules) struct Bound<'c> {
    pub(super) context: Context<'c, 'c>,
    pub(super) budget: Budget,
}

/// What is the same for all changes of one Application.
pub(in crate::rules) struct Variables<'a> {
    shared: &'a Shared<'a>,
    plan: &'a SyncPlan,
    app: Value,
}

impl<'a> Shared<'a> {
    /// For a run of these rules.
    pub(in crate::rules) fn new(env: Arc<Env>, view: &'a View<'a>, rules: impl Iterator<Item = &'a Cel>) -> Self {
        let facts = &view.facts;
        let changes = facts.plans.iter().flat_map(|plan| &plan.changes).filter(|change| change.key.is("", "Namespace"));
        let namespaces = changes.filter_map(|change| Some((&*change.key.name, change.target_object()?))).collect();
        let (argocd, now) = (from_json(&argocd_facts(facts.live)), from_json(&now_facts(facts.now)));
        Self { env, live: facts.live, argocd, now, namespaces, around: Around::new(view, rules), budget: Budget::new() }
    }

    fn context<'c>(&self) -> Context<'c, 'c> {
        let mut context = Context::with_env(self.env.clone());
        // Fails only where a name is taken already, which the tests of the functions would show.
        let _ = functions::add(&mut context).and_then(|()| self.budget.add(&mut context));
        context.add_variable_from_value("argocd", self.argocd.clone());
        context.add_variable_from_value("now", self.now.clone());
        context
    }
}

impl<'a> Variables<'a> {
    /// For an Application.
    pub(in crate::rules) fn new(shared: &'a Shared<'a>, plan: &'a SyncPlan) -> Self {
        let mut app = app_facts(plan);
        if let Json::Object(members) = &mut app {
            members.extend(shared.around.of_application(&plan.application.id));
        }
        Self { shared, plan, app: from_json(&app) }
    }

    /// For one change.
    pub(in crate::rules) fn of_change<'c>(&self, change: &Change) -> Bound<'c> {
        let mut context = self.shared.context();
        let base = change.base.as_ref().map(|base| &*base.object);
        self.objects(&mut context, [change.target_object(), change.live_object(), base, self.namespace_of(change)]);
        let mut facts = change_facts(change);
        if let Json::Object(members) = &mut facts {
            members.extend(self.shared.around.of_change(self.plan, change));
        }
        context.add_variable_from_value("change", from_json(&facts));
        Bound { context, budget: self.shared.budget.clone() }
    }

    /// For the Application as a whole.
    pub(in crate::rules) fn of_application<'c>(&self, entry: Option<&Entry>) -> Bound<'c> {
        let mut context = self.shared.context();
        let live = entry.and_then(|entry| entry.live.as_ref()).map(|(_, live)| live.object());
        let base = entry.and_then(|entry| entry.base.as_ref()).map(|base| &*base.manifest.object);
        self.objects(&mut context, [Some(&*self.plan.application.object), live, base, None]);
        Bound { context, budget: self.shared.budget.clone() }
    }

    fn objects(&self, context: &mut Context<'_, '_>, objects: [Option<&Json>; 4]) {
        for (name, object) in ["object", "oldObject", "baseObject", "namespaceObject"].into_iter().zip(objects) {
            context.add_variable_from_value(name, object.map_or(Value::Null, from_json));
        }
        context.add_variable_from_value("app", self.app.clone());
    }

    /// The Namespace that an object is in: live, or else as Git has it.
    fn namespace_of(&self, change: &Change) -> Option<&Json> {
        let key = ResourceKey::new("", "Namespace", "", &change.key.namespace);
        let live = self.shared.live.get(server_of(self.plan, change), &key).map(|live| live.object());
        live.or_else(|| self.shared.namespaces.get(&*change.key.namespace).copied())
    }
}

/// What is known of the installation.
pub(super) fn argocd_facts(live: &LiveState) -> Json {
    let settings = live.settings();
    let version = settings.version();
    let tracking = match settings.tracking.method {
        TrackingMethod::Annotation | TrackingMethod::Unknown => "annotation",
        TrackingMethod::AnnotationAndLabel => "annotation+label",
        TrackingMethod::Label => "label",
    };
    let progressive = live.parameter("applicationsetcontroller.enable.progressive.syncs", "applicationSetProgressiveSyncs");
    json!({
        "version": {"major": version.major, "minor": version.minor, "text": version.to_string()},
        "namespace": settings.namespace,
        "tracking": tracking,
        "progressiveSyncs": progressive == Some("true"),
    })
}

/// What is known of the time of the merge.
pub(super) fn now_facts(now: i64) -> Json {
    let time = jiff::Timestamp::from_second(now).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_zoned(jiff::tz::TimeZone::UTC);
    json!({
        "date": time.date().to_string(),
        "weekday": time.strftime("%A").to_string(),
        "hour": time.hour(),
        "minute": time.minute(),
    })
}

/// What is known of an Application.
pub(super) fn app_facts(plan: &SyncPlan) -> Json {
    let application = &plan.application;
    let destination = &application.spec.destination;
    let held = plan.changes.iter().filter(|change| !change.reached && change.action != Action::None);
    let waiting: Vec<Json> = held.map(|change| json!({"action": change.action.as_str(), "named": change.key.named()})).collect();
    let running = plan.conditions.iter().find_map(|condition| match condition.kind {
        SYNC_RUNNING => Some((condition.message.as_str(), false)),
        SYNC_NEEDS_APPROVAL => Some((condition.message.as_str(), true)),
        _ => None,
    });
    let map = |pointer: &str| application.object.pointer(pointer).filter(|map| map.is_object()).cloned().unwrap_or_else(|| json!({}));
    json!({
        "name": &*application.id.name,
        "namespace": &*application.id.namespace,
        "project": application.spec.project,
        "labels": map("/metadata/labels"),
        "annotations": map("/metadata/annotations"),
        "path": plan.origin.as_ref().map(|origin| &*origin.path).unwrap_or_default(),
        "folders": application.spec.sources().iter().map(|source| source.path.as_str()).collect::<Vec<_>>(),
        "change": plan.change.as_str(),
        "destination": {"server": &*plan.server, "name": destination.name, "namespace": destination.namespace},
        "options": application.spec.sync_policy.sync_options.0,
        "mode": plan.sync.mode.as_str(),
        "automated": application.automated().is_some(),
        "prune": plan.sync.prune,
        "selfHeal": plan.sync.self_heal,
        "starts": plan.sync.starts,
        "running": running.map(|(message, _)| message).unwrap_or_default(),
        "needsApproval": running.is_some_and(|(_, needs)| needs),
        "waiting": waiting,
    })
}

/// What is known of a change.
pub(super) fn change_facts(change: &Change) -> Json {
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
        Reason::ReplaceErases { .. } => "replace-erases",
        Reason::Untracked => "untracked",
        Reason::TrackedBy { .. } => "tracked-by",
        Reason::InSync => "in-sync",
        Reason::ReplaceOption => "replace-option",
        Reason::ForceOption => "force-option",
        Reason::RoleRef => "role-ref",
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
        Reason::GoesWith { .. } => "goes-with",
        Reason::NoFinalizer => "no-finalizer",
        Reason::KeptOnDeletion { .. } => "kept-on-deletion",
        Reason::CrdUntracked => "crd-untracked",
        Reason::DestinationUnknown => "destination-unknown",
        Reason::DestinationMoved => "destination-moved",
        Reason::OutsideNamespaces => "outside-namespaces",
        Reason::NotPermitted => "not-permitted",
        Reason::AutoCreatedNamespace => "auto-created-namespace",
        Reason::CreateNamespace => "create-namespace",
        Reason::NamespaceMetadata => "namespace-metadata",
    }
}
