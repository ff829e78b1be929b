//! Config management plugins and the configuration that names their commands.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]
#![cfg(unix)]

mod support;

use std::fs;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use support::write;
use tempfile::TempDir;

const APPLICATION: &str = "apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  source:
    repoURL: https://git.example.test/platform/fleet.git
    path: apps/shop
    plugin:
      name: stencil
      env: [{name: STAGE, value: '$ARGOCD_APP_NAME-prod'}]
      parameters: [{name: size-list, array: [small, large]}, {name: mode, string: fast}, {name: more, map: {key.one: '1'}}]
  destination: {server: https://kubernetes.default.svc, namespace: shop}
  syncPolicy: {automated: {}}
";
const CAT: &str = "plugins:\n  stencil: [sh, -c, 'cat *.stencil']\n";

fn config_map(name: &str) -> String {
    format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

/// A repository with the configuration at each side; the change adds the ConfigMap `second` to the files of the plugin.
fn repository(base_config: Option<&str>, head_config: Option<&str>) -> TempDir {
    let (base, head) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (side, config) in [(base.path(), base_config), (head.path(), head_config)] {
        write(side, "bootstrap/shop.yaml", APPLICATION);
        write(side, "apps/shop/a.stencil", &config_map("first"));
        if let Some(config) = config {
            write(side, ".presync.yaml", config);
        }
    }
    write(head.path(), "apps/shop/b.stencil", &config_map("second"));
    support::lay_out(base.path(), head.path())
}

fn check(repository: &TempDir, more: &[&str]) -> Output {
    Command::cargo_bin("presync")
        .unwrap()
        .args(["check", "--base", "main", "--head", "change", "--format", "json", "--no-cache", "--repo-url", support::REPOSITORY_URL])
        .args(more)
        .current_dir(repository.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

fn report(repository: &TempDir, more: &[&str]) -> Value {
    let output = check(repository, more);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// Names of the objects that are created.
fn created(report: &Value) -> Vec<&str> {
    let changes = report["applications"].as_array().unwrap().iter().flat_map(|app| app["changes"].as_array().unwrap());
    changes.filter(|change| change["action"] == "create").map(|change| change["name"].as_str().unwrap()).collect()
}

fn unjudged(report: &Value) -> Vec<&str> {
    report["unjudged"].as_array().unwrap().iter().map(|unjudged| unjudged["why"].as_str().unwrap()).collect()
}

fn failed(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == "render-failed");
    findings.map(|finding| finding["message"].as_str().unwrap()).collect()
}

#[test]
fn a_plugin_without_a_command_is_not_judged() {
    let report = report(&repository(None, None), &[]);
    assert_eq!(created(&report), Vec::<&str>::new());
    assert!(unjudged(&report).len() == 1 && unjudged(&report)[0].contains("plugins: {stencil: [program, argument]}"), "{report}");
}

#[test]
fn the_command_of_the_base_revision_renders() {
    let report = report(&repository(Some(CAT), Some(CAT)), &[]);
    assert_eq!((created(&report), unjudged(&report)), (vec!["second"], vec![]));
}

#[test]
fn a_command_that_the_pull_request_brings_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("was-run");
    let hostile = format!("plugins:\n  stencil: [sh, -c, 'touch {}']\n", mark.display());
    for (base, more) in [(None, vec![]), (Some("plugins: {}\n"), vec!["--config", ".presync.yaml"])] {
        let repository = repository(base, Some(&hostile));
        let report = report(&repository, &more);
        assert!(unjudged(&report)[0].contains("never run unless"), "{report}");
        assert!(!mark.exists());
    }
    // The file is there on disk, and not at the base.
    let output = check(&repository(None, Some(&hostile)), &["--config", ".presync.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the base revision does not have it"));
    assert!(!mark.exists());
}

#[test]
fn a_link_to_the_file_of_the_pull_request_is_no_way_around() {
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(None, Some(CAT));
    let link = folder.path().join("config.yaml");
    std::os::unix::fs::symlink(repository.path().join(".presync.yaml"), &link).unwrap();
    assert_eq!(check(&repository, &["--config", link.to_str().unwrap()]).status.code(), Some(2));
}

#[test]
fn a_configuration_outside_of_the_repository_is_read_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    fs::write(&file, CAT).unwrap();
    let report = report(&repository(None, None), &["--config", file.to_str().unwrap()]);
    assert_eq!(created(&report), ["second"]);
}

#[test]
fn the_command_is_told_what_argo_cd_tells_plugins() {
    let names = "$ARGOCD_APP_NAME-$ARGOCD_APP_NAMESPACE.$ARGOCD_ENV_STAGE.$PARAM_SIZE_LIST_1.$PARAM_MODE.$PARAM_MORE_KEY_ONE";
    let config = format!(
        "plugins:\n  stencil: [sh, -c, 'if [ -f b.stencil ]; then printf \"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {{name: {names}}}\\n\"; fi']\n"
    );
    let report = report(&repository(Some(&config), Some(&config)), &[]);
    assert_eq!(created(&report), ["shop-shop.shop-prod.large.fast.1"], "{report}");
}

#[test]
fn a_command_that_fails_is_a_failure_of_its_application() {
    let failing = "plugins:\n  stencil: [sh, -c, 'test ! -f b.stencil || { echo no such stencil >&2; exit 3; }']\n";
    let report = report(&repository(Some(failing), Some(failing)), &[]);
    assert!(failed(&report).len() == 1 && failed(&report)[0].contains("no such stencil"), "{report}");
}

#[test]
fn output_that_is_no_object_is_a_failure_of_its_application() {
    for output in ["echo 'a: [' ", "echo 'a: 1'", "echo words"] {
        let config = format!("plugins:\n  stencil: [sh, -c, \"test ! -f b.stencil || {output}\"]\n");
        let report = report(&repository(Some(&config), Some(&config)), &[]);
        assert_eq!(failed(&report).len(), 1, "{output} {report}");
    }
}

#[test]
fn a_command_that_is_not_installed_is_not_judged() {
    let config = "plugins:\n  stencil: [no-such-program-here]\n";
    let report = report(&repository(Some(config), Some(config)), &[]);
    assert!(unjudged(&report).len() == 1 && unjudged(&report)[0].contains("no-such-program-here"), "{report}");
}

#[test]
fn a_mistake_in_the_configuration_ends_the_run_and_is_pointed_at() {
    let config = "pluggins:\n  stencil: [cat]\n";
    let output = check(&repository(Some(config), Some(config)), &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(".presync.yaml:1:1: there is no setting `pluggins`") && said.contains("Did you mean `plugins`?"), "{said}");
}
