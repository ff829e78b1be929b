use serde_json::json;

use super::*;
use crate::argocd::names::IN_CLUSTER_SERVER;
use crate::plan::sample;

fn object(api: &str, kind: &str, namespace: &str, name: &str) -> Value {
    let mut object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "uid": format!("{kind}-{name}")}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

fn owned(mut object: Value, owners: &[(&str, &str, &str)]) -> Value {
    let references =
        owners.iter().map(|(api, kind, name)| json!({"apiVersion": api, "kind": kind, "name": name, "uid": format!("{kind}-{name}")}));
    object["metadata"]["ownerReferences"] = references.collect();
    object
}

/// What goes and what stays when the first object is deleted, as `depth key`, with options of the deletion.
fn hangs(objects: &[Value], orphans: bool, follows: bool, going: &[&str]) -> (Vec<String>, Vec<String>) {
    let live = sample::snapshot("argocdVersion: '3.5'", objects);
    let top = live.get(IN_CLUSTER_SERVER, &ResourceKey::of(&objects[0]).unwrap()).unwrap();
    let going: HashSet<ResourceKey> =
        live.all().iter().filter(|object| going.contains(&&*object.key.name)).map(|object| object.key.clone()).collect();
    let found = of(top, &live, Deletion { going: &going, orphans, follows: &|_| follows });
    let lines =
        |dependents: Vec<Dependent>| dependents.iter().map(|one| format!("{} {}: {}", one.depth, one.key, one.tie.as_str())).collect();
    (lines(found.go), lines(found.stay))
}

fn set(policy: &str) -> Value {
    let mut set = object("apps/v1", "StatefulSet", "shop", "db");
    set["spec"] =
        json!({"volumeClaimTemplates": [{"metadata": {"name": "data"}}], "persistentVolumeClaimRetentionPolicy": {"whenDeleted": policy}});
    set
}

fn claim(name: &str, volume: &str) -> Value {
    let mut claim = object("v1", "PersistentVolumeClaim", "shop", name);
    claim["spec"] = json!({"volumeName": volume});
    claim
}

fn volume(name: &str, policy: &str) -> Value {
    let mut volume = object("v1", "PersistentVolume", "", name);
    volume["spec"] = json!({"persistentVolumeReclaimPolicy": policy});
    volume
}

const SET: (&str, &str, &str) = ("apps/v1", "StatefulSet", "db");

#[test]
fn what_an_object_owns_goes_along_through_all_levels() {
    let objects = [
        object("apps/v1", "Deployment", "shop", "web"),
        owned(object("apps/v1", "ReplicaSet", "shop", "web-1"), &[("apps/v1", "Deployment", "web")]),
        owned(object("v1", "Pod", "shop", "web-1-a"), &[("apps/v1", "ReplicaSet", "web-1")]),
        object("v1", "Pod", "shop", "stranger"),
    ];
    let (go, stay) = hangs(&objects, false, false, &[]);
    assert_eq!(go, ["1 apps/ReplicaSet shop/web-1: owned by it", "2 Pod shop/web-1-a: owned by it"]);
    assert!(stay.is_empty());
}

#[test]
fn an_object_with_another_living_owner_stays_unless_that_one_goes_too() {
    let both = [("v1", "ConfigMap", "a"), ("v1", "ConfigMap", "b")];
    let objects = [
        object("v1", "ConfigMap", "shop", "a"),
        object("v1", "ConfigMap", "shop", "b"),
        owned(object("v1", "Secret", "shop", "shared"), &both),
    ];
    assert_eq!(hangs(&objects, false, false, &[]), (vec![], vec!["1 Secret shop/shared: owned by another object as well".to_owned()]));
    assert_eq!(hangs(&objects, false, false, &["b"]).0, ["1 Secret shop/shared: owned by it"]);
    let absent = [objects[0].clone(), objects[2].clone()];
    assert_eq!(hangs(&absent, false, false, &[]).0, ["1 Secret shop/shared: owned by it"]);
}

#[test]
fn the_propagation_policy_orphan_lets_go_what_the_object_owns_itself() {
    let objects = [
        object("apps/v1", "Deployment", "shop", "web"),
        owned(object("apps/v1", "ReplicaSet", "shop", "web-1"), &[("apps/v1", "Deployment", "web")]),
        owned(object("v1", "Pod", "shop", "web-1-a"), &[("apps/v1", "ReplicaSet", "web-1")]),
    ];
    let (go, stay) = hangs(&objects, true, false, &[]);
    assert!(go.is_empty());
    assert_eq!(stay, ["1 apps/ReplicaSet shop/web-1: owned by it until now; PrunePropagationPolicy=orphan"]);
}

