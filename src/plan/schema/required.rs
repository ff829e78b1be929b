//! Fields of built-in types without which the API server refuses an object.
//!
//! Not all that the OpenAPI description of Kubernetes lists as required: only what its validation asks for after defaults are filled in, such as
//! a Deployment's selector. A missing `PriorityClass.value` or `StatefulSet.spec.serviceName` is accepted as zero or empty and is not here.

/// Types by package and name with their fields.
///
/// Source: Kubernetes `pkg/apis/*/validation/validation.go`, `pkg/apis/*/v1/defaults.go`, apimachinery
/// `pkg/apis/meta/v1/validation/validation.go`, apiextensions-apiserver and kube-aggregator `pkg/apis/*/validation/validation.go`.
pub(super) const REQUIRED: &[(&str, &[&str])] = &[
    ("admissionregistration/v1.MutatingWebhook", &["admissionReviewVersions", "clientConfig", "name", "sideEffects"]),
    ("admissionregistration/v1.ServiceReference", &["name", "namespace"]),
    ("admissionregistration/v1.ValidatingWebhook", &["admissionReviewVersions", "clientConfig", "name", "sideEffects"]),
    ("apiextensions/v1.CustomResourceDefinition", &["spec"]),
    ("apiextensions/v1.CustomResourceDefinitionNames", &["kind", "plural"]),
    ("apiextensions/v1.CustomResourceDefinitionSpec", &["group", "names", "scope", "versions"]),
    ("apiextensions/v1.CustomResourceDefinitionVersion", &["name"]),
    ("apiregistration/v1.APIServiceSpec", &["groupPriorityMinimum", "versionPriority"]),
    ("apps/v1.DaemonSet", &["spec"]),
    ("apps/v1.DaemonSetSpec", &["selector", "template"]),
    ("apps/v1.Deployment", &["spec"]),
    ("apps/v1.DeploymentSpec", &["selector", "template"]),
    ("apps/v1.ReplicaSet", &["spec"]),
    ("apps/v1.ReplicaSetSpec", &["selector", "template"]),
    ("apps/v1.StatefulSet", &["spec"]),
    ("apps/v1.StatefulSetSpec", &["selector", "template"]),
    ("autoscaling/v1.CrossVersionObjectReference", &["kind", "name"]),
    ("autoscaling/v1.HorizontalPodAutoscaler", &["spec"]),
    ("autoscaling/v1.HorizontalPodAutoscalerSpec", &["maxReplicas", "scaleTargetRef"]),
    ("autoscaling/v2.ContainerResourceMetricSource", &["container", "name", "target"]),
    ("autoscaling/v2.CrossVersionObjectReference", &["kind", "name"]),
    ("autoscaling/v2.ExternalMetricSource", &["metric", "target"]),
    ("autoscaling/v2.HPAScalingPolicy", &["periodSeconds", "type", "value"]),
    ("autoscaling/v2.HorizontalPodAutoscaler", &["spec"]),
    ("autoscaling/v2.HorizontalPodAutoscalerSpec", &["maxReplicas", "scaleTargetRef"]),
    ("autoscaling/v2.MetricIdentifier", &["name"]),
    ("autoscaling/v2.MetricSpec", &["type"]),
    ("autoscaling/v2.MetricTarget", &["type"]),
    ("autoscaling/v2.ObjectMetricSource", &["describedObject", "metric", "target"]),
    ("autoscaling/v2.PodsMetricSource", &["metric", "target"]),
    ("autoscaling/v2.ResourceMetricSource", &["name", "target"]),
    ("batch/v1.CronJob", &["spec"]),
    ("batch/v1.CronJobSpec", &["jobTemplate", "schedule"]),
    ("batch/v1.Job", &["spec"]),
    ("batch/v1.JobSpec", &["template"]),
    ("batch/v1.JobTemplateSpec", &["spec"]),
    ("core/v1.CSIPersistentVolumeSource", &["driver", "volumeHandle"]),
    ("core/v1.CSIVolumeSource", &["driver"]),
    ("core/v1.ConfigMapKeySelector", &["key"]),
    ("core/v1.Container", &["name"]),
    ("core/v1.ContainerPort", &["containerPort"]),
    ("core/v1.DownwardAPIVolumeFile", &["path"]),
    ("core/v1.EnvVar", &["name"]),
    ("core/v1.GRPCAction", &["port"]),
    ("core/v1.HTTPGetAction", &["port"]),
    ("core/v1.HTTPHeader", &["name"]),
    ("core/v1.HostAlias", &["ip"]),
    ("core/v1.HostPathVolumeSource", &["path"]),
    ("core/v1.KeyToPath", &["key", "path"]),
    ("core/v1.LimitRangeItem", &["type"]),
    ("core/v1.LocalVolumeSource", &["path"]),
    ("core/v1.NFSVolumeSource", &["path", "server"]),
    ("core/v1.NodeSelector", &["nodeSelectorTerms"]),
    ("core/v1.NodeSelectorRequirement", &["key", "operator"]),
    ("core/v1.ObjectFieldSelector", &["fieldPath"]),
    ("core/v1.PersistentVolumeClaimVolumeSource", &["claimName"]),
    ("core/v1.PodAffinityTerm", &["topologyKey"]),
    ("core/v1.PodSpec", &["containers"]),
    ("core/v1.PodTemplateSpec", &["spec"]),
    ("core/v1.PreferredSchedulingTerm", &["weight"]),
    ("core/v1.ResourceFieldSelector", &["resource"]),
    ("core/v1.SecretKeySelector", &["key"]),
    ("core/v1.ServiceAccountTokenProjection", &["path"]),
    ("core/v1.ServicePort", &["port"]),
    ("core/v1.TCPSocketAction", &["port"]),
    ("core/v1.TopologySpreadConstraint", &["maxSkew", "topologyKey", "whenUnsatisfiable"]),
    ("core/v1.TypedLocalObjectReference", &["kind", "name"]),
    ("core/v1.Volume", &["name"]),
    ("core/v1.VolumeDevice", &["devicePath", "name"]),
    ("core/v1.VolumeMount", &["mountPath", "name"]),
    ("core/v1.WeightedPodAffinityTerm", &["podAffinityTerm", "weight"]),
    ("meta/v1.LabelSelectorRequirement", &["key", "operator"]),
    ("networking/v1.HTTPIngressPath", &["backend", "pathType"]),
    ("networking/v1.HTTPIngressRuleValue", &["paths"]),
    ("networking/v1.IPBlock", &["cidr"]),
    ("networking/v1.IngressServiceBackend", &["name"]),
    ("node/v1.RuntimeClass", &["handler"]),
    ("rbac/v1.ClusterRoleBinding", &["roleRef"]),
    ("rbac/v1.PolicyRule", &["verbs"]),
    ("rbac/v1.RoleBinding", &["roleRef"]),
    ("rbac/v1.RoleRef", &["kind", "name"]),
    ("rbac/v1.Subject", &["kind", "name"]),
    ("storage/v1.StorageClass", &["provisioner"]),
];

#[cfg(test)]
mod tests {
    use super::super::Schemas;
    use super::REQUIRED;

    #[test]
    fn every_type_and_field_exists_and_none_has_a_default() {
        for (name, fields) in REQUIRED {
            let node = Schemas::named_type(name).unwrap_or_else(|| panic!("{name}"));
            for field in *fields {
                let (found, _) = node.field(field).unwrap_or_else(|| panic!("{name}.{field}"));
                assert!(found.default.is_none(), "{name}.{field}");
            }
        }
        assert!(REQUIRED.is_sorted_by(|one, next| one.0 < next.0), "each type once, in order");
    }
}
