//! What will fail when Argo CD applies one object, foreseen.
//!
//! Takes the target manifest, the live object and how the sync applies it; hands on the outcome: updated, replaced,
//! recreated or refused, and then why. Pure functions of values: the API server's own checks, as far as the two
//! objects and the cluster's StorageClasses and CustomResourceDefinitions decide them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

mod claim;
mod compare;
mod custom;
mod effective;
mod fixed;
mod metadata;
mod required;
mod service;
mod size;
mod subject;
mod types;
mod workload;

use super::schema::Schemas;
use subject::{Subject, dotted, shown, text};

/// How the sync sends an object to the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyStrategy {
    /// `kubectl apply`: three-way merge with the last applied configuration.
    ClientSide,
    /// `kubectl apply --server-side --force-conflicts` as `argocd-controller`.
    ServerSide,
    /// `kubectl replace` (`Replace=true`); an update for Namespaces and CustomResourceDefinitions.
    Replace,
}

/// How the sync applies one object, resolved from all levels of options by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Apply {
    /// The way of sending.
    pub strategy: ApplyStrategy,
    /// `Force=true`: with [`ApplyStrategy::Replace`] always delete and create, with client-side apply when the patch is invalid.
    pub force: bool,
}

/// What the cluster knows that decides an outcome. The default knows nothing, and nothing unknown is reported as a failure.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// `allowVolumeExpansion` by StorageClass name.
    pub storage_classes: BTreeMap<String, bool>,
    /// The StorageClass that claims without a class get.
    pub default_storage_class: Option<String>,
    /// CustomResourceDefinitions by (group, kind).
    pub custom_resources: BTreeMap<(String, String), &'a Value>,
    /// The types of all kinds; the built-in ones where it is `None`.
    pub schemas: Option<Arc<Schemas>>,
    /// Whether live Secrets hold values that compare with the target's. Off: only their keys are compared.
    pub secret_values_known: bool,
    /// Whether the live objects are the base revision's targets standing in for a cluster: then all they have was applied,
    /// and what leaves the target is removed.
    pub assumed_live: bool,
    /// Whether an object that is not known to be live may be live all the same: nothing speaks for the cluster.
    pub may_be_live: bool,
    /// Whether `Force=true` breaks server-side apply, as it does up to Argo CD 3.5 (`resource_ops.go:newApplyOptions` gives kubectl both flags).
    pub force_breaks_server_side_apply: bool,
}

impl Default for Context<'_> {
    fn default() -> Self {
        Self {
            storage_classes: BTreeMap::new(),
            default_storage_class: None,
            custom_resources: BTreeMap::new(),
            schemas: None,
            secret_values_known: false,
            assumed_live: false,
            may_be_live: false,
            force_breaks_server_side_apply: true,
        }
    }
}

impl<'a> Context<'a> {
    /// Reads StorageClasses and CustomResourceDefinitions out of a cluster's objects; other kinds are passed over.
    pub fn from_objects(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut context = Self::default();
        for object in objects {
            let subject = Subject::of(object, None);
            if subject.is("storage.k8s.io", "StorageClass") {
                let name = text(object, "/metadata/name").to_owned();
                let grows = object.get("allowVolumeExpansion").and_then(Value::as_bool).unwrap_or(false);
                let default =
                    object.pointer("/metadata/annotations").and_then(|all| all.get("storageclass.kubernetes.io/is-default-class"));
                if default.and_then(Value::as_str) == Some("true") {
                    context.default_storage_class = Some(name.clone());
                }
                context.storage_classes.insert(name, grows);
            } else if subject.is("apiextensions.k8s.io", "CustomResourceDefinition") {
                let key = (text(object, "/spec/group").to_owned(), text(object, "/spec/names/kind").to_owned());
                context.custom_resources.insert(key, object);
            }
        }
        context
    }

    fn schemas(&self) -> &Schemas {
        self.schemas.as_deref().unwrap_or(Schemas::builtin())
    }
}

/// How sure a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Seen with a real API server and Argo CD's engine, or read in Argo CD's code.
    Measured,
    /// Known of Kubernetes, not measured: "will likely fail".
    Likely,
}