#[test]
fn everything_in_a_namespace_goes_whoever_owns_it_with_what_is_owned_below_its_owner() {
    let mut tracked = object("v1", "ConfigMap", "shop", "theirs");
    tracked["metadata"]["annotations"] = json!({"argocd.argoproj.io/tracking-id": "other:/ConfigMap:shop/theirs"});
    let objects = [
        object("v1", "Namespace", "", "shop"),
        tracked,
        object("apps/v1", "ReplicaSet", "shop", "web"),
        owned(object("v1", "Pod", "shop", "web-a"), &[("apps/v1", "ReplicaSet", "web")]),
        object("v1", "ConfigMap", "shop", "kube-root-ca.crt"),
        object("v1", "ConfigMap", "elsewhere", "other"),
    ];
    let (go, _) = hangs(&objects, false, false, &[]);
    let expected =
        ["1 ConfigMap shop/theirs: in the namespace", "1 apps/ReplicaSet shop/web: in the namespace", "2 Pod shop/web-a: owned by it"];
    assert_eq!(go, expected);
    let live = sample::snapshot("argocdVersion: '3.5'", &objects);
    let top = live.get(IN_CLUSTER_SERVER, &ResourceKey::new("", "Namespace", "", "shop")).unwrap();
    let found = of(top, &live, Deletion { going: &HashSet::new(), orphans: false, follows: &|_| false });
    assert_eq!(found.go[0].application.as_deref(), Some("argocd/other"));
}

#[test]
fn every_custom_resource_of_a_definition_goes_in_all_namespaces() {
    let mut definition = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "flasks.lab.test");
    definition["spec"] =
        json!({"group": "lab.test", "names": {"kind": "Flask", "plural": "flasks"}, "scope": "Namespaced", "versions": []});
    let objects = [definition, object("lab.test/v1", "Flask", "a", "one"), object("lab.test/v1", "Flask", "b", "two")];
    assert_eq!(hangs(&objects, false, false, &[]).0, ["1 lab.test/Flask a/one: of this kind", "1 lab.test/Flask b/two: of this kind"]);
}

#[test]
fn a_volume_goes_with_its_claim_unless_it_is_retained() {
    let with = |policy: &str| hangs(&[claim("data", "pv-1"), volume("pv-1", policy)], false, false, &[]);
    assert_eq!(with("Delete"), (vec!["1 PersistentVolume pv-1: its volume".to_owned()], vec![]));
    assert_eq!(with("Recycle"), (vec![], vec!["1 PersistentVolume pv-1: its volume, emptied by reclaim policy Recycle".to_owned()]));
    assert_eq!(with("Retain"), (vec![], vec!["1 PersistentVolume pv-1: its volume, with reclaim policy Retain".to_owned()]));
}

#[test]
fn a_statefulset_leaves_its_claims_behind() {
    let (go, stay) = hangs(&[set("Retain"), claim("data-db-0", "pv-1"), volume("pv-1", "Delete")], false, false, &[]);
    assert!(go.is_empty());
    assert_eq!(stay, ["1 PersistentVolumeClaim shop/data-db-0: its claim; a StatefulSet leaves its claims behind"]);
}

#[test]
fn a_statefulset_takes_its_claims_along_where_it_owns_them_or_says_so() {
    let owned_claim = owned(claim("data-db-0", "pv-1"), &[SET]);
    let (go, _) = hangs(&[set("Delete"), owned_claim, volume("pv-1", "Delete")], false, false, &[]);
    assert_eq!(go, ["1 PersistentVolumeClaim shop/data-db-0: owned by it", "2 PersistentVolume pv-1: its volume"]);
    let (go, _) = hangs(&[set("Delete"), claim("data-db-0", "")], false, false, &[]);
    assert_eq!(go, ["1 PersistentVolumeClaim shop/data-db-0: its claim, by persistentVolumeClaimRetentionPolicy"]);
}

#[test]
fn a_claim_that_the_application_tracks_is_deleted_once_its_set_is_gone() {
    let (go, _) = hangs(&[set("Retain"), claim("data-db-0", "")], false, true, &[]);
    assert_eq!(go, ["1 PersistentVolumeClaim shop/data-db-0: its claim, which the Application tracks and deletes next"]);
}

#[test]
fn objects_that_own_each_other_are_followed_once() {
    let objects = [
        owned(object("v1", "ConfigMap", "shop", "a"), &[("v1", "ConfigMap", "b")]),
        owned(object("v1", "ConfigMap", "shop", "b"), &[("v1", "ConfigMap", "a")]),
    ];
    assert_eq!(hangs(&objects, false, false, &[]).0, ["1 ConfigMap shop/b: owned by it"]);
}
