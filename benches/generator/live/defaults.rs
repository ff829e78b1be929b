//! Fields that the API server fills in.
//!
//! Takes an object as it was sent; fills in what was left out, for the kinds and fields that a fleet uses.

use serde_json::{Map, Value, json};

/// Fills in the defaults.
pub(super) fn fill(object: &mut Value) {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    match kind.as_str() {
        "Deployment" => deployment(spec),
        "Service" => service(spec, &name),
        "PersistentVolumeClaim" => set(spec, [("volumeMode", json!("Filesystem"))]),
        _ => {}
    }
}

fn set<const N: usize>(fields: &mut Map<String, Value>, defaults: [(&str, Value); N]) {
    for (name, value) in defaults {
        fields.entry(name).or_insert(value);
    }
}

fn deployment(spec: &mut Map<String, Value>) {
    set(
        spec,
        [
            ("replicas", json!(1)),
            ("progressDeadlineSeconds", json!(600)),
            ("revisionHistoryLimit", json!(10)),
            ("strategy", json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})),
        ],
    );
    let Some(pod) = spec.get_mut("template").and_then(|template| template.get_mut("spec")).and_then(Value::as_object_mut) else { return };
    set(
        pod,
        [
            ("dnsPolicy", json!("ClusterFirst")),
            ("restartPolicy", json!("Always")),
            ("schedulerName", json!("default-scheduler")),
            ("securityContext", json!({})),
            ("terminationGracePeriodSeconds", json!(30)),
        ],
    );
    for container in pod.get_mut("containers").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        fill_container(container);
    }
}

fn fill_container(container: &mut Map<String, Value>) {
    set(
        container,
        [
            ("imagePullPolicy", json!("IfNotPresent")),
            ("resources", json!({})),
            ("terminationMessagePath", json!("/dev/termination-log")),
            ("terminationMessagePolicy", json!("File")),
        ],
    );
    for port in objects(container.get_mut("ports")) {
        set(port, [("protocol", json!("TCP"))]);
    }
    for variable in objects(container.get_mut("env")) {
        if let Some(field) = variable.get_mut("valueFrom").and_then(|from| from.get_mut("fieldRef")).and_then(Value::as_object_mut) {
            set(field, [("apiVersion", json!("v1"))]);
        }
    }
    if let Some(probe) = container.get_mut("readinessProbe").and_then(Value::as_object_mut) {
        set(
            probe,
            [("failureThreshold", json!(3)), ("periodSeconds", json!(10)), ("successThreshold", json!(1)), ("timeoutSeconds", json!(1))],
        );
        if let Some(request) = probe.get_mut("httpGet").and_then(Value::as_object_mut) {
            set(request, [("scheme", json!("HTTP"))]);
        }
    }
}

fn service(spec: &mut Map<String, Value>, name: &str) {
    let address = blake3::hash(name.as_bytes());
    let address = format!("10.96.{}.{}", address.as_bytes()[0], address.as_bytes()[1]);
    set(
        spec,
        [
            ("clusterIP", json!(address)),
            ("clusterIPs", json!([address])),
            ("internalTrafficPolicy", json!("Cluster")),
            ("ipFamilies", json!(["IPv4"])),
            ("ipFamilyPolicy", json!("SingleStack")),
            ("sessionAffinity", json!("None")),
            ("type", json!("ClusterIP")),
        ],
    );
    for port in objects(spec.get_mut("ports")) {
        set(port, [("protocol", json!("TCP"))]);
    }
}

fn objects(list: Option<&mut Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    list.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}
