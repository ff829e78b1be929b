//! The identity of a Kubernetes object.

use std::fmt;
use std::sync::Arc;

use kube_core::gvk::GroupVersion;
use serde_json::Value;

use super::metadata_str;

/// What Argo CD tells objects apart by: group, kind, namespace and name. The version is not part of it.
///
/// Source: Argo CD `gitops-engine/pkg/utils/kube/kube.go:ResourceKey`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey {
    /// API group; empty for the core group.
    pub group: Arc<str>,
    /// Kind, as in `kind:`.
    pub kind: Arc<str>,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl ResourceKey {
    /// A key from its four parts.
    pub fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self { group: group.into(), kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }

    /// The key that an object states about itself; `None` where `kind` is missing.
    pub fn of(object: &Value) -> Option<Self> {
        let kind = object.get("kind")?.as_str().filter(|kind| !kind.is_empty())?;
        Some(Self::new(
            group_of(object),
            kind,
            metadata_str(object, "namespace").unwrap_or_default(),
            metadata_str(object, "name").unwrap_or_default(),
        ))
    }

    /// The same object in another namespace.
    pub fn in_namespace(&self, namespace: &str) -> Self {
        Self { namespace: namespace.into(), ..self.clone() }
    }

    /// Whether the object is of this group and kind.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        &*self.kind == kind && &*self.group == group
    }

    /// `Kind namespace/name`, as messages name an object.
    pub fn named(&self) -> String {
        format!("{} {}", self.kind, self.place())
    }

    /// `namespace/name`, or the name alone for cluster-scoped objects.
    pub fn place(&self) -> String {
        if self.namespace.is_empty() { self.name.to_string() } else { format!("{}/{}", self.namespace, self.name) }
    }
}

impl fmt::Display for ResourceKey {
    /// `[group/]Kind [namespace/]name`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        write!(f, "{} {}", self.kind, self.place())
    }
}

/// The group in an object's `apiVersion`; empty for the core group or where there is none.
pub fn group_of(object: &Value) -> &str {
    split_api_version(object.get("apiVersion").and_then(Value::as_str).unwrap_or_default()).0
}

/// The version in an object's `apiVersion`.
pub fn version_of(object: &Value) -> &str {
    split_api_version(object.get("apiVersion").and_then(Value::as_str).unwrap_or_default()).1
}

/// Splits `apps/v1` into (`apps`, `v1`) and `v1` into (``, `v1`).
///
/// Source: apimachinery `schema.ParseGroupVersion`; what it refuses (`a/b/c`) counts as a version of the core group.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        Some((group, version)) if api_version.parse::<GroupVersion>().is_ok() => (group, version),
        _ => ("", api_version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_is_read_from_the_object_and_leaves_out_the_version() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}});
        let key = ResourceKey::of(&object).unwrap();
        assert_eq!(key.to_string(), "apps/Deployment shop/web");
        assert_eq!(version_of(&object), "v1");
    }

    #[test]
    fn core_and_cluster_scoped_objects_print_without_group_and_namespace() {
        let key = ResourceKey::of(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})).unwrap();
        assert_eq!(key.to_string(), "Namespace shop");
    }

    #[test]
    fn an_object_without_kind_has_no_key() {
        assert_eq!(ResourceKey::of(&json!({"apiVersion": "v1"})), None);
        assert_eq!(ResourceKey::of(&json!(null)), None);
    }
}
