//! Secret values of a cluster come no further than the program: canaries in every place, and none in a snapshot, report, cache or log.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

#[path = "support/cluster.rs"]
mod cluster;
#[path = "support/server.rs"]
mod server;
mod support;

use std::fs;
use std::path::Path;

use cluster::{Invented, Kind, kubeconfig};
use serde_json::{Value, json};
use server::Server;
use tempfile::TempDir;

/// A word and the same word in base64.
const CANARIES: [&str; 2] = ["canary", "Y2FuYXJ5"];

const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn tracked(name: &str, id: &str) -> Value {
    json!({"name": name, "namespace": "shop", "uid": name, "annotations": {"argocd.argoproj.io/tracking-id": id}})
}

/// Objects with a canary wherever a secret can be.
fn objects() -> Vec<Kind> {
    let container = json!({"name": "c", "image": "web:1", "env": [{"name": "DB_PASSWORD", "value": "canary-env"}, {"name": "INTERNAL_DSN", "value": "canary-pattern"},
        {"name": "CACHE", "value": "redis://user:canary@cache:6379"}, {"name": "PORT", "value": "80"}], "envFrom": [{"secretRef": {"name": "login"}}]});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}});
    let mut deployment = tracked("web", "shop:apps/Deployment:shop/web");
    let applied = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": spec});
    deployment["annotations"][APPLIED] = applied.to_string().into();

    let mut login = tracked("login", "shop:/Secret:shop/login");
    let applied =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "stringData": {"password": "canary-applied"}});
    login["annotations"][APPLIED] = applied.to_string().into();
    login["annotations"]["note"] = "the password is canary-data".into();
    let cluster = json!({"name": "eu", "namespace": "argocd", "labels": {"argocd.argoproj.io/secret-type": "cluster"}});
    let secrets = vec![
        json!({"metadata": login, "type": "Opaque", "data": {"password": "Y2FuYXJ5LWRhdGE="}}),
        json!({"metadata": {"name": "sh.helm.release.v1.shop.v1", "namespace": "shop"}, "type": "helm.sh/release.v1", "data": {"release": "Y2FuYXJ5LXJlbGVhc2U="}}),
        json!({"metadata": cluster, "data": {"name": "ZXU=", "server": "aHR0cHM6Ly9ldS50ZXN0", "config": "Y2FuYXJ5LWNvbmZpZw=="}}),
    ];
    let argocd = json!({"name": "argocd-cm", "namespace": "argocd", "labels": {"app.kubernetes.io/part-of": "argocd"}});
    let release = json!({"name": "old.v1", "namespace": "shop", "labels": {"owner": "helm"}});
    let config_maps = vec![
        json!({"metadata": argocd, "data": {"dex.config": "clientSecret: canary-dex", "oidc.config": "clientSecret: canary-oidc", "repositories": "- password: canary-repo"}}),
        json!({"metadata": release, "data": {"release": "canary-release"}}),
    ];
    let source = json!({"repoURL": support::REPOSITORY_URL, "path": "apps/shop", "targetRevision": "main",
        "helm": {"parameters": [{"name": "auth.token", "value": "canary-parameter"}], "values": "db:\n  password: canary-values\n",
            "valuesObject": {"apiKey": "canary-object"}}});
    let plain_source = json!({"repoURL": support::REPOSITORY_URL, "path": "apps/shop", "targetRevision": "main"});
    let application = |name: &str, source: &Value| {
        json!({"metadata": {"name": name, "namespace": "argocd", "uid": name}, "spec": {"project": "default", "source": source,
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"}, "syncPolicy": {"automated": {"prune": true}}},
            "status": {"history": [{"source": source}]}, "operation": {"sync": {"source": source}}})
    };
    let kind = |group, version, kind, plural, objects| Kind { group, version, kind, plural, namespaced: true, objects };
    vec![
        kind("", "v1", "Secret", "secrets", secrets),
        kind("", "v1", "ConfigMap", "configmaps", config_maps),
        kind("apps", "v1", "Deployment", "deployments", vec![json!({"metadata": deployment, "spec": spec})]),
        kind(
            "argoproj.io",
            "v1alpha1",
            "Application",
            "applications",
            vec![application("shop", &plain_source), application("chart", &source)],
        ),
    ]
}

fn repository() -> TempDir {
    let (base, head) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let write = |folder: &TempDir, path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let application = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: shop, namespace: argocd}}\nspec:\n  project: default\n  \
         source: {{repoURL: '{}', path: apps/shop, targetRevision: main}}\n  destination: {{server: https://kubernetes.default.svc, namespace: shop}}\n  \
         syncPolicy: {{automated: {{prune: true}}}}\n",
        support::REPOSITORY_URL
    );
    let deployment = |value: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: shop}}\nspec:\n  selector: {{matchLabels: {{a: b}}}}\n  template:\n    \
             metadata: {{labels: {{a: b}}}}\n    spec:\n      containers:\n      - {{name: c, image: 'web:1', env: [{{name: DB_PASSWORD, value: {value}}}, {{name: PORT, value: '80'}}]}}\n"
        )
    };
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: shop}\nstringData: {password: from-git}\n";
    for folder in [&base, &head] {
        write(folder, "argocd/shop.yaml", &application);
    }
    write(&base, "apps/shop/deployment.yaml", &deployment("one"));
    write(&base, "apps/shop/secret.yaml", secret);
    write(&head, "apps/shop/deployment.yaml", &deployment("two"));
    support::lay_out(base.path(), head.path())
}

