//! What a run keeps for the next one: it changes no result, holds no Secret, and is never a reason to fail.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use presync::check::{self, Head, Options, Outcome};
use presync::render::Programs;
use tempfile::TempDir;

const APPLICATION: &str = "apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://git.example.test/platform/fleet.git, path: shop, targetRevision: main}
  destination: {server: https://kubernetes.default.svc, namespace: shop}
  syncPolicy: {automated: {prune: true}}
";

/// A repository with one Application, and a change that removes a Secret and edits a ConfigMap.
fn repository() -> TempDir {
    let (base, head) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for (side, value) in [(&base, 1.1), (&head, 2.2)] {
        fs::create_dir_all(side.path().join("shop")).unwrap();
        fs::write(side.path().join("application.yaml"), APPLICATION).unwrap();
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: prices}}\ndata: {{tea: \"{value}\"}}\n");
        fs::write(side.path().join("shop/prices.yaml"), text).unwrap();
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hours}\ndata: {open: \"9\"}\n";
        fs::write(side.path().join("shop/hours.yaml"), text).unwrap();
    }
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: till}\nstringData: {password: canary-value}\n";
    fs::write(base.path().join("shop/till.yaml"), secret).unwrap();
    support::lay_out(base.path(), head.path())
}

fn run(repository: &Path, cache: Option<PathBuf>) -> Outcome {
    let options = Options {
        repo: repository.to_path_buf(),
        base: Some("main".to_owned()),
        head: Head::Revision("change".to_owned()),
        snapshots: Vec::new(),
        max_snapshot_age: Some(i64::MAX),
        now: jiff::Timestamp::now(),
        repo_urls: vec![support::REPOSITORY_URL.to_owned()],
        applications: Vec::new(),
        all: true,
        offline: true,
        programs: Programs::default(),
        config: None,
        cache,
    };
    check::run(&options).unwrap()
}

/// What a run found out, in full.
fn results(outcome: &Outcome) -> String {
    let changes = outcome.plans.iter().flat_map(|plan| &plan.changes);
    let changes: Vec<String> = changes.map(|change| format!("{:?} {} {:?}", change.action, change.key, change.diff)).collect();
    format!("{changes:#?} {:#?} {:#?}", outcome.findings, outcome.unjudged)
}

fn kept_files(cache: &Path) -> Vec<PathBuf> {
    fs::read_dir(cache.join("parsed")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_run_with_what_was_kept_gives_the_same_as_one_without() {
    let (repository, cache) = (repository(), TempDir::new().unwrap());
    let without = results(&run(repository.path(), None));
    assert!(without.contains("ConfigMap"), "{without}");
    let first = results(&run(repository.path(), Some(cache.path().to_path_buf())));
    let files = kept_files(cache.path());
    assert_eq!(files.len(), 1);
    assert_eq!(first, without);
    assert_eq!(results(&run(repository.path(), Some(cache.path().to_path_buf()))), without);
    fs::write(&files[0], "presync parsed 1, but not quite").unwrap();
    assert_eq!(results(&run(repository.path(), Some(cache.path().to_path_buf()))), without);
}

#[test]
fn nothing_of_a_secret_is_kept() {
    let (repository, cache) = (repository(), TempDir::new().unwrap());
    run(repository.path(), Some(cache.path().to_path_buf()));
    let files = kept_files(cache.path());
    let bytes = fs::read(&files[0]).unwrap();
    let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("prices") && !holds("canary"), "the ConfigMap is kept, the Secret is not");
}

#[test]
fn a_cache_that_cannot_be_written_is_said_and_changes_nothing() {
    let (repository, cache) = (repository(), TempDir::new().unwrap());
    let blocked = cache.path().join("file");
    fs::write(&blocked, "in the way").unwrap();
    let outcome = run(repository.path(), Some(blocked));
    assert!(outcome.notes.iter().any(|note| note.contains("cannot be kept")), "{:?}", outcome.notes);
    assert_eq!(results(&outcome), results(&run(repository.path(), None)));
}
