//! What hangs on a deleted object: what goes along with it (what it owns, what a namespace holds, the objects of a kind, the volume behind a
//! claim), and what stays although it hangs on it.
//!
//! Takes a live object and live state; hands on [`Dependents`], as trees.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::argocd::AppId;
use crate::manifest::ResourceKey;
use crate::snapshot::{LiveObject, LiveState};

/// How an object hangs on another one that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tie {
    /// It has an owner reference.
    Owned,
    /// It is in the namespace.
    InNamespace,
    /// It is of the kind that a CustomResourceDefinition defines.
    OfKind,
    /// It is the volume behind a claim.
    Volume,
    /// It is a claim that a StatefulSet made and takes along.
    Claim,
    /// It is a claim that a StatefulSet made; Argo CD counts it to the Application as soon as the set is gone, and deletes it then.
    FreedClaim,
    /// An Application's finalizer deletes it.
    Tracked,
    /// It stays: a claim that a StatefulSet made and leaves behind.
    LeftClaim,
    /// It stays, emptied.
    RecycledVolume,
    /// It stays: a volume that keeps its data.
    RetainedVolume,
    /// It stays: the sync deletes with `PrunePropagationPolicy=orphan`.
    Released,
    /// It stays: another owner lives on.
    OtherOwner,
}

impl Tie {
    /// In a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owned => "owned by it",
            Self::InNamespace => "in the namespace",
            Self::OfKind => "of this kind",
            Self::Volume => "its volume",
            Self::Claim => "its claim, by persistentVolumeClaimRetentionPolicy",
            Self::FreedClaim => "its claim, which the Application tracks and deletes next",
            Self::Tracked => "goes with the Application",
            Self::LeftClaim => "its claim; a StatefulSet leaves its claims behind",
            Self::RecycledVolume => "its volume, emptied by reclaim policy Recycle",
            Self::RetainedVolume => "its volume, with reclaim policy Retain",
            Self::Released => "owned by it until now; PrunePropagationPolicy=orphan",
            Self::OtherOwner => "owned by another object as well",
        }
    }
}

/// An object that hangs on a deleted one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// The object.
    pub key: ResourceKey,
    /// How it hangs on the object above it in the tree.
    pub tie: Tie,
    /// Level in the tree: 1 hangs on the deleted object itself, 2 on the nearest entry of level 1 before it, and so on.
    pub depth: usize,
    /// The Application that tracks it (`namespace/name`), if any.
    pub application: Option<String>,
    /// What its cluster is called, where that is not the one of the deleted object.
    pub cluster: Option<Arc<str>>,
}

impl Dependent {
    /// An object that hangs on the deleted one itself.
    pub fn direct(key: ResourceKey, tie: Tie, application: Option<String>) -> Self {
        Self { key, tie, depth: 1, application, cluster: None }
    }
}

/// What hangs on a deleted object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependents {
    /// What goes along: each tree from the top, siblings by key.
    pub go: Vec<Dependent>,
    /// What stays although it hangs on something that goes.
    pub stay: Vec<Dependent>,
}

/// What decides about dependents, besides live state.
#[derive(Clone, Copy)]
pub struct Deletion<'a> {
    /// Objects that the same operation deletes on the same cluster.
    pub going: &'a HashSet<ResourceKey>,
    /// The deleted object lets go what it owns.
    pub orphans: bool,
    /// Whether Argo CD deletes this object too as soon as it has no owner any more.
    pub follows: &'a dyn Fn(&LiveObject) -> bool,
}

/// What hangs on this object.
///
/// Source: Kubernetes' garbage collection by owner references, namespace deletion, `persistentVolumeReclaimPolicy` and
/// `persistentVolumeClaimRetentionPolicy`.
pub fn of(object: &Arc<LiveObject>, live: &LiveState, deletion: Deletion<'_>) -> Dependents {
    let mut walk = Walk { live, deletion, gone: HashSet::new(), found: Dependents::default(), pending: Vec::new() };
    walk.follow(object);
    let Walk { gone, mut found, .. } = walk;
    found.stay.retain(|dependent| !gone.contains(&dependent.key));
    found.stay.sort_by(|a, b| a.key.cmp(&b.key));
    found.stay.dedup_by(|a, b| a.key == b.key);
    found
}

struct Walk<'a> {
    live: &'a LiveState,
    deletion: Deletion<'a>,
    gone: HashSet<ResourceKey>,
    found: Dependents,
    /// Objects to look at, the next one last.
    pending: Vec<(Arc<LiveObject>, Tie, usize)>,
}

