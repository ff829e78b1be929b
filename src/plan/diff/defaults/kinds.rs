//! Defaults of the other groups, and the dispatch by type name.

use serde_json::{Map, Value, json};

use super::{core, is_zero, object_at, set_missing, set_zero, text_at};

/// Defaults of one struct (`package/version.Type`) before those of its fields.
pub(super) fn apply(name: &str, map: &mut Map<String, Value>) {
    let Some((package, kind)) = name.rsplit_once('.') else { return };
    match package.split('/').next().unwrap_or_default() {
        "core" => {
            core::apply(kind, map);
        }
        "apps" => apps(kind, map),
        "batch" => batch(kind, map),
        "autoscaling" => autoscaling(package, kind, map),
        "networking" => networking(kind, map),
        "rbac" => rbac(kind, map),
        "storage" => storage(kind, map),
        "admissionregistration" => admission(kind, map),
        "discovery" if kind == "EndpointPort" => {
            set_missing(map, "name", "");
            set_missing(map, "protocol", "TCP");
        }
        "scheduling" if kind == "PriorityClass" => set_missing(map, "preemptionPolicy", "PreemptLowerPriority"),
        "flowcontrol" => flow_control(kind, map),
        _ => {}
    }
}

fn apps(kind: &str, map: &mut Map<String, Value>) {
    let Some(spec) = (match kind {
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" => object_at(map, "spec"),
        _ => return,
    }) else {
        return;
    };
    match kind {
        "Deployment" => {
            set_missing(spec, "replicas", 1);
            if let Some(strategy) = object_at(spec, "strategy") {
                set_zero(strategy, "type", "RollingUpdate");
                if text_at(strategy, "type") == "RollingUpdate"
                    && let Some(rolling) = object_at(strategy, "rollingUpdate")
                {
                    set_missing(rolling, "maxUnavailable", "25%");
                    set_missing(rolling, "maxSurge", "25%");
                }
            }
            set_missing(spec, "revisionHistoryLimit", 10);
            set_missing(spec, "progressDeadlineSeconds", 600);
        }
        "DaemonSet" => {
            if let Some(strategy) = object_at(spec, "updateStrategy") {
                set_zero(strategy, "type", "RollingUpdate");
                if text_at(strategy, "type") == "RollingUpdate"
                    && let Some(rolling) = object_at(strategy, "rollingUpdate")
                {
                    set_missing(rolling, "maxUnavailable", 1);
                    set_missing(rolling, "maxSurge", 0);
                }
            }
            set_missing(spec, "revisionHistoryLimit", 10);
        }
        "StatefulSet" => stateful_set(spec),
        _ => {
            set_missing(spec, "replicas", 1);
            let labels = spec.get("template").and_then(|template| template.pointer("/metadata/labels")).cloned();
            if let (Some(labels), Some(metadata)) = (labels, object_at(map, "metadata")) {
                set_zero(metadata, "labels", labels);
            }
        }
    }
}

fn stateful_set(spec: &mut Map<String, Value>) {
    set_zero(spec, "podManagementPolicy", "OrderedReady");
    if let Some(strategy) = object_at(spec, "updateStrategy") {
        if text_at(strategy, "type").is_empty() {
            strategy.insert("type".to_owned(), json!("RollingUpdate"));
            set_missing(strategy, "rollingUpdate", json!({}));
        }
        if text_at(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut)
        {
            set_missing(rolling, "partition", 0);
        }
    }
    if let Some(retention) = object_at(spec, "persistentVolumeClaimRetentionPolicy") {
        set_zero(retention, "whenDeleted", "Retain");
        set_zero(retention, "whenScaled", "Retain");
    }
    set_missing(spec, "replicas", 1);
    set_missing(spec, "revisionHistoryLimit", 10);
}

