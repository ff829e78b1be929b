//! What goes along with a deleted object: what it owns, what a namespace holds, the objects of a kind, the volume behind a claim.
//!
//! Takes a live object and live state; hands on [`Dependent`]s, by key.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::change::Dependent;
use crate::argocd::AppId;
use crate::manifest::ResourceKey;
use crate::snapshot::{LiveObject, LiveState};

/// At most this many dependents are followed from one object; a namespace with more is as bad.
const LIMIT: usize = 10_000;

/// Everything that is deleted because this object is, itself excluded.
///
/// Source: Kubernetes' garbage collection by owner references, namespace deletion, and `persistentVolumeReclaimPolicy`.
pub fn of(object: &Arc<LiveObject>, live: &LiveState) -> Vec<Dependent> {
    let mut found = Collector { live, seen: BTreeSet::from([object.key.clone()]), dependents: Vec::new() };
    found.follow(object);
    found.dependents.sort_by(|a, b| a.key.cmp(&b.key));
    found.dependents
}

struct Collector<'a> {
    live: &'a LiveState,
    seen: BTreeSet<ResourceKey>,
    dependents: Vec<Dependent>,
}

impl Collector<'_> {
    fn follow(&mut self, object: &Arc<LiveObject>) {
        let live = self.live;
        let mut pending = vec![Arc::clone(object)];
        while let Some(object) = pending.pop() {
            let key = &object.key;
            let mut next: Vec<(Arc<LiveObject>, &'static str)> = Vec::new();
            let owned = live.owned_by(&object.cluster, &object).filter(|owned| !is_kept_claim(key, owned));
            next.extend(owned.map(|owned| (Arc::clone(owned), "owned by it")));
            if key.is("", "Namespace") {
                next.extend(live.in_namespace(&object.cluster, &key.name).map(|held| (Arc::clone(held), "in the namespace")));
            }
            if key.is("apiextensions.k8s.io", "CustomResourceDefinition") {
                let text = |pointer: &str| object.object().pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                let of_kind = live.of_kind(&object.cluster, text("/spec/group"), text("/spec/names/kind"));
                next.extend(of_kind.iter().map(|one| (Arc::clone(one), "of this kind")));
            }
            if key.is("", "PersistentVolumeClaim")
                && let Some(volume) = live.persistent_volume_of(&object)
                && volume.object().pointer("/spec/persistentVolumeReclaimPolicy").and_then(Value::as_str) != Some("Retain")
            {
                next.push((Arc::clone(volume), "its volume"));
            }
            for (dependent, because) in next {
                if self.dependents.len() >= LIMIT || is_made_by_kubernetes(&dependent.key) || !self.seen.insert(dependent.key.clone()) {
                    continue;
                }
                let application =
                    live.is_tracked(&dependent).map(|instance| AppId::of_instance(instance, &live.settings().namespace).to_string());
                self.dependents.push(Dependent { key: dependent.key.clone(), because, application });
                pending.push(dependent);
            }
        }
    }
}

/// Whether an object is a claim that a StatefulSet made from a template and does not take along. With
/// `persistentVolumeClaimRetentionPolicy` Kubernetes writes an owner reference; without one the owner is only inferred.
fn is_kept_claim(owner: &ResourceKey, owned: &LiveObject) -> bool {
    owner.is("apps", "StatefulSet") && owned.key.is("", "PersistentVolumeClaim") && owned.owners.iter().all(|owner| owner.inferred)
}

/// Objects that Kubernetes itself puts into every namespace.
fn is_made_by_kubernetes(key: &ResourceKey) -> bool {
    (key.is("", "ConfigMap") && &*key.name == "kube-root-ca.crt") || (key.is("", "ServiceAccount") && &*key.name == "default")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argocd::names::IN_CLUSTER_SERVER;
    use serde_json::json;

    fn claims_that_go(references: Value) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("live.json");
        let items = json!([
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop", "uid": "u1"},
                "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}},
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data-db-0", "namespace": "shop", "uid": "u2", "ownerReferences": references}},
        ]);
        std::fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
        let live = crate::snapshot::load(&[file.to_str().unwrap()]).unwrap();
        let set = live.get(IN_CLUSTER_SERVER, &ResourceKey::new("apps", "StatefulSet", "shop", "db")).unwrap();
        of(set, &live).into_iter().map(|dependent| dependent.key.to_string()).collect()
    }

    #[test]
    fn a_claim_of_a_template_goes_with_its_set_only_if_kubernetes_made_the_set_its_owner() {
        assert!(claims_that_go(json!([])).is_empty());
        let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u1"}]);
        assert_eq!(claims_that_go(owner), ["PersistentVolumeClaim shop/data-db-0"]);
    }
}
