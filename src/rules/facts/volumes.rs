//! Volumes behind claims, and the claims behind StatefulSets.

use std::sync::Arc;

use serde_json::Value;

use super::View;
use crate::manifest::ResourceKey;
use crate::snapshot::LiveObject;

/// The volume behind a claim, as far as live state shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::rules) struct Volume {
    /// Name of the PersistentVolume.
    pub(in crate::rules) name: String,
    /// Its capacity as it is written.
    pub(in crate::rules) size: Option<String>,
    /// Its reclaim policy; `None` where the volume is not in the snapshot.
    pub(in crate::rules) policy: Option<String>,
}

impl Volume {
    /// `pv-1001 (20Gi)`.
    pub(in crate::rules) fn named(&self) -> String {
        match &self.size {
            Some(size) => format!("{} ({size})", self.name),
            None => self.name.clone(),
        }
    }
}

fn text(object: &Value, pointer: &str) -> Option<String> {
    object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The volume that a live claim is bound to; `None` where it names none.
pub(in crate::rules) fn volume_of(view: &View<'_>, claim: &LiveObject) -> Option<Volume> {
    let object = claim.object();
    let requested = || text(object, "/status/capacity/storage").or_else(|| text(object, "/spec/resources/requests/storage"));
    match view.facts.live.persistent_volume_of(claim) {
        Some(volume) => Some(Volume {
            name: volume.key.name.to_string(),
            size: text(volume.object(), "/spec/capacity/storage").or_else(requested),
            policy: text(volume.object(), "/spec/persistentVolumeReclaimPolicy"),
        }),
        None => Some(Volume { name: text(object, "/spec/volumeName")?, size: requested(), policy: None }),
    }
}

/// Whether an object makes claims from templates.
pub(in crate::rules) fn is_claim_template_owner(key: &ResourceKey) -> bool {
    key.is("apps", "StatefulSet")
}

/// The live claims that a StatefulSet made from its templates: `<template>-<set>-<ordinal>`.
pub(in crate::rules) fn claims_of(view: &View<'_>, statefulset: &LiveObject) -> Vec<Arc<LiveObject>> {
    let prefixes: Vec<String> = templates(statefulset.object()).map(|template| format!("{template}-{}-", statefulset.key.name)).collect();
    let claims = view.facts.live.in_namespace(&statefulset.cluster, &statefulset.key.namespace);
    claims
        .filter(|object| object.key.is("", "PersistentVolumeClaim"))
        .filter(|claim| prefixes.iter().any(|prefix| claim.key.name.strip_prefix(prefix.as_str()).is_some_and(is_ordinal)))
        .cloned()
        .collect()
}

fn is_ordinal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Names of a StatefulSet's claim templates.
pub(in crate::rules) fn templates(object: &Value) -> impl Iterator<Item = &str> {
    let templates = object.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array).into_iter().flatten();
    templates.filter_map(|template| template.pointer("/metadata/name")?.as_str())
}
