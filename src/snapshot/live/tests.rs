//! What the look-ups of live state answer.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::argocd::TrackingMethod;
use crate::argocd::names::{IN_CLUSTER_SERVER as HERE, INSTALLATION_ID, TRACKING_ID};
use crate::snapshot::assemble::{AssumedObject, Parts, Raw, assemble};
use crate::snapshot::settings::Stated;

fn state_with(entries: &[(&str, &str)], objects: &[Value]) -> LiveState {
    let raw = |object: &Value| {
        let text = object.to_string().into_bytes();
        let range = 0..text.len();
        Raw { cluster: HERE.into(), body: Body::text(Arc::new(text), range) }
    };
    let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let stated = Stated { entries, ..Stated::default() };
    assemble(Parts { objects: objects.iter().map(raw).collect(), stated, ..Parts::default() })
}

fn state(objects: &[Value]) -> LiveState {
    state_with(&[], objects)
}

fn object(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "uid": format!("uid-{kind}-{name}")}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}

fn tracked(mut object: Value, instance: &str) -> Value {
    let key = ResourceKey::of(&object).unwrap();
    let id = format!("{instance}:{}/{}:{}/{}", key.group, key.kind, key.namespace, key.name);
    object["metadata"]["annotations"] = json!({TRACKING_ID: id});
    object
}

fn owned(mut object: Value, owner: &Value) -> Value {
    let reference = json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true});
    object["metadata"]["ownerReferences"] = json!([reference]);
    object
}

fn names<'a>(objects: impl IntoIterator<Item = &'a Arc<LiveObject>>) -> Vec<String> {
    objects.into_iter().map(|object| object.key.to_string()).collect()
}

#[test]
fn objects_are_found_by_key_and_come_in_the_order_of_keys() {
    let state =
        state(&[object("v1", "Service", "shop", "b"), object("apps/v1", "Deployment", "shop", "a"), object("v1", "Service", "bar", "c")]);
    assert_eq!(names(state.all()), ["Service bar/c", "Service shop/b", "apps/Deployment shop/a"]);
    let key = ResourceKey::new("apps", "Deployment", "shop", "a");
    let found = state.get(HERE, &key).unwrap();
    assert_eq!(
        (found.object()["kind"].as_str(), &*found.version, found.uid.as_deref()),
        (Some("Deployment"), "v1", Some("uid-Deployment-a"))
    );
    assert!(state.get("https://other.test", &key).is_none());
    assert_eq!(names(state.of_kind(HERE, "", "Service")), ["Service bar/c", "Service shop/b"]);
    assert_eq!(names(state.in_namespace(HERE, "shop")), ["Service shop/b", "apps/Deployment shop/a"]);
    assert_eq!(state.in_namespace(HERE, "none").count(), 0);
}

#[test]
fn an_application_manages_what_it_tracks_and_nobody_owns_in_any_namespace() {
    let deployment = tracked(object("apps/v1", "Deployment", "shop", "web"), "shop");
    let copied_annotation = owned(tracked(object("apps/v1", "ReplicaSet", "shop", "web-1"), "shop"), &deployment);
    let elsewhere = tracked(object("v1", "ConfigMap", "other", "cm"), "shop");
    let state = state(&[deployment, copied_annotation, elsewhere, tracked(object("v1", "ConfigMap", "shop", "x"), "shop2")]);
    assert_eq!(names(state.tracked_by(HERE, "shop")), ["ConfigMap other/cm", "apps/Deployment shop/web"]);
    let replica_set = state.get(HERE, &ResourceKey::new("apps", "ReplicaSet", "shop", "web-1")).unwrap();
    assert_eq!(state.is_tracked(replica_set), Some("shop"));
    assert!(state.tracked_by(HERE, "sho").is_empty());
}

