//! The manifests in `deploy/` can be built, and they permit reading only.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

#[path = "support/tools.rs"]
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_yaml::Value;
use tempfile::TempDir;

fn deploy(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(folder)
}

fn build(folder: &Path) -> Vec<Value> {
    let output =
        Command::new(tools::folder().join("kubectl")).arg("kustomize").arg(folder).env("PATH", tools::search_path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_yaml::Deserializer::from_slice(&output.stdout).map(|document| Value::deserialize(document).unwrap()).collect()
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    objects.iter().find(|object| object["kind"] == kind).unwrap()
}

#[test]
fn the_cron_job_is_built_with_a_role_that_only_reads() {
    let objects = build(&deploy("kubernetes"));
    for rule in of_kind(&objects, "ClusterRole")["rules"].as_sequence().unwrap() {
        for verb in rule["verbs"].as_sequence().unwrap() {
            assert!(verb == "get" || verb == "list", "{verb:?}");
        }
    }
    let pod = &of_kind(&objects, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let account = &of_kind(&objects, "ServiceAccount")["metadata"]["name"];
    assert_eq!(&pod["serviceAccountName"], account);
    let subject = &of_kind(&objects, "ClusterRoleBinding")["subjects"][0];
    assert_eq!((&subject["name"], subject["namespace"].as_str()), (account, Some("presync")));
    let settings = &of_kind(&objects, "ConfigMap")["metadata"]["name"];
    assert_eq!(&pod["containers"][0]["envFrom"][0]["configMapRef"]["name"], settings, "a changed setting reaches the next run");
}

#[test]
fn the_arguments_of_the_cron_job_are_understood() {
    let objects = build(&deploy("kubernetes"));
    let container = &of_kind(&objects, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    let arguments: Vec<&str> = container["args"].as_sequence().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect();
    let folder = TempDir::new().unwrap();
    let mut command = assert_cmd::Command::cargo_bin("presync").unwrap();
    let output = command.current_dir(folder.path()).env_clear().env("HOME", folder.path()).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && text.contains("cannot tell which cluster to capture"), "{text}");
}

#[test]
fn the_argo_cd_component_adds_an_account_that_only_gets() {
    let folder = TempDir::new().unwrap();
    let base = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata: {url: 'https://argocd.example.com'}\n---\n\
                apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-rbac-cm}\ndata: {policy.default: 'role:readonly'}\n";
    fs::write(folder.path().join("base.yaml"), base).unwrap();
    fs::create_dir(folder.path().join("presync")).unwrap();
    for entry in fs::read_dir(deploy("argocd")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join("presync").join(path.file_name().unwrap())).unwrap();
    }
    fs::write(folder.path().join("kustomization.yaml"), "resources: [base.yaml]\ncomponents: [presync]\n").unwrap();
    let objects = build(folder.path());
    let data = |name: &str| &objects.iter().find(|object| object["metadata"]["name"] == name).unwrap()["data"];
    assert_eq!(
        (data("argocd-cm")["accounts.presync"].as_str(), data("argocd-cm")["url"].as_str()),
        (Some("apiKey"), Some("https://argocd.example.com"))
    );
    let policy = data("argocd-rbac-cm")["policy.presync.csv"].as_str().unwrap();
    let lines: Vec<Vec<&str>> = policy.lines().map(|line| line.split(',').map(str::trim).collect()).collect();
    assert!(lines.iter().all(|line| line[0] == "g" || (line[3] == "get" && line[5] == "allow")), "{policy}");
    for resource in ["applications", "applicationsets", "projects", "clusters"] {
        assert!(lines.iter().any(|line| line[0] == "p" && line[2] == resource), "{resource}");
    }
}
