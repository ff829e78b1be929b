use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{DiffContext, IgnoreRules, LAST_APPLIED, Method, ObjectDiff, REDACTED, StatusIgnore, Strategy, diff};
use crate::argocd::settings::Settings;
use crate::argocd::tracking::Tracking;
use crate::plan::schema::Schemas;

mod properties;
mod random;

fn rules(application: Value) -> IgnoreRules {
    IgnoreRules::compile(Some(&application), &BTreeMap::new()).expect("valid rules")
}

fn compare_with(target: &Value, live: &Value, rules: &IgnoreRules, server_side_apply: bool) -> ObjectDiff {
    let method = if server_side_apply { Method::StructuredMerge } else { Method::ThreeWay };
    diff(target, live, &DiffContext { method, ..context(rules, &Settings::default().tracking) })
}

fn context<'a>(rules: &'a IgnoreRules, tracking: &'a Tracking) -> DiffContext<'a> {
    DiffContext {
        method: Method::ThreeWay,
        ignore: rules,
        tracking,
        shows_foreign_tracking_id: true,
        schemas: Schemas::builtin(),
        ignore_aggregated_roles: false,
        ignore_status: StatusIgnore::All,
        secret_values_unknown: false,
    }
}

fn compare(target: &Value, live: &Value) -> ObjectDiff {
    compare_with(target, live, &IgnoreRules::default(), false)
}

fn paths(found: &ObjectDiff) -> Vec<&str> {
    found.fields.iter().map(|field| field.path.as_str()).collect()
}

/// The live object after kubectl applied `applied`, with fields of others on top.
fn applied(applied: &Value, others: &Value) -> Value {
    let mut live = applied.clone();
    overlay(&mut live, others);
    live["metadata"]["annotations"][LAST_APPLIED] = Value::String(format!("{applied}\n"));
    live
}

fn overlay(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                overlay(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

fn deployment(cpu: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "ns"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "a", "image": "a:1", "resources": {"limits": {"cpu": cpu}}}]}}}})
}

#[test]
fn s9_54_quantities_are_the_same_in_built_in_kinds_and_rollouts_but_not_in_other_custom_resources() {
    assert!(!compare(&deployment("1000m"), &deployment("1")).modified);
    assert!(compare(&deployment("1000m"), &deployment("2")).modified);
    let custom = |group: &str, kind: &str, cpu: &str| {
        let mut object = deployment(cpu);
        object["apiVersion"] = json!(format!("{group}/v1alpha1"));
        object["kind"] = json!(kind);
        object
    };
    assert!(!compare(&custom("argoproj.io", "Rollout", "1000m"), &custom("argoproj.io", "Rollout", "1")).modified);
    let found = compare(&custom("example.test", "Shelf", "1000m"), &custom("example.test", "Shelf", "1"));
    assert_eq!(paths(&found), ["/spec/template/spec/containers/0/resources/limits/cpu"]);
}

#[test]
fn s9_55_string_data_equals_its_encoded_live_form() {
    let target = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}});
    let live = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "Yg=="}, "type": "Opaque"});
    assert!(!compare(&target, &live).modified);
}

#[test]
fn s9_56_a_removed_key_is_noticed_only_with_last_applied() {
    let map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data});
    let (before, after) = (map(json!({"a": "1", "b": "2"})), map(json!({"a": "1"})));
    let found = compare(&after, &applied(&before, &json!({})));
    assert_eq!((found.strategy, paths(&found)), (Strategy::ThreeWay, vec!["/data/b"]));
    let found = compare(&after, &before);
    assert_eq!((found.strategy, found.modified), (Strategy::TwoWay, false));
    let mut unreadable = before.clone();
    unreadable["metadata"]["annotations"] = json!({LAST_APPLIED: "{"});
    assert_eq!(compare(&after, &unreadable).strategy, Strategy::TwoWay);
}

#[test]
fn s9_57_an_unknown_field_is_always_a_difference() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}});
    let mut target = map.clone();
    target["invalidKey"] = json!(true);
    assert_eq!(paths(&compare(&target, &applied(&map, &json!({})))), ["/invalidKey"]);
    let found = compare_with(&target, &map, &IgnoreRules::default(), true);
    assert_eq!(found.error.map(|error| error.to_string()).as_deref(), Some("field not declared in schema: /invalidKey"));
}