#[test]
fn all_three_tracking_methods_are_followed() {
    let mut both = tracked(object("v1", "ConfigMap", "shop", "cm"), "by-annotation");
    both["metadata"]["labels"] = json!({"app.kubernetes.io/instance": "by-label", "team/app": "by-own-label"});
    both["metadata"]["annotations"][INSTALLATION_ID] = "i1".into();
    let instance = |entries: &[(&str, &str)]| {
        let state = state_with(entries, std::slice::from_ref(&both));
        state.all()[0].tracking.as_deref().map(str::to_owned)
    };
    let method = "application.resourceTrackingMethod";
    assert_eq!(instance(&[]).as_deref(), Some("by-annotation"));
    assert_eq!(instance(&[(method, "annotation+label")]).as_deref(), Some("by-annotation"));
    assert_eq!(instance(&[(method, "label")]).as_deref(), Some("by-label"));
    assert_eq!(instance(&[(method, "label"), ("application.instanceLabelKey", "team/app")]).as_deref(), Some("by-own-label"));
    assert_eq!(instance(&[("installationID", "i1")]).as_deref(), Some("by-annotation"));
    assert_eq!(instance(&[("installationID", "i2")]), None);
}

#[test]
fn a_live_argocd_cm_decides_the_settings() {
    let mut config = object("v1", "ConfigMap", "gitops", "argocd-cm");
    config["data"] = json!({"application.resourceTrackingMethod": "label"});
    let unlabelled = state(std::slice::from_ref(&config));
    assert_eq!((unlabelled.settings().tracking.method, unlabelled.settings().namespace.as_str()), (TrackingMethod::Annotation, "argocd"));
    config["metadata"]["labels"] = json!({"app.kubernetes.io/part-of": "argocd"});
    let labelled = state_with(&[("application.resourceTrackingMethod", "annotation"), ("x", "y")], &[config]);
    assert_eq!((labelled.settings().tracking.method, labelled.settings().namespace.as_str()), (TrackingMethod::Label, "gitops"));
    assert_eq!(labelled.settings().entry("x"), Some("y"));
}

#[test]
fn a_live_argocd_cm_without_exclusions_excludes_nothing_but_what_is_built_in() {
    let mut config = object("v1", "ConfigMap", "argocd", "argocd-cm");
    config["metadata"]["labels"] = json!({"app.kubernetes.io/part-of": "argocd"});
    let excludes = |state: &LiveState, kind: &str| state.settings().filter.excludes("", kind, HERE);
    let bare = state(&[config]);
    assert!(!excludes(&bare, "Endpoints") && excludes(&bare, "Event"));
    let unknown = state(&[object("v1", "ConfigMap", "shop", "a")]);
    assert!(excludes(&unknown, "Endpoints"), "where nothing is known, the list that is shipped applies");
}

#[test]
fn the_version_is_that_of_the_live_controller_where_nothing_states_it() {
    let mut controller = object("apps/v1", "StatefulSet", "gitops", "argocd-application-controller");
    controller["metadata"]["labels"] = json!({"app.kubernetes.io/part-of": "argocd"});
    controller["spec"] = json!({"template": {"spec": {"containers": [{"image": "registry.test:5000/argocd:v2.14.3@sha256:0"}]}}});
    let state = state(&[controller]);
    assert_eq!(state.settings().known_version.map(|version| version.to_string()).as_deref(), Some("2.14"));
    assert_eq!((state.settings().tracking.method, state.settings().namespace.as_str()), (TrackingMethod::Label, "gitops"));
}

#[test]
fn children_are_found_by_uid_and_not_by_a_namesake_with_another_uid() {
    let deployment = object("apps/v1", "Deployment", "shop", "web");
    let child = owned(object("apps/v1", "ReplicaSet", "shop", "web-1"), &deployment);
    let mut stale = owned(object("apps/v1", "ReplicaSet", "shop", "web-0"), &deployment);
    stale["metadata"]["ownerReferences"][0]["uid"] = "gone".into();
    let grandchild = owned(object("v1", "Pod", "shop", "web-1-x"), &child);
    let state = state(&[deployment, child, stale, grandchild]);
    let web = state.get(HERE, &ResourceKey::new("apps", "Deployment", "shop", "web")).unwrap();
    assert_eq!(names(state.owned_by(HERE, web)), ["apps/ReplicaSet shop/web-1"]);
    let replica_set = state.owned_by(HERE, web).next().unwrap();
    assert_eq!(names(state.owned_by(HERE, replica_set)), ["Pod shop/web-1-x"]);
    assert!(replica_set.owners[0].controller && !replica_set.owners[0].inferred);
}

