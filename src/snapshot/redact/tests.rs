//! What is taken out of objects, and what stays.

use serde_json::json;

use super::*;

fn redacted(mut object: Value) -> Value {
    let original = object.clone();
    assert!(may_hold_secrets(object.to_string().as_bytes()), "the quick look must not miss {object}");
    assert!(redact(&mut object), "something must change in {original}");
    assert!(!object.to_string().contains("canary"), "{object}");
    let mut again = object.clone();
    assert!(!redact(&mut again), "redacting twice must change nothing");
    object
}

#[test]
fn the_keys_of_a_secret_stay_and_its_values_go() {
    let secret = redacted(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": {
        LAST_APPLIED: "{\"data\": {\"password\": \"canary\"}}", "copy": "{\"data\": {\"password\": \"canary\"}}", "team": "shop",
        "leak": "the password is canary!", "leak64": "password Y2FuYXJ5"}},
        "type": "Opaque", "data": {"password": "Y2FuYXJ5"}, "stringData": {"token": "canary"}, "unknown": "canary"}));
    assert_eq!(secret["data"], json!({"password": REDACTED}));
    assert_eq!(secret["stringData"], json!({"token": REDACTED}));
    assert_eq!(secret["metadata"]["annotations"], json!({"copy": REDACTED, "leak": REDACTED, "leak64": REDACTED, "team": "shop"}));
    assert!(is_redacted(&secret["data"]["password"]));
}

#[test]
fn of_a_cluster_secret_name_server_and_project_stay() {
    let secret = redacted(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c",
        "labels": {"argocd.argoproj.io/secret-type": "cluster", "region": "eu"}, "annotations": {"a": "b"}},
        "data": {"name": "ZXU=", "server": "aHR0cHM6Ly9hLnRlc3Q=", "config": "canary"}, "stringData": {"project": "shop", "config": "canary"}}));
    assert_eq!(secret["data"], json!({"name": "ZXU=", "server": "aHR0cHM6Ly9hLnRlc3Q="}));
    assert_eq!(secret["stringData"], json!({"project": "shop"}));
    assert_eq!(secret["metadata"]["labels"]["region"], "eu");
}

#[test]
fn nothing_that_helm_stores_of_a_release_stays() {
    let secret = redacted(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sh.helm.release.v1.a.v1"},
        "type": "helm.sh/release.v1", "data": {"release": "canary"}}));
    assert_eq!(secret.get("data"), None);
    let config_map = redacted(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a.v1", "labels": {"owner": "helm"}},
        "data": {"release": "canary"}}));
    assert_eq!(config_map["data"], json!({}));
}

#[test]
fn a_secret_inside_another_object_is_redacted_too() {
    let object = redacted(json!({"apiVersion": "template.test/v1", "kind": "Template", "objects": [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "canary"}}]}));
    assert_eq!(object["objects"][0]["data"]["a"], REDACTED);
}

#[test]
fn environment_values_go_by_their_names_and_in_what_was_applied_last_as_well() {
    let containers = json!([{"name": "c", "env": [{"name": "DB_PASSWORD", "value": "canary"}, {"name": "PORT", "value": "80"},
        {"name": "DATABASE_URL", "value": "postgres://u:canary@db/x"}, {"name": "API_TOKEN", "valueFrom": {"secretKeyRef": {"key": "token"}}}]}]);
    let applied = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {"containers": containers}}}});
    let mut deployment = applied.clone();
    deployment["metadata"] = json!({"name": "d", "annotations": {LAST_APPLIED: applied.to_string()}});
    let deployment = redacted(deployment);
    let env = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!((&env[0]["value"], &env[1]["value"], &env[2]["value"]), (&json!(REDACTED), &json!("80"), &json!(REDACTED)));
    assert_eq!(env[3]["valueFrom"]["secretKeyRef"]["key"], "token");
    let applied: Value = serde_json::from_str(deployment["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap()).unwrap();
    assert_eq!(applied["spec"], deployment["spec"]);
}

#[test]
fn helm_parameters_and_values_of_applications_go_by_their_names_wherever_a_source_stands() {
    let source = json!({"helm": {"parameters": [{"name": "auth.password", "value": "canary"}, {"name": "image.tag", "value": "1"}],
        "values": "db:\n  password: canary\n", "valuesObject": {"db": {"apiToken": "canary", "port": 5, "key": 7}}},
        "plugin": {"env": [{"name": "TOKEN", "value": "canary"}], "parameters": [{"name": "secret", "string": "canary"}]}});
    let application = redacted(json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"},
        "spec": {"source": source, "sources": [source]}, "operation": {"sync": {"source": source}},
        "status": {"history": [{"source": source}], "operationState": {"syncResult": {"sources": [source]}}}}));
    let helm = &application["spec"]["source"]["helm"];
    assert_eq!(helm["parameters"][1]["value"], "1");
    assert_eq!(helm["valuesObject"]["db"], json!({"apiToken": REDACTED, "port": 5, "key": REDACTED}));
    let set = redacted(json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "a"},
        "spec": {"generators": [{"scmProvider": {"tokenRef": {"secretName": "s", "key": "token"}}}], "template": {"spec": {"source": source}}}}));
    assert_eq!(set["spec"]["generators"][0]["scmProvider"]["tokenRef"]["key"], "token");
}

#[test]
fn connection_settings_in_argocd_cm_go_and_the_rest_stays() {
    let config_map = redacted(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm"},
        "data": {"dex.config": "clientSecret: canary", "oidc.config": "canary", "installationID": "i1"}}));
    assert_eq!(config_map["data"]["installationID"], "i1");
}

#[test]
fn a_last_applied_configuration_that_is_no_json_goes() {
    let config_map =
        redacted(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "annotations": {LAST_APPLIED: "canary {"}}}));
    assert_eq!(config_map["metadata"]["annotations"][LAST_APPLIED], REDACTED);
}

#[test]
fn what_holds_no_secret_stays_as_it_is() {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "annotations": {LAST_APPLIED: "{ \"data\": {}}"}},
        "data": {"password": "a ConfigMap is no secret"}});
    let before = object.clone();
    assert!(!redact(&mut object));
    assert_eq!(object, before);
}

#[test]
fn the_quick_look_passes_over_harmless_environments() {
    let pod = |env: Value| json!({"kind": "Pod", "spec": {"containers": [{"name": "token", "env": [env]}]}}).to_string();
    assert!(!may_hold_secrets(pod(json!({"name": "LOG_LEVEL", "value": "info"})).as_bytes()));
    assert!(!may_hold_secrets(pod(json!({"name": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "s"}}})).as_bytes()));
    assert!(may_hold_secrets(pod(json!({"value": "x", "name": "API_TOKEN"})).as_bytes()));
    assert!(may_hold_secrets(pod(json!({"name": "URL", "value": "redis://:pw@cache"})).as_bytes()));
}

proptest::proptest! {
    #[test]
    fn the_quick_look_never_misses_an_environment_variable_that_is_redacted(name in "[A-Za-z_.-]{0,12}(PASSWORD|Token|key|_url|)", value in "[a-z:/@ ]{0,20}") {
        let mut pod = json!({"kind": "Pod", "spec": {"containers": [{"env": [{"name": name, "value": value}]}]}});
        let looked = may_hold_secrets(pod.to_string().as_bytes());
        proptest::prop_assert!(looked || !redact(&mut pod));
    }
}