impl Walk<'_> {
    fn follow(&mut self, top: &Arc<LiveObject>) {
        self.gone.insert(top.key.clone());
        self.push_what_hangs_on(top, 1);
        while let Some((object, tie, depth)) = self.pending.pop() {
            if self.gone.contains(&object.key) || is_made_by_kubernetes(&object.key) {
                continue;
            }
            if depth == 1 && matches!(tie, Tie::Owned | Tie::Claim) && self.deletion.orphans {
                self.stays(&object, Tie::Released, depth);
            } else if tie == Tie::Owned && self.has_other_owner(&object) {
                // It comes again below its last owner, if that goes too.
                self.stays(&object, Tie::OtherOwner, depth);
            } else {
                self.gone.insert(object.key.clone());
                let dependent = self.dependent(&object, tie, depth);
                self.found.go.push(dependent);
                self.push_what_hangs_on(&object, depth + 1);
            }
        }
    }

    fn push_what_hangs_on(&mut self, object: &Arc<LiveObject>, depth: usize) {
        let live = self.live;
        let key = &object.key;
        let mut next: Vec<(Arc<LiveObject>, Tie)> = Vec::new();
        for owned in live.owned_by(&object.cluster, object) {
            match self.tie_to_owner(object, owned) {
                Some(tie @ Tie::LeftClaim) => self.stays(owned, tie, depth),
                Some(tie) => next.push((Arc::clone(owned), tie)),
                None => {}
            }
        }
        if key.is("", "Namespace") {
            next.extend(live.in_namespace(&object.cluster, &key.name).map(|held| (Arc::clone(held), Tie::InNamespace)));
            // What has owners stands below them.
            next.sort_by_key(|(held, _)| held.is_owned());
        }
        if key.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            let text = |pointer: &str| object.object().pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let of_kind = live.of_kind(&object.cluster, text("/spec/group"), text("/spec/names/kind"));
            next.extend(of_kind.iter().map(|one| (Arc::clone(one), Tie::OfKind)));
        }
        if key.is("", "PersistentVolumeClaim")
            && let Some(volume) = live.persistent_volume_of(object)
        {
            // Kubernetes' default for a volume that says nothing.
            match volume.object().pointer("/spec/persistentVolumeReclaimPolicy").and_then(Value::as_str).unwrap_or("Retain") {
                "Retain" => self.stays(volume, Tie::RetainedVolume, depth),
                "Recycle" => self.stays(volume, Tie::RecycledVolume, depth),
                _ => next.push((Arc::clone(volume), Tie::Volume)),
            }
        }
        self.pending.extend(next.into_iter().rev().map(|(object, tie)| (object, tie, depth)));
    }

    /// What becomes of an object when its owner goes; `None` where it only looks owned.
    fn tie_to_owner(&self, owner: &LiveObject, owned: &LiveObject) -> Option<Tie> {
        if owned.owners.iter().any(|owner| !owner.inferred) {
            return Some(Tie::Owned);
        }
        if !(owner.key.is("apps", "StatefulSet") && owned.key.is("", "PersistentVolumeClaim")) {
            // Endpoints and tokens of service accounts go too, though no owner reference says so.
            return owned.key.group.is_empty().then_some(Tie::Owned);
        }
        if owner.object().pointer("/spec/persistentVolumeClaimRetentionPolicy/whenDeleted").and_then(Value::as_str) == Some("Delete") {
            return Some(Tie::Claim);
        }
        Some(if (self.deletion.follows)(owned) { Tie::FreedClaim } else { Tie::LeftClaim })
    }

    /// Whether an owner of the object lives on: the garbage collector then only strikes out the reference.
    fn has_other_owner(&self, object: &LiveObject) -> bool {
        object.owners.iter().filter(|owner| !owner.inferred).any(|owner| {
            [&*object.key.namespace, ""].iter().any(|namespace| {
                let key = ResourceKey::new(&owner.group, &owner.kind, namespace, &owner.name);
                let goes = self.gone.contains(&key) || self.deletion.going.contains(&key);
                let same = |live: &LiveObject| owner.uid.is_empty() || live.uid.as_ref().is_none_or(|uid| *uid == owner.uid);
                !goes && self.live.get(&object.cluster, &key).is_some_and(|live| same(live))
            })
        })
    }

    fn stays(&mut self, object: &LiveObject, tie: Tie, depth: usize) {
        let dependent = self.dependent(object, tie, depth);
        self.found.stay.push(dependent);
    }

    fn dependent(&self, object: &LiveObject, tie: Tie, depth: usize) -> Dependent {
        let application = self.live.is_tracked(object).map(|instance| AppId::of_instance(instance, &self.live.settings().namespace));
        Dependent { key: object.key.clone(), tie, depth, application: application.map(|id| id.to_string()), cluster: None }
    }
}

/// Objects that Kubernetes itself puts into every namespace.
fn is_made_by_kubernetes(key: &ResourceKey) -> bool {
    (key.is("", "ConfigMap") && &*key.name == "kube-root-ca.crt") || (key.is("", "ServiceAccount") && &*key.name == "default")
}

#[cfg(test)]
mod tests;