/// A place where the object would change, as a JSON pointer, with both values (never a Secret's).
#[derive(Debug, Clone, PartialEq)]
pub struct ValueChange {
    /// JSON pointer into the object.
    pub pointer: String,
    /// The live value; `None` where it is absent or may not be shown.
    pub live: Option<Value>,
    /// The value after the apply; `None` where it is absent or may not be shown.
    pub target: Option<Value>,
}

/// What is refused.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FailureKind {
    /// Fields that cannot change after creation, as JSON pointers.
    Immutable {
        /// The immutable fields, as JSON pointers.
        fields: Vec<String>,
    },
    /// A claim asks for less storage than it has.
    ClaimShrinks,
    /// A claim asks for more storage and its class cannot grow, or it is not bound yet.
    ClaimCannotGrow,
    /// All annotations together are larger than the API server allows.
    AnnotationTooLarge {
        /// Bytes of all keys and values, including what client-side apply adds.
        bytes: usize,
    },
    /// The object, or the data of a ConfigMap or Secret, is larger than can be stored.
    ObjectTooLarge {
        /// Bytes as compact JSON, or of the data.
        bytes: usize,
    },
    /// A value is not of the type that the field has.
    TypeError {
        /// JSON pointer of the value.
        pointer: String,
        /// What the field takes.
        expected: &'static str,
        /// What the manifest has.
        got: &'static str,
    },
    /// Fields are missing without which the object is not accepted.
    MissingFields {
        /// JSON pointer of what should hold them.
        pointer: String,
        /// Their names.
        fields: Vec<String>,
    },
    /// A value is of the right type and still refused.
    InvalidValue {
        /// JSON pointer of the value.
        pointer: String,
    },
    /// The pod template's labels do not match the selector.
    SelectorMismatch,
    /// `Replace=true` leaves out `spec.volumeName` of a bound claim.
    ReplaceLosesVolumeName,
    /// `Replace=true` leaves out fields that the API server gave the object and that cannot be taken away.
    ReplaceLosesFields {
        /// The fields, as JSON pointers.
        fields: Vec<String>,
    },
    /// `Force=true` deletes the object for a change that cannot be made, and then fails: the object is gone.
    ForceDeletes {
        /// What could not be changed.
        cause: Box<FailureKind>,
    },
    /// `Force=true` together with server-side apply: kubectl takes only one of them.
    ForceWithServerSideApply,
}

/// A refusal of the API server (or of kubectl) that the sync will run into.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What is refused.
    pub kind: FailureKind,
    /// What is refused and why, without a verdict.
    pub reason: String,
    /// One plain sentence: what is refused, why, with live and target values.
    pub message: String,
    /// Where the object would change; empty when the failure is not about a change.
    pub changes: Vec<ValueChange>,
    /// How sure this is.
    pub certainty: Certainty,
}

/// What happens to an existing live object.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Patched in place (or left as it is, when nothing differs).
    Update,
    /// Overwritten in place with the target.
    Replace,
    /// Deleted and created again.
    Recreate,
    /// Refused.
    Fail(Failure),
}

/// A failure in the making: what the checks below return.
struct Problem {
    kind: FailureKind,
    /// What is refused and why, without the verdict.
    reason: String,
    /// What stands behind the verdict: values, or what to do.
    remark: String,
    changes: Vec<ValueChange>,
    certainty: Certainty,
    /// Whether the API server calls the change invalid, so that `Force=true` deletes and creates. It does not for what is forbidden.
    force_recreates: bool,
}

impl Problem {
    fn new(kind: FailureKind, certainty: Certainty, reason: String) -> Self {
        Self { kind, reason, remark: String::new(), changes: Vec::new(), certainty, force_recreates: true }
    }

    /// `fields` of the subject cannot change, and `changes` would change them.
    fn immutable(subject: &Subject<'_>, fields: &[&str], changes: Vec<ValueChange>, certainty: Certainty) -> Self {
        let named: Vec<String> = fields.iter().map(|field| dotted(field)).collect();
        let verb = if named.len() == 1 { "is" } else { "are" };
        let reason = format!("{} of {subject} {verb} immutable", named.join(" and "));
        let kind = FailureKind::Immutable { fields: fields.iter().map(|field| (*field).to_owned()).collect() };
        Self::new(kind, certainty, reason).with_changes(subject, changes)
    }

