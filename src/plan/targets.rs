//! Targets as the controller sees them: namespaces filled in, tracking written, duplicates and excluded kinds dropped.
//!
//! Takes rendered manifests; hands on [`Targets`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::change::Condition;
use crate::argocd::Settings;
use crate::manifest::{Manifest, ResourceKey, metadata_str};
use crate::snapshot::Scope;

/// Where the targets of one Application go and how they are marked.
pub struct Frame<'a> {
    /// Argo CD's settings.
    pub settings: &'a Settings,
    /// Instance name of the Application.
    pub instance: &'a str,
    /// Destination namespace; may be empty.
    pub namespace: &'a str,
    /// Server URL of the destination.
    pub server: &'a str,
    /// Scope of a group and kind, where it is known.
    pub scope: &'a (dyn Fn(&str, &str) -> Option<Scope> + Sync),
}

/// The targets of one Application.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// In rendering order, without duplicates.
    pub manifests: Vec<Arc<Manifest>>,
    /// Remarks on dropped objects.
    pub conditions: Vec<Condition>,
    /// A namespaced object has no namespace and the Application gives none: the sync is refused.
    pub without_namespace: Option<Arc<Manifest>>,
}

/// Normalises the targets of one Application.
///
/// Source: Argo CD `reposerver/repository/repository.go:GenerateManifests` (tracking) and `controller/state.go:NormalizeTargetObjects`.
pub fn normalise(rendered: &[Arc<Manifest>], frame: &Frame<'_>) -> Targets {
    let mut targets = Targets::default();
    let mut manifests: Vec<Arc<Manifest>> = Vec::with_capacity(rendered.len());
    let mut last: HashMap<ResourceKey, usize> = HashMap::with_capacity(rendered.len());
    let mut repeated: Vec<(ResourceKey, usize)> = Vec::new();
    for manifest in rendered {
        let manifest = Arc::new(place(manifest, frame));
        let named = !metadata_str(&manifest.object, "name").unwrap_or_default().is_empty();
        if named && let Some(before) = last.insert(manifest.key.clone(), manifests.len()) {
            repeated.push((manifest.key.clone(), before));
        }
        if (frame.scope)(&manifest.key.group, &manifest.key.kind) != Some(Scope::Cluster)
            && manifest.key.namespace.is_empty()
            && targets.without_namespace.is_none()
        {
            targets.without_namespace = Some(Arc::clone(&manifest));
        }
        manifests.push(manifest);
    }
    let dropped: HashSet<usize> = repeated.iter().map(|(_, before)| *before).collect();
    let mut counts: HashMap<&ResourceKey, usize> = HashMap::new();
    for (key, _) in &repeated {
        *counts.entry(key).or_insert(1) += 1;
    }
    for (index, manifest) in manifests.iter().enumerate() {
        if dropped.contains(&index) {
            continue;
        }
        if let Some(count) = counts.get(&manifest.key) {
            targets.conditions.push(Condition {
                kind: "RepeatedResourceWarning",
                message: format!("{} appears {count} times among the Application's resources; the last one counts", manifest.key.named()),
                key: Some(manifest.key.clone()),
                origin: Some(manifest.origin.clone()),
            });
        }
        if frame.settings.filter.excludes(&manifest.key.group, &manifest.key.kind, frame.server) {
            targets.conditions.push(Condition {
                kind: "ExcludedResourceWarning",
                message: format!("{} is excluded in Argo CD's settings and is never applied", manifest.key.named()),
                key: Some(manifest.key.clone()),
                origin: Some(manifest.origin.clone()),
            });
            continue;
        }
        targets.manifests.push(Arc::clone(manifest));
    }
    targets
}

