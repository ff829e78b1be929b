//! Captures from the API of Argo CD over TLS, with answers shaped as its swagger file says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

#[path = "support/server.rs"]
mod server;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use presync::argocd::TrackingMethod;
use presync::manifest::ResourceKey;
use presync::snapshot::capture::{ArgocdCapture, ArgocdServer, CaptureError, Captured, Limits, from_argocd};
use presync::snapshot::{Input, LiveState, Serves, load_inputs};
use serde_json::{Value, json};
use server::{Answer, Asked, Server};
use tempfile::TempDir;

const HOME: &str = "https://kubernetes.default.svc";
const EU: &str = "https://eu.example.test";

fn application(name: &str, namespace: &str, destination: Value) -> Value {
    json!({"metadata": {"name": name, "namespace": namespace, "uid": name}, "spec": {"project": "shops", "destination": destination,
        "source": {"repoURL": "https://git.example.test/fleet.git", "path": name, "helm": {"parameters": [{"name": "token", "value": "canary"}]}}},
        "status": {"sync": {"status": "Synced", "revision": "abc"}}})
}

fn managed(objects: &[Value]) -> Answer {
    let items = objects.iter().map(|object| {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        json!({"kind": text("/kind"), "name": text("/metadata/name"), "namespace": text("/metadata/namespace"), "liveState": object.to_string(),
            "targetState": "null", "normalizedLiveState": object.to_string(), "predictedLiveState": "null"})
    });
    let missing = json!({"kind": "Service", "name": "new", "liveState": "null", "targetState": "{}"});
    Answer::json(&json!({"items": items.chain([missing]).collect::<Vec<_>>()}))
}

fn answer(asked: &Asked) -> Answer {
    assert_eq!((asked.method.as_str(), asked.header("authorization")), ("GET", "Bearer argo-token"));
    match asked.path.trim_start_matches("/argocd") {
        "/api/version" => Answer::json(&json!({"Version": "v3.3.2+abcdef"})),
        "/api/v1/settings" => Answer::json(&json!({"appLabelKey": "argocd.argoproj.io/instance", "trackingMethod": "annotation+label",
            "installationID": "i1", "controllerNamespace": "gitops", "kustomizeOptions": {"buildOptions": "--enable-helm"},
            "resourceOverrides": {"apps/Deployment": {"ignoreDifferences": "jsonPointers:\n- /spec/replicas\n"}},
            "oidcConfig": {"name": "canary"}})),
        "/api/v1/clusters" => Answer::json(&json!({"items": [
            {"server": HOME, "name": "in-cluster", "info": {"serverVersion": "1.36", "apiVersions": ["v1", "v1/ConfigMap", "v1/Secret"]}},
            {"server": EU, "name": "eu", "project": "shops", "labels": {"region": "eu"}, "namespaces": ["shop"], "config": {"bearerToken": "canary"},
                "info": {"serverVersion": "1.35", "apiVersions": ["apps/v1", "apps/v1/Deployment"]}}]})),
        "/api/v1/projects" => {
            Answer::json(&json!({"items": [{"metadata": {"name": "shops", "namespace": "gitops"}, "spec": {"sourceRepos": ["*"]}}]}))
        }
        "/api/v1/applicationsets" => {
            Answer::json(&json!({"items": [{"metadata": {"name": "all", "namespace": "gitops"}, "spec": {"generators": []}}]}))
        }
        "/api/v1/applications" => Answer::json(&json!({"items": [
            application("home", "gitops", json!({"server": HOME, "namespace": "shop"})),
            application("eu", "team", json!({"name": "eu", "namespace": "shop"}))]})),
        "/api/v1/applications/home/managed-resources" => {
            assert_eq!((asked.query("appNamespace"), asked.query("project")), ("gitops", "shops"));
            let tracked =
                json!({"argocd.argoproj.io/tracking-id": "home:/ConfigMap:shop/settings", "argocd.argoproj.io/installation-id": "i1"});
            managed(&[
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop", "annotations": tracked}}),
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "shop"}, "data": {"password": "++++++++"}}),
            ])
        }
        "/api/v1/applications/eu/managed-resources" => managed(&[
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 2}}),
        ]),
        _ => Answer::new(404, r#"{"error": "Not Found", "code": 5, "message": "Not Found"}"#),
    }
}

fn certificate(server: &Server) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("ca.pem");
    fs::write(&file, &server.certificate).unwrap();
    (folder, file)
}

fn capture(server: &Server, path: &str) -> Result<Captured, CaptureError> {
    let (_folder, file) = certificate(server);
    let options = ArgocdCapture {
        server: ArgocdServer { url: format!("{}{path}", server.url), token: "argo-token".into(), ca_file: Some(file) },
        limits: Limits { first_wait: Duration::from_millis(5), per_second: 1000, ..Limits::default() },
        ..ArgocdCapture::default()
    };
    from_argocd(&options, Arc::new(|_| {}))
}

fn load(captured: Captured) -> (LiveState, String) {
    let mut bytes = Vec::new();
    captured.write(true, &mut bytes).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    (load_inputs(vec![Input::Bytes { name: "captured".into(), bytes }]).unwrap(), text)
}

