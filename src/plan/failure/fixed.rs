//! Kinds with a short list of fields that cannot change: ConfigMap, Secret, role bindings, classes and the like.

use std::collections::BTreeSet;

use serde_json::Value;

use super::subject::{join, text};
use super::{ApplyStrategy, Certainty, Change, FailureKind, Problem, ValueChange};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Immutable fields by group and kind (the `Validate…Update` functions of Kubernetes).
const FIXED: &[(&str, &str, &[&str])] = &[
    ("networking.k8s.io", "IngressClass", &["/spec/controller"]),
    ("scheduling.k8s.io", "PriorityClass", &["/value", "/preemptionPolicy"]),
    ("node.k8s.io", "RuntimeClass", &["/handler"]),
    ("storage.k8s.io", "StorageClass", &["/provisioner", "/parameters", "/reclaimPolicy", "/volumeBindingMode"]),
    ("storage.k8s.io", "CSIDriver", &["/spec/attachRequired", "/spec/volumeLifecycleModes"]),
    ("storage.k8s.io", "VolumeAttributesClass", &["/driverName", "/parameters"]),
    ("discovery.k8s.io", "EndpointSlice", &["/addressType"]),
    ("resource.k8s.io", "ResourceClaim", &["/spec"]),
    ("resource.k8s.io", "ResourceClaimTemplate", &["/spec"]),
    ("", "ResourceQuota", &["/spec/scopes", "/spec/scopeSelector"]),
];

/// An immutable field of one of these kinds that would change.
pub(super) fn problem(change: &Change<'_>) -> Option<Problem> {
    let subject = &change.subject;
    match (subject.group, subject.kind) {
        ("", "ConfigMap") => frozen(change, &["/data", "/binaryData"]),
        ("", "Secret") => secret(change),
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => {
            // Client-side, `kubectl auth reconcile` goes first and copes.
            if reconciles(change) { None } else { change.immutable(&["/roleRef"], Certainty::Measured) }
        }
        (group, kind) => {
            let (_, _, fields) = FIXED.iter().find(|(fixed_group, fixed_kind, _)| *fixed_group == group && *fixed_kind == kind)?;
            change.immutable(fields, Certainty::Likely)
        }
    }
}

/// Whether `kubectl auth reconcile` deletes and creates a role binding because its roleRef changes
/// (`resource_ops.go:ApplyResource`; Kubernetes' `reconcile_rolebindings.go:computeReconciledRoleBinding`).
pub(super) fn reconcile_recreates(change: &Change<'_>) -> bool {
    let binds = matches!((change.subject.group, change.subject.kind), (RBAC, "RoleBinding" | "ClusterRoleBinding"));
    binds && reconciles(change) && !change.at("/roleRef").is_empty()
}

fn reconciles(change: &Change<'_>) -> bool {
    change.strategy == ApplyStrategy::ClientSide && change.subject.version == "v1"
}

/// `immutable: true` on the live object holds its data and itself.
fn frozen(change: &Change<'_>, data: &[&str]) -> Option<Problem> {
    if change.live.get("immutable") != Some(&Value::Bool(true)) {
        return None;
    }
    let subject = &change.subject;
    let found = change.immutable(data, Certainty::Measured).map(|problem| (problem, "its data cannot change"));
    let undone = || change.immutable(&["/immutable"], Certainty::Measured).map(|problem| (problem, "that cannot be undone"));
    let (problem, what) = found.or_else(undone)?;
    let keys: Vec<String> = problem.changes.iter().map(|change| super::dotted(&change.pointer)).take(3).collect();
    Some(Problem {
        reason: format!("{subject} is immutable live: {what} ({})", keys.join(", ")),
        remark: ". Give it a new name".to_owned(),
        ..problem
    })
}

fn secret(change: &Change<'_>) -> Option<Problem> {
    let subject = &change.subject;
    let kind_of = |object: &Value| match text(object, "/type") {
        "" => "Opaque".to_owned(),
        other => other.to_owned(),
    };
    let (live, target) = (kind_of(change.live), kind_of(change.merged));
    if live != target {
        let kind = FailureKind::Immutable { fields: vec!["/type".to_owned()] };
        let reason = format!("type of {subject} is {live} live and cannot become {target}");
        let mut problem = Problem::new(kind, Certainty::Measured, reason);
        problem.changes = vec![ValueChange { pointer: "/type".to_owned(), live: Some(live.into()), target: Some(target.into()) }];
        return Some(problem);
    }
    if change.live.get("immutable") != Some(&Value::Bool(true)) {
        return None;
    }
    if change.context.secret_values_known && change.target.get("stringData").is_none() {
        return frozen(change, &["/data"]);
    }
    let changed: Vec<ValueChange> =
        changed_keys(change).into_iter().map(|key| ValueChange { pointer: join("/data", &key), live: None, target: None }).collect();
    if changed.is_empty() {
        return frozen(change, &[]);
    }
    let kind = FailureKind::Immutable { fields: vec!["/data".to_owned()] };
    let reason = format!("{subject} is immutable live: its data cannot change");
    Some(Problem { changes: changed, ..Problem::new(kind, Certainty::Measured, reason).with_remark(". Give it a new name") })
}

/// Keys that come or go; all that can be said where values are not kept.
fn changed_keys(change: &Change<'_>) -> BTreeSet<String> {
    let keys = |object: &Value| -> BTreeSet<String> {
        let fields = ["data", "stringData"].into_iter().filter_map(|field| object.get(field)?.as_object());
        fields.flat_map(|map| map.keys().cloned()).collect()
    };
    keys(change.merged).symmetric_difference(&keys(change.live)).cloned().collect()
}
