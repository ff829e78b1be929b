//! The kinds that every cluster has, with the versions that today's Kubernetes serves, and Argo CD's own.

use crate::argocd::names::GROUP;

/// A kind of the built-in table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Builtin {
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    pub(super) namespaced: bool,
    pub(super) versions: &'static [&'static str],
}

impl Builtin {
    /// Whether the kind comes with Argo CD and not with Kubernetes.
    pub(super) fn is_argocd(&self) -> bool {
        self.group == GROUP
    }
}

/// All entries.
pub(super) fn all() -> &'static [Builtin] {
    TABLE
}

/// The entry of a kind.
pub(super) fn find(group: &str, kind: &str) -> Option<&'static Builtin> {
    let index = TABLE.binary_search_by(|entry| (entry.group, entry.kind).cmp(&(group, kind))).ok()?;
    TABLE.get(index)
}

const fn namespaced(group: &'static str, kind: &'static str, versions: &'static [&'static str]) -> Builtin {
    Builtin { group, kind, namespaced: true, versions }
}

const fn cluster(group: &'static str, kind: &'static str, versions: &'static [&'static str]) -> Builtin {
    Builtin { group, kind, namespaced: false, versions }
}

const V1: &[&str] = &["v1"];

/// Sorted by group and kind. Source: the API reference of Kubernetes 1.36, stable versions that are served by default.
const TABLE: &[Builtin] = &[
    namespaced("", "Binding", V1),
    cluster("", "ComponentStatus", V1),
    namespaced("", "ConfigMap", V1),
    namespaced("", "Endpoints", V1),
    namespaced("", "Event", V1),
    namespaced("", "LimitRange", V1),
    cluster("", "Namespace", V1),
    cluster("", "Node", V1),
    cluster("", "PersistentVolume", V1),
    namespaced("", "PersistentVolumeClaim", V1),
    namespaced("", "Pod", V1),
    namespaced("", "PodTemplate", V1),
    namespaced("", "ReplicationController", V1),
    namespaced("", "ResourceQuota", V1),
    namespaced("", "Secret", V1),
    namespaced("", "Service", V1),
    namespaced("", "ServiceAccount", V1),
    cluster("admissionregistration.k8s.io", "MutatingWebhookConfiguration", V1),
    cluster("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", V1),
    cluster("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", V1),
    cluster("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", V1),
    cluster("apiextensions.k8s.io", "CustomResourceDefinition", V1),
    cluster("apiregistration.k8s.io", "APIService", V1),
    namespaced("apps", "ControllerRevision", V1),
    namespaced("apps", "DaemonSet", V1),
    namespaced("apps", "Deployment", V1),
    namespaced("apps", "ReplicaSet", V1),
    namespaced("apps", "StatefulSet", V1),
    namespaced("argoproj.io", "AppProject", &["v1alpha1"]),
    namespaced("argoproj.io", "Application", &["v1alpha1"]),
    namespaced("argoproj.io", "ApplicationSet", &["v1alpha1"]),
    cluster("authentication.k8s.io", "SelfSubjectReview", V1),
    cluster("authentication.k8s.io", "TokenReview", V1),
    namespaced("authorization.k8s.io", "LocalSubjectAccessReview", V1),
    cluster("authorization.k8s.io", "SelfSubjectAccessReview", V1),
    cluster("authorization.k8s.io", "SelfSubjectRulesReview", V1),
    cluster("authorization.k8s.io", "SubjectAccessReview", V1),
    namespaced("autoscaling", "HorizontalPodAutoscaler", &["v1", "v2"]),
    namespaced("batch", "CronJob", V1),
    namespaced("batch", "Job", V1),
    cluster("certificates.k8s.io", "CertificateSigningRequest", V1),
    namespaced("coordination.k8s.io", "Lease", V1),
    namespaced("discovery.k8s.io", "EndpointSlice", V1),
    namespaced("events.k8s.io", "Event", V1),
    cluster("flowcontrol.apiserver.k8s.io", "FlowSchema", V1),
    cluster("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", V1),
    cluster("networking.k8s.io", "IPAddress", V1),
    namespaced("networking.k8s.io", "Ingress", V1),
    cluster("networking.k8s.io", "IngressClass", V1),
    namespaced("networking.k8s.io", "NetworkPolicy", V1),
    cluster("networking.k8s.io", "ServiceCIDR", V1),
    cluster("node.k8s.io", "RuntimeClass", V1),
    namespaced("policy", "PodDisruptionBudget", V1),
    cluster("rbac.authorization.k8s.io", "ClusterRole", V1),
    cluster("rbac.authorization.k8s.io", "ClusterRoleBinding", V1),
    namespaced("rbac.authorization.k8s.io", "Role", V1),
    namespaced("rbac.authorization.k8s.io", "RoleBinding", V1),
    cluster("scheduling.k8s.io", "PriorityClass", V1),
    cluster("storage.k8s.io", "CSIDriver", V1),
    cluster("storage.k8s.io", "CSINode", V1),
    namespaced("storage.k8s.io", "CSIStorageCapacity", V1),
    cluster("storage.k8s.io", "StorageClass", V1),
    cluster("storage.k8s.io", "VolumeAttachment", V1),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_every_kind_is_found() {
        assert!(TABLE.is_sorted_by(|a, b| (a.group, a.kind) < (b.group, b.kind)));
        assert!(TABLE.iter().all(|entry| find(entry.group, entry.kind).is_some_and(|found| found.kind == entry.kind)));
        assert!(find("apps", "Pod").is_none());
    }
}