    /// Adds the changes, and the first of them to the message; values of a Secret are dropped.
    fn with_changes(mut self, subject: &Subject<'_>, changes: Vec<ValueChange>) -> Self {
        if subject.is_secret() {
            self.changes = changes.into_iter().map(|change| ValueChange { live: None, target: None, ..change }).collect();
            return self;
        }
        if let Some(first) = changes.first() {
            let more = if changes.len() > 1 { ", and more" } else { "" };
            let (live, target) = (shown(first.live.as_ref()), shown(first.target.as_ref()));
            self.remark = format!(" ({}: {live} live, {target} in Git{more})", dotted(&first.pointer));
        }
        self.changes = changes;
        self
    }

    fn with_remark(mut self, remark: &str) -> Self {
        remark.clone_into(&mut self.remark);
        self
    }

    fn into_failure(self) -> Failure {
        let verdict = match self.certainty {
            Certainty::Measured => "the sync will fail at this object",
            Certainty::Likely => "the sync will likely fail at this object",
        };
        let joint = if self.reason.contains(": ") { ", and" } else { ":" };
        let message = format!("{}{joint} {verdict}{}", self.reason, self.remark);
        Failure { kind: self.kind, reason: self.reason, message, changes: self.changes, certainty: self.certainty }
    }
}

/// What applying `target` over `live` does.
///
/// It answers for objects that the sync really sends: the caller leaves out unmodified ones under `ApplyOutOfSyncOnly`.
/// At a full sync an unmodified object is rewritten by Replace and recreated by Replace with Force all the same
/// (`sync_context.go:applyObject`). A hook that is deleted before its creation is not applied over anything: ask
/// [`foresee_create`].
pub fn foresee_apply(target: &Value, live: &Value, apply: Apply, context: &Context<'_>) -> Outcome {
    let subject = Subject::of(target, Some(live));
    let replaces = apply.strategy == ApplyStrategy::Replace;
    // Replacing one of these would delete what stands in it or on it, so Argo CD updates them.
    let updates_instead = subject.kind == "Namespace" || subject.is("apiextensions.k8s.io", "CustomResourceDefinition");
    if replaces && apply.force && !updates_instead {
        return match creation_problem(&subject, target, apply, context) {
            Some(problem) => Outcome::Fail(deleted_for_nothing(problem)),
            None => Outcome::Recreate,
        };
    }
    if let Some(problem) = force_problem(&subject, apply, context) {
        return Outcome::Fail(problem.into_failure());
    }
    let merged = if context.assumed_live && !replaces {
        effective::over_assumed(target, live, subject.is_built_in())
    } else {
        effective::effective(target, live, apply.strategy, subject.is_built_in())
    };
    let change = Change { subject, target, live, merged: &merged, strategy: apply.strategy, context };
    let Some(problem) = update_problem(&change) else {
        return if replaces && !updates_instead {
            Outcome::Replace
        } else if fixed::reconcile_recreates(&change) {
            Outcome::Recreate
        } else {
            Outcome::Update
        };
    };
    if apply.strategy != ApplyStrategy::ClientSide || !apply.force || !problem.force_recreates {
        return Outcome::Fail(problem.into_failure());
    }
    if creation_problem(&subject, target, apply, context).is_some() {
        return Outcome::Fail(problem.into_failure());
    }
    match slow_to_delete(&subject, live) {
        Some(certainty) => Outcome::Fail(deleted_then_timed_out(problem, certainty)),
        None => Outcome::Recreate,
    }
}

/// What creating `target` runs into.
pub fn foresee_create(target: &Value, apply: Apply, context: &Context<'_>) -> Option<Failure> {
    let subject = Subject::of(target, None);
    // Without a live object Replace is a plain create, and Force means nothing to it.
    let forced = force_problem(&subject, apply, context);
    forced.or_else(|| creation_problem(&subject, target, apply, context)).map(Problem::into_failure)
}

/// One update under judgement.
struct Change<'a> {
    subject: Subject<'a>,
    target: &'a Value,
    live: &'a Value,
    /// What the API server is asked to store.
    merged: &'a Value,
    strategy: ApplyStrategy,
    context: &'a Context<'a>,
}

