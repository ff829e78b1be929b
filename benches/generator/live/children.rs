//! What controllers make of applied objects: ReplicaSets, Pods, EndpointSlices, volumes, and what every namespace has.
//!
//! Takes a live object and completes it; hands on the objects beside it.

use serde_json::{Value, json};

use super::{CREATED, manage, report, stamp, suffix, uid};
use crate::generator::service::Service;

const CONTROLLERS: &str = "kube-controller-manager";

/// The ReplicaSet of a Deployment and its Pods; every third Deployment has an older ReplicaSet too.
pub(super) fn of_deployment(deployment: &mut Value, service: &Service) -> Vec<Value> {
    let replicas = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
    let hash = suffix(&format!("{} {}", service.application(), service.image()), 10);
    let mut objects = vec![replica_set(deployment, &hash, replicas, "1")];
    if service.number.is_multiple_of(3) {
        deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("2");
        let older = suffix(&format!("{} older", service.application()), 10);
        objects[0]["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("2");
        objects.push(replica_set(deployment, &older, 0, "1"));
    }
    let pods: Vec<Value> = (0..replicas).map(|number| pod(&objects[0], number)).collect();
    objects.extend(pods);
    objects
}

fn owner(owner: &Value) -> Value {
    json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }])
}

fn replica_set(deployment: &Value, hash: &str, replicas: u64, revision: &str) -> Value {
    let name = format!("{}-{hash}", deployment["metadata"]["name"].as_str().unwrap_or_default());
    let mut template = deployment["spec"]["template"].clone();
    template["metadata"]["labels"]["pod-template-hash"] = json!(hash);
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"]["pod-template-hash"] = json!(hash);
    let mut set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name, "namespace": deployment["metadata"]["namespace"], "generation": 1,
            "labels": template["metadata"]["labels"],
            // Copied from the Deployment, tracking and all.
            "annotations": {
                "argocd.argoproj.io/tracking-id": deployment["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"],
                "deployment.kubernetes.io/desired-replicas": replicas.to_string(),
                "deployment.kubernetes.io/max-replicas": (replicas + 1).to_string(),
                "deployment.kubernetes.io/revision": revision,
            },
            "ownerReferences": owner(deployment),
        },
        "spec": {"replicas": replicas, "selector": selector, "template": template},
    });
    let written = set.clone();
    manage(&mut set, CONTROLLERS, None, &written);
    stamp(&mut set);
    let mut status = json!({"observedGeneration": 1, "replicas": replicas, "terminatingReplicas": 0});
    if replicas > 0 {
        for count in ["availableReplicas", "fullyLabeledReplicas", "readyReplicas"] {
            status[count] = json!(replicas);
        }
    }
    report(&mut set, CONTROLLERS, status);
    set
}

