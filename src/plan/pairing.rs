//! Pairs targets with live objects: what belongs to an Application in the cluster, and what is left over.
//!
//! Takes targets and live state; hands on [`Pair`]s.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::argocd::names::TRACKING_ID;
use crate::argocd::{TrackingId, TrackingMethod};
use crate::manifest::{Manifest, ResourceKey, annotation};
use crate::snapshot::{LiveObject, LiveState};

/// A target, a live object, or both.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The object.
    pub key: ResourceKey,
    /// What Git renders.
    pub target: Option<Arc<Manifest>>,
    /// What the cluster has.
    pub live: Option<Arc<LiveObject>>,
}

/// What belongs to one Application.
pub struct Frame<'a> {
    /// Live state.
    pub live: &'a LiveState,
    /// Server URL of the destination.
    pub server: &'a str,
    /// Instance name of the Application.
    pub instance: &'a str,
    /// Whether the Application's project and the cluster's limits let Argo CD see a live object.
    pub permitted: &'a dyn Fn(&LiveObject) -> bool,
}

/// Pairs the targets of an Application with the live objects of its destination, then adds what is left over, by key.
///
/// `hooks` are the keys of targets that are no plain objects: a live object under such a key is left over, whoever tracks it.
///
/// Source: Argo CD `controller/cache/cache.go:GetManagedLiveObjs` and `gitops-engine/pkg/sync/reconcile.go:Reconcile`.
pub fn pair(targets: &[Arc<Manifest>], hooks: &[&ResourceKey], frame: &Frame<'_>) -> Vec<Pair> {
    let Frame { live, server, instance, permitted } = *frame;
    let settings = live.settings();
    let seen = |object: &LiveObject| !settings.filter.excludes(&object.key.group, &object.key.kind, server) && permitted(object);
    let mut managed: HashMap<&ResourceKey, &Arc<LiveObject>> =
        live.tracked_by(server, instance).iter().filter(|object| seen(object)).map(|object| (&object.key, object)).collect();
    for object in hooks.iter().filter_map(|key| live.get(server, key)).filter(|object| seen(object)) {
        managed.entry(&object.key).or_insert(object);
    }
    let mut pairs = Vec::with_capacity(targets.len());
    for target in targets {
        let live_object =
            managed.remove(&target.key).or_else(|| live.get(server, &target.key).filter(|object| seen(object))).map(Arc::clone);
        pairs.push(Pair { key: target.key.clone(), target: Some(Arc::clone(target)), live: live_object });
    }
    if managed.is_empty() {
        return pairs;
    }
    let mut extraneous: Vec<&Arc<LiveObject>> = managed.into_values().collect();
    extraneous.sort_by(|a, b| a.key.cmp(&b.key));
    // One object that is served in two API groups has one UID: what Git names stays, else one of them.
    let mut known: HashSet<Arc<str>> = pairs.iter().filter_map(|pair| pair.live.as_ref()?.uid.clone()).collect();
    let single = extraneous.into_iter().filter(|object| object.uid.as_ref().is_none_or(|uid| known.insert(Arc::clone(uid))));
    pairs.extend(single.map(|object| Pair { key: object.key.clone(), target: None, live: Some(Arc::clone(object)) }));
    pairs
}

/// Whether the tracking id of a live object that Git no longer has names this very object. A copy that another controller
/// made carries the id of its model, and Argo CD leaves it alone.
///
/// Source: Argo CD `controller/state.go:isSelfReferencedObj`.
pub fn is_self_referenced(live: &LiveObject, method: TrackingMethod) -> bool {
    if !method.tells_copies() {
        return true;
    }
    let Some(id) = annotation(live.object(), TRACKING_ID).and_then(TrackingId::parse) else { return true };
    let (own, named) = (&live.key, &id.key);
    (own.namespace == named.namespace || own.namespace.is_empty())
        && own.name == named.name
        && own.group == named.group
        && own.kind == named.kind
}
