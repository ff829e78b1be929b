//! Captures from whatever cluster `KUBECONFIG` names. Ignored unless asked for: `make test-live`; docs/live-tests.md says what it needs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

#[path = "support/tools.rs"]
mod tools;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use presync::manifest::ResourceKey;
use presync::snapshot::{LiveState, load};
use serde_json::{Value, json};
use tempfile::TempDir;

const SERVER: &str = "https://kubernetes.default.svc";
/// So many that they come in several pages.
const PAGED: usize = 120;

fn kubectl(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(tools::folder().join("kubectl"));
    command.env("PATH", tools::search_path()).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn must(arguments: &[&str], input: &str) -> String {
    let output = kubectl(arguments, input);
    assert!(output.status.success(), "kubectl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The objects of a run; they go when it ends, however it ends.
struct Stage {
    namespace: String,
    objects: String,
    definitions: Vec<&'static str>,
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let namespace = format!("presync-live-{}", std::process::id());
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/argocd-definitions.yaml");
        let all = ["applications.argoproj.io", "applicationsets.argoproj.io", "appprojects.argoproj.io"];
        let missing = all.into_iter().filter(|name| !kubectl(&["get", "crd", name], "").status.success()).collect();
        let objects = objects(&namespace);
        let stage = Self { namespace, objects, definitions: missing, folder: TempDir::new().unwrap() };
        if !stage.definitions.is_empty() {
            must(&["apply", "-f", data.to_str().unwrap()], "");
            for name in &stage.definitions {
                must(&["wait", "--for=condition=Established", "--timeout=60s", &format!("crd/{name}")], "");
            }
        }
        must(&["create", "namespace", &stage.namespace], "");
        must(&["apply", "-f", "-"], &stage.objects);
        stage
    }

    /// Captures and loads.
    fn capture(&self, file: &str, arguments: &[&str]) -> (LiveState, String) {
        let file = self.folder.path().join(file);
        let mut command = assert_cmd::Command::cargo_bin("presync").unwrap();
        command.args(["snapshot", "capture", "--cluster", SERVER, "--output"]).arg(&file).args(arguments);
        let output = command.output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && !text.contains("canary"), "{text}");
        let bytes = zstd::decode_all(&*fs::read(&file).unwrap()).unwrap();
        let content = String::from_utf8(bytes).unwrap();
        assert!(!content.contains("canary-") && !content.contains("Y2FuYXJ5"), "a secret value is in the snapshot");
        (load(&[file.to_str().unwrap()]).unwrap(), text)
    }

    fn get(&self, kind: &str, name: &str) -> Value {
        serde_json::from_str(&must(&["get", kind, name, "--namespace", &self.namespace, "--output", "json", "--show-managed-fields"], ""))
            .unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // One by one, because without its controller a namespace never goes with what is in it.
        let _ = kubectl(&["delete", "--ignore-not-found", "--wait=false", "-f", "-"], &self.objects);
        let _ = kubectl(&["delete", "namespace", "--ignore-not-found", "--wait=false", &self.namespace], "");
        for name in &self.definitions {
            let _ = kubectl(&["delete", "crd", "--ignore-not-found", "--wait=false", name], "");
        }
    }
}

fn objects(namespace: &str) -> String {
    let metadata = |name: &str, kind: &str| {
        json!({"name": name, "namespace": namespace,
            "annotations": {"argocd.argoproj.io/tracking-id": format!("live:{kind}:{namespace}/{name}")}})
    };
    let container = json!({"name": "web", "image": "example.test/web:1", "env": [{"name": "API_TOKEN", "value": "canary-env"}]});
    let labels = json!({"app": "web"});
    let mut items = vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("settings", "/ConfigMap"), "data": {"mode": "day"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stranger", "namespace": namespace}, "data": {"mode": "day"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata("login", "/Secret"), "stringData": {"password": "canary-secret"}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata("orders", "/PersistentVolumeClaim"),
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("web", "apps/Deployment"), "spec": {"replicas": 0,
            "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}}),
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "live", "namespace": namespace},
            "spec": {"project": "default", "destination": {"server": SERVER, "namespace": namespace},
                "source": {"repoURL": "https://git.example.test/fleet.git", "path": "live", "helm": {"parameters": [{"name": "token", "value": "canary-token"}]}}}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "narrow", "namespace": namespace}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "narrow", "namespace": namespace},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "narrow", "namespace": namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "narrow"},
            "subjects": [{"kind": "ServiceAccount", "name": "narrow", "namespace": namespace}]}),
    ];
    items.extend((0..PAGED).map(|index| {
        let name = format!("paged-{index}");
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(&name, "/ConfigMap"), "data": {"index": index.to_string()}})
    }));
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// What of an object only its writers change.
fn lasting(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["resourceVersion", "managedFields", "generation"] {
            metadata.remove(field);
        }
    }
    object
}

