//! A fleet of twelve ApplicationSets after the patterns of real repositories: the Applications that they generate before and after a change are
//! those of the golden lists, and so is the tree that `presync plan --applications` prints. `PRESYNC_WRITE_GOLDEN=1` writes them anew.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;

use std::path::{Path, PathBuf};

use presync::check::{self, Head, Options, Outcome};
use presync::inventory::Definition;
use presync::render::Programs;
use presync::report::{Style, applications};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/applicationsets")
}

fn run() -> Outcome {
    let repository = support::lay_out(&folder().join("base"), &folder().join("head"));
    let options = Options {
        repo: repository.path().to_path_buf(),
        base: Some("main".to_owned()),
        head: Head::Revision("change".to_owned()),
        snapshots: vec![folder().join("live").to_string_lossy().into_owned()],
        repo_urls: vec![support::REPOSITORY_URL.to_owned()],
        max_snapshot_age: None,
        applications: Vec::new(),
        all: false,
        offline: true,
        programs: Programs::from_environment(),
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
