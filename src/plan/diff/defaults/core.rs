//! Defaults of the core group: Pods and what is in them, Services, volumes, claims.

use serde_json::{Map, Value, json};

use super::{is_zero, object_at, objects_at, set_missing, set_zero, text_at};

/// Defaults of one struct before those of its fields. Whether the struct was one of this file.
pub(super) fn apply(name: &str, map: &mut Map<String, Value>) -> bool {
    match name {
        "ConfigMap" => set_missing(map, "data", json!({})),
        "Secret" => set_zero(map, "type", "Opaque"),
        "Service" => {
            if let Some(spec) = object_at(map, "spec") {
                service(spec);
            }
        }
        "Namespace" => namespace(map),
        "PersistentVolume" => {
            if let Some(spec) = object_at(map, "spec") {
                set_zero(spec, "persistentVolumeReclaimPolicy", "Retain");
                set_missing(spec, "volumeMode", "Filesystem");
            }
            phase(map, "Pending");
        }
        "PersistentVolumeClaim" => {
            object_at(map, "spec");
            phase(map, "Pending");
        }
        "PersistentVolumeClaimSpec" => set_missing(map, "volumeMode", "Filesystem"),
        "ReplicationController" => replication_controller(map),
        "Container" | "EphemeralContainer" => container(map),
        "PodSpec" => {
            set_zero(map, "dnsPolicy", "ClusterFirst");
            set_zero(map, "restartPolicy", "Always");
            set_missing(map, "securityContext", json!({}));
            set_missing(map, "terminationGracePeriodSeconds", 30);
            set_zero(map, "schedulerName", "default-scheduler");
        }
        "Probe" => {
            set_zero(map, "timeoutSeconds", 1);
            set_zero(map, "periodSeconds", 10);
            set_zero(map, "successThreshold", 1);
            set_zero(map, "failureThreshold", 3);
        }
        "HTTPGetAction" => {
            set_zero(map, "path", "/");
            set_zero(map, "scheme", "HTTP");
        }
        "Volume" => volume(map),
        "SecretVolumeSource" | "ConfigMapVolumeSource" | "DownwardAPIVolumeSource" | "ProjectedVolumeSource" => {
            set_missing(map, "defaultMode", 420)
        }
        "ServiceAccountTokenProjection" => set_missing(map, "expirationSeconds", 3600),
        "HostPathVolumeSource" => set_missing(map, "type", ""),
        "ObjectFieldSelector" => set_zero(map, "apiVersion", "v1"),
        "LimitRangeItem" => limit_range(map),
        "Endpoints" => {
            for subset in objects_at(map, "subsets") {
                objects_at(subset, "ports").for_each(|port| set_zero(port, "protocol", "TCP"));
            }
        }
        _ => return false,
    }
    true
}

/// Defaults that look at what the fields' defaults made.
pub(super) fn apply_after_children(name: &str, map: &mut Map<String, Value>) {
    if name != "core/v1.Pod" {
        return;
    }
    let Some(spec) = map.get_mut("spec").and_then(Value::as_object_mut) else { return };
    set_missing(spec, "enableServiceLinks", true);
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers"] {
        for container in objects_at(spec, list) {
            requests_from_limits(container);
            if host_network {
                for port in objects_at(container, "ports") {
                    let own = port.get("containerPort").cloned().unwrap_or_default();
                    set_zero(port, "hostPort", own);
                }
            }
        }
    }
}

fn requests_from_limits(container: &mut Map<String, Value>) {
    let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) else { return };
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    if let Some(requests) = object_at(resources, "requests") {
        for (key, value) in limits {
            requests.entry(key).or_insert(value);
        }
    }
}

fn phase(map: &mut Map<String, Value>, phase: &str) {
    if let Some(status) = object_at(map, "status") {
        set_zero(status, "phase", phase);
    }
}

