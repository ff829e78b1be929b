//! What stays in a snapshot of what Argo CD manages.

use serde_json::json;

use super::*;

fn choose(settings: Option<Settings>, objects: &[Value]) -> Vec<String> {
    let choice = Choice::Managed(settings.map(Box::new));
    let (mut entries, mut wanted) = (Vec::new(), HashSet::new());
    for object in objects {
        let key = ResourceKey::of(object).unwrap();
        let owners = owners_of(object);
        match choice.on_arrival(&key, object, !owners.is_empty()) {
            Arrival::OwnersOnly => wanted.extend(owners),
            Arrival::Keep(role) => entries.push(Entry {
                cluster: "".into(),
                start: 0,
                length: 0,
                uid: short(object["metadata"]["uid"].as_str().unwrap_or_default()),
                owners,
                reads: reads_of(object),
                defines: defined_by(&key, object),
                role,
                key,
            }),
        }
    }
    choice.at_the_end(entries, &wanted).into_iter().map(|entry| entry.key.to_string()).collect()
}

fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": "shop", "name": name, "uid": format!("{kind}-{name}")}})
}

fn owned(mut object: Value, owner: &str) -> Value {
    object["metadata"]["ownerReferences"] = json!([{"kind": "x", "name": "x", "uid": owner}]);
    object
}

fn tracked(mut object: Value) -> Value {
    object["metadata"]["annotations"] = json!({TRACKING_ID: "a:/x:shop/x"});
    object
}

fn with_pods(mut object: Value, spec: Value) -> Value {
    object["spec"] = json!({"template": {"spec": spec}});
    object
}

#[test]
fn tracked_objects_stay_and_others_go() {
    let kept = choose(
        Some(Settings::default()),
        &[tracked(object("v1", "Service", "a")), object("v1", "Service", "b"), object("v1", "PersistentVolumeClaim", "c")],
    );
    assert_eq!(kept, ["Service shop/a", "PersistentVolumeClaim shop/c"]);
}

#[test]
fn labels_count_where_they_track_or_nobody_knows() {
    let mut labelled = object("v1", "Service", "a");
    labelled["metadata"]["labels"] = json!({"app.kubernetes.io/instance": "a"});
    let by_label = Settings::new(None, "argocd", [("application.resourceTrackingMethod".to_owned(), "label".to_owned())].into());
    assert_eq!(choose(Some(by_label), std::slice::from_ref(&labelled)).len(), 1);
    assert_eq!(choose(None, std::slice::from_ref(&labelled)).len(), 1);
    assert!(choose(Some(Settings::default()), &[labelled]).is_empty());
}

#[test]
fn what_pods_of_untracked_workloads_read_stays() {
    let spec = json!({"containers": [{"envFrom": [{"configMapRef": {"name": "env"}}], "env": [{"valueFrom": {"secretKeyRef": {"name": "key"}}}]}],
        "volumes": [{"secret": {"secretName": "files"}}, {"projected": {"sources": [{"configMap": {"name": "part"}}]}}],
        "imagePullSecrets": [{"name": "pull"}]});
    let objects = [
        with_pods(object("apps/v1", "Deployment", "d"), spec),
        object("v1", "ConfigMap", "env"),
        object("v1", "ConfigMap", "part"),
        object("v1", "ConfigMap", "other"),
        object("v1", "Secret", "key"),
        object("v1", "Secret", "files"),
        object("v1", "Secret", "pull"),
        object("v1", "Secret", "env"),
    ];
    let kept = choose(Some(Settings::default()), &objects);
    let expected =
        ["Deployment shop/d", "ConfigMap shop/env", "ConfigMap shop/part", "Secret shop/key", "Secret shop/files", "Secret shop/pull"];
    assert_eq!(kept.len(), expected.len(), "{kept:?}");
    assert!(expected.iter().all(|one| kept.iter().any(|key| key.ends_with(one))), "{kept:?}");
}

#[test]
fn owners_of_pods_and_replica_sets_stay_and_they_themselves_go() {
    let rollout = object("argoproj.io/v1alpha1", "Rollout", "r");
    let objects = [
        rollout.clone(),
        object("argoproj.io/v1alpha1", "Rollout", "unused"),
        owned(object("apps/v1", "ReplicaSet", "rs"), "Rollout-r"),
        owned(object("v1", "Pod", "p"), "ReplicaSet-rs"),
    ];
    let kept = choose(Some(Settings::default()), &objects);
    assert_eq!(kept, ["argoproj.io/Rollout shop/r"]);
}

#[test]
fn what_tracked_objects_own_stays_however_deep() {
    let objects = [
        owned(object("v1", "Secret", "leaf"), "Certificate-mid"),
        owned(object("cert-manager.io/v1", "Certificate", "mid"), "Issuer-top"),
        tracked(object("cert-manager.io/v1", "Issuer", "top")),
        owned(object("v1", "Secret", "stranger"), "nobody"),
    ];
    assert_eq!(choose(Some(Settings::default()), &objects).len(), 3);
}

#[test]
fn a_tracked_namespace_and_a_tracked_definition_keep_what_goes_with_them() {
    let mut namespace = tracked(object("v1", "Namespace", "shop"));
    namespace["metadata"].as_object_mut().unwrap().remove("namespace");
    assert_eq!(choose(Some(Settings::default()), &[namespace, object("v1", "Service", "s")]).len(), 2);
    let mut definition = tracked(object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "shelves.shop.test"));
    definition["spec"] = json!({"group": "shop.test", "names": {"kind": "Shelf"}});
    assert_eq!(choose(Some(Settings::default()), &[definition, object("shop.test/v1", "Shelf", "s")]).len(), 2);
}

#[test]
fn argo_cds_settings_and_cluster_secrets_stay() {
    let labelled = |mut object: Value, label: &str, value: &str| {
        object["metadata"]["labels"] = json!({label: value});
        object
    };
    let objects = [
        labelled(object("v1", "ConfigMap", "argocd-cm"), PART_OF.0, PART_OF.1),
        labelled(object("v1", "Secret", "eu"), SECRET_TYPE_LABEL, CLUSTER_SECRET),
        labelled(object("v1", "Secret", "repo"), SECRET_TYPE_LABEL, "repository"),
    ];
    assert_eq!(choose(Some(Settings::default()), &objects), ["ConfigMap shop/argocd-cm", "Secret shop/eu"]);
}
