//! Targets as the controller sees them: namespaces filled in, tracking written, duplicates and excluded kinds dropped.
//!
//! Takes rendered manifests; hands on [`Targets`].

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::change::Condition;
use crate::argocd::Settings;
use crate::argocd::tracking::Tracking;
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

impl Frame<'_> {
    fn excludes(&self, key: &ResourceKey) -> bool {
        self.settings.filter.excludes(&key.group, &key.kind, self.server)
    }
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
    let placed = |manifest: &Manifest, placement: &Placement| {
        let object = placement.apply(&manifest.object, &frame.settings.tracking, frame.instance).into();
        Arc::new(Manifest { key: placement.key.clone(), object, origin: manifest.origin.clone() })
    };
    let mut targets = Targets::default();
    for Placed { manifest, placement, copies, is_last } in place(rendered, frame) {
        let key = &placement.key;
        if targets.without_namespace.is_none() && key.namespace.is_empty() && (frame.scope)(&key.group, &key.kind) != Some(Scope::Cluster) {
            targets.without_namespace = Some(placed(manifest, &placement));
        }
        if !is_last {
            continue;
        }
        let mut remark = |kind, message| {
            targets.conditions.push(Condition { kind, message, key: Some(key.clone()), origin: Some(manifest.origin.clone()) });
        };
        if copies > 1 {
            let message = format!("{} appears {copies} times among the Application's resources; the last one counts", key.named());
            remark("RepeatedResourceWarning", message);
        }
        if frame.excludes(key) {
            let message = format!("{} is excluded in Argo CD's settings and is never applied", key.named());
            remark("ExcludedResourceWarning", message);
            continue;
        }
        targets.manifests.push(placed(manifest, &placement));
    }
    targets
}

/// Where the targets of one Application go, without the objects as they are applied: [`Placement::apply`] makes them.
pub fn placements<'m>(rendered: &'m [Arc<Manifest>], frame: &Frame<'_>) -> Vec<(&'m Arc<Manifest>, Placement)> {
    let applied = place(rendered, frame).into_iter().filter(|one| one.is_last && !frame.excludes(&one.placement.key));
    applied.map(|one| (one.manifest, one.placement)).collect()
}

/// A rendered object with its place and its copies.
struct Placed<'m> {
    manifest: &'m Arc<Manifest>,
    placement: Placement,
    /// How often the object is rendered.
    copies: usize,
    /// Whether it is the last of them, which counts.
    is_last: bool,
}

/// Objects that have only a `generateName` are never copies of each other.
fn place<'m>(rendered: &'m [Arc<Manifest>], frame: &Frame<'_>) -> Vec<Placed<'m>> {
    let placements: Vec<Placement> = rendered.iter().map(|manifest| Placement::new(manifest, frame)).collect();
    let mut copies: HashMap<&ResourceKey, (usize, usize)> = HashMap::with_capacity(rendered.len());
    for (index, (manifest, placement)) in rendered.iter().zip(&placements).enumerate() {
        if is_named(manifest) {
            let (count, last) = copies.entry(&placement.key).or_default();
            (*count, *last) = (*count + 1, index);
        }
    }
    let counted: Vec<(usize, bool)> = (0..)
        .zip(rendered.iter().zip(&placements))
        .map(|(index, (manifest, placement))| {
            let (count, last) = copies.get(&placement.key).copied().unwrap_or_default();
            (count, !is_named(manifest) || last == index)
        })
        .collect();
    let placed = rendered.iter().zip(placements).zip(counted);
    placed.map(|((manifest, placement), (copies, is_last))| Placed { manifest, placement, copies, is_last }).collect()
}

fn is_named(manifest: &Manifest) -> bool {
    manifest.object.is_plain() || !metadata_str(manifest.object.heading(), "name").unwrap_or_default().is_empty()
}

/// What becomes of one rendered object at its destination.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Its identity there.
    pub key: ResourceKey,
    /// The namespace that is written on it; empty where it is taken off.
    namespace: Option<Arc<str>>,
    /// The namespace that its tracking names; `None` where it carries no tracking.
    tracked_in: Option<Arc<str>>,
}

impl Placement {
    fn new(manifest: &Manifest, frame: &Frame<'_>) -> Self {
        let key = &manifest.key;
        let cluster_scoped = (frame.scope)(&key.group, &key.kind) == Some(Scope::Cluster);
        let namespace: Option<Arc<str>> = match (cluster_scoped, key.namespace.is_empty()) {
            (true, false) => Some("".into()),
            (false, true) if !frame.namespace.is_empty() => Some(frame.namespace.into()),
            _ => None,
        };
        let is_crd = key.is("apiextensions.k8s.io", "CustomResourceDefinition");
        let key = namespace.as_deref().map_or_else(|| key.clone(), |namespace| key.in_namespace(namespace));
        // A CustomResourceDefinition carries no tracking, unless its namespace was mended: that writes it on everything.
        let tracked_in = (!is_crd || namespace.is_some())
            .then(|| if key.namespace.is_empty() { frame.namespace.into() } else { Arc::clone(&key.namespace) });
        Self { key, namespace, tracked_in }
    }

    /// The object as it is applied.
    pub fn apply(&self, rendered: &Value, tracking: &Tracking, instance: &str) -> Value {
        let mut object = rendered.clone();
        if let (Some(namespace), Some(metadata)) = (&self.namespace, object.get_mut("metadata").and_then(Value::as_object_mut)) {
            if namespace.is_empty() {
                metadata.remove("namespace");
            } else {
                metadata.insert("namespace".to_owned(), Value::String(namespace.to_string()));
            }
        }
        if let Some(namespace) = &self.tracked_in {
            tracking.mark(&mut object, instance, &self.key, namespace);
        }
        object
    }
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
        Arc::new(Manifest { key, object: object.into(), origin })
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
    fn s10_39_cluster_scoped_objects_lose_their_namespace_and_name_the_destination_in_their_id() {
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
    fn s10_40_of_copies_the_last_stays_with_one_warning_and_generated_names_are_no_copies() {
        let role = |rules: u32| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules});
        let pod = || json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}});
        let targets = normalised(vec![role(1), pod(), role(2), role(3), pod()]);
        let roles: Vec<&Value> =
            targets.manifests.iter().filter(|one| &*one.key.kind == "ClusterRole").map(|one| &one.object["rules"]).collect();
        assert_eq!(roles, [&json!(3)]);
        assert_eq!(targets.manifests.len(), 3, "both Pods stay");
        let warnings: Vec<(&str, bool)> = targets.conditions.iter().map(|one| (one.kind, one.message.contains("3 times"))).collect();
        assert_eq!(warnings, [("RepeatedResourceWarning", true)]);
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