#[test]
fn a_reference_without_uid_finds_its_owner_by_name_in_the_namespace_or_cluster_wide() {
    let mut node = object("v1", "Node", "", "n1");
    node["metadata"]["uid"] = Value::Null;
    let pod = owned(object("v1", "Pod", "kube-system", "proxy"), &node);
    let mut job = object("batch/v1", "Job", "shop", "migrate");
    job["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly"}]);
    let state = state(&[node, pod, job, object("batch/v1", "CronJob", "shop", "nightly"), object("batch/v1", "CronJob", "bar", "nightly")]);
    let child_of = |key: ResourceKey| names(state.owned_by(HERE, state.get(HERE, &key).unwrap()));
    assert_eq!(child_of(ResourceKey::new("", "Node", "", "n1")), ["Pod kube-system/proxy"]);
    assert_eq!(child_of(ResourceKey::new("batch", "CronJob", "shop", "nightly")), ["batch/Job shop/migrate"]);
    assert!(child_of(ResourceKey::new("batch", "CronJob", "bar", "nightly")).is_empty());
}

#[test]
fn owners_are_inferred_as_argo_cd_infers_them() {
    let mut token = tracked(object("v1", "Secret", "shop", "token"), "shop");
    token["type"] = "kubernetes.io/service-account-token".into();
    token["metadata"]["annotations"]["kubernetes.io/service-account.name"] = "web".into();
    let token_without_uid = token.clone();
    token["metadata"]["name"] = "token-2".into();
    token["metadata"]["annotations"]["kubernetes.io/service-account.uid"] = "uid-ServiceAccount-web".into();
    let mut version = tracked(object("operators.coreos.com/v1alpha1", "ClusterServiceVersion", "shop", "csv"), "shop");
    version["metadata"]["annotations"]["olm.operatorGroup"] = "group".into();
    let state = state(&[
        token_without_uid,
        token,
        version,
        tracked(object("v1", "Endpoints", "shop", "web"), "shop"),
        object("v1", "Service", "shop", "web"),
        object("v1", "ServiceAccount", "shop", "web"),
        object("operators.coreos.com/v1", "OperatorGroup", "shop", "group"),
    ]);
    assert_eq!(names(state.tracked_by(HERE, "shop")), ["Secret shop/token"]);
    let child_of = |group, kind, name| names(state.owned_by(HERE, state.get(HERE, &ResourceKey::new(group, kind, "shop", name)).unwrap()));
    assert_eq!(child_of("", "ServiceAccount", "web"), ["Secret shop/token-2"]);
    assert!(child_of("operators.coreos.com", "OperatorGroup", "group").len() == 1);
}

#[test]
fn a_claim_belongs_to_the_live_statefulset_whose_template_names_it() {
    let mut statefulset = object("apps/v1", "StatefulSet", "shop", "db");
    statefulset["spec"] = json!({"volumeClaimTemplates": [{"metadata": {"name": "data"}}]});
    let claim = |namespace: &str, name: &str| tracked(object("v1", "PersistentVolumeClaim", namespace, name), "shop");
    let claims = [
        claim("shop", "data-db-0"),
        claim("shop", "old-data-db-12"),
        claim("shop", "data-db"),
        claim("bar", "data-db-0"),
        claim("shop", "data-db-0x"),
    ];
    let with = state(&[&claims[..], &[statefulset]].concat());
    let free = ["PersistentVolumeClaim bar/data-db-0", "PersistentVolumeClaim shop/data-db", "PersistentVolumeClaim shop/data-db-0x"];
    assert_eq!(names(with.tracked_by(HERE, "shop")), free);
    let owner = with.get(HERE, &ResourceKey::new("apps", "StatefulSet", "shop", "db")).unwrap();
    assert_eq!(names(with.owned_by(HERE, owner)), ["PersistentVolumeClaim shop/data-db-0", "PersistentVolumeClaim shop/old-data-db-12"]);
    assert_eq!(state(&claims).tracked_by(HERE, "shop").len(), 5);
}