fn pod(set: &Value, number: u64) -> Value {
    let owner_name = set["metadata"]["name"].as_str().unwrap_or_default();
    let token = format!("kube-api-access-{}", suffix(&format!("{owner_name} {number} token"), 5));
    let mut spec = set["spec"]["template"]["spec"].clone();
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{owner_name}-{}", suffix(&format!("{owner_name} {number}"), 5)), "generateName": format!("{owner_name}-"),
            "namespace": set["metadata"]["namespace"], "generation": 1,
            "labels": set["spec"]["template"]["metadata"]["labels"],
            "ownerReferences": owner(set),
        },
        "spec": spec,
    });
    let written = pod.clone();
    manage(&mut pod, CONTROLLERS, None, &written);
    stamp(&mut pod);
    if let Some(mounts) = spec.pointer_mut("/containers/0").map(|container| &mut container["volumeMounts"]) {
        let mount = json!({"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token, "readOnly": true});
        append(mounts, mount);
    }
    append(&mut spec["volumes"], token_volume(&token));
    spec["nodeName"] = json!(format!("node-{}", number % 12 + 1));
    spec["enableServiceLinks"] = json!(true);
    spec["preemptionPolicy"] = json!("PreemptLowerPriority");
    spec["priority"] = json!(0);
    spec["serviceAccount"] = json!("default");
    spec["serviceAccountName"] = json!("default");
    let toleration = |key: &str| json!({"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300});
    spec["tolerations"] = json!([toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")]);
    let container = spec["containers"][0].clone();
    pod["spec"] = spec;
    let condition =
        |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": CREATED, "observedGeneration": 1});
    let conditions = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map(condition);
    let status = json!({
        "phase": "Running", "qosClass": "Burstable", "podIP": "10.1.0.26", "podIPs": [{"ip": "10.1.0.26"}], "hostIP": "192.0.2.21",
        "hostIPs": [{"ip": "192.0.2.21"}], "startTime": CREATED, "observedGeneration": 1,
        "conditions": conditions,
        "containerStatuses": [{
            "name": container["name"], "image": container["image"], "ready": true, "started": true, "restartCount": 0,
            "imageID": format!("{}@sha256:{}", container["image"].as_str().unwrap_or_default(), blake3::hash(owner_name.as_bytes()).to_hex()),
            "containerID": format!("containerd://{}", blake3::hash(token.as_bytes()).to_hex()),
            "state": {"running": {"startedAt": CREATED}}, "lastState": {},
        }],
    });
    report(&mut pod, "kubelet", status);
    pod
}

fn append(list: &mut Value, item: Value) {
    match list.as_array_mut() {
        Some(items) => items.push(item),
        None => *list = json!([item]),
    }
}

fn token_volume(name: &str) -> Value {
    json!({"name": name, "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
    ]}})
}

/// The EndpointSlice of a Service.
pub(super) fn of_network_service(network_service: &mut Value, service: &Service) -> Vec<Value> {
    let metadata = &network_service["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let mut labels = metadata["labels"].clone();
    labels["endpointslice.kubernetes.io/managed-by"] = json!("endpointslice-controller.k8s.io");
    labels["kubernetes.io/service-name"] = json!(name);
    let endpoint = |number: usize| {
        json!({"addresses": [format!("10.1.{}.{}", service.number % 250, number + 10)], "nodeName": format!("node-{}", number + 1),
            "conditions": {"ready": true, "serving": true, "terminating": false}})
    };
    let mut slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {
            "name": format!("{name}-{}", suffix(&service.application(), 5)), "generateName": format!("{name}-"), "namespace": metadata["namespace"],
            "generation": 1, "labels": labels, "annotations": {"endpoints.kubernetes.io/last-change-trigger-time": CREATED},
            "ownerReferences": owner(network_service),
        },
        "endpoints": (0..service.replicas().unwrap_or(3)).map(endpoint).collect::<Vec<_>>(),
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    });
    let written = slice.clone();
    manage(&mut slice, CONTROLLERS, None, &written);
    stamp(&mut slice);
    vec![slice]
}

/// Binds a claim to a volume, and hands on the volume.
pub(super) fn of_claim(claim: &mut Value) -> Vec<Value> {
    let volume = format!("pvc-{}", claim["metadata"]["uid"].as_str().unwrap_or_default());
    let bound = json!({
        "pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes",
        "volume.beta.kubernetes.io/storage-provisioner": "csi.example.test", "volume.kubernetes.io/storage-provisioner": "csi.example.test",
    });
    if let (Some(annotations), Some(bound)) = (claim["metadata"]["annotations"].as_object_mut(), bound.as_object()) {
        annotations.extend(bound.clone());
    }
    claim["metadata"]["finalizers"] = json!(["kubernetes.io/pvc-protection"]);
    claim["spec"]["volumeName"] = json!(volume);
    manage(claim, CONTROLLERS, None, &json!({"metadata": {"annotations": bound}, "spec": {"volumeName": volume}}));
    let size = claim["spec"]["resources"]["requests"]["storage"].clone();
    let modes = claim["spec"]["accessModes"].clone();
    report(claim, CONTROLLERS, json!({"phase": "Bound", "accessModes": modes, "capacity": {"storage": size}}));
    let mut live = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": volume, "annotations": {"pv.kubernetes.io/provisioned-by": "csi.example.test"}, "finalizers": ["kubernetes.io/pv-protection"]},
        "spec": {
            "accessModes": modes, "capacity": {"storage": size}, "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "standard",
            "volumeMode": "Filesystem", "csi": {"driver": "csi.example.test", "volumeHandle": format!("vol-{volume}")},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim["metadata"]["namespace"],
                "name": claim["metadata"]["name"], "uid": claim["metadata"]["uid"], "resourceVersion": "900"},
        },
    });
    let written = live.clone();
    manage(&mut live, "csi-provisioner", None, &written);
    stamp(&mut live);
    report(&mut live, CONTROLLERS, json!({"phase": "Bound", "lastPhaseTransitionTime": CREATED}));
    vec![live]
}

/// A namespace and what every namespace has.
pub(super) fn of_namespace(name: &str) -> Vec<Value> {
    let mut namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "uid": uid("Namespace", "", name), "creationTimestamp": CREATED, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
    });
    manage(&mut namespace, "argocd-controller", None, &json!({"metadata": {"labels": {"kubernetes.io/metadata.name": name}}}));
    let mut account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}});
    stamp(&mut account);
    let mut authority = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt", "namespace": name},
        "data": {"ca.crt": "-----BEGIN CERTIFICATE-----\nMIIBdummy\n-----END CERTIFICATE-----\n"},
    });
    let written = authority.clone();
    manage(&mut authority, CONTROLLERS, None, &written);
    stamp(&mut authority);
    vec![namespace, account, authority]
}
