//! The indexes over one cluster's objects: by tracking, owner, namespace, kind and volume.
//!
//! Takes a cluster's objects sorted by key; positions in the indexes are positions among them.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::clusters::ClusterInfo;
use super::kinds::Kinds;
use super::live::LiveObject;
use super::owners::Owner;
use crate::argocd::names::IN_CLUSTER_SERVER;
use crate::manifest::ResourceKey;

/// The indexes over one cluster's objects.
#[derive(Clone, Debug)]
pub(super) struct ClusterIndex {
    pub(super) server: Arc<str>,
    /// Where the cluster's objects stand among all.
    pub(super) objects: Range<usize>,
    pub(super) kinds: Kinds,
    /// Tracked objects without owners, by instance name and key.
    tracked: Vec<Arc<LiveObject>>,
    /// Positions of namespaced objects, by namespace and key.
    by_namespace: Vec<u32>,
    /// Positions of owner and owned, sorted.
    children: Vec<(u32, u32)>,
    /// Position of the volume whose `claimRef` names a claim (namespace, name); made when first asked for.
    volumes: OnceLock<BTreeMap<(String, String), u32>>,
}

impl ClusterIndex {
    /// Indexes a cluster's objects, which start at `start` among all.
    pub(super) fn new(info: &ClusterInfo, objects: &[Arc<LiveObject>], start: usize) -> Self {
        let mut tracked: Vec<_> = objects.iter().filter(|object| object.tracking.is_some() && !object.is_owned()).cloned().collect();
        tracked.sort_by(|a, b| a.tracking.cmp(&b.tracking));
        let mut by_namespace: Vec<u32> =
            positions(objects).filter(|(_, object)| !object.key.namespace.is_empty()).map(|(position, _)| position).collect();
        by_namespace.sort_by_key(|&position| objects.get(position as usize).map(|object| &object.key.namespace));
        let mut kinds = Kinds::new(info.api_resources.as_deref(), info.kinds_complete, &*info.server == IN_CLUSTER_SERVER);
        for definition in same_kind(objects, "apiextensions.k8s.io", "CustomResourceDefinition") {
            kinds.define(&definition.glance());
        }
        for same in objects.chunk_by(|a, b| (&a.key.group, &a.key.kind, &a.version) == (&b.key.group, &b.key.kind, &b.version)) {
            if let [first, ..] = same {
                kinds.see(&first.key.group, &first.version, &first.key.kind);
                // What only stands for an object of the cluster has no UID, and may stand in the wrong place.
                if let Some(real) = same.iter().find(|object| object.uid.is_some()) {
                    kinds.place(&real.key.group, &real.key.kind, !real.key.namespace.is_empty());
                }
            }
        }
        Self {
            server: info.server.clone(),
            objects: start..start + objects.len(),
            kinds,
            tracked,
            by_namespace,
            children: children(objects),
            volumes: OnceLock::new(),
        }
    }

    /// The objects tracked under an instance name that have no owners.
    pub(super) fn tracked_by(&self, instance: &str) -> &[Arc<LiveObject>] {
        equal_range(&self.tracked, |object| object.tracking.as_deref().unwrap_or_default().cmp(instance))
    }

    /// The positions of a namespace's objects.
    pub(super) fn in_namespace(&self, objects: &[Arc<LiveObject>], namespace: &str) -> &[u32] {
        let of = |position: &u32| objects.get(*position as usize).map(|object| &*object.key.namespace);
        equal_range(&self.by_namespace, |position| of(position).cmp(&Some(namespace)))
    }

    /// The pairs of an owner's position and that of what it owns.
    pub(super) fn children_of(&self, owner: usize) -> &[(u32, u32)] {
        equal_range(&self.children, |&(one, _)| (one as usize).cmp(&owner))
    }

    /// The volume that a claim is bound to.
    pub(super) fn persistent_volume_of<'a>(&self, objects: &'a [Arc<LiveObject>], claim: &LiveObject) -> Option<&'a Arc<LiveObject>> {
        let object = claim.glance();
        let name = object.pointer("/spec/volumeName").and_then(Value::as_str).unwrap_or_default();
        let key = ResourceKey::new("", "PersistentVolume", "", name);
        if let Ok(position) = objects.binary_search_by(|object| object.key.cmp(&key)) {
            return objects.get(position);
        }
        let volumes = self.volumes.get_or_init(|| {
            let volumes = positions(objects).filter(|(_, object)| object.key.is("", "PersistentVolume"));
            let claims = volumes.filter_map(|(position, volume)| {
                let volume = volume.glance();
                let claim = volume.pointer("/spec/claimRef")?;
                let reference = |field: &str| claim.get(field)?.as_str().map(str::to_owned);
                Some(((reference("namespace")?, reference("name")?), position))
            });
            claims.collect()
        });
        let position = volumes.get(&(claim.key.namespace.to_string(), claim.key.name.to_string()))?;
        objects.get(*position as usize)
    }
}

/// The objects of a kind in a list sorted by key.
pub(super) fn same_kind<'a>(objects: &'a [Arc<LiveObject>], group: &str, kind: &str) -> &'a [Arc<LiveObject>] {
    equal_range(objects, |object| (&*object.key.group, &*object.key.kind).cmp(&(group, kind)))
}

/// The part of a sorted list that `order` calls equal.
fn equal_range<T>(sorted: &[T], order: impl Fn(&T) -> std::cmp::Ordering) -> &[T] {
    let start = sorted.partition_point(|item| order(item).is_lt());
    let rest = sorted.get(start..).unwrap_or_default();
    rest.get(..rest.partition_point(|item| order(item).is_eq())).unwrap_or_default()
}

/// Objects with their positions. More than fit into 32 bits cannot be loaded, so none is left out.
fn positions(objects: &[Arc<LiveObject>]) -> impl Iterator<Item = (u32, &Arc<LiveObject>)> {
    (0..).zip(objects)
}

/// Finds the live owner of each owner reference: by UID; by kind and name where one of both sides has no UID. A reference whose UID
/// is not there owns nothing any more, though its namesake may live.
fn children(objects: &[Arc<LiveObject>]) -> Vec<(u32, u32)> {
    let mut by_uid: HashMap<&str, u32> = HashMap::with_capacity(objects.len());
    for (position, object) in positions(objects) {
        if let Some(uid) = &object.uid {
            by_uid.entry(uid).or_insert(position);
        }
    }
    let by_name = |owner: &Owner, namespace: &str| {
        let key = |namespace: &str| ResourceKey {
            group: owner.group.clone(),
            kind: owner.kind.clone(),
            namespace: namespace.into(),
            name: owner.name.clone(),
        };
        let find = |key: ResourceKey| objects.binary_search_by(|object| object.key.cmp(&key)).ok();
        let position = find(key(namespace)).or_else(|| find(key("")))?;
        let live = objects.get(position)?;
        (owner.uid.is_empty() || live.uid.is_none()).then(|| u32::try_from(position).ok()).flatten()
    };
    let mut children: Vec<(u32, u32)> = positions(objects)
        .flat_map(|(child, object)| object.owners.iter().map(move |owner| (child, object, owner)))
        .filter_map(|(child, object, owner)| {
            let known = by_uid.get(&*owner.uid).copied();
            let parent = known.or_else(|| by_name(owner, &object.key.namespace))?;
            (parent != child).then_some((parent, child))
        })
        .collect();
    children.sort_unstable();
    children.dedup();
    children
}
