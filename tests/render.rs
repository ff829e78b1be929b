//! What a user notices of rendering beyond the plan: where findings point, which programs run and how often, and what pins mean.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;
#[path = "support/tools.rs"]
#[allow(dead_code, reason = "the search path is for tests that run the program")]
mod tools;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use presync::check::{self, Head, Options, Outcome};
use presync::finding::Finding;
use presync::manifest::Side;
use presync::plan::Action;
use presync::render::Programs;
use tempfile::TempDir;

type Files<'a> = Vec<(&'a str, String)>;

/// A repository with these files on `main`, and with `head` put over them on `change`.
fn repository(base: &Files<'_>, head: &Files<'_>) -> TempDir {
    let (before, after) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(before.path(), base);
    write(after.path(), base);
    write(after.path(), head);
    support::lay_out(before.path(), after.path())
}

fn write(folder: &Path, files: &Files<'_>) {
    for (path, contents) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Nothing in a file means no file.
        if contents.is_empty() { fs::remove_file(path).unwrap() } else { fs::write(path, contents).unwrap() }
    }
}

fn check(repository: &TempDir, all: bool, programs: Programs) -> Outcome {
    let options = Options {
        repo: repository.path().to_path_buf(),
        base: Some("main".to_owned()),
        head: Head::Revision("change".to_owned()),
        snapshots: Vec::new(),
        max_snapshot_age: None,
        repo_urls: vec![support::REPOSITORY_URL.to_owned()],
        applications: Vec::new(),
        all,
        offline: true,
        programs,
        config: None,
        cache: None,
        now: jiff::Timestamp::UNIX_EPOCH,
    };
    check::run(&options).unwrap()
}

fn pinned() -> Programs {
    Programs::in_folder(tools::folder())
}

fn application(name: &str, path: &str, revision: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n  project: default\n  \
         source: {{repoURL: '{}', targetRevision: '{revision}', path: {path}}}\n  destination: {{server: 'https://kubernetes.default.svc', \
         namespace: shop}}\n  syncPolicy: {{automated: {{prune: true}}}}\n",
        support::REPOSITORY_URL
    )
}

fn config(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: {value}}}\n")
}

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
";
const AUTOSCALER: &str = "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 9
";
const CLAIM: &str = "apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: orders}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

fn finding<'a>(outcome: &'a Outcome, rule: &str) -> &'a Finding {
    outcome.findings.iter().find(|finding| &*finding.rule == rule).unwrap_or_else(|| panic!("no {rule} among {:?}", outcome.findings))
}

fn place(finding: &Finding) -> (Side, &str, u32) {
    let location = &finding.locations[0];
    (location.side, &location.path, location.line)
}

#[test]
fn findings_about_a_kustomization_point_at_the_base_or_at_the_patch_that_decides() {
    let base = vec![
        ("argocd/web.yaml", application("web", "overlays/prod", "main")),
        ("bases/web/kustomization.yaml", "resources: [web.yaml, storage.yaml]\n".to_owned()),
        ("bases/web/web.yaml", DEPLOYMENT.replace("  replicas: 1\n", "")),
        ("bases/web/storage.yaml", format!("{}---\n{CLAIM}", config("settings", "a"))),
        ("overlays/prod/kustomization.yaml", "namePrefix: prod-\nresources: [../../bases/web]\n".to_owned()),
    ];
    let patch = "# more of it\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3\n";
    let head = vec![
        ("bases/web/storage.yaml", config("settings", "a")),
        (
            "overlays/prod/kustomization.yaml",
            "namePrefix: prod-\nresources: [../../bases/web, hpa.yaml]\npatches: [{path: more.yaml}]\n".to_owned(),
        ),
        ("overlays/prod/more.yaml", patch.to_owned()),
        ("overlays/prod/hpa.yaml", AUTOSCALER.to_owned()),
    ];
    let outcome = check(&repository(&base, &head), false, pinned());
    assert_eq!(place(finding(&outcome, "prune-persistent-data")), (Side::Base, "bases/web/storage.yaml", 6));
    assert_eq!(place(finding(&outcome, "replicas-owned-by-autoscaler")), (Side::Head, "overlays/prod/more.yaml", 7));
}