fn presync(arguments: &[&str], repository: &Path, home: &Path) -> String {
    let mut command = assert_cmd::Command::cargo_bin("presync").unwrap();
    command.current_dir(repository).env_clear().env("NO_COLOR", "1").env("HOME", home).env("XDG_CACHE_HOME", home.join("cache"));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("RUST_LOG", "trace").env("TMPDIR", home);
    let output = command.args(arguments).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_ne!(output.status.code(), Some(2), "{text}");
    text
}

fn assert_no_canary(what: &str, text: &str) {
    for canary in CANARIES {
        assert!(!text.contains(canary), "{what}: {text}");
    }
}

/// Checks every file below a folder, also within snapshots.
fn assert_no_canary_in(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_no_canary_in(&path);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let text = if path.extension().is_some_and(|ending| ending == "zst") { zstd::decode_all(&*bytes).unwrap() } else { bytes };
        assert_no_canary(&path.display().to_string(), &String::from_utf8_lossy(&text));
    }
}

#[test]
fn no_secret_of_the_cluster_reaches_a_snapshot_a_report_a_cache_or_a_log() {
    let cluster = Invented::new(objects());
    let server = Server::tls(move |asked| cluster.answer(asked));
    let (_folder, kubeconfig) = kubeconfig(&server);
    let (repository, home) = (repository(), TempDir::new().unwrap());
    let snapshot = home.path().join("live.presync.zst");
    let (snapshot, kubeconfig) = (snapshot.to_str().unwrap(), kubeconfig.to_str().unwrap());
    for all in [true, false] {
        let mut arguments = vec!["snapshot", "capture", "--kubeconfig", kubeconfig, "--output", snapshot, "--redact", "*_dsn"];
        arguments.extend(all.then_some("--all"));
        assert_no_canary("capture", &presync(&arguments, repository.path(), home.path()));
        assert_no_canary("show", &presync(&["snapshot", "show", snapshot], repository.path(), home.path()));
        let text = String::from_utf8(zstd::decode_all(&*fs::read(snapshot).unwrap()).unwrap()).unwrap();
        assert!(text.contains(r#""name":"login""#) && text.contains(r#"{"name":"PORT","value":"80"}"#), "{text}");
        check(snapshot, repository.path(), home.path());
    }
    assert_no_canary_in(home.path());
}

fn check(snapshot: &str, repository: &Path, home: &Path) {
    let mut changes = String::new();
    for command in ["check", "plan"] {
        for format in ["text", "json"] {
            let arguments =
                [command, "--base", "main", "--repo-url", support::REPOSITORY_URL, "--snapshot", snapshot, "--all", "--format", format];
            let text = presync(&arguments, repository, home);
            assert_no_canary(&format!("{command} as {format}"), &text);
            changes.push_str(&text);
        }
    }
    assert!(changes.contains("login") && changes.contains("DB_PASSWORD") | changes.contains("containers"), "{changes}");
}

#[test]
fn secrets_that_a_snapshot_file_holds_are_dropped_when_it_is_read() {
    let mut text = r#"{"kind":"presync/Snapshot","version":1,"source":"somebody","secrets":"keys"}"#.to_owned() + "\n";
    let mut lines = Vec::new();
    for kind in objects() {
        let api_version = if kind.group.is_empty() { kind.version.to_owned() } else { format!("{}/{}", kind.group, kind.version) };
        for mut object in kind.objects {
            if kind.kind != "Secret" && kind.kind != "Application" {
                continue;
            }
            // What its writer should have taken out of other kinds is not looked for again.
            if object["metadata"]["name"] == "chart" {
                continue;
            }
            object["kind"] = kind.kind.into();
            object["apiVersion"] = api_version.as_str().into();
            lines.push(format!("{{\"cluster\":\"https://kubernetes.default.svc\",\"object\":{object}}}\n"));
        }
    }
    let count = lines.len();
    text.push_str(&lines.concat());
    assert!(text.contains("canary") && text.contains("Y2FuYXJ5"));
    let digest = blake3::hash(text.as_bytes());
    text.push_str(&format!("{{\"kind\":\"presync/SnapshotEnd\",\"objects\":{count},\"digest\":\"blake3:{digest}\"}}\n"));
    let (repository, home, other) = (repository(), TempDir::new().unwrap(), TempDir::new().unwrap());
    let file = other.path().join("live.jsonl");
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    assert_no_canary("show", &presync(&["snapshot", "show", file], repository.path(), home.path()));
    let output = home.path().join("again.zst");
    presync(&["snapshot", "import", file, "--output", output.to_str().unwrap()], repository.path(), home.path());
    for format in ["text", "json"] {
        let arguments = ["plan", "--base", "main", "--repo-url", support::REPOSITORY_URL, "--snapshot", file, "--all", "--format", format];
        assert_no_canary(format, &presync(&arguments, repository.path(), home.path()));
    }
    assert_no_canary_in(home.path());
}
