//! How long it takes to expand the ApplicationSets of a large fleet: 20 sets over 200 clusters that generate 2,000 Applications.
//!
//! `cargo bench --bench applicationsets` measures; `cargo test --bench applicationsets` only tries it out, with a few sets and clusters.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic, reason = "a program for people who measure")]

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use presync::argocd::ApplicationSet;
use presync::inventory::applicationset::{Cluster, Clusters, Expansion, GitFiles, Surroundings, expand};
use presync::repo::Repository;
use rayon::prelude::*;
use serde_json::json;

/// Sets, clusters and rounds.
const FULL: [usize; 3] = [20, 200, 10];
/// The same, where nothing is measured.
const SMALL: [usize; 3] = [4, 20, 1];

fn main() {
    // Cargo says `--bench` where it measures.
    let [sets, clusters, rounds] = if std::env::args().any(|argument| argument == "--bench") { FULL } else { SMALL };
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["init", "--quiet"][..],
        &["-c", "user.name=b", "-c", "user.email=b@example.test", "commit", "--quiet", "--allow-empty", "-m", "b"],
    ] {
        assert!(Command::new("git").args(arguments).current_dir(folder.path()).status().unwrap().success());
    }
    let repository = Repository::discover(folder.path()).unwrap();
    let tree = repository.commit_tree(&repository.resolve("HEAD").unwrap()).unwrap();
    let files = Arc::new(GitFiles::new(&tree));
    let applications = sets * clusters / 2;
    let title = format!("{sets} sets, {clusters} clusters, {applications} Applications");
    let clusters = Clusters::Known((0..clusters).map(cluster).collect());
    let sets: Vec<ApplicationSet> = (0..sets).map(set).collect();
    let files = |_: &str, _: &str| Ok(Arc::clone(&files));
    let surroundings = Surroundings { files: &files, clusters: &clusters, live: None, control_namespace: "argocd", doublestar: false };
    let mut best = f64::MAX;
    for _ in 0..rounds {
        let started = Instant::now();
        let count: usize = sets
            .par_iter()
            .map(|set| match expand(set, &surroundings) {
                Expansion::Applications(all) => all.len(),
                other => panic!("{other:?}"),
            })
            .sum();
        assert_eq!(count, applications);
        best = best.min(started.elapsed().as_secs_f64() * 1000.0);
    }
    println!("{title}: {best:.0} ms");
}

fn cluster(index: usize) -> Cluster {
    let labels = [("region", "eu"), ("tier", if index.is_multiple_of(2) { "gold" } else { "silver" })];
    Cluster {
        name: format!("cluster-{index:03}"),
        server: format!("https://cluster-{index:03}.example.test"),
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        annotations: (0..10).map(|number| (format!("note-{number}"), format!("value {number} of {index}"))).collect(),
        ..Cluster::default()
    }
}

/// Half of the sets are Go templates, half are not.
fn set(index: usize) -> ApplicationSet {
    let go = index.is_multiple_of(2);
    let dot = if go { "." } else { "" };
    let object = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": format!("set-{index}"), "namespace": "argocd"},
        "spec": {
            "goTemplate": go, "goTemplateOptions": ["missingkey=error"],
            "generators": [{"merge": {"mergeKeys": ["name"], "generators": [
                {"clusters": {"selector": {"matchLabels": {"tier": "gold"}}, "values": {"version": "1.2", "path": "components"}}},
                {"list": {"elements": [{"name": "cluster-000"}]}}]}}],
            "template": {
                "metadata": {"name": format!("app-{index}-{{{{{dot}nameNormalized}}}}"), "labels": {"cluster": format!("{{{{{dot}name}}}}")}},
                "spec": {
                    "project": "default",
                    "source": {"repoURL": "https://git.example.test/fleet.git", "targetRevision": "main", "path": format!("{{{{{dot}values.path}}}}/{index}"),
                        "helm": {"valuesObject": {"version": format!("{{{{{dot}values.version}}}}"), "cluster": {"name": format!("{{{{{dot}name}}}}")}}}},
                    "destination": {"server": format!("{{{{{dot}server}}}}"), "namespace": format!("app-{index}")},
                    "syncPolicy": {"automated": {"prune": true}}
                }
            }
        }
    });
    ApplicationSet::read(Arc::new(object), "argocd").unwrap()
}
