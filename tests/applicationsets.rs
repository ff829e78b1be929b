//! A fleet of twelve ApplicationSets after the patterns of real repositories: the Applications that they generate before and after a change are
//! those of the golden lists, and so is the tree that `presync plan --applications` prints. `PRESYNC_WRITE_GOLDEN=1` writes them anew.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;
#[path = "support/tools.rs"]
#[allow(dead_code, reason = "the search path is for tests that run the program")]
mod tools;

use std::path::{Path, PathBuf};

use presync::check::{self, Head, Options, Outcome};
use presync::inventory::Definition;
use presync::render::Programs;
use presync::report::{Style, applications};
use tempfile::TempDir;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/applicationsets")
}

fn run() -> Outcome {
    let repository = support::lay_out(&folder().join("base"), &folder().join("head"));
    run_in(repository.path(), vec![folder().join("live").to_string_lossy().into_owned()])
}

/// Checks the branch `change` of a repository against its branch `main`.
fn run_in(repository: &Path, snapshots: Vec<String>) -> Outcome {
    let options = Options {
        repo: repository.to_path_buf(),
        base: Some("main".to_owned()),
        head: Head::Revision("change".to_owned()),
        snapshots,
        repo_urls: vec![support::REPOSITORY_URL.to_owned()],
        max_snapshot_age: None,
        applications: Vec::new(),
        all: false,
        offline: true,
        programs: Programs::in_folder(tools::folder()),
        now: "2026-11-30T12:00:00Z".parse().unwrap(),
        config: None,
        cache: None,
    };
    check::run(&options).unwrap()
}

#[track_caller]
fn compare(name: &str, found: &str) {
    let path = folder().join(name);
    if std::env::var_os("PRESYNC_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(&path).unwrap(), "{name} differs");
}

fn line(definition: &Definition) -> String {
    let application = &definition.application;
    let source = &application.spec.sources()[0];
    let by = &definition.generated.as_ref().unwrap().set.name;
    let destination = &application.spec.destination;
    let prune = application.automated().is_some_and(|automated| automated.prune);
    format!(
        "{by}: {} <- {}@{} -> {} {}{}\n",
        application.id.name,
        source.path,
        source.target_revision,
        destination.server,
        destination.namespace,
        if prune { "" } else { " (no prune)" }
    )
}

#[test]
fn twelve_sets_generate_the_applications_of_the_golden_lists() {
    let outcome = run();
    assert_eq!(outcome.inventory.sets.len(), 12, "{:?}", outcome.unjudged);
    assert!(outcome.unjudged.iter().all(|unjudged| !unjudged.what.contains("ApplicationSet")), "{:?}", outcome.unjudged);
    for (name, at_head) in [("base.txt", false), ("head.txt", true)] {
        let entries = outcome.inventory.entries.values();
        let definitions = entries.filter_map(|entry| if at_head { entry.head.as_ref() } else { entry.base.as_ref() });
        let mut lines: Vec<String> = definitions.filter(|definition| definition.generated.is_some()).map(line).collect();
        lines.sort();
        compare(name, &lines.concat());
    }
}

#[test]
fn the_tree_shows_who_makes_what_and_what_changes() {
    let outcome = run();
    let nodes = applications::tree(&outcome.inventory, &outcome.plans, false);
    let mut text = Vec::new();
    applications::write_text(&nodes, Style { color: false, width: 120, unicode: true }, &mut text).unwrap();
    compare("tree.txt", &String::from_utf8(text).unwrap());
    let mut json = Vec::new();
    applications::write_json(&nodes, "base", "head", &mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["version"], 1);
    let root = json["applications"].as_array().unwrap().iter().find(|node| node["name"] == "root").unwrap();
    let below: Vec<&str> = root["children"].as_array().unwrap().iter().filter_map(|node| node["name"].as_str()).collect();
    assert!(below.contains(&"more") && below.contains(&"tenants"), "{below:?}");
    let all = applications::tree(&outcome.inventory, &outcome.plans, true);
    assert!(all.len() >= nodes.len());
}

/// Another repository with a folder for each tenant: three at the tag `v1`, two on `main`.
fn values() -> TempDir {
    let values = TempDir::new().unwrap();
    support::git(values.path(), &["init", "--quiet", "--initial-branch=main"]);
    for tenant in ["amber", "blue", "cobalt"] {
        support::write(values.path(), &format!("tenants/{tenant}/values.yaml"), "a: b\n");
    }
    support::commit(values.path(), "three");
    support::git(values.path(), &["tag", "v1"]);
    std::fs::remove_dir_all(values.path().join("tenants/cobalt")).unwrap();
    support::commit(values.path(), "two");
    values
}

/// The names that a set generates which reads the other repository at this revision, or what is not judged.
fn tenants(config: &str, revision: &str) -> Result<Vec<String>, String> {
    let sides = TempDir::new().unwrap();
    let set = |revision: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: tenants, namespace: argocd}}
