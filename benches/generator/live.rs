//! The cluster that is in sync with a fleet's repository, as its API server holds it.
//!
//! Takes a [`Fleet`]; hands on the objects: what Argo CD applied, with defaults, bookkeeping and status, and what controllers made of it.

mod applied;
mod argocd;
mod children;
mod defaults;
mod fields;

use serde_json::{Value, json};

use super::service::{self, Service};
use super::{Fleet, Result, manifests};
use applied::Applied;

/// When everything was created.
pub(super) const CREATED: &str = "2026-11-02T08:00:00Z";

/// All objects, Applications first.
pub(super) fn objects(fleet: &Fleet) -> Result<Vec<Value>> {
    let mut objects = argocd::objects(fleet)?;
    for team in service::teams(&fleet.services) {
        objects.extend(children::of_namespace(team));
    }
    objects.extend(children::of_namespace("argocd"));
    for service in &fleet.services {
        objects.extend(of_service(service)?);
    }
    for (number, object) in objects.iter_mut().enumerate() {
        object["metadata"]["resourceVersion"] = json!((number * 7 + 1_000).to_string());
    }
    Ok(objects)
}

/// A Pod of something that Argo CD does not manage.
pub(super) fn bystander(number: usize) -> Value {
    let set = number / 5;
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("batch-{set}-{number}"), "namespace": format!("batch-{}", set % 40), "uid": format!("00000000-0000-4000-9000-{number:012}"),
            "creationTimestamp": CREATED, "resourceVersion": number.to_string(), "labels": {"batch": set.to_string()},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("batch-{set}"), "uid": format!("00000000-0000-4000-a000-{set:012}"),
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {"nodeName": format!("node-{}", number % 90), "containers": [{"name": "main", "image": "registry.example.test/batch:1.0"}]},
        "status": {"phase": "Running"},
    })
}

/// What a service has in its namespace, and its volume.
fn of_service(service: &Service) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for (_, _, text) in manifests::of(service) {
        let target: Value = serde_yaml::from_str(&text)?;
        let mut live =
            Applied { application: &service.application(), namespace: service.team, autoscaled: service.replicas().is_none() }.live(target);
        let made = match live["kind"].as_str() {
            Some("Deployment") => children::of_deployment(&mut live, service),
            Some("Service") => children::of_network_service(&mut live, service),
            Some("PersistentVolumeClaim") => children::of_claim(&mut live),
            _ => Vec::new(),
        };
        objects.push(live);
        objects.extend(made);
    }
    Ok(objects)
}

/// A UID that follows from what an object is.
pub(super) fn uid(kind: &str, namespace: &str, name: &str) -> String {
    let hash = blake3::hash(format!("{kind} {namespace}/{name}").as_bytes()).to_hex();
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}

/// Letters and digits as Kubernetes puts them behind names.
pub(super) fn suffix(seed: &str, length: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let hash = blake3::hash(seed.as_bytes());
    hash.as_bytes()
        .iter()
        .take(length)
        .filter_map(|byte| LETTERS.get(usize::from(*byte) % LETTERS.len()))
        .map(|letter| char::from(*letter))
        .collect()
}

/// Metadata that the API server gives every object.
pub(super) fn stamp(object: &mut Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, namespace, name) = (text(&object["kind"]), text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]));
    object["metadata"]["uid"] = json!(uid(&kind, &namespace, &name));
    object["metadata"]["creationTimestamp"] = json!(CREATED);
}

/// Notes that a manager wrote the fields of `part` into an object.
pub(super) fn manage(object: &mut Value, manager: &str, subresource: Option<&str>, part: &Value) {
    let mut entry = json!({
        "apiVersion": object["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": fields::of(part),
        "manager": manager, "operation": "Update", "time": CREATED,
    });
    if let Some(subresource) = subresource {
        entry["subresource"] = json!(subresource);
    }
    match object["metadata"]["managedFields"].as_array_mut() {
        Some(entries) => entries.push(entry),
        None => object["metadata"]["managedFields"] = json!([entry]),
    }
}

/// Gives an object a status that a controller wrote.
pub(super) fn report(object: &mut Value, manager: &str, status: Value) {
    manage(object, manager, Some("status"), &json!({ "status": status }));
    object["status"] = status;
}
