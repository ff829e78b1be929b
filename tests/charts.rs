//! Charts of Helm repositories and registries: fetched by the real helm from servers on loopback.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

#[path = "support/server.rs"]
mod server;
mod support;
#[path = "support/tools.rs"]
mod tools;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use server::{Answer, Asked, Server};
use sha2::{Digest, Sha256};
use support::write;
use tempfile::TempDir;

fn helm(folder: &Path, arguments: &[&str]) {
    let output = Command::new(tools::folder().join("helm")).args(arguments).current_dir(folder).env("HOME", folder).output().unwrap();
    assert!(output.status.success(), "helm {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A packed chart `web` of this version. Up to 1.0 it makes a claim besides its ConfigMap.
fn packed(folder: &Path, version: &str) {
    write(folder, "web/Chart.yaml", &format!("apiVersion: v2\nname: web\nversion: {version}\n"));
    write(folder, "web/values.yaml", "mode: plain\n");
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  mode: {{ .Values.mode }}\n  version: {{ .Chart.Version | quote }}\n";
    write(folder, "web/templates/config.yaml", config);
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: data\nspec:\n  accessModes: [ReadWriteOnce]\n  \
        resources:\n    requests:\n      storage: 1Gi\n";
    if version.starts_with("1.0") {
        write(folder, "web/templates/claim.yaml", claim);
    } else {
        let _ = fs::remove_file(folder.join("web/templates/claim.yaml"));
    }
    helm(folder, &["package", "web"]);
}

/// A chart repository on loopback. What it was asked for is noted; with a password it lets nobody else in.
struct Charts {
    server: Server,
    asked: Arc<Mutex<Vec<String>>>,
    _folder: TempDir,
}

fn charts(password: Option<&'static str>) -> Charts {
    let folder = tempfile::tempdir().unwrap();
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        packed(folder.path(), version);
    }
    helm(folder.path(), &["repo", "index", "."]);
    let (root, asked) = (folder.path().to_owned(), Arc::new(Mutex::new(Vec::new())));
    let noted = Arc::clone(&asked);
    let server = Server::plain(move |question: &Asked| {
        noted.lock().unwrap().push(question.path.clone());
        if password.is_some_and(|password| question.header("authorization") != password) {
            return Answer::new(401, "no");
        }
        match fs::read(root.join(question.path.trim_start_matches('/'))) {
            Ok(bytes) => Answer::new(200, bytes),
            Err(_) => Answer::new(404, "no such file"),
        }
    });
    Charts { server, asked, _folder: folder }
}

impl Charts {
    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn application(sources: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: web
  namespace: argocd
spec:
  project: default
{sources}
  destination:
    server: https://kubernetes.default.svc
    namespace: shop
  syncPolicy:
    automated:
      prune: true
"
    )
}

fn source(url: &str, version: &str) -> String {
    format!("  source:\n    repoURL: {url}\n    chart: web\n    targetRevision: {version:?}")
}

/// A repository with this Application at base and at head, and further files at both.
fn repository(base: &str, head: &str, files: [&[(&str, &str)]; 2]) -> TempDir {
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (side, sources, files) in [(before.path(), base, files[0]), (after.path(), head, files[1])] {
        write(side, "argocd/web.yaml", &application(sources));
        files.iter().for_each(|(path, text)| write(side, path, text));
    }
    support::lay_out(before.path(), after.path())
}

fn check(repository: &TempDir, cache: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Value {
    let output = assert_cmd::Command::cargo_bin("presync")
        .unwrap()
        .args(["check", "--base", "main", "--head", "change", "--repo-url", support::REPOSITORY_URL, "--format", "json", "--cache-dir"])
        .arg(cache)
        .args(arguments)
        .current_dir(repository.path())
        .env_clear()
        .env("PATH", tools::search_path())
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{} {}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// The actions of the one Application, by kind.
fn actions(report: &Value) -> BTreeMap<String, String> {
    let changes = report["applications"][0]["changes"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    changes.iter().map(|change| (text(&change["kind"]), text(&change["action"]))).collect()
}

fn map<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(kind, action)| (kind.to_owned(), action.to_owned())).into()
}

fn rules(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

#[test]
fn a_new_version_of_a_chart_that_drops_a_claim_is_an_error_at_the_line_of_the_version() {
    let (charts, cache) = (charts(None), tempfile::tempdir().unwrap());
    let url = charts.server.url.as_str();
    let repository = repository(&source(url, "1.0.0"), &source(url, "1.1.0"), [&[], &[]]);
    let report = check(&repository, cache.path(), &[], &[]);
    assert_eq!(actions(&report), map([("ConfigMap", "update"), ("PersistentVolumeClaim", "prune")]), "{report:#}");
    let finding = report["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == "prune-persistent-data").unwrap();
    assert_eq!((&finding["location"]["path"], &finding["location"]["line"]), (&json!("argocd/web.yaml"), &json!(11)));
    assert_eq!(report["applications"][0]["changes"][0]["origin"], Value::Null);
    let index = charts.asked().iter().filter(|path| path.ends_with("index.yaml")).count();
    assert_eq!(index, 1, "both sides share the index: {:?}", charts.asked());
}

#[test]
fn exact_versions_are_fetched_once_and_are_there_offline() {
    let (charts, cache) = (charts(None), tempfile::tempdir().unwrap());
    let url = charts.server.url.as_str();
    let repository = repository(&source(url, "1.0.0"), &source(url, "1.1.0"), [&[], &[]]);
    let without = check(&repository, cache.path(), &["--offline"], &[]);
    assert!(without["unjudged"][0]["why"].as_str().unwrap().contains("--offline"), "{without:#}");
    assert_eq!(charts.asked(), Vec::<String>::new());
    let online = check(&repository, cache.path(), &[], &[]);
    let asked = charts.asked().len();
    assert_eq!(actions(&check(&repository, cache.path(), &["--offline"], &[])), actions(&online));
    assert_eq!(actions(&check(&repository, cache.path(), &[], &[])), actions(&online));
    assert_eq!(charts.asked().len(), asked);
}

#[test]
fn a_range_is_the_newest_version_in_it() {
    let (charts, cache) = (charts(None), tempfile::tempdir().unwrap());
    let url = charts.server.url.as_str();
    let repository = repository(&source(url, "1.0.0"), &source(url, "1.*"), [&[], &[]]);
    let report = check(&repository, cache.path(), &[], &[]);
    let version = report["applications"][0]["changes"].as_array().unwrap().iter().flat_map(|change| change["diff"].as_array().unwrap());
    let version: Vec<&Value> = version.filter(|field| field["path"] == "/data/version").map(|field| &field["target"]).collect();
    assert_eq!(version, [&json!("1.1.0")], "{report:#}");
}

#[test]
fn a_version_that_does_not_exist_stops_argo_cd_and_is_an_error() {
    let (charts, cache) = (charts(None), tempfile::tempdir().unwrap());
    let url = charts.server.url.as_str();
    let repository = repository(&source(url, "1.0.0"), &source(url, "9.9.9"), [&[], &[]]);
    let report = check(&repository, cache.path(), &[], &[]);
    assert_eq!(rules(&report), ["render-failed"], "{report:#}");
    assert_eq!(report["findings"][0]["location"]["path"], "argocd/web.yaml");
    assert_eq!(report["applications"][0]["sync"]["mode"], "error");
}

#[test]
fn a_repository_that_does_not_answer_is_not_judged() {
    let cache = tempfile::tempdir().unwrap();
    let repository = repository(&source("http://127.0.0.1:9", "1.0.0"), &source("http://127.0.0.1:9", "1.1.0"), [&[], &[]]);
    let report = check(&repository, cache.path(), &[], &[]);
    assert_eq!(report["findings"], json!([]));
    assert!(report["unjudged"][0]["why"].as_str().unwrap().contains("helm cannot fetch it"), "{report:#}");
}

#[test]
fn value_files_of_this_repository_decide_what_a_chart_from_elsewhere_renders() {
    let (charts, cache) = (charts(None), tempfile::tempdir().unwrap());
    let sources = format!(
        "  sources:\n  - repoURL: {}\n    chart: web\n    targetRevision: 1.1.0\n    helm:\n      valueFiles: [$values/values/web.yaml]\n  \
        - repoURL: {}\n    targetRevision: main\n    ref: values\n",
        charts.server.url,
        support::REPOSITORY_URL
    );
    let repository = repository(&sources, &sources, [&[("values/web.yaml", "mode: one\n")], &[("values/web.yaml", "mode: two\n")]]);
    let report = check(&repository, cache.path(), &[], &[]);
    assert_eq!(actions(&report), map([("ConfigMap", "update")]), "{report:#}");
    assert_eq!(report["applications"][0]["changes"][0]["diff"][0], json!({"path": "/data/mode", "live": "one", "target": "two"}));
}

#[test]
fn value_files_that_are_pinned_to_the_commit_of_base_are_read_there_and_the_change_does_not_reach_the_application() {
    let (charts, cache) = (charts(None), tempfile::tempdir().unwrap());
    let sources = |revision: &str| {
        format!(
            "  sources:\n  - repoURL: {}\n    chart: web\n    targetRevision: 1.1.0\n    helm:\n      valueFiles: [$values/values/web.yaml]\n  \
            - repoURL: {}\n    targetRevision: {revision}\n    ref: values\n",
            charts.server.url,
            support::REPOSITORY_URL
        )
    };
    let files: [&[(&str, &str)]; 2] = [&[("values/web.yaml", "mode: one\n")], &[("values/web.yaml", "mode: two\n")]];
    let pinned = repository(&sources("v1.0.0"), &sources("v1.0.0"), files);
    support::git(pinned.path(), &["tag", "v1.0.0", "main"]);
    let report = check(&pinned, cache.path(), &[], &[]);
    assert_eq!(rules(&report), ["revision-not-tracked"], "{report:#}");
    assert_eq!(actions(&report), map([]), "{report:#}");
    let all = check(&pinned, cache.path(), &["--all"], &[]);
    let configs = all["applications"][0]["changes"].as_array().cloned().unwrap_or_default();
    assert!(configs.iter().all(|change| change["action"] != "update"), "{all:#}");
}

#[test]
fn charts_of_applications_that_the_change_leaves_alone_are_not_fetched() {
    let (charts, cache) = (charts(None), tempfile::tempdir().unwrap());
    let sources = source(&charts.server.url, "1.0.0");
    let repository = repository(&sources, &sources, [&[("notes.txt", "one\n")], &[("notes.txt", "two\n")]]);
    let report = check(&repository, cache.path(), &[], &[]);
    assert_eq!((&report["applications"], &report["unjudged"]), (&json!([]), &json!([])));
    assert_eq!(charts.asked(), Vec::<String>::new());
}

#[test]
fn credentials_are_those_of_helms_own_configuration() {
    // ann:one
    let (charts, cache) = (charts(Some("Basic YW5uOm9uZQ==")), tempfile::tempdir().unwrap());
    let url = charts.server.url.as_str();
    let repository = repository(&source(url, "1.0.0"), &source(url, "1.1.0"), [&[], &[]]);
    let refused = check(&repository, cache.path(), &[], &[]);
    assert!(refused["unjudged"][0]["why"].as_str().unwrap().contains("helm cannot fetch it"), "{refused:#}");
    let users = cache.path().join("repositories.yaml");
    fs::write(&users, format!("repositories:\n- {{name: ours, url: '{url}/', username: ann, password: one}}\n")).unwrap();
    let report = check(&repository, cache.path(), &[], &[("HELM_REPOSITORY_CONFIG", users.to_str().unwrap())]);
    assert_eq!(actions(&report), map([("ConfigMap", "update"), ("PersistentVolumeClaim", "prune")]), "{report:#}");
}

#[test]
fn dependencies_of_a_chart_of_this_repository_are_fetched() {
    let (charts, cache) = (charts(None), tempfile::tempdir().unwrap());
    let umbrella = |version: &str| {
        format!(
            "apiVersion: v2\nname: shop\nversion: 0.1.0\ndependencies:\n- name: web\n  version: {version}\n  repository: {}\n",
            charts.server.url
        )
    };
    let sources = format!("  source:\n    repoURL: {}\n    targetRevision: main\n    path: charts/shop", support::REPOSITORY_URL);
    let (before, after) = (umbrella("1.0.0"), umbrella("1.1.0"));
    let repository = repository(&sources, &sources, [&[("charts/shop/Chart.yaml", &before)], &[("charts/shop/Chart.yaml", &after)]]);
    let report = check(&repository, cache.path(), &[], &[]);
    assert_eq!(actions(&report), map([("ConfigMap", "update"), ("PersistentVolumeClaim", "prune")]), "{report:#}");
    let finding = report["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == "prune-persistent-data").unwrap();
    assert_eq!(finding["location"]["path"], "charts/shop/Chart.yaml");
    let offline = tempfile::tempdir().unwrap();
    let without = check(&repository, offline.path(), &["--offline"], &[]);
    assert!(without["unjudged"][0]["why"].as_str().unwrap().contains("--offline"), "{without:#}");
}

/// A registry on loopback with TLS that holds packed charts.
fn registry() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let mut blobs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut manifests: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let digest = |bytes: &[u8]| {
        let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256:{hex}")
    };
    for version in ["1.0.0", "1.1.0"] {
        packed(folder.path(), version);
        let chart = fs::read(folder.path().join(format!("web-{version}.tgz"))).unwrap();
        let config = json!({"name": "web", "version": version, "apiVersion": "v2"}).to_string().into_bytes();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": digest(&config), "size": config.len()},
            "layers": [{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": digest(&chart), "size": chart.len()}],
        });
        let manifest = manifest.to_string().into_bytes();
        for blob in [chart, config] {
            blobs.insert(digest(&blob), blob);
        }
        manifests.insert(digest(&manifest), manifest.clone());
        manifests.insert(version.to_owned(), manifest);
    }
    Server::tls(move |asked: &Asked| {
        let path = asked.path.as_str();
        let found = |bytes: &Vec<u8>, kind: &str| {
            Answer::new(200, bytes.clone()).with("content-type", kind).with("docker-content-digest", &digest(bytes))
        };
        if let Some(name) = path.strip_prefix("/v2/charts/web/manifests/") {
            return manifests
                .get(name)
                .map_or(Answer::new(404, r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#), |bytes| {
                    found(bytes, "application/vnd.oci.image.manifest.v1+json")
                });
        }
        if let Some(name) = path.strip_prefix("/v2/charts/web/blobs/") {
            return blobs.get(name).map_or(Answer::new(404, "{}"), |bytes| found(bytes, "application/octet-stream"));
        }
        match path {
            "/v2/charts/web/tags/list" => Answer::json(&json!({"name": "charts/web", "tags": ["1.0.0", "1.1.0"]})),
            "/v2/" => Answer::json(&json!({})),
            _ => Answer::new(404, "{}"),
        }
    })
}

#[test]
fn charts_of_registries_are_fetched_with_the_users_certificates() {
    let (registry, cache) = (registry(), tempfile::tempdir().unwrap());
    let certificate = cache.path().join("ca.pem");
    fs::write(&certificate, &registry.certificate).unwrap();
    let url = format!("{}/charts", registry.url.trim_start_matches("https://"));
    let environment = [("SSL_CERT_FILE", certificate.to_str().unwrap())];
    let changed = repository(&source(&url, "1.0.0"), &source(&url, "1.1.0"), [&[], &[]]);
    let report = check(&changed, cache.path(), &[], &environment);
    assert_eq!(actions(&report), map([("ConfigMap", "update"), ("PersistentVolumeClaim", "prune")]), "{report:#}");
    let absent = repository(&source(&url, "1.0.0"), &source(&url, "9.9.9"), [&[], &[]]);
    assert_eq!(rules(&check(&absent, cache.path(), &[], &environment)), ["render-failed"]);
    let by_scheme = format!("oci://{url}");
    let range = repository(&source(&by_scheme, "1.0.0"), &source(&by_scheme, "~1"), [&[], &[]]);
    assert_eq!(actions(&check(&range, cache.path(), &[], &environment)).len(), 2);
}

#[test]
fn nothing_that_a_pull_request_names_becomes_an_option_or_a_file() {
    let (charts, cache) = (charts(None), tempfile::tempdir().unwrap());
    let named = |chart: &str, url: &str| format!("  source:\n    repoURL: {url}\n    chart: {chart:?}\n    targetRevision: 1.0.0");
    let base = source(&charts.server.url, "1.0.0");
    for (chart, url) in [("--help", charts.server.url.as_str()), ("../../../etc", charts.server.url.as_str()), ("web", "file:///etc")] {
        let repository = repository(&base, &named(chart, url), [&[], &[]]);
        let report = check(&repository, cache.path(), &[], &[]);
        let stopped = rules(&report).contains(&"render-failed") || !report["unjudged"].as_array().unwrap().is_empty();
        assert!(stopped, "{chart} of {url}: {report:#}");
    }
}
