//! Which objects a snapshot keeps: all, or those that Argo CD manages and what rules need besides.
//!
//! Takes objects as they arrive, and at the end the index of all of them; hands on what stays.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::spool::{Entry, Role, short};
use crate::argocd::names::{GROUP, TRACKING_ID};
use crate::argocd::{Settings, TrackingMethod};
use crate::manifest::{ResourceKey, annotation, label};
use crate::snapshot::clusters::{CLUSTER_SECRET, SECRET_TYPE_LABEL};
use crate::snapshot::settings::{CONFIG, CONTROLLER, PARAMETERS, PART_OF, SETS_CONTROLLER};

/// Kinds that rules look at, whoever has the objects.
const NEEDED: [(&str, &str); 13] = [
    ("", "Namespace"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    (GROUP, "AppProject"),
    (GROUP, "Application"),
    (GROUP, "ApplicationSet"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("autoscaling.k8s.io", "VerticalPodAutoscaler"),
    ("keda.sh", "ScaledJob"),
    ("keda.sh", "ScaledObject"),
    ("policy", "PodDisruptionBudget"),
    ("storage.k8s.io", "StorageClass"),
];

/// Kinds whose objects controllers make in great number. Where they have an owner, nothing but their owner counts.
const MADE: [(&str, &str); 8] = [
    ("", "Endpoints"),
    ("", "Pod"),
    ("apps", "ControllerRevision"),
    ("apps", "ReplicaSet"),
    ("batch", "Job"),
    ("coordination.k8s.io", "Lease"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("metrics.k8s.io", "PodMetrics"),
];

/// What is kept.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// Everything.
    All,
    /// What an Argo CD manages; `None` where its settings are not known here.
    Managed(Option<Box<Settings>>),
}

/// What becomes of an object when it arrives.
pub(super) enum Arrival {
    /// It goes into the file, with this role.
    Keep(Role),
    /// Only its owners count.
    OwnersOnly,
}

impl Choice {
    /// Decides about an object when it arrives.
    pub(super) fn on_arrival(&self, key: &ResourceKey, object: &Value, is_owned: bool) -> Arrival {
        let Self::Managed(settings) = self else { return Arrival::Keep(Role::Needed) };
        let among = |kinds: &[(&str, &str)]| kinds.iter().any(|(group, kind)| key.is(group, kind));
        if is_tracked(settings.as_deref(), object) {
            Arrival::Keep(Role::Tracked)
        } else if among(&NEEDED) || is_argocds_own(key, object) || (!is_owned && pod_spec(object).is_some()) {
            Arrival::Keep(Role::Needed)
        } else if is_owned && among(&MADE) {
            Arrival::OwnersOnly
        } else {
            Arrival::Keep(Role::Candidate)
        }
    }

    /// Decides at the end. `wanted` are the owners of pods and ReplicaSets.
    pub(super) fn at_the_end(&self, mut entries: Vec<Entry>, wanted: &HashSet<u64>) -> Vec<Entry> {
        if matches!(self, Self::All) {
            return entries;
        }
        for entry in &mut entries {
            if entry.role == Role::Candidate && wanted.contains(&entry.uid) {
                entry.role = Role::Needed;
            }
        }
        let read = reads_of_kept(&entries);
        let is_read = |entry: &Entry| {
            let name = |kind| read.contains(&(entry.cluster.clone(), kind, entry.key.namespace.clone(), entry.key.name.clone()));
            entry.key.group.is_empty() && ["ConfigMap", "Secret"].into_iter().any(|kind| &*entry.key.kind == kind && name(kind))
        };
        let (namespaces, kinds) = (tracked_namespaces(&entries), tracked_kinds(&entries));
        let goes_along = |entry: &Entry| {
            let in_namespace = entry.owners.is_empty() && namespaces.contains(&(entry.cluster.clone(), entry.key.namespace.clone()));
            in_namespace || kinds.contains(&(entry.cluster.clone(), (entry.key.group.to_string(), entry.key.kind.to_string())))
        };
        let mut kept: Vec<bool> =
            entries.iter().map(|entry| entry.role != Role::Candidate || is_read(entry) || goes_along(entry)).collect();
        keep_what_tracked_objects_own(&entries, &mut kept);
        let mut kept = kept.into_iter();
        entries.retain(|_| kept.next().unwrap_or(true));
        entries
    }
}

/// What is deleted with a tracked object is kept as well.
fn keep_what_tracked_objects_own(entries: &[Entry], kept: &mut [bool]) {
    let mut owning: HashSet<u64> = entries.iter().filter(|entry| entry.role == Role::Tracked).map(|entry| entry.uid).collect();
    loop {
        let before = owning.len();
        for (entry, kept) in entries.iter().zip(kept.iter_mut()) {
            if entry.owners.iter().any(|owner| owning.contains(owner)) {
                *kept = true;
                owning.insert(entry.uid);
            }
        }
        if owning.len() == before {
            return;
        }
    }
}

type Named = (Arc<str>, &'static str, Arc<str>, Arc<str>);

/// What the pods of kept workloads read: cluster, kind, namespace and name.
fn reads_of_kept(entries: &[Entry]) -> HashSet<Named> {
    let kept = entries.iter().filter(|entry| entry.role != Role::Candidate);
    kept.flat_map(|entry| entry.reads.iter().map(|(kind, name)| (entry.cluster.clone(), *kind, entry.key.namespace.clone(), name.clone())))
        .collect()
}

/// Tracked namespaces with their clusters: a deleted one takes everything in it along.
fn tracked_namespaces(entries: &[Entry]) -> BTreeSet<(Arc<str>, Arc<str>)> {
    let namespaces = entries.iter().filter(|entry| entry.role == Role::Tracked && entry.key.is("", "Namespace"));
    namespaces.map(|entry| (entry.cluster.clone(), entry.key.name.clone())).collect()
}

/// Groups and kinds of tracked definitions with their clusters: a deleted one takes all objects of its kind along.
fn tracked_kinds(entries: &[Entry]) -> BTreeSet<(Arc<str>, (String, String))> {
    let tracked = entries.iter().filter(|entry| entry.role == Role::Tracked);
    tracked.filter_map(|entry| Some((entry.cluster.clone(), entry.defines.as_deref()?.clone()))).collect()
}

/// Where the settings are not known, the marks of every tracking method count.
fn is_tracked(settings: Option<&Settings>, object: &Value) -> bool {
    let by_annotation = || annotation(object, TRACKING_ID).is_some();
    let by_label = |key: &str| label(object, key).is_some_and(|name| !name.is_empty());
    match settings {
        Some(settings) if settings.tracking.method == TrackingMethod::Label => by_annotation() || by_label(&settings.tracking.label_key),
        Some(_) => by_annotation(),
        None => by_annotation() || by_label(crate::argocd::names::DEFAULT_INSTANCE_LABEL),
    }
}

/// What says which settings and clusters Argo CD has.
fn is_argocds_own(key: &ResourceKey, object: &Value) -> bool {
    let is_part = label(object, PART_OF.0) == Some(PART_OF.1);
    match (&*key.group, &*key.kind) {
        ("", "ConfigMap") => is_part && [CONFIG, PARAMETERS].contains(&&*key.name),
        ("", "Secret") => label(object, SECRET_TYPE_LABEL) == Some(CLUSTER_SECRET),
        ("apps", "StatefulSet" | "Deployment") => is_part && [CONTROLLER, SETS_CONTROLLER].contains(&&*key.name),
        _ => false,
    }
}

/// The pod's specification in a workload or pod.
fn pod_spec(object: &Value) -> Option<&Value> {
    ["/spec/jobTemplate/spec/template/spec", "/spec/template/spec", "/spec"]
        .iter()
        .filter_map(|pointer| object.pointer(pointer))
        .find(|spec| spec.get("containers").is_some_and(Value::is_array))
}

/// The ConfigMaps and Secrets that the pods of an object read.
pub(super) fn reads_of(object: &Value) -> Box<[(&'static str, Arc<str>)]> {
    let mut found = Vec::new();
    if let Some(spec) = pod_spec(object) {
        collect(spec, &mut found);
    }
    found.sort();
    found.dedup();
    found.into()
}

fn collect(value: &Value, found: &mut Vec<(&'static str, Arc<str>)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(map) => {
            for (field, value) in map {
                let kind = match field.as_str() {
                    "configMap" | "configMapKeyRef" | "configMapRef" => Some("ConfigMap"),
                    "imagePullSecrets" | "secret" | "secretKeyRef" | "secretRef" | "nodePublishSecretRef" => Some("Secret"),
                    _ => None,
                };
                if let Some(kind) = kind {
                    let named = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice).iter();
                    let names = named.flat_map(|one| [one.get("name"), one.get("secretName")]).flatten().filter_map(Value::as_str);
                    found.extend(names.map(|name| (kind, Arc::from(name))));
                }
                collect(value, found);
            }
        }
        _ => {}
    }
}

/// The kind that a CustomResourceDefinition defines.
pub(super) fn defined_by(key: &ResourceKey, object: &Value) -> Option<Box<(String, String)>> {
    if !key.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        return None;
    }
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some(Box::new((text("/spec/group")?, text("/spec/names/kind")?)))
}

/// The owners that an object names.
pub(super) fn owners_of(object: &Value) -> Box<[u64]> {
    let references = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    references.into_iter().flatten().filter_map(|reference| reference.get("uid")?.as_str()).map(short).collect()
}

#[cfg(test)]
mod tests;
