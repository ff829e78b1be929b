//! Workloads and what runs in them: selectors, StatefulSet and Job specs, Pods.

use serde_json::{Map, Value};

use super::subject::{Subject, shown, text};
use super::{ApplyStrategy, Certainty, Change, FailureKind, Problem, ValueChange};

/// Fields of a StatefulSet's spec that cannot change; the other seven may (Kubernetes `ValidateStatefulSetUpdate`).
const STATEFUL_SET: &[&str] = &["/spec/serviceName", "/spec/podManagementPolicy", "/spec/selector", "/spec/volumeClaimTemplates"];
/// Fields of a Job's spec that cannot change, `completions` apart (Kubernetes `ValidateJobSpecUpdate`).
const JOB: &[&str] = &[
    "/spec/selector",
    "/spec/template",
    "/spec/completionMode",
    "/spec/podFailurePolicy",
    "/spec/successPolicy",
    "/spec/backoffLimitPerIndex",
    "/spec/managedBy",
];
/// Parts of the template that a suspended Job that never ran may change.
const JOB_SCHEDULING: &[&str] = &[
    "/spec/template/spec/nodeSelector",
    "/spec/template/spec/affinity",
    "/spec/template/spec/tolerations",
    "/spec/template/spec/schedulingGates",
    "/spec/template/metadata/labels",
    "/spec/template/metadata/annotations",
];
const POD_TEMPLATE_LABELS: &str = "/spec/template/metadata/labels";

/// A change of a workload that the API server refuses.
pub(super) fn update_problem(change: &Change<'_>) -> Option<Problem> {
    match (change.subject.group, change.subject.kind) {
        ("apps", "Deployment" | "DaemonSet" | "ReplicaSet") => change.immutable(&["/spec/selector"], Certainty::Measured),
        ("apps", "StatefulSet") => change.immutable(STATEFUL_SET, Certainty::Measured),
        ("batch", "Job") => job(change),
        ("", "Pod") => pod(change),
        _ => None,
    }
}

/// A spec that no apply and no create gets past the API server.
pub(super) fn spec_problem(subject: &Subject<'_>, object: &Value) -> Option<Problem> {
    volume_of_two_kinds(subject, object).or_else(|| workload_problem(subject, object))
}

fn workload_problem(subject: &Subject<'_>, object: &Value) -> Option<Problem> {
    let selects = match (subject.group, subject.kind) {
        ("apps", "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet") => true,
        ("", "ReplicationController") => false,
        _ => return None,
    };
    selector_mismatch(subject, object, selects).or_else(|| left_over_rolling_update(subject, object))
}

/// A volume that is both: server-side apply adds the new source beside the live one that another manager still owns, and nothing takes that away.
fn volume_of_two_kinds(subject: &Subject<'_>, object: &Value) -> Option<Problem> {
    let pod = subject.pod_spec()?;
    let volumes = object.pointer(pod)?.get("volumes")?.as_array()?;
    let (index, volume) = volumes.iter().enumerate().find_map(|(index, volume)| {
        let sources: Vec<&str> =
            volume.as_object()?.iter().filter(|(key, value)| *key != "name" && !value.is_null()).map(|(key, _)| key.as_str()).collect();
        (sources.len() > 1).then(|| (index, sources.join(" and ")))
    })?;
    let pointer = format!("{pod}/volumes/{index}");
    let reason = format!("{} of {subject} becomes {volume} at once, and a volume has one source", super::dotted(&pointer));
    Some(Problem::new(FailureKind::InvalidValue { pointer }, Certainty::Measured, reason))
}

fn selector_mismatch(subject: &Subject<'_>, object: &Value, has_label_selector: bool) -> Option<Problem> {
    let empty = Map::new();
    let labels = object.pointer(POD_TEMPLATE_LABELS).and_then(Value::as_object).unwrap_or(&empty);
    let selector = object.pointer("/spec/selector").and_then(Value::as_object)?;
    let reason = if has_label_selector {
        let pairs = selector.get("matchLabels").and_then(Value::as_object).and_then(|wanted| missing_pair(wanted, labels));
        let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
        pairs.or_else(|| expressions.filter(|expression| !matches(expression, labels)).map(shown_expression).next())?
    } else {
        missing_pair(selector, labels)?
    };
    let reason = format!("spec.selector of {subject} wants {reason}, which the labels of its pod template do not match");
    Some(Problem::new(FailureKind::SelectorMismatch, Certainty::Measured, reason))
}

fn missing_pair(wanted: &Map<String, Value>, labels: &Map<String, Value>) -> Option<String> {
    let (key, value) = wanted.iter().find(|(key, value)| labels.get(*key) != Some(value))?;
    Some(format!("{key}={}", shown(Some(value))))
}

fn matches(expression: &Value, labels: &Map<String, Value>) -> bool {
    let label = labels.get(text(expression, "/key"));
    let listed = || {
        let values = expression.get("values").and_then(Value::as_array);
        label.is_some_and(|label| values.is_some_and(|values| values.contains(label)))
    };
    match text(expression, "/operator") {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => label.is_some(),
        "DoesNotExist" => label.is_none(),
        _ => true,
    }
}

fn shown_expression(expression: &Value) -> String {
    let values = expression.get("values").map(|values| format!(" {}", shown(Some(values)))).unwrap_or_default();
    format!("{} {}{values}", text(expression, "/key"), text(expression, "/operator"))
}

