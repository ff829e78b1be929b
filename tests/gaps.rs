//! What a snapshot does not hold lowers what is said to assumed or not judged, and never to silence.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::write;
use tempfile::TempDir;

fn scenario() -> (TempDir, std::path::PathBuf) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scenarios/snapshot-lacks-a-cluster");
    (support::lay_out(&folder.join("base"), &folder.join("head")), folder.join("live"))
}

fn presync(folder: &Path, arguments: &[&str]) -> String {
    let mut command = assert_cmd::Command::cargo_bin("presync").unwrap();
    command.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", folder);
    let output = command.args(arguments).output().unwrap();
    assert_ne!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn check(repository: &Path, snapshots: &[&Path]) -> Value {
    let mut arguments = vec!["check", "--base", "main", "--repo-url", support::REPOSITORY_URL, "--format", "json"];
    for snapshot in snapshots {
        arguments.extend(["--snapshot", snapshot.to_str().unwrap()]);
    }
    serde_json::from_str(&presync(repository, &arguments)).unwrap()
}

fn actions(report: &Value) -> Vec<String> {
    let changes = report["applications"][0]["changes"].as_array().unwrap();
    let mut actions: Vec<String> =
        changes.iter().map(|change| format!("{} {}", change["action"].as_str().unwrap(), change["name"].as_str().unwrap())).collect();
    actions.sort();
    actions
}

fn unjudged(report: &Value) -> String {
    let entries = report["unjudged"].as_array().unwrap().iter();
    entries.map(|entry| format!("{}: {}: {}\n", entry["application"], entry["what"], entry["why"])).collect()
}

/// A snapshot file of the cluster `eu-1`, with a header as a capture writes it.
fn eu(folder: &Path, unlisted: &str, objects: &[&str]) -> std::path::PathBuf {
    let server = "https://eu-1.example.test";
    let mut text = format!(
        r#"{{"kind":"presync/Snapshot","version":1,"source":"kubernetes","clusters":[{{"server":"{server}","name":"","unlisted":{unlisted}}}],"secrets":"keys","incomplete":[]}}"#
    ) + "\n";
    for object in objects {
        text.push_str(&format!("{{\"cluster\":\"{server}\",\"object\":{object}}}\n"));
    }
    let digest = blake3::hash(text.as_bytes());
    text.push_str(&format!("{{\"kind\":\"presync/SnapshotEnd\",\"objects\":{},\"digest\":\"blake3:{digest}\"}}\n", objects.len()));
    let file = folder.join("eu.jsonl");
    fs::write(&file, text).unwrap();
    file
}

const SERVICE: &str = r#"{"apiVersion":"v1","kind":"Service","metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"shop:/Service:shop/preview"},"name":"preview","namespace":"shop","uid":"u1"},"spec":{"ports":[{"port":80}],"selector":{"app":"preview"}}}"#;

#[test]
fn a_cluster_that_no_snapshot_holds_is_assumed_and_named() {
    let (repository, live) = scenario();
    let report = check(repository.path(), &[&live]);
    assert_eq!(report["applications"][0]["basis"], "assumed");
    assert!(unjudged(&report).contains("no snapshot holds the cluster https://eu-1.example.test"), "{report:#}");
}

#[test]
fn a_captured_cluster_without_the_objects_is_believed() {
    let (repository, live) = scenario();
    let folder = TempDir::new().unwrap();
    let file = eu(folder.path(), "[]", &[SERVICE]);
    let report = check(repository.path(), &[&live, &file]);
    assert_eq!(report["applications"][0]["basis"], "live");
    assert_eq!(actions(&report), ["create kept", "create settings", "prune preview"]);
    assert_eq!(unjudged(&report), "");
}

#[test]
fn a_kind_that_could_not_be_listed_is_stood_in_for_and_named() {
    let (repository, live) = scenario();
    let folder = TempDir::new().unwrap();
    let file = eu(folder.path(), r#"[{"group":"","kind":"ConfigMap"}]"#, &[SERVICE]);
    let report = check(repository.path(), &[&live, &file]);
    assert_eq!(actions(&report), ["prune preview", "update settings"]);
    assert!(unjudged(&report).contains("live objects of kind ConfigMap"), "{report:#}");
}

#[test]
fn commits_that_the_snapshot_has_not_seen_are_counted() {
    let (repository, live) = scenario();
    let folder = TempDir::new().unwrap();
    support::copy(&live, folder.path());
    let output = std::process::Command::new("git").args(["rev-parse", "main"]).current_dir(repository.path()).output().unwrap();
    let seen = String::from_utf8(output.stdout).unwrap();
    let file = folder.path().join("argocd.yaml");
    let status = format!(
        "    namespace: argocd\n    uid: 00000000-0000-4000-8000-000000000001\n  status: {{sync: {{revision: {}}}}}\n",
        seen.trim()
    );
    let text = fs::read_to_string(&file).unwrap();
    let uid = "    namespace: argocd\n    uid: 00000000-0000-4000-8000-000000000001\n";
    assert!(text.contains(uid));
    fs::write(&file, text.replacen(uid, &status, 1)).unwrap();
    let run = || {
        let mut command = assert_cmd::Command::cargo_bin("presync").unwrap();
        command
            .current_dir(repository.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", folder.path());
        let output = command
            .args(["check", "--base", "main", "--repo-url", support::REPOSITORY_URL, "--snapshot"])
            .arg(folder.path())
            .output()
            .unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    assert!(!run().contains("has not seen"), "{}", run());
    support::git(repository.path(), &["checkout", "--quiet", "main"]);
    for name in ["one", "two"] {
        support::commit(repository.path(), name);
    }
    support::git(repository.path(), &["checkout", "--quiet", "change"]);
    support::git(repository.path(), &["rebase", "--quiet", "main"]);
    let text = run();
    assert!(text.contains("the snapshot has not seen the last 2 commits of the base"), "{text}");
}

const APPLICATION: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, namespace: argocd}\nspec:\n  project: default\n  source: {repoURL: 'https://git.example.test/platform/fleet.git', targetRevision: HEAD, path: PATH, directory: {recurse: true}}\n  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n  syncPolicy: {automated: {prune: true}}\n";

/// A repository on whose branch `change` one ConfigMap of the Application is edited, after `prepare` has run on `main`.
fn edited(source_path: &str, prepare: impl FnOnce(&Path)) -> TempDir {
    let folder = TempDir::new().unwrap();
    let repository = folder.path();
    support::git(repository, &["init", "--quiet", "--initial-branch=main"]);
    write(repository, "argocd/shop.yaml", &APPLICATION.replace("PATH", source_path));
    write(repository, "apps/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n");
    support::git(repository, &["add", "--all"]);
    prepare(repository);
    support::git(repository, &["commit", "--quiet", "--message", "base"]);
    support::git(repository, &["checkout", "--quiet", "-b", "change"]);
    write(repository, "apps/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '2'}\n");
    write(repository, "argocd/shop.yaml", &APPLICATION.replace("PATH", source_path).replace("prune: true", "prune: false"));
    support::git(repository, &["add", "apps/a.yaml", "argocd/shop.yaml"]);
    support::git(repository, &["commit", "--quiet", "--message", "change"]);
    folder
}

fn against_head(repository: &TempDir) -> Value {
    let arguments = ["check", "--base", "main", "--head", "change", "--repo-url", support::REPOSITORY_URL, "--format", "json"];
    serde_json::from_str(&presync(repository.path(), &arguments)).unwrap()
}

fn add_submodule(repository: &Path, path: &str) {
    let entry = format!("160000,0123456789012345678901234567890123456789,{path}");
    support::git(repository, &["update-index", "--add", "--cacheinfo", &entry]);
}

#[test]
fn files_in_a_submodule_are_not_judged_and_not_missing() {
    for (source_path, submodule) in [("vendor/shop", "vendor/shop"), ("vendor/shop/deploy", "vendor/shop"), ("apps", "apps/vendor")] {
        let report = against_head(&edited(source_path, |repository| add_submodule(repository, submodule)));
        let said = unjudged(&report);
        assert!(said.contains(&format!("the files of {submodule}")) && said.contains("Git submodule"), "{source_path}: {report:#}");
        let rules: Vec<&Value> = report["findings"].as_array().unwrap().iter().map(|finding| &finding["rule"]).collect();
        assert!(!rules.iter().any(|rule| *rule == "source-path-missing" || *rule == "render-failed"), "{source_path}: {rules:?}");
    }
    let beside = against_head(&edited("apps", |repository| add_submodule(repository, "vendor/shop")));
    assert_eq!(actions(&beside), ["update a"], "one beside the source decides nothing: {beside:#}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_application_with_a_file_whose_name_is_not_utf8_is_not_judged() {
    use std::os::unix::ffi::OsStrExt;
    let with = |folder: &'static str, name: &'static [u8]| {
        against_head(&edited("apps", |repository| {
            let folder = repository.join(folder);
            fs::create_dir_all(&folder).unwrap();
            let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
            fs::write(folder.join(std::ffi::OsStr::from_bytes(name)), text).unwrap();
            support::git(repository, &["add", "--all"]);
        }))
    };
    let report = with("apps", b"caf\xe9.yaml");
    assert!(unjudged(&report).contains("its name is not UTF-8; Argo CD reads it"), "{report:#}");
    for report in [with("apps", b"caf\xe9.txt"), with("docs", b"caf\xe9.yaml")] {
        assert_eq!(actions(&report), ["update a"], "a file that Argo CD does not read decides nothing: {report:#}");
    }
}

#[test]
fn an_application_that_cannot_be_read_is_named_once_though_a_parent_renders_its_file() {
    let repository = edited("apps", |_| {});
    let parent = APPLICATION.replace("PATH", "apps").replace("namespace: shop", "namespace: argocd");
    write(repository.path(), "argocd/shop.yaml", &parent);
    let child = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: b}\nspec:\n  source: {repoURL: https://git.example.test/platform/fleet.git, path: b}\n";
    write(repository.path(), "apps/b.yaml", child);
    let said = unjudged(&check(repository.path(), &[]));
    assert_eq!(said.lines().filter(|line| line.contains("spec.destination is missing")).count(), 1, "{said}");
    assert!(said.contains("Application argocd/b (apps/b.yaml:"), "{said}");
}