#[test]
fn s9_58_an_empty_list_equals_an_absent_one() {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}});
    let mut target = account.clone();
    target["imagePullSecrets"] = json!([]);
    assert!(!compare(&target, &account).modified);
    let role =
        |rules: Value| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": rules});
    assert!(!compare(&role(json!([])), &role(json!(null))).modified);
}

#[test]
fn s9_59_ignored_replicas_are_no_difference() {
    let mut target = deployment("1");
    target["spec"]["replicas"] = json!(3);
    let mut live = deployment("1");
    live["spec"]["replicas"] = json!(10);
    let rules = rules(json!([{"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}]));
    assert!(!compare_with(&target, &live, &rules, false).modified);
    assert_eq!(paths(&compare(&target, &live)), ["/spec/replicas"]);
}

#[test]
fn s9_63_an_object_that_moved_to_another_application_differs_from_3_4_on() {
    let map = |id: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c",
            "labels": {"app.kubernetes.io/instance": "a"}, "annotations": {"argocd.argoproj.io/tracking-id": id}}})
    };
    let (target, live) = (map("b:/ConfigMap:ns/c"), map("a:/ConfigMap:ns/c"));
    let found = compare(&target, &live);
    assert_eq!(paths(&found), ["/metadata/annotations/argocd.argoproj.io~1tracking-id"]);
    let (rules, tracking) = (IgnoreRules::default(), Settings::default().tracking);
    let older = DiffContext { shows_foreign_tracking_id: false, ..context(&rules, &tracking) };
    assert!(!diff(&target, &live, &older).modified);
}

#[test]
fn a_live_object_that_was_tracked_by_label_is_in_sync() {
    let target = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "annotations": {"argocd.argoproj.io/tracking-id": "a:/ConfigMap:ns/c"}}});
    let labelled =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "labels": {"app.kubernetes.io/instance": "a"}}});
    assert!(!compare(&target, &labelled).modified);
    let bare = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
    assert_eq!(paths(&compare(&target, &bare)), ["/metadata/annotations"]);
}

#[test]
fn s9_81_a_parameter_that_only_the_live_application_has_is_no_difference() {
    let app = |helm: Value| json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "child"}, "spec": {"source": {"helm": helm}}});
    let set = json!([{"name": "image.tag", "value": "2"}]);
    let without = app(json!({"releaseName": "r"}));
    assert!(!compare(&without, &applied(&without, &json!({"spec": {"source": {"helm": {"parameters": set}}}}))).modified);
    let with = app(json!({"parameters": [{"name": "image.tag", "value": "1"}]}));
    let found = compare(&with, &applied(&with, &json!({"spec": {"source": {"helm": {"parameters": set}}}})));
    assert_eq!(paths(&found), ["/spec/source/helm/parameters/0/value"]);
}

#[test]
fn values_of_secrets_never_show() {
    let secret = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": value}});
    let found = compare(&secret("Yg=="), &secret("YQ=="));
    assert!(found.modified);
    let change = &found.fields[0];
    assert_eq!((change.path.as_str(), &change.live, &change.target), ("/data/a", &Some(json!(REDACTED)), &Some(json!(REDACTED))));
}

#[test]
fn with_redacted_secrets_only_keys_are_compared() {
    let secret = |data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": data});
    let (rules, tracking) = (IgnoreRules::default(), Settings::default().tracking);
    let ctx = DiffContext { secret_values_unknown: true, ..context(&rules, &tracking) };
    let live = secret(json!({"a": null}));
    assert!(!diff(&secret(json!({"a": "YQ=="})), &live, &ctx).modified);
    assert_eq!(paths(&diff(&secret(json!({"a": "YQ==", "b": "YQ=="})), &live, &ctx)), ["/data/b"]);
}