/// One target with its final namespace and its marks.
fn place(manifest: &Manifest, frame: &Frame<'_>) -> Manifest {
    let tracking = &frame.settings.tracking;
    let mut key = manifest.key.clone();
    let mut object = Value::clone(&manifest.object);
    let is_crd = key.is("apiextensions.k8s.io", "CustomResourceDefinition");
    let cluster_scoped = (frame.scope)(&key.group, &key.kind) == Some(Scope::Cluster);
    let namespace = match (cluster_scoped, key.namespace.is_empty()) {
        (true, false) => Some(""),
        (false, true) if !frame.namespace.is_empty() => Some(frame.namespace),
        _ => None,
    };
    if let Some(namespace) = namespace {
        key = key.in_namespace(namespace);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            if namespace.is_empty() {
                metadata.remove("namespace");
            } else {
                metadata.insert("namespace".to_owned(), Value::String(namespace.to_owned()));
            }
        }
    }
    // A CustomResourceDefinition carries no tracking, unless its namespace was mended: that writes it on everything.
    if !is_crd || namespace.is_some() {
        let own = if key.namespace.is_empty() { frame.namespace } else { &key.namespace };
        tracking.mark(&mut object, frame.instance, &key, own);
    }
    Manifest { key, object: Arc::new(object), origin: manifest.origin.clone() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::argocd::names::TRACKING_ID;
    use crate::manifest::{Origin, Side, annotation};

    fn manifest(object: Value) -> Arc<Manifest> {
        let key = ResourceKey::of(&object).unwrap();
        let key = match metadata_str(&object, "generateName") {
            Some(prefix) if key.name.is_empty() => ResourceKey { name: prefix.into(), ..key },
            _ => key,
        };
        let origin = Origin { path: "a.yaml".into(), side: Side::Head, document: 0..0, line: 1, within: String::new(), rendered: None };
        Arc::new(Manifest { key, object: Arc::new(object), origin })
    }

    fn normalised(objects: Vec<Value>) -> Targets {
        let settings = Settings::default();
        let scope = |_: &str, kind: &str| Some(if kind == "ClusterRole" { Scope::Cluster } else { Scope::Namespaced });
        let frame = Frame { settings: &settings, instance: "a", namespace: "ns", server: "https://kubernetes.default.svc", scope: &scope };
        normalise(&objects.into_iter().map(manifest).collect::<Vec<_>>(), &frame)
    }

    #[test]
    fn s9_12_an_object_with_and_without_the_destination_namespace_is_one_and_the_last_wins() {
        let targets = normalised(vec![
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "my-pod"}, "spec": 1}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "my-pod", "namespace": "kube-system"}}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "my-pod", "namespace": "ns"}, "spec": 2}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}}),
        ]);
        assert_eq!(targets.manifests.len(), 4);
        assert_eq!(targets.conditions.len(), 1);
        assert_eq!(targets.manifests[1].object["spec"], 2);
    }

    #[test]
    fn render_scenario_39_cluster_scoped_objects_lose_their_namespace_and_name_the_destination_in_their_id() {
        let targets = normalised(vec![
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r", "namespace": "other"}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}),
        ]);
        assert_eq!(&*targets.manifests[0].key.namespace, "");
        assert_eq!(annotation(&targets.manifests[0].object, TRACKING_ID), Some("a:rbac.authorization.k8s.io/ClusterRole:ns/r"));
        assert_eq!(&*targets.manifests[1].key.namespace, "ns");
        assert_eq!(annotation(&targets.manifests[1].object, TRACKING_ID), Some("a:/ConfigMap:ns/c"));
    }

    #[test]
    fn custom_resource_definitions_carry_no_tracking() {
        let settings = Settings::default();
        let scope = |_: &str, _: &str| Some(Scope::Cluster);
        let frame = Frame { settings: &settings, instance: "a", namespace: "ns", server: "s", scope: &scope };
        let crd = |namespace: Option<&str>| {
            let mut object =
                json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}});
            if let Some(namespace) = namespace {
                object["metadata"]["namespace"] = json!(namespace);
            }
            normalise(&[manifest(object)], &frame).manifests[0].object.clone()
        };
        assert_eq!(annotation(&crd(None), TRACKING_ID), None);
        assert!(annotation(&crd(Some("odd")), TRACKING_ID).is_some(), "a namespace written on it gets it tracked all the same");
    }

    #[test]
    fn s9_14_an_excluded_kind_is_dropped_with_a_remark() {
        let targets = normalised(vec![json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}})]);
        assert!(targets.manifests.is_empty());
        assert_eq!(targets.conditions[0].kind, "ExcludedResourceWarning");
    }
}