/// kubectl, with a note of each run.
fn counted(folder: &Path) -> Programs {
    let (program, notes) = (folder.join("kubectl"), folder.join("runs"));
    let script = format!("#!/bin/sh\necho run >> {}\nexec {}/kubectl \"$@\"\n", notes.display(), tools::folder().display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Programs::in_folder(folder)
}

fn runs(folder: &Path) -> usize {
    fs::read_to_string(folder.join("runs")).unwrap_or_default().lines().count()
}

#[test]
fn equal_inputs_are_built_once_and_what_the_change_does_not_touch_is_not_built() {
    let base = vec![
        ("argocd/a.yaml", application("a", "overlays/prod", "main")),
        ("argocd/b.yaml", application("b", "overlays/prod", "main").replace("namespace: shop", "namespace: other")),
        ("argocd/c.yaml", application("c", "overlays/test", "main")),
        ("bases/web/kustomization.yaml", "resources: [web.yaml]\n".to_owned()),
        ("bases/web/web.yaml", config("web", "one")),
        ("bases/api/kustomization.yaml", "resources: [api.yaml]\n".to_owned()),
        ("bases/api/api.yaml", config("api", "one")),
        ("overlays/prod/kustomization.yaml", "resources: [../../bases/web]\n".to_owned()),
        ("overlays/test/kustomization.yaml", "resources: [../../bases/api]\n".to_owned()),
    ];
    let count = |head: &Files<'_>, all: bool| {
        let folder = TempDir::new().unwrap();
        let outcome = check(&repository(&base, head), all, counted(folder.path()));
        assert!(outcome.unjudged.is_empty(), "{:?}", outcome.unjudged);
        (runs(folder.path()), outcome.plans.len())
    };
    let elsewhere = vec![("README.md", "hello".to_owned())];
    // Without a snapshot the base of every Application stands in for the cluster.
    assert_eq!(count(&elsewhere, true), (2, 3));
    assert_eq!(count(&vec![("bases/web/web.yaml", config("web", "two"))], true), (3, 3));
    assert_eq!(count(&vec![("bases/web/web.yaml", config("web", "two"))], false).1, 2);
}

#[test]
fn a_pinned_revision_is_rendered_where_the_clone_has_it_and_a_moved_pin_is_a_change() {
    let base = vec![
        ("argocd/pinned.yaml", application("pinned", "apps/web", "v1.0.0")),
        ("argocd/moved.yaml", application("moved", "apps/api", "v1.0.0")),
        ("apps/web/web.yaml", config("web", "released")),
        ("apps/api/api.yaml", config("api", "released")),
    ];
    let head = vec![("argocd/moved.yaml", application("moved", "apps/api", "v2.0.0")), ("apps/web/web.yaml", config("web", "new"))];
    let repository = repository(&base, &head);
    support::git(repository.path(), &["tag", "v1.0.0", "main"]);
    support::git(repository.path(), &["checkout", "--quiet", "-b", "release", "main"]);
    fs::write(repository.path().join("apps/api/api.yaml"), config("api", "next")).unwrap();
    support::commit(repository.path(), "next");
    support::git(repository.path(), &["tag", "v2.0.0"]);
    support::git(repository.path(), &["checkout", "--quiet", "change"]);
    let outcome = check(&repository, false, pinned());
    let finding = finding(&outcome, "revision-not-tracked");
    assert_eq!(finding.application.as_deref(), Some("argocd/pinned"));
    let changes = |name: &str| {
        let plan = outcome.plans.iter().find(|plan| &*plan.application.id.name == name).unwrap();
        plan.changes.iter().filter(|change| change.action != Action::None).map(|change| change.key.to_string()).collect::<Vec<_>>()
    };
    assert!(changes("pinned").is_empty());
    assert_eq!(changes("moved"), ["ConfigMap shop/api"]);
}

#[test]
fn without_a_program_each_application_says_what_to_install() {
    let base = vec![
        ("argocd/web.yaml", application("web", "apps/web", "main")),
        ("apps/web/kustomization.yaml", "resources: [web.yaml]\n".to_owned()),
        ("apps/web/web.yaml", config("web", "one")),
    ];
    let outcome = check(&repository(&base, &vec![("apps/web/web.yaml", config("web", "two"))]), false, Programs::default());
    assert_eq!(outcome.unjudged.len(), 1);
    assert!(outcome.unjudged[0].why.contains("PRESYNC_KUSTOMIZE"), "{:?}", outcome.unjudged);
}