#[test]
fn one_capture_holds_all_clusters_with_settings_and_projects() {
    for path in ["", "/argocd/"] {
        let (live, text) = load(capture(&Server::tls(answer), path).unwrap());
        assert!(!text.contains("canary"), "{text}");
        let settings = live.settings();
        assert_eq!((settings.namespace.as_str(), settings.tracking.installation_id.as_str()), ("gitops", "i1"));
        assert_eq!(settings.known_version.map(|version| version.to_string()).as_deref(), Some("3.3"));
        assert_eq!(settings.tracking.method, TrackingMethod::AnnotationAndLabel);
        assert!(settings.entries["resource.customizations"].contains("/spec/replicas"));
        assert_eq!(live.cluster_by_name("eu").as_deref(), Ok(EU));
        let eu = live.cluster_by_server(EU).unwrap();
        assert!(eu.only_managed && eu.registered && eu.project == "shops" && eu.labels["region"] == "eu");
        let limit = eu.limit.as_ref().unwrap();
        assert!(limit.takes("shop") && !limit.takes("other") && !limit.takes(""));
        assert!(!live.cluster_by_server(HOME).unwrap().registered);
        assert_eq!(live.serves(EU, "apps", "v1", "Deployment"), Serves::Yes);
        assert_eq!(live.tracked_by(HOME, "home").len(), 1);
        assert!(live.get(EU, &ResourceKey::new("apps", "Deployment", "shop", "web")).is_some());
        let secret = live.get(HOME, &ResourceKey::new("", "Secret", "shop", "login")).unwrap();
        assert_eq!(secret.object()["data"]["password"], "presync:redacted");
        let of_argocd: Vec<_> =
            live.all().iter().filter(|object| &*object.key.group == "argoproj.io").map(|object| object.key.to_string()).collect();
        assert_eq!(
            of_argocd,
            [
                "argoproj.io/AppProject gitops/shops",
                "argoproj.io/Application gitops/home",
                "argoproj.io/Application team/eu",
                "argoproj.io/ApplicationSet gitops/all"
            ]
        );
        assert_eq!(live.incomplete().len(), 1, "{:?}", live.incomplete());
        assert!(live.incomplete()[0].contains("resource.exclusions"));
    }
}

#[test]
fn what_the_account_may_not_see_is_named() {
    let server = Server::tls(|asked| match asked.path.as_str() {
        "/api/v1/clusters" => Answer::new(403, r#"{"error": "permission denied", "code": 7, "message": "permission denied"}"#),
        "/api/v1/applications/home/managed-resources" => Answer::new(500, r#"{"message": "cache: key is missing", "code": 2}"#),
        _ => answer(asked),
    });
    let (live, _) = load(capture(&server, "").unwrap());
    let incomplete = live.incomplete().join("\n");
    assert!(incomplete.contains("/api/v1/clusters: permission denied (status 403)"), "{incomplete}");
    assert!(incomplete.contains("/home/managed-resources: cache: key is missing"), "{incomplete}");
    assert!(incomplete.contains("team/eu: no cluster has the name of its destination"), "{incomplete}");
    assert_eq!(live.unlisted_applications().iter().map(String::as_str).collect::<Vec<_>>(), ["gitops/home", "team/eu"]);
}

#[test]
fn a_token_that_is_not_accepted_and_hidden_applications_are_errors() {
    let server = Server::tls(|_| Answer::new(401, r#"{"error": "invalid session", "code": 16}"#));
    assert!(matches!(capture(&server, ""), Err(CaptureError::Unauthorized { .. })));
    let server = Server::tls(|asked| match asked.path.as_str() {
        "/api/v1/applications" => Answer::new(403, r#"{"message": "permission denied"}"#),
        _ => answer(asked),
    });
    assert!(matches!(capture(&server, ""), Err(CaptureError::Nothing { .. })));
}

#[test]
fn a_token_is_not_sent_without_tls_to_another_machine() {
    let options = ArgocdCapture {
        server: ArgocdServer { url: "http://argocd.example.test".into(), token: "argo-token".into(), ca_file: None },
        ..ArgocdCapture::default()
    };
    let error = from_argocd(&options, Arc::new(|_| {})).unwrap_err().to_string();
    assert!(error.contains("only sent over https") && !error.contains("argo-token"), "{error}");
}

#[test]
fn the_command_reads_the_token_from_a_file_or_the_environment_and_never_prints_it() {
    let server = Server::tls(answer);
    let (folder, file) = certificate(&server);
    let run = |arguments: &[&str], token: Option<&str>| {
        let mut command = assert_cmd::Command::cargo_bin("presync").unwrap();
        command.current_dir(folder.path()).env_clear().env("NO_COLOR", "1");
        token.map(|token| command.env("ARGOCD_AUTH_TOKEN", token));
        let output =
            command.args(["snapshot", "capture", "--argocd", &server.url, "--ca-file"]).arg(&file).args(arguments).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!text.contains("argo-token"), "{text}");
        (output.status.code(), text)
    };
    fs::write(folder.path().join("token"), "argo-token\n").unwrap();
    assert_eq!(run(&["--token-file", "token"], None).0, Some(0));
    assert_eq!(run(&[], Some("argo-token")).0, Some(0));
    let (code, text) = run(&[], None);
    assert!(code == Some(2) && text.contains("ARGOCD_AUTH_TOKEN"), "{text}");
}
