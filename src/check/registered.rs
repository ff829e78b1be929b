//! Clusters that are registered, left or renamed because a sync changes their Secrets.
//!
//! Takes the plans of head; hands on [`Registered`], with which Applications are found out once more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::argocd::names::IN_CLUSTER_SERVER;
use crate::argocd::{AppId, Application};
use crate::inventory::applicationset::Clusters;
use crate::manifest::ResourceKey;
use crate::plan::clusters::server_of;
use crate::plan::{Action, Change, SyncMode, SyncPlan};
use crate::snapshot::{LiveState, SecretEdits, secret_text};

/// The cluster Secrets as the syncs of head leave them.
#[derive(Default)]
pub(super) struct Registered {
    /// Those that change.
    pub(super) edits: SecretEdits,
    /// Live state with the clusters of afterwards, where they differ.
    pub(super) live: Option<LiveState>,
}

impl Registered {
    /// Takes over what the syncs change; whether that was known.
    pub(super) fn takes_in(&mut self, edits: SecretEdits, live: &LiveState) -> bool {
        if self.edits == edits {
            return true;
        }
        self.live = (!edits.is_empty()).then(|| live.with_cluster_secrets(&edits));
        self.edits = edits;
        false
    }

    /// The Applications whose destination is another cluster than before, or none.
    pub(super) fn redirects<'a>(
        &self,
        before: Option<&LiveState>,
        applications: impl Iterator<Item = &'a Arc<Application>>,
    ) -> BTreeSet<AppId> {
        let (Some(before), Some(after)) = (before, &self.live) else { return BTreeSet::new() };
        let moves = |application: &&Arc<Application>| {
            let destination = &application.spec.destination;
            server_of(destination, before) != server_of(destination, after)
        };
        applications.filter(moves).map(|application| application.id.clone()).collect()
    }
}

/// The cluster Secrets that syncs change which the merge starts. Nothing where no snapshot tells which there are.
///
/// Source: Argo CD `util/db/cluster.go`: every Secret in Argo CD's namespace with the label of clusters registers one.
pub(super) fn edits<'p>(plans: impl Iterator<Item = &'p SyncPlan>, live: &LiveState) -> SecretEdits {
    let mut found = SecretEdits::new();
    if live.is_assumed() {
        return found;
    }
    let happens = |plan: &SyncPlan| match plan.sync.mode {
        SyncMode::Automated => plan.sync.starts,
        mode => mode == SyncMode::Deleted,
    };
    for plan in plans.filter(|plan| &*plan.server == IN_CLUSTER_SERVER && happens(plan)) {
        let secrets = plan.changes.iter().filter(|change| change.key.is("", "Secret") && change.cluster.is_none() && change.reached);
        for change in secrets.filter(|change| *change.key.namespace == *live.settings().namespace) {
            let Some(after) = after(change) else { continue };
            let after = after.map(Arc::new);
            let only = |object: Option<&Value>| {
                let object = object.map(|object| Arc::new(object.clone()));
                Clusters::of_secrets(&[(change.key.clone(), object)].into())
            };
            if only(change.live_object()) != only(after.as_deref()) {
                found.insert(change.key.clone(), after);
            }
        }
    }
    found
}

/// The Secret that a change leaves, as far as it says something of a cluster; nothing of it where it goes. `None` where nothing happens.
fn after(change: &Change) -> Option<Option<Value>> {
    if change.action.deletes() {
        return Some(None);
    }
    let kept = match change.action {
        Action::Create | Action::Replace | Action::Recreate => None,
        Action::Update | Action::Adopt => change.live_object(),
        _ => return None,
    };
    let (target, base) = (change.target_object()?, change.base.as_ref().map(|base| &*base.object));
    let data = ["name", "server", "project"].map(|name| {
        let text = secret_text(target, name).or_else(|| secret_text(kept?, name));
        (name, text)
    });
    let data: BTreeMap<&str, String> = data.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
    let key: &ResourceKey = &change.key;
    let metadata = json!({"name": key.name, "namespace": key.namespace, "labels": merged("/metadata/labels", kept, target, base),
        "annotations": merged("/metadata/annotations", kept, target, base)});
    Some(Some(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})))
}

/// A map that is applied over the live one: what Git no longer says goes.
fn merged(pointer: &str, live: Option<&Value>, target: &Value, base: Option<&Value>) -> BTreeMap<String, Value> {
    let entries = |object: Option<&Value>| -> BTreeMap<String, Value> {
        let map = object.and_then(|object| object.pointer(pointer)).and_then(Value::as_object).into_iter().flatten();
        map.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let (mut all, before) = (entries(live), entries(base));
    all.retain(|name, _| !before.contains_key(name));
    all.extend(entries(Some(target)));
    all
}