fn with_values_of(name: &str, revision: &str) -> String {
    let url = support::REPOSITORY_URL;
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n  project: default\n  sources:\n  \
         - {{repoURL: {url}, targetRevision: {revision}, ref: vals}}\n  - {{repoURL: {url}, targetRevision: main, path: chart, helm: {{valueFiles: \
         [$vals/envs/web.yaml]}}}}\n  destination: {{server: https://kubernetes.default.svc, namespace: shop}}\n  syncPolicy: {{automated: {{prune: \
         true}}}}\n"
    )
}

#[test]
fn value_files_of_another_revision_of_the_same_repository_are_refused() {
    let base = vec![
        ("argocd/web.yaml", with_values_of("web", "main")),
        ("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n".to_owned()),
        ("chart/templates/web.yaml", config("web", "one")),
        ("envs/web.yaml", "a: 1\n".to_owned()),
    ];
    let old = |name: &str| ("argocd/web.yaml", with_values_of("web", name));
    let repository = repository(&base, &vec![old("v1.0.0"), ("envs/web.yaml", "a: 2\n".to_owned())]);
    support::git(repository.path(), &["tag", "v1.0.0", "main"]);
    let outcome = check(&repository, false, pinned());
    assert!(finding(&outcome, "render-failed").message.contains("$vals names the revision v1.0.0"), "{:?}", outcome.findings);
}

#[test]
fn a_generator_at_a_pinned_revision_lists_the_folders_of_that_revision() {
    let set = |exclude: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: apps, namespace: argocd}}\nspec:\n  generators:\n  - git: {{repoURL: \
             {url}, revision: v1.0.0, directories: [{{path: apps/*}}{exclude}]}}\n  template:\n    metadata: {{name: '{{{{path.basename}}}}'}}\n    spec:\n      \
             project: default\n      source: {{repoURL: {url}, targetRevision: main, path: '{{{{path}}}}'}}\n      destination: {{server: \
             https://kubernetes.default.svc, namespace: shop}}\n",
            url = support::REPOSITORY_URL
        )
    };
    let base =
        vec![("argocd/apps.yaml", set("")), ("apps/web/web.yaml", config("web", "one")), ("apps/api/api.yaml", config("api", "one"))];
    let head = vec![("argocd/apps.yaml", set(", {path: apps/api, exclude: true}")), ("apps/new/new.yaml", config("new", "one"))];
    let repository = repository(&base, &head);
    support::git(repository.path(), &["tag", "v1.0.0", "main"]);
    let outcome = check(&repository, false, pinned());
    let names = |at_head: bool| -> Vec<String> {
        let entries = outcome.inventory.entries.values();
        let defined = entries.filter(|entry| if at_head { entry.head.is_some() } else { entry.base.is_some() });
        defined.map(|entry| entry.id.name.to_string()).collect()
    };
    assert_eq!((names(false), names(true)), (vec!["api".to_owned(), "web".to_owned()], vec!["web".to_owned()]));
    assert!(outcome.unjudged.is_empty(), "{:?}", outcome.unjudged);
}

#[test]
fn a_link_to_a_folder_is_a_source_path_and_moving_it_is_a_change() {
    let base = vec![
        ("argocd/web.yaml", application("web", "current", "main")),
        ("apps/old/web.yaml", config("web", "old")),
        ("apps/new/web.yaml", config("web", "new")),
    ];
    let (before, after) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for (folder, target) in [(before.path(), "apps/old"), (after.path(), "apps/new")] {
        write(folder, &base);
        std::os::unix::fs::symlink(target, folder.join("current")).unwrap();
    }
    let outcome = check(&support::lay_out(before.path(), after.path()), false, pinned());
    let actions: Vec<Action> = outcome.plans.iter().flat_map(|plan| &plan.changes).map(|change| change.action).collect();
    assert_eq!(actions, [Action::Update], "{:?}", outcome.findings);
}
