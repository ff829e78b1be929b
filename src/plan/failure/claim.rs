//! PersistentVolumeClaims and PersistentVolumes: sizes that only grow, and what a volume is made of.

use serde_json::Value;

use super::subject::{shown, text};
use super::{ApplyStrategy, Certainty, Change, FailureKind, Problem, ValueChange};
use crate::plan::schema::quantity::nanos;

const REQUEST: &str = "/spec/resources/requests/storage";
const CLASS: &str = "/spec/storageClassName";
const VOLUME_NAME: &str = "/spec/volumeName";

/// Fields of a PersistentVolume's spec that are not its source.
const NOT_A_SOURCE: &[&str] = &[
    "capacity",
    "accessModes",
    "claimRef",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "mountOptions",
    "volumeMode",
    "nodeAffinity",
    "volumeAttributesClassName",
];

/// A change of a claim or a volume that the API server refuses.
pub(super) fn problem(change: &Change<'_>) -> Option<Problem> {
    match (change.subject.group, change.subject.kind) {
        ("", "PersistentVolumeClaim") => replaced_without_volume(change).or_else(|| fixed_spec(change)).or_else(|| resized(change)),
        ("", "PersistentVolume") => volume(change),
        _ => None,
    }
}

fn replaced_without_volume(change: &Change<'_>) -> Option<Problem> {
    let bound = text(change.live, VOLUME_NAME);
    if change.strategy != ApplyStrategy::Replace || bound.is_empty() || !text(change.merged, VOLUME_NAME).is_empty() {
        return None;
    }
    let reason = format!("Replace=true on {} leaves out spec.volumeName, which is {bound} live and cannot be taken away", change.subject);
    let mut problem = Problem::new(FailureKind::ReplaceLosesVolumeName, Certainty::Measured, reason);
    problem.changes = change.at(VOLUME_NAME);
    Some(problem)
}

/// Everything in the spec but the requests (Kubernetes `ValidatePersistentVolumeClaimUpdate`).
fn fixed_spec(change: &Change<'_>) -> Option<Problem> {
    let mut fields = vec!["/spec/accessModes", "/spec/selector", "/spec/volumeMode", "/spec/resources/limits"];
    // A class may be filled in later, and a volume name once.
    if change.live.pointer(CLASS).is_some_and(|class| !class.is_null()) {
        fields.push(CLASS);
    }
    if !text(change.live, VOLUME_NAME).is_empty() {
        fields.push(VOLUME_NAME);
    }
    // The server copies one data source field into the other.
    for field in ["/spec/dataSource", "/spec/dataSourceRef"] {
        if change.target.pointer(field).is_some() {
            fields.push(field);
        }
    }
    change.immutable(&fields, Certainty::Measured)
}

fn resized(change: &Change<'_>) -> Option<Problem> {
    let (live, target) = (change.live.pointer(REQUEST)?, change.merged.pointer(REQUEST)?);
    let (from, to) = (nanos(live)?, nanos(target)?);
    if from == to {
        return None;
    }
    let found = ValueChange { pointer: REQUEST.to_owned(), live: Some(live.clone()), target: Some(target.clone()) };
    let problem = |kind, certainty, reason| Problem { changes: vec![found.clone()], ..Problem::new(kind, certainty, reason) };
    let subject = &change.subject;
    let sizes = format!("from {} to {}", shown(Some(live)), shown(Some(target)));
    if matches!(text(change.live, "/status/phase"), "Pending" | "Lost") {
        let reason = format!("{subject} is not bound to a volume, and its size cannot change {sizes} before that");
        return Some(problem(FailureKind::ClaimCannotGrow, Certainty::Likely, reason));
    }
    if to < from {
        // A growth that never happened may be taken back as long as the request stays above the real capacity.
        let capacity = change.live.pointer("/status/capacity/storage").and_then(nanos);
        if capacity.is_some_and(|capacity| to > capacity) {
            return None;
        }
        return Some(problem(FailureKind::ClaimShrinks, Certainty::Measured, format!("{subject} cannot shrink {sizes}")));
    }
    let class = match change.live.pointer(CLASS).and_then(Value::as_str) {
        Some(class) => class,
        None => change.context.default_storage_class.as_deref()?,
    };
    let why = if class.is_empty() {
        "it has no StorageClass".to_owned()
    } else if change.context.storage_classes.get(class) == Some(&false) {
        format!("StorageClass {class} does not allow expansion")
    } else {
        return None;
    };
    let certainty = if class.is_empty() { Certainty::Likely } else { Certainty::Measured };
    // An admission plugin refuses with "forbidden", for which kubectl's --force does nothing.
    Some(Problem {
        force_recreates: false,
        ..problem(FailureKind::ClaimCannotGrow, certainty, format!("{subject} cannot grow {sizes}: {why}"))
    })
}

/// The source, mode and node affinity of a volume (Kubernetes `ValidatePersistentVolumeUpdate`).
fn volume(change: &Change<'_>) -> Option<Problem> {
    let sources = [change.live, change.merged].into_iter().filter_map(|object| object.get("spec")?.as_object());
    let mut fields: Vec<String> = sources
        .flat_map(|spec| spec.keys())
        .filter(|key| !NOT_A_SOURCE.contains(&key.as_str()))
        .map(|key| super::subject::join("/spec", key))
        .collect();
    fields.push("/spec/volumeMode".to_owned());
    if change.live.pointer("/spec/nodeAffinity").is_some() {
        fields.push("/spec/nodeAffinity".to_owned());
    }
    fields.sort();
    fields.dedup();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    change.immutable(&fields, Certainty::Likely)
}
