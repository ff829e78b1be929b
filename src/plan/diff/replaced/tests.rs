use serde_json::{Value, json};

use super::taken_away;

fn paths(sent: &Value, live: &Value, before: Option<&Value>) -> Vec<String> {
    taken_away(sent, live, before).into_iter().map(|field| field.path).collect()
}

fn deployment(replicas: Option<i64>) -> Value {
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w", "namespace": "ns"},
        "spec": {"selector": {"matchLabels": {"app": "w"}}, "template": {"metadata": {"labels": {"app": "w"}},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}});
    if let Some(replicas) = replicas {
        object["spec"]["replicas"] = replicas.into();
    }
    object
}

#[test]
fn replicas_that_git_does_not_have_go_to_the_default_and_one_that_is_the_default_stays() {
    let found = taken_away(&deployment(None), &deployment(Some(4)), None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&*found[0].path, &found[0].live, &found[0].target), ("/spec/replicas", &Some(json!(4)), &Some(json!(1))));
    assert!(paths(&deployment(None), &deployment(Some(1)), None).is_empty());
    assert!(paths(&deployment(Some(2)), &deployment(Some(4)), None).is_empty(), "the comparison sees this");
}

#[test]
fn what_the_api_server_fills_in_and_controllers_note_is_not_lost() {
    let mut live = deployment(Some(1));
    live["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "3", "argocd.argoproj.io/tracking-id": "a:apps/Deployment:ns/w",
        "kubectl.kubernetes.io/last-applied-configuration": "{}"});
    live["metadata"]["uid"] = "u".into();
    live["spec"]["progressDeadlineSeconds"] = 600.into();
    live["spec"]["revisionHistoryLimit"] = 10.into();
    live["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
    live["spec"]["template"]["metadata"]["creationTimestamp"] = Value::Null;
    live["spec"]["template"]["spec"] = json!({"containers": [{"name": "c", "image": "i:1", "imagePullPolicy": "IfNotPresent", "resources": {},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}], "dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
        "schedulerName": "default-scheduler", "securityContext": {}, "terminationGracePeriodSeconds": 30});
    live["status"] = json!({"replicas": 1});
    assert_eq!(paths(&deployment(None), &live, None), Vec::<String>::new());
    live["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 90.into();
    assert_eq!(paths(&deployment(None), &live, None), ["/spec/template/spec/terminationGracePeriodSeconds"]);
}

#[test]
fn labels_annotations_finalizers_and_list_items_that_only_live_has_go() {
    let mut live = deployment(None);
    live["metadata"]["labels"] = json!({"team": "x"});
    live["metadata"]["annotations"] = json!({"note": "y"});
    live["metadata"]["finalizers"] = json!(["example.test/hold", "foregroundDeletion"]);
    live["spec"]["template"]["spec"]["containers"] = json!([{"name": "c", "image": "i:1", "env": [{"name": "A", "value": "1"}]}]);
    assert_eq!(
        paths(&deployment(None), &live, None),
        ["/metadata/annotations/note", "/metadata/finalizers", "/metadata/labels/team", "/spec/template/spec/containers/0/env"]
    );
}

#[test]
fn what_argo_cd_wrote_itself_is_a_default_unless_git_had_it_before() {
    let map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "ns"}, "data": data});
    let mut live = map(json!({"a": "1", "b": "2", "c": "3"}));
    live["metadata"]["managedFields"] = json!([
        {"manager": "argocd-controller", "operation": "Update", "fieldsV1": {"f:data": {"f:a": {}, "f:b": {}}}},
        {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:data": {"f:c": {}}}}]);
    assert_eq!(paths(&map(json!({"a": "1"})), &live, None), ["/data/c"]);
    assert_eq!(paths(&map(json!({"a": "1"})), &live, Some(&map(json!({"a": "1", "b": "2"})))), ["/data/b", "/data/c"]);
}

#[test]
fn what_the_server_assigns_to_a_service_stays() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "ns"},
        "spec": {"type": "NodePort", "selector": {"app": "w"}, "ports": [{"port": 80}]}});
    let mut live = service.clone();
    live["spec"] = json!({"type": "NodePort", "selector": {"app": "w"}, "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
        "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "externalTrafficPolicy": "Cluster",
        "sessionAffinity": "None", "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30080}]});
    assert_eq!(paths(&service, &live, None), Vec::<String>::new());
    live["spec"]["externalIPs"] = json!(["192.0.2.1"]);
    assert_eq!(paths(&service, &live, None), ["/spec/externalIPs"]);
}

#[test]
fn values_of_secrets_are_never_shown_and_custom_resources_without_owners_are_not_judged() {
    let secret = |data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "ns"}, "data": data});
    let found = taken_away(&secret(json!({})), &secret(json!({"password": "aHVudGVyMg=="})), None);
    assert_eq!(found[0].live, Some(json!("(redacted)")));
    let custom =
        |spec: Value| json!({"apiVersion": "example.test/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "ns"}, "spec": spec});
    assert!(paths(&custom(json!({})), &custom(json!({"size": 3})), None).is_empty());
}

#[test]
fn objects_of_a_real_api_server_lose_nothing_that_nobody_added() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/engine");
    let mut judged = 0;
    for case in std::fs::read_dir(root).unwrap() {
        let Ok(text) = std::fs::read_to_string(case.unwrap().path().join("live/objects.yaml")) else { continue };
        let documents = text.split("\n---\n").map(|text| serde_yaml::from_str::<Value>(text).unwrap());
        let objects = documents.flat_map(|document| document["items"].as_array().cloned().unwrap_or_else(|| vec![document]));
        for live in &objects.collect::<Vec<_>>() {
            let Some(last) = crate::manifest::annotation(live, crate::argocd::names::LAST_APPLIED) else { continue };
            let sent: Value = serde_json::from_str(last).unwrap();
            // A ControllerRevision has the annotation of the object that it is a copy of.
            if sent["kind"] != live["kind"] {
                continue;
            }
            let others = live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
            let mut stripped = live.clone();
            stripped["metadata"].as_object_mut().unwrap().remove("managedFields");
            let found = paths(&sent, &stripped, None);
            let by_somebody = others
                .filter_map(|entry| entry["manager"].as_str())
                .any(|manager| !["argocd-controller", "kube-controller-manager"].contains(&manager));
            assert!(found.is_empty() || by_somebody, "{} {}: {found:?}", live["kind"], live["metadata"]["name"]);
            judged += 1;
        }
    }
    assert!(judged > 100, "{judged}");
}