spec:
  goTemplate: true
  generators: [{{git: {{repoURL: 'git@git.example.test:platform/values.git', revision: '{revision}', directories: [{{path: tenants/*}}]}}}}]
  template:
    metadata: {{name: 'tenant-{{{{.path.basename}}}}'}}
    spec:
      project: default
      source: {{repoURL: {}, path: tenant}}
      destination: {{server: https://kubernetes.default.svc, namespace: '{{{{.path.basename}}}}'}}
",
            support::REPOSITORY_URL
        )
    };
    for (side, revision) in [("base", "v1"), ("head", revision)] {
        support::write(&sides.path().join(side), "sets/tenants.yaml", &set(revision));
        support::write(&sides.path().join(side), "root.yaml", &support::application("root", "sets"));
        support::write(&sides.path().join(side), "tenant/site.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\n");
        support::write(&sides.path().join(side), ".presync.yaml", config);
    }
    let repository = support::lay_out(&sides.path().join("base"), &sides.path().join("head"));
    let outcome = run_in(repository.path(), Vec::new());
    if let Some(unjudged) = outcome.unjudged.iter().find(|unjudged| unjudged.what.contains("ApplicationSet")) {
        return Err(format!("{}: {}", unjudged.what, unjudged.why));
    }
    let generated = outcome.inventory.entries.values().filter_map(|entry| entry.head.as_ref()).filter(|head| head.generated.is_some());
    Ok(generated.map(|head| head.application.id.name.to_string()).collect())
}

#[test]
fn a_git_generator_reads_the_clone_of_another_repository_at_its_revision() {
    let values = values();
    let clone = |path: &Path| format!("clones: [{{url: 'https://git.example.test/platform/values', path: {}}}]\n", path.display());
    let all = ["tenant-amber", "tenant-blue", "tenant-cobalt"].map(str::to_owned).to_vec();
    assert_eq!(tenants(&clone(values.path()), "nowhere").unwrap_err().matches("does not have the revision").count(), 1);
    assert_eq!(tenants(&clone(values.path()), "refs/tags/v1"), Ok(all));
    for revision in ["main", "HEAD", ""] {
        assert_eq!(tenants(&clone(values.path()), revision), Ok(["tenant-amber", "tenant-blue"].map(str::to_owned).to_vec()), "{revision}");
    }
    let bare = TempDir::new().unwrap();
    support::git(bare.path(), &["clone", "--quiet", "--bare", &values.path().to_string_lossy(), "."]);
    assert_eq!(tenants(&clone(bare.path()), "main").unwrap().len(), 2);
}

#[test]
fn without_a_usable_clone_a_set_that_reads_another_repository_is_not_judged() {
    let values = values();
    assert!(tenants("", "main").unwrap_err().contains("name a clone of it under `clones`"));
    let inside =
        format!("clones: [{{url: 'https://git.example.test/platform/values', path: {}}}]\n", values.path().join("tenants").display());
    assert!(tenants(&inside, "main").unwrap_err().contains("is not inside a Git repository"));
    let own = "clones: [{url: 'https://git.example.test/platform/values', path: ./tenant}]\n";
    assert!(tenants(own, "main").unwrap_err().contains("not this repository"));
}
