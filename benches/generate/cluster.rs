//! An invented cluster of any size, the same on every machine.
//!
//! Takes a number of objects; hands out objects as an API server would: Deployments with their ReplicaSets and Pods, StatefulSets with
//! claims and volumes, Services, ConfigMaps and Secrets, each with managed fields, about 2 KB of JSON.

use serde_json::{Value, json};

/// The objects of one workload, by kind; ten of them, in the order an API server lists kinds.
const PER_WORKLOAD: usize = 10;
const TEAMS: [&str; 8] = ["bookshop", "library", "printing", "binding", "archive", "market", "ledger", "gallery"];

/// Makes `count` objects.
pub(crate) fn objects(count: usize) -> impl Iterator<Item = Value> {
    (0..count.div_ceil(PER_WORKLOAD)).flat_map(workload).take(count)
}

/// A UID that depends on nothing but its parts.
fn uid(number: usize, part: usize) -> String {
    let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (part as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
    format!("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", mixed >> 32, (mixed >> 16) & 0xffff, mixed & 0xfff, part & 0xfff, number)
}

fn workload(number: usize) -> Vec<Value> {
    let team = TEAMS[number % TEAMS.len()];
    let namespace = format!("{team}-{}", number / TEAMS.len() % 50);
    let name = format!("{team}-service-{number}");
    let build = Builder { number, namespace: &namespace, application: &namespace };
    let stateful = number.is_multiple_of(10);
    let (kind, set) = if stateful { ("StatefulSet", format!("{name}-0")) } else { ("Deployment", format!("{name}-6b7c9d5f4")) };
    let mut top = build.tracked("apps/v1", kind, &name, 0);
    top["spec"] = json!({"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}}, "spec": pod(&name)}});
    if stateful {
        top["spec"]["volumeClaimTemplates"] =
            json!([{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "10Gi"}}}}]);
    }
    let mut objects = vec![top.clone()];
    let owner = if stateful {
        top
    } else {
        let mut replica_set = build.owned("apps/v1", "ReplicaSet", &set, 1, &top);
        replica_set["spec"] = top["spec"].clone();
        objects.push(replica_set.clone());
        replica_set
    };
    for replica in 0..3 {
        let mut one = build.owned("v1", "Pod", &format!("{set}-{replica}"), 2 + replica, &owner);
        one["spec"] = pod(&name);
        one["status"] = json!({"phase": "Running", "podIP": format!("10.{}.{}.{replica}", number / 256 % 256, number % 256),
            "conditions": [condition("Ready"), condition("Initialized"), condition("PodScheduled"), condition("ContainersReady")]});
        objects.push(one);
    }
    let mut service = build.tracked("v1", "Service", &name, 5);
    service["spec"] = json!({"clusterIP": format!("10.96.{}.{}", number / 256 % 256, number % 256), "ports": [{"port": 80, "targetPort": 8080}],
        "selector": {"app": name}});
    let mut config = build.tracked("v1", "ConfigMap", &name, 6);
    config["data"] = json!({"application.properties": format!("greeting=welcome to {name}\n").repeat(25)});
    let mut secret = build.tracked("v1", "Secret", &name, 7);
    secret["data"] = json!({"password": "bm90LWEtcmVhbC1wYXNzd29yZA==".repeat(20)});
    let mut claim = build.object("v1", "PersistentVolumeClaim", &format!("data-{name}-0"), 8);
    claim["spec"] =
        json!({"volumeName": format!("pv-{number}"), "resources": {"requests": {"storage": "10Gi"}}, "accessModes": ["ReadWriteOnce"]});
    let mut volume = build.object("v1", "PersistentVolume", &format!("pv-{number}"), 9);
    if let Some(metadata) = volume["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
    volume["spec"] = json!({"claimRef": {"namespace": namespace, "name": format!("data-{name}-0")}, "capacity": {"storage": "10Gi"}});
    objects.extend([service, config, secret, claim, volume]);
    objects
}

struct Builder<'a> {
    number: usize,
    namespace: &'a str,
    application: &'a str,
}

impl Builder<'_> {
    fn object(&self, api_version: &str, kind: &str, name: &str, part: usize) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "metadata": {
            "name": name, "namespace": self.namespace, "uid": uid(self.number, part), "resourceVersion": (self.number * 10 + part).to_string(),
            "creationTimestamp": "2026-11-01T08:00:00Z", "generation": 3, "labels": {"app": name, "team": self.namespace},
            "managedFields": [managed("argocd-controller", "Apply"), managed("kube-controller-manager", "Update")]}})
    }

    fn tracked(&self, api_version: &str, kind: &str, name: &str, part: usize) -> Value {
        let mut object = self.object(api_version, kind, name, part);
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let id = format!("{}:{group}/{kind}:{}/{name}", self.application, self.namespace);
        object["metadata"]["annotations"] = json!({"argocd.argoproj.io/tracking-id": id});
        object
    }

    fn owned(&self, api_version: &str, kind: &str, name: &str, part: usize, owner: &Value) -> Value {
        let mut object = self.object(api_version, kind, name, part);
        object["metadata"]["ownerReferences"] = json!([{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": true,
            "blockOwnerDeletion": true, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}]);
        object
    }
}

fn managed(manager: &str, operation: &str) -> Value {
    json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "time": "2026-11-01T08:00:00Z", "fieldsV1": {
        "f:metadata": {"f:annotations": {".": {}, "f:argocd.argoproj.io/tracking-id": {}}, "f:labels": {".": {}, "f:app": {}, "f:team": {}}},
        "f:spec": {"f:progressDeadlineSeconds": {}, "f:replicas": {}, "f:revisionHistoryLimit": {}, "f:selector": {}, "f:strategy": {}}}})
}

fn condition(name: &str) -> Value {
    json!({"type": name, "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-11-01T08:00:00Z"})
}

fn pod(name: &str) -> Value {
    json!({"containers": [{"name": "main", "image": format!("registry.example.test/{name}:1.4.2"), "imagePullPolicy": "IfNotPresent",
        "env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": name, "key": "password"}}}],
        "ports": [{"containerPort": 8080, "protocol": "TCP"}], "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}}}],
        "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30})
}