impl Change<'_> {
    /// Where the field at `pointer` would change; empty when it stays.
    fn at(&self, pointer: &str) -> Vec<ValueChange> {
        compare::changes(self.merged.pointer(pointer), self.live.pointer(pointer), pointer)
    }

    /// Those of `fields` that would change, as one problem.
    fn immutable(&self, fields: &[&str], certainty: Certainty) -> Option<Problem> {
        let mut changed = Vec::new();
        let mut changes = Vec::new();
        for field in fields {
            let found = self.at(field);
            if !found.is_empty() {
                changed.push(*field);
                changes.extend(found);
            }
        }
        (!changed.is_empty()).then(|| Problem::immutable(&self.subject, &changed, changes, certainty))
    }
}

fn update_problem(change: &Change<'_>) -> Option<Problem> {
    types::problem(&change.subject, change.target, change.context.schemas())
        .or_else(|| required::problem(&change.subject, change.merged, Some(change.live), change.context.schemas()))
        .or_else(|| metadata::problem(&change.subject, change.target))
        .or_else(|| size::problem(&change.subject, change.target, change.merged, change.strategy))
        .or_else(|| fixed::problem(change))
        .or_else(|| workload::update_problem(change))
        .or_else(|| service::problem(change))
        .or_else(|| claim::problem(change))
        .or_else(|| custom::problem(change))
        .or_else(|| workload::spec_problem(&change.subject, change.merged))
}

fn creation_problem(subject: &Subject<'_>, target: &Value, apply: Apply, context: &Context<'_>) -> Option<Problem> {
    // A few fields that are applied server-side may be meant for an object that somebody else has made.
    let is_part = context.may_be_live && apply.strategy == ApplyStrategy::ServerSide;
    types::problem(subject, target, context.schemas())
        .or_else(|| required::problem(subject, target, None, context.schemas()).filter(|_| !is_part))
        .or_else(|| metadata::problem(subject, target))
        .or_else(|| size::problem(subject, target, target, apply.strategy))
        .or_else(|| custom::creation_problem(subject, target))
        .or_else(|| workload::spec_problem(subject, target))
}

fn force_problem(subject: &Subject<'_>, apply: Apply, context: &Context<'_>) -> Option<Problem> {
    let both = apply.force && apply.strategy == ApplyStrategy::ServerSide && context.force_breaks_server_side_apply;
    both.then(|| {
        let reason = format!("{subject} has Force=true and ServerSideApply=true, and kubectl refuses --force with --server-side");
        Problem::new(FailureKind::ForceWithServerSideApply, Certainty::Measured, reason)
    })
}

/// Whether the object outlives its deletion for a moment. `kubectl apply --force` does not wait that moment: it ends with
/// a deadline error and never creates the object again.
fn slow_to_delete(subject: &Subject<'_>, live: &Value) -> Option<Certainty> {
    let finalizers = live.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if subject.is("", "PersistentVolumeClaim") {
        return Some(Certainty::Measured);
    }
    let graceful = subject.is("", "Pod") && !text(live, "/spec/nodeName").is_empty();
    let cleans_up = subject.is("apiextensions.k8s.io", "CustomResourceDefinition") || subject.is("", "PersistentVolume");
    (finalizers || graceful || cleans_up).then_some(Certainty::Likely)
}

fn deleted_then_timed_out(problem: Problem, certainty: Certainty) -> Failure {
    let likely = if certainty == Certainty::Likely { "likely " } else { "" };
    let message = format!(
        "{}; with Force=true the sync will {likely}delete it, then fail with a deadline error and not create it again{}",
        problem.reason, problem.remark
    );
    let kind = FailureKind::ForceDeletes { cause: Box::new(problem.kind) };
    Failure { kind, reason: problem.reason, message, changes: problem.changes, certainty }
}

fn deleted_for_nothing(problem: Problem) -> Failure {
    let message = format!(
        "{}; with Replace=true and Force=true the sync deletes the live object first and then cannot create it{}",
        problem.reason, problem.remark
    );
    let kind = FailureKind::ForceDeletes { cause: Box::new(problem.kind) };
    Failure { kind, reason: problem.reason, message, changes: problem.changes, certainty: Certainty::Likely }
}

#[cfg(test)]
mod tests;