fn batch(kind: &str, map: &mut Map<String, Value>) {
    match kind {
        "Job" => {
            let labels = map.get("spec").and_then(|spec| spec.pointer("/template/metadata/labels")).cloned();
            if let (Some(labels), Some(metadata)) = (labels, object_at(map, "metadata")) {
                set_zero(metadata, "labels", labels);
            }
            let Some(spec) = object_at(map, "spec") else { return };
            let absent = |spec: &Map<String, Value>, field: &str| spec.get(field).is_none_or(Value::is_null);
            if absent(spec, "completions") && absent(spec, "parallelism") {
                set_missing(spec, "completions", 1);
            }
            set_missing(spec, "parallelism", 1);
            let limit = if absent(spec, "backoffLimitPerIndex") { 6 } else { i32::MAX };
            set_missing(spec, "backoffLimit", limit);
            set_missing(spec, "completionMode", "NonIndexed");
            set_missing(spec, "suspend", false);
            let replacement = if absent(spec, "podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
            set_missing(spec, "podReplacementPolicy", replacement);
            set_missing(spec, "manualSelector", false);
        }
        "CronJobSpec" => {
            set_zero(map, "concurrencyPolicy", "Allow");
            set_missing(map, "suspend", false);
            set_missing(map, "successfulJobsHistoryLimit", 3);
            set_missing(map, "failedJobsHistoryLimit", 1);
        }
        "PodFailurePolicyOnPodConditionsPattern" => set_missing(map, "status", "True"),
        _ => {}
    }
}

fn autoscaling(package: &str, kind: &str, map: &mut Map<String, Value>) {
    if kind != "HorizontalPodAutoscaler" {
        return;
    }
    let Some(spec) = object_at(map, "spec") else { return };
    set_missing(spec, "minReplicas", 1);
    if package == "autoscaling/v1" {
        return;
    }
    set_zero(
        spec,
        "metrics",
        json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]),
    );
    let Some(behavior) = spec.get_mut("behavior").and_then(Value::as_object_mut) else { return };
    let policy = |kind: &str, value: i32| json!({"type": kind, "value": value, "periodSeconds": 15});
    if let Some(up) = object_at(behavior, "scaleUp") {
        set_missing(up, "stabilizationWindowSeconds", 0);
        set_missing(up, "selectPolicy", "Max");
        set_missing(up, "policies", json!([policy("Pods", 4), policy("Percent", 100)]));
    }
    if let Some(down) = object_at(behavior, "scaleDown") {
        set_missing(down, "selectPolicy", "Max");
        set_missing(down, "policies", json!([policy("Percent", 100)]));
    }
}

fn networking(kind: &str, map: &mut Map<String, Value>) {
    match kind {
        "NetworkPolicy" => {
            let Some(spec) = object_at(map, "spec") else { return };
            let egress = spec.get("egress").is_some_and(|rules| !is_zero(rules));
            set_zero(spec, "policyTypes", if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
        }
        "NetworkPolicyPort" => set_missing(map, "protocol", "TCP"),
        "IngressClassParametersReference" => set_missing(map, "scope", "Cluster"),
        _ => {}
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";

fn rbac(kind: &str, map: &mut Map<String, Value>) {
    match kind {
        "RoleBinding" | "ClusterRoleBinding" => {
            if let Some(role) = object_at(map, "roleRef") {
                set_zero(role, "apiGroup", RBAC);
            }
        }
        "Subject" if matches!(text_at(map, "kind"), "User" | "Group") => set_zero(map, "apiGroup", RBAC),
        _ => {}
    }
}

fn storage(kind: &str, map: &mut Map<String, Value>) {
    match kind {
        "StorageClass" => {
            set_missing(map, "reclaimPolicy", "Delete");
            set_missing(map, "volumeBindingMode", "Immediate");
        }
        "CSIDriver" => {
            let Some(spec) = object_at(map, "spec") else { return };
            set_missing(spec, "attachRequired", true);
            set_missing(spec, "podInfoOnMount", false);
            set_missing(spec, "storageCapacity", false);
            set_missing(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
            set_zero(spec, "volumeLifecycleModes", json!(["Persistent"]));
            set_missing(spec, "requiresRepublish", false);
            set_missing(spec, "seLinuxMount", false);
        }
        _ => {}
    }
}

fn admission(kind: &str, map: &mut Map<String, Value>) {
    match kind {
        "MutatingWebhook" | "ValidatingWebhook" => {
            set_missing(map, "failurePolicy", "Fail");
            set_missing(map, "matchPolicy", "Equivalent");
            set_missing(map, "namespaceSelector", json!({}));
            set_missing(map, "objectSelector", json!({}));
            set_missing(map, "timeoutSeconds", 10);
            if kind == "MutatingWebhook" {
                set_missing(map, "reinvocationPolicy", "Never");
            }
        }
        "Rule" | "RuleWithOperations" | "NamedRuleWithOperations" => set_missing(map, "scope", "*"),
        "ServiceReference" => set_missing(map, "port", 443),
        "ValidatingAdmissionPolicySpec" | "MutatingAdmissionPolicySpec" => set_missing(map, "failurePolicy", "Fail"),
        "MatchResources" => {
            set_missing(map, "matchPolicy", "Equivalent");
            set_missing(map, "namespaceSelector", json!({}));
            set_missing(map, "objectSelector", json!({}));
        }
        _ => {}
    }
}

fn flow_control(kind: &str, map: &mut Map<String, Value>) {
    match kind {
        "FlowSchemaSpec" => set_zero(map, "matchingPrecedence", 1000),
        "LimitedPriorityLevelConfiguration" => {
            set_missing(map, "nominalConcurrencyShares", 30);
            set_missing(map, "lendablePercent", 0);
        }
        "ExemptPriorityLevelConfiguration" => {
            set_missing(map, "nominalConcurrencyShares", 0);
            set_missing(map, "lendablePercent", 0);
        }
        "QueuingConfiguration" => {
            set_zero(map, "handSize", 8);
            set_zero(map, "queues", 64);
            set_zero(map, "queueLengthLimit", 50);
        }
        "LimitResponse" if text_at(map, "type") == "Queue" => {
            if let Some(queuing) = object_at(map, "queuing") {
                set_zero(queuing, "handSize", 8);
            }
        }
        _ => {}
    }
}
