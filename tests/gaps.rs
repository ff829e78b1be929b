//! What a snapshot does not hold lowers what is said to assumed or not judged, and never to silence.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
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