/// A `rollingUpdate` block beside another strategy: mostly the defaulted one of the live object, which an apply leaves standing.
fn left_over_rolling_update(subject: &Subject<'_>, object: &Value) -> Option<Problem> {
    let (field, other, certainty) = match (subject.group, subject.kind) {
        ("apps", "StatefulSet") => ("updateStrategy", "OnDelete", Certainty::Measured),
        ("apps", "Deployment") => ("strategy", "Recreate", Certainty::Likely),
        _ => return None,
    };
    let strategy = object.pointer("/spec")?.get(field)?;
    let block = strategy.get("rollingUpdate").filter(|block| !block.is_null())?;
    if text(strategy, "/type") != other {
        return None;
    }
    let pointer = format!("/spec/{field}/rollingUpdate");
    let reason = format!("spec.{field}.rollingUpdate of {subject} ({}) is not allowed with type {other}", shown(Some(block)));
    // An apply keeps the block that the API server wrote into the live object; only a null takes it away.
    let remark = format!(". Set {} to null in Git", super::dotted(&pointer));
    Some(Problem::new(FailureKind::InvalidValue { pointer }, certainty, reason).with_remark(&remark))
}

fn job(change: &Change<'_>) -> Option<Problem> {
    if let Some(problem) = replaced_job(change) {
        return Some(problem);
    }
    let suspended = change.live.pointer("/spec/suspend") == Some(&Value::Bool(true)) && change.live.pointer("/status/startTime").is_none();
    let mut fields: Vec<&str> = Vec::new();
    let mut changes: Vec<ValueChange> = Vec::new();
    for field in JOB {
        let found = change.at(field).into_iter().filter(|found| {
            let schedules = JOB_SCHEDULING.iter().any(|free| found.pointer.starts_with(free));
            !(suspended && schedules)
        });
        let found: Vec<ValueChange> = found.collect();
        if !found.is_empty() {
            fields.push(field);
            changes.extend(found);
        }
    }
    let completions = completions(change);
    if !completions.is_empty() {
        fields.push("/spec/completions");
        changes.extend(completions);
    }
    (!fields.is_empty()).then(|| Problem::immutable(&change.subject, &fields, changes, Certainty::Measured))
}

/// `completions` of an indexed Job may follow `parallelism`; else they stay. One is the default where parallelism is unset too.
fn completions(change: &Change<'_>) -> Vec<ValueChange> {
    let number = |object: &Value, field: &str| object.pointer(&format!("/spec/{field}")).and_then(Value::as_i64);
    let resolved = |object: &Value| number(object, "completions").or_else(|| number(object, "parallelism").is_none().then_some(1));
    let (live, target) = (resolved(change.live), resolved(change.merged));
    let elastic = text(change.merged, "/spec/completionMode") == "Indexed" && target == number(change.merged, "parallelism").or(Some(1));
    if live == target || elastic {
        return Vec::new();
    }
    vec![ValueChange { pointer: "/spec/completions".to_owned(), live: live.map(Value::from), target: target.map(Value::from) }]
}

/// The server gives a Job its selector and pod labels; a replace without them is refused, changed or not.
fn replaced_job(change: &Change<'_>) -> Option<Problem> {
    let generated = change.live.pointer("/spec/selector").is_some() && change.merged.pointer("/spec/selector").is_none();
    if change.strategy != ApplyStrategy::Replace || !generated {
        return None;
    }
    let fields = vec!["/spec/selector".to_owned(), POD_TEMPLATE_LABELS.to_owned()];
    let reason = format!(
        "Replace=true on {} leaves out spec.selector and pod labels, which the API server gave it and which cannot be taken away",
        change.subject
    );
    let mut problem = Problem::new(FailureKind::ReplaceLosesFields { fields }, Certainty::Measured, reason);
    problem.changes = change.at("/spec/template");
    Some(problem)
}

/// All of a Pod's spec but images, deadline, added tolerations (Kubernetes `ValidatePodUpdate`).
fn pod(change: &Change<'_>) -> Option<Problem> {
    let changes: Vec<ValueChange> = change.at("/spec").into_iter().filter(|found| !pod_may_change(change, found)).collect();
    let first = changes.first()?;
    let lost = change.strategy == ApplyStrategy::Replace && changes.iter().all(|found| found.target.is_none());
    if lost {
        let fields = changes.iter().map(|found| found.pointer.clone()).collect();
        let reason = format!(
            "Replace=true on {} leaves out {}, which cannot be taken away from a Pod",
            change.subject,
            super::dotted(&first.pointer)
        );
        let mut problem = Problem::new(FailureKind::ReplaceLosesFields { fields }, Certainty::Likely, reason);
        problem.changes = changes;
        return Some(problem);
    }
    let fields: Vec<String> = changes.iter().map(|found| found.pointer.clone()).take(3).collect();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    Some(Problem::immutable(&change.subject, &fields, changes, Certainty::Likely))
}

fn pod_may_change(change: &Change<'_>, found: &ValueChange) -> bool {
    let parts: Vec<&str> = found.pointer.split('/').skip(1).collect();
    match parts.as_slice() {
        ["spec", "containers" | "initContainers", _, "image"] | ["spec", "activeDeadlineSeconds" | "schedulingGates"] => true,
        ["spec", "tolerations"] => tolerations_only_added(change),
        ["spec", "terminationGracePeriodSeconds"] => found.live.as_ref().and_then(Value::as_i64).is_some_and(|seconds| seconds < 0),
        _ => false,
    }
}

fn tolerations_only_added(change: &Change<'_>) -> bool {
    let listed = |object: &Value| object.pointer("/spec/tolerations").and_then(Value::as_array).cloned().unwrap_or_default();
    let after: std::collections::BTreeSet<String> = listed(change.merged).iter().map(ToString::to_string).collect();
    listed(change.live).iter().all(|toleration| after.contains(&toleration.to_string()))
}