fn namespace(map: &mut Map<String, Value>) {
    let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let name = text_at(metadata, "name").to_owned();
    if !name.is_empty()
        && let Some(labels) = object_at(metadata, "labels")
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), Value::String(name));
    }
    phase(map, "Active");
}

fn replication_controller(map: &mut Map<String, Value>) {
    let labels = map.get("spec").and_then(|spec| spec.pointer("/template/metadata/labels")).cloned();
    if let Some(labels @ Value::Object(_)) = labels {
        if let Some(spec) = object_at(map, "spec") {
            set_zero(spec, "selector", labels.clone());
        }
        if let Some(metadata) = object_at(map, "metadata") {
            set_zero(metadata, "labels", labels);
        }
    }
}

fn service(spec: &mut Map<String, Value>) {
    set_zero(spec, "sessionAffinity", "None");
    match text_at(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let timeout = spec.get("sessionAffinityConfig").and_then(|config| config.pointer("/clientIP/timeoutSeconds"));
            if timeout.is_none_or(Value::is_null) {
                spec.insert("sessionAffinityConfig".to_owned(), json!({"clientIP": {"timeoutSeconds": 10800}}));
            }
        }
        _ => {}
    }
    set_zero(spec, "type", "ClusterIP");
    for port in objects_at(spec, "ports") {
        set_zero(port, "protocol", "TCP");
        let own = port.get("port").cloned().unwrap_or_default();
        set_zero(port, "targetPort", own);
    }
    let kind = text_at(spec, "type").to_owned();
    let external_ips = spec.get("externalIPs").is_some_and(|list| !is_zero(list));
    if matches!(kind.as_str(), "LoadBalancer" | "NodePort") || kind == "ClusterIP" && external_ips {
        set_zero(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        set_missing(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set_missing(spec, "allocateLoadBalancerNodePorts", true);
    }
}

fn container(map: &mut Map<String, Value>) {
    let policy = pull_policy(text_at(map, "image"));
    set_zero(map, "imagePullPolicy", policy);
    set_zero(map, "terminationMessagePath", "/dev/termination-log");
    set_zero(map, "terminationMessagePolicy", "File");
}

/// `latest`, said or meant, is pulled always. A digest without a tag is not `latest` (`pkg/util/parsers:ParseImageName`).
fn pull_policy(image: &str) -> &'static str {
    let (name, digest) = image.split_once('@').map_or((image, false), |(name, _)| (name, true));
    let last = name.rsplit('/').next().unwrap_or(name);
    let readable = !image.is_empty() && !image.chars().any(|c| c.is_whitespace() || c.is_ascii_uppercase() && !last.contains(':'));
    match last.split_once(':') {
        Some((_, "latest")) => "Always",
        Some(_) => "IfNotPresent",
        None if digest || !readable => "IfNotPresent",
        None => "Always",
    }
}

fn volume(map: &mut Map<String, Value>) {
    let has_source = map.iter().any(|(key, value)| key != "name" && !value.is_null());
    if !has_source {
        map.insert("emptyDir".to_owned(), json!({}));
    }
    if let Some(image) = map.get_mut("image").and_then(Value::as_object_mut) {
        let policy = pull_policy(text_at(image, "reference"));
        set_zero(image, "pullPolicy", policy);
    }
}

fn limit_range(map: &mut Map<String, Value>) {
    if text_at(map, "type") != "Container" {
        return;
    }
    let of = |map: &Map<String, Value>, field: &str| map.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
    let (max, min) = (of(map, "max"), of(map, "min"));
    let fill = |map: &mut Map<String, Value>, field: &str, from: Map<String, Value>| {
        if let Some(own) = object_at(map, field) {
            for (key, value) in from {
                own.entry(key).or_insert(value);
            }
            // Go writes no empty map.
            if own.is_empty() {
                map.remove(field);
            }
        }
    };
    fill(map, "default", max);
    let default = of(map, "default");
    fill(map, "defaultRequest", default);
    fill(map, "defaultRequest", min);
}