#[test]
fn a_claims_volume_is_found_by_either_side() {
    let claim = |name: &str, volume: &str| {
        let mut claim = object("v1", "PersistentVolumeClaim", "shop", name);
        claim["spec"] = json!({"volumeName": volume});
        claim
    };
    let mut by_reference = object("v1", "PersistentVolume", "", "pv-2");
    by_reference["spec"] = json!({"claimRef": {"namespace": "shop", "name": "b"}});
    let state = state(&[claim("a", "pv-1"), claim("b", ""), claim("c", ""), object("v1", "PersistentVolume", "", "pv-1"), by_reference]);
    let volume = |name: &str| {
        let claim = state.get(HERE, &ResourceKey::new("", "PersistentVolumeClaim", "shop", name)).unwrap();
        state.persistent_volume_of(claim).map(|volume| volume.key.name.to_string())
    };
    assert_eq!([volume("a"), volume("b"), volume("c")], [Some("pv-1".to_owned()), Some("pv-2".to_owned()), None]);
}

#[test]
fn objects_without_kind_or_name_are_left_out_and_said() {
    let state =
        state(&[json!({"apiVersion": "v1", "metadata": {"name": "x"}}), json!({"kind": "Pod"}), json!(3), object("v1", "Pod", "a", "p")]);
    assert_eq!(names(state.all()), ["Pod a/p"]);
    assert_eq!(state.incomplete().len(), 3);
}

#[test]
fn of_the_same_object_read_twice_the_last_counts() {
    let mut second = object("v1", "ConfigMap", "shop", "cm");
    second["data"] = json!({"a": "b"});
    let first = object("v1", "ConfigMap", "shop", "cm");
    let state_of_both = state(&[first.clone(), second.clone()]);
    assert_eq!(state_of_both.all().len(), 1);
    assert_eq!(state_of_both.all()[0].object(), &second);
    assert!(state_of_both.incomplete()[0].contains("ConfigMap shop/cm"));
    assert!(state(&[first.clone(), first]).incomplete().is_empty());
}

#[test]
fn assumed_state_takes_identity_and_tracking_from_the_caller() {
    let assumed = |instance: &str, object: Value| {
        let key = ResourceKey::of(&object).unwrap().in_namespace("shop");
        AssumedObject::as_is(key, HERE.into(), Arc::new(object), Some(instance.into()))
    };
    let state = LiveState::assumed([
        assumed("a", object("v1", "ConfigMap", "", "cm")),
        assumed("b", object("v1", "ConfigMap", "", "cm")),
        assumed("a", object("apps/v1", "Deployment", "", "web")),
    ]);
    assert!(state.is_assumed() && state.sources().is_empty());
    assert_eq!(names(state.tracked_by(HERE, "a")), ["apps/Deployment shop/web"]);
    assert_eq!(names(state.tracked_by(HERE, "b")), ["ConfigMap shop/cm"]);
    assert_eq!(state.scope(HERE, "", "Namespace"), Some(Scope::Cluster));
}

#[test]
fn the_empty_state_knows_the_cluster_it_runs_in() {
    let state = LiveState::default();
    assert_eq!(state.cluster_by_name("in-cluster").as_deref(), Ok(HERE));
    assert!(state.cluster_by_server("https://kubernetes.default.svc/").is_some());
    assert_eq!(state.serves(HERE, "argoproj.io", "v1alpha1", "Application"), Serves::Yes);
    assert_eq!(state.serves("https://other.test", "", "v1", "Pod"), Serves::Yes);
}

#[test]
fn what_is_printed_for_debugging_holds_no_content() {
    let mut config = object("v1", "ConfigMap", "shop", "cm");
    config["data"] = json!({"a": "canary"});
    let state = state(&[config]);
    state.all()[0].object();
    let printed = format!("{state:?}");
    assert!(printed.contains("ConfigMap shop/cm") && !printed.contains("canary"));
}