#[test]
fn an_empty_map_in_git_and_in_what_was_applied_last_clears_the_live_one() {
    let labelled = |labels: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "labels": labels, "annotations": {"a": "b"}}});
    let live = applied(&labelled(json!({})), &json!({"metadata": {"labels": {"team": "x"}}}));
    assert_eq!(paths(&compare(&labelled(json!({})), &live)), ["/metadata/labels"]);
    let live = applied(&labelled(json!({})), &json!({}));
    assert!(!compare(&labelled(json!({})), &live).modified);
}

#[test]
fn a_server_side_diff_shows_a_new_port_as_the_server_fills_it_in() {
    let service = |ports: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}});
    let target = service(json!([{"port": 80, "targetPort": 0, "protocol": "TCP"}]));
    let (rules, tracking) = (IgnoreRules::default(), Settings::default().tracking);
    let ctx = DiffContext { method: Method::ServerSide, ..context(&rules, &tracking) };
    let live = |target_port: u16| service(json!([{"port": 80, "targetPort": target_port, "protocol": "TCP"}]));
    assert!(!diff(&target, &live(80), &ctx).modified);
    let found = diff(&target, &live(81), &ctx);
    assert_eq!(found.fields.iter().map(|field| field.target.clone()).collect::<Vec<_>>(), [Some(json!(80))]);
    let found = diff(&target, &service(json!([])), &ctx);
    assert_eq!(found.fields[0].target.as_ref().and_then(|ports| ports.pointer("/0/targetPort")), Some(&json!(80)));
}

#[test]
fn the_last_writer_of_a_field_is_named() {
    let mut live = deployment("1");
    live["spec"]["replicas"] = json!(5);
    live["metadata"]["managedFields"] = json!([
        {"manager": "argocd-controller", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
        {"manager": "kube-controller-manager", "operation": "Update", "subresource": "scale", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
    let mut target = deployment("1");
    target["spec"]["replicas"] = json!(2);
    assert_eq!(compare(&target, &live).fields[0].owner.as_deref(), Some("kube-controller-manager"));
}

#[test]
fn server_side_apply_removes_only_what_argo_cd_alone_owned() {
    let map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data});
    let mut live = map(json!({"a": "1", "b": "2", "c": "3", "d": "4"}));
    live["metadata"]["managedFields"] = json!([
        {"manager": "argocd-controller", "operation": "Apply", "fieldsV1": {"f:data": {"f:a": {}, "f:b": {}, "f:c": {}}}},
        {"manager": "other", "operation": "Update", "fieldsV1": {"f:data": {"f:c": {}, "f:d": {}}}}]);
    let found = compare_with(&map(json!({"a": "1"})), &live, &IgnoreRules::default(), true);
    assert_eq!((found.strategy, paths(&found)), (Strategy::StructuredMerge, vec!["/data/b"]));
    let same = map(json!({"a": "1", "b": "2", "c": "3"}));
    assert!(!compare_with(&same, &live, &IgnoreRules::default(), true).modified);
}

#[test]
fn a_context_is_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let (rules, tracking) = (IgnoreRules::default(), Settings::default().tracking);
    shared(&context(&rules, &tracking));
}

#[test]
fn objects_nested_deeper_than_any_parser_lets_through_are_compared() {
    let mut deep = Value::from("x");
    for _ in 0..500 {
        let mut map = Map::new();
        map.insert("a".to_owned(), deep);
        deep = Value::Object(map);
    }
    let target = json!({"apiVersion": "example.test/v1", "kind": "Shelf", "metadata": {"name": "x"}, "spec": 1});
    let mut live = target.clone();
    live["spec"] = deep;
    assert!(compare(&target, &live).modified);
}

#[test]
fn what_was_applied_last_never_shows_when_all_annotations_go() {
    let secret = |annotations: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": annotations}, "data": {"a": "c2VjcmV0"}});
    let mut target = secret(json!({}));
    target["metadata"].as_object_mut().unwrap().remove("annotations");
    let found = compare(&target, &applied(&secret(json!({"team": "x"})), &json!({})));
    assert_eq!(paths(&found), ["/metadata/annotations"]);
    assert_eq!(found.fields[0].live, Some(json!({"team": "x"})));
}
