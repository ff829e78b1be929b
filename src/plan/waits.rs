//! Syncs that can be foreseen to hang: something waits for what only a later step brings.
//!
//! Takes the tasks of a sync; says for each whether it can never get healthy before its step ends. Silent where it cannot tell.

use std::collections::HashMap;

use serde_json::Value;

use super::tasks::{Step, Task};
use crate::manifest::ResourceKey;
use crate::snapshot::LiveState;

/// Why a task never gets healthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Index of the task that waits.
    pub task: usize,
    /// What it waits for.
    pub needs: ResourceKey,
    /// How the two hang together.
    pub kind: WaitKind,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// Its pods need an object that comes later.
    PodNeeds,
    /// A claim binds only when a pod uses it, and the pod comes later.
    ClaimNeedsConsumer,
}

/// The tasks that would hang, given the order in which the sync would run if nothing did.
pub fn foresee(tasks: &[Task], steps: &[Step], live: &LiveState, server: &str) -> Vec<Wait> {
    let place: HashMap<usize, usize> = groups(steps);
    let created: HashMap<&ResourceKey, usize> = tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| task.target.is_some() && task.live.is_none())
        .filter_map(|(index, task)| Some((&task.key, *place.get(&index)?)))
        .collect();
    let mut waits = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        let (Some(target), Some(&own)) = (&task.target, place.get(&index)) else { continue };
        if let Some(pod) = pod_spec(&task.key, &target.object) {
            let later = needs(pod, &task.key.namespace)
                .into_iter()
                .find(|needed| created.get(needed).is_some_and(|&group| group > own) && live.get(server, needed).is_none());
            if let Some(needs) = later {
                waits.push(Wait { task: index, needs, kind: WaitKind::PodNeeds });
            }
        } else if task.key.is("", "PersistentVolumeClaim")
            && task.live.is_none()
            && binds_late(&target.object, live, server)
            && let Some(needs) = first_consumer_after(tasks, &place, &task.key, own)
        {
            waits.push(Wait { task: index, needs, kind: WaitKind::ClaimNeedsConsumer });
        }
    }
    waits
}

/// Number of the (phase, wave) group in which each task runs.
fn groups(steps: &[Step]) -> HashMap<usize, usize> {
    let mut place = HashMap::with_capacity(steps.len());
    let mut group = 0;
    let mut last = None;
    for step in steps {
        if last.is_some_and(|last| last != (step.phase, step.wave)) {
            group += 1;
        }
        last = Some((step.phase, step.wave));
        place.entry(step.task).or_insert(group);
    }
    place
}

/// The pod template of a workload, or the spec of a Pod.
pub fn pod_spec<'a>(key: &ResourceKey, object: &'a Value) -> Option<&'a Value> {
    let pointer = match (&*key.group, &*key.kind) {
        ("", "Pod") => "/spec",
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job") => "/spec/template/spec",
        _ => return None,
    };
    object.pointer(pointer)
}

/// ConfigMaps, Secrets, claims and the ServiceAccount that a pod cannot start without.
fn needs(pod: &Value, namespace: &str) -> Vec<ResourceKey> {
    let mut found = Vec::new();
    let mut need = |kind: &str, name: Option<&Value>, optional: Option<&Value>| {
        if let Some(name) = name.and_then(Value::as_str).filter(|_| optional.and_then(Value::as_bool) != Some(true)) {
            found.push(ResourceKey::new("", kind, namespace, name));
        }
    };
    let list = |value: Option<&'_ Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    if pod.get("serviceAccountName").is_some_and(|name| name != "default") {
        need("ServiceAccount", pod.get("serviceAccountName"), None);
    }
    for container in ["containers", "initContainers"].iter().flat_map(|field| list(pod.get(*field))) {
        for source in list(container.get("envFrom")) {
            for (field, kind) in [("configMapRef", "ConfigMap"), ("secretRef", "Secret")] {
                need(kind, source.pointer(&format!("/{field}/name")), source.pointer(&format!("/{field}/optional")));
            }
        }
        for variable in list(container.get("env")) {
            for (field, kind) in [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")] {
                let at = |name: &str| variable.pointer(&format!("/valueFrom/{field}/{name}"));
                need(kind, at("name"), at("optional"));
            }
        }
    }
    for volume in list(pod.get("volumes")) {
        need("ConfigMap", volume.pointer("/configMap/name"), volume.pointer("/configMap/optional"));
        need("Secret", volume.pointer("/secret/secretName"), volume.pointer("/secret/optional"));
        need("PersistentVolumeClaim", volume.pointer("/persistentVolumeClaim/claimName"), None);
        for source in list(volume.pointer("/projected/sources")) {
            need("ConfigMap", source.pointer("/configMap/name"), source.pointer("/configMap/optional"));
            need("Secret", source.pointer("/secret/name"), source.pointer("/secret/optional"));
        }
    }
    found
}

/// Whether a claim waits for a pod before it binds.
fn binds_late(claim: &Value, live: &LiveState, server: &str) -> bool {
    let classes = live.of_kind(server, "storage.k8s.io", "StorageClass");
    let class = match claim.pointer("/spec/storageClassName").and_then(Value::as_str) {
        Some(name) => classes.iter().find(|class| &*class.key.name == name),
        None => classes
            .iter()
            .find(|class| crate::manifest::annotation(class.object(), "storageclass.kubernetes.io/is-default-class") == Some("true")),
    };
    class.is_some_and(|class| class.object().get("volumeBindingMode").and_then(Value::as_str) == Some("WaitForFirstConsumer"))
}

/// The first workload of the same sync that uses the claim, if all of them come after group `own`.
fn first_consumer_after(tasks: &[Task], place: &HashMap<usize, usize>, claim: &ResourceKey, own: usize) -> Option<ResourceKey> {
    let mut first: Option<(usize, ResourceKey)> = None;
    for (index, task) in tasks.iter().enumerate() {
        let Some(target) = &task.target else { continue };
        let Some(pod) = pod_spec(&task.key, &target.object) else { continue };
        if !needs(pod, &task.key.namespace).contains(claim) {
            continue;
        }
        let group = *place.get(&index)?;
        if group <= own {
            return None;
        }
        if first.as_ref().is_none_or(|(earliest, _)| group < *earliest) {
            first = Some((group, task.key.clone()));
        }
    }
    first.map(|(_, key)| key)
}