#[test]
#[ignore = "needs a cluster: make test-live"]
fn a_real_cluster_is_captured_as_kubectl_shows_it() {
    assert!(std::env::var_os("KUBECONFIG").is_some(), "KUBECONFIG names no cluster");
    let stage = Stage::new();
    let (all, _) = stage.capture("all.zst", &["--all", "--page-size", "50"]);
    for (group, kind, name) in [
        ("", "ConfigMap", "settings"),
        ("", "ConfigMap", "stranger"),
        ("", "PersistentVolumeClaim", "orders"),
        ("argoproj.io", "Application", "live"),
        ("apps", "Deployment", "web"),
    ] {
        let captured =
            all.get(SERVER, &ResourceKey::new(group, kind, &stage.namespace, name)).unwrap_or_else(|| panic!("{kind} {name} is missing"));
        let shown = stage.get(&format!("{}{}{group}", kind.to_lowercase(), if group.is_empty() { "" } else { "." }), name);
        assert_eq!(captured.uid.as_deref(), shown["metadata"]["uid"].as_str());
        let has_secret = matches!(kind, "Application" | "Deployment");
        assert!(has_secret || lasting(captured.object()) == lasting(&shown), "{kind} {name}");
        assert!(captured.object()["metadata"]["managedFields"].is_array(), "who wrote which field stays");
    }
    let paged = all.of_kind(SERVER, "", "ConfigMap").iter().filter(|object| object.key.name.starts_with("paged-"));
    assert_eq!(paged.filter(|object| *object.key.namespace == *stage.namespace).count(), PAGED);

    let (managed, _) = stage.capture("managed.zst", &[]);
    let there = |kind: &str, name: &str| managed.get(SERVER, &ResourceKey::new("", kind, &stage.namespace, name)).is_some();
    assert!(there("ConfigMap", "settings") && there("Secret", "login") && !there("ConfigMap", "stranger"));
    assert!(managed.all().len() < all.all().len());
    an_account_with_few_rights(&stage);
}

/// The same with an account that may list one kind in one namespace, where the cluster looks at rights at all.
fn an_account_with_few_rights(stage: &Stage) {
    let account = format!("system:serviceaccount:{}:narrow", stage.namespace);
    if kubectl(&["auth", "can-i", "list", "secrets", "--as", &account], "").status.success() {
        return;
    }
    let token = must(&["create", "token", "narrow", "--namespace", &stage.namespace], "");
    let kubeconfig = with_token(stage, token.trim());
    let kubeconfig = kubeconfig.to_str().unwrap();
    let (narrow, text) = stage.capture("narrow.zst", &["--all", "--kubeconfig", kubeconfig, "--namespace", &stage.namespace]);
    assert!(narrow.get(SERVER, &ResourceKey::new("", "ConfigMap", &stage.namespace, "settings")).is_some());
    assert!(narrow.of_kind(SERVER, "", "Secret").is_empty());
    assert!(text.contains("secrets is forbidden"), "{text}");
    let mut command = assert_cmd::Command::cargo_bin("presync").unwrap();
    let output = command
        .args(["snapshot", "capture", "--kubeconfig", kubeconfig, "--output"])
        .arg(stage.folder.path().join("none.zst"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "a cluster that shows nothing is no snapshot");
}

/// The kubeconfig of the test with another user.
fn with_token(stage: &Stage, token: &str) -> PathBuf {
    let mut config: Value =
        serde_json::from_str(&must(&["config", "view", "--raw", "--minify", "--flatten", "--output", "json"], "")).unwrap();
    let context = config["contexts"][0]["context"].clone();
    config["users"] = json!([{"name": "narrow", "user": {"token": token}}]);
    config["contexts"] = json!([{"name": "narrow", "context": {"cluster": context["cluster"], "user": "narrow"}}]);
    config["current-context"] = "narrow".into();
    let file = stage.folder.path().join("narrow-kubeconfig");
    fs::write(&file, config.to_string()).unwrap();
    file
}
