//! The program as a user runs it: arguments, exit codes, output formats, errors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

fn presync(repository: &Path) -> Command {
    let mut command = Command::cargo_bin("presync").unwrap();
    command.current_dir(repository).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("NO_COLOR", "1");
    command
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// A scenario as a Git repository, and the place of its live objects.
fn scenario(name: &str) -> (TempDir, PathBuf) {
    let folder = fixture(&format!("scenarios/{name}"));
    (support::lay_out(&folder.join("base"), &folder.join("head")), folder.join("live"))
}

fn stdout(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn check_fails_with_1_on_an_error_and_says_what_will_be_deleted() {
    let (repository, live) = scenario("pvc-removed-unprotected");
    let (code, text) = stdout(
        presync(repository.path()).args(["check", "--base", "main", "--repo-url", support::REPOSITORY_URL, "--snapshot"]).arg(&live),
    );
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("prune-persistent-data") && text.contains("PersistentVolumeClaim shop/orders-data") && text.contains("pv-1001"),
        "{text}"
    );
}

#[test]
fn the_json_report_holds_plan_and_findings_and_is_the_same_twice() {
    let (repository, live) = scenario("pvc-removed-unprotected");
    let run = || {
        stdout(
            presync(repository.path())
                .args([
                    "check",
                    "--base",
                    "main",
                    "--head",
                    "change",
                    "--format",
                    "json",
                    "--repo-url",
                    support::REPOSITORY_URL,
                    "--snapshot",
                ])
                .arg(&live),
        )
    };
    let (code, text) = run();
    assert_eq!((code, &text), (1, &run().1));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["version"], 1);
    assert_eq!(report["verdict"], "fail");
    assert_eq!(report["summary"]["prune"], 1);
    let orders = report["applications"].as_array().unwrap().iter().find(|app| app["name"] == "orders").unwrap();
    assert_eq!(orders["sync"]["mode"], "automated");
    let changes: Vec<String> = orders["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| format!("{} {}", change["action"].as_str().unwrap(), change["name"].as_str().unwrap()))
        .collect();
    assert_eq!(changes, ["prune orders-data", "update orders"]);
    let finding = &report["findings"][0];
    assert_eq!((&finding["rule"], &finding["location"]["revision"]), (&"prune-persistent-data".into(), &"base".into()));
}

#[test]
fn fail_on_never_passes_and_a_report_file_is_written_besides() {
    let (repository, live) = scenario("pvc-removed-unprotected");
    let file = repository.path().join("report.json");
    let (code, _) = stdout(
        presync(repository.path())
            .args(["check", "--base", "main", "--fail-on", "never", "--repo-url", support::REPOSITORY_URL, "--report"])
            .arg(format!("json={}", file.display()))
            .arg("--snapshot")
            .arg(&live),
    );
    assert_eq!(code, 0);
    let report: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(report["verdict"], "pass");
}

#[test]
fn without_a_snapshot_the_base_stands_in_and_the_report_says_assumed() {
    let (repository, _) = scenario("pvc-removed-unprotected");
    let (code, text) =
        stdout(presync(repository.path()).args(["check", "--base", "main", "--format", "json", "--repo-url", support::REPOSITORY_URL]));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(code, 1, "{text}");
    assert_eq!(report["applications"][0]["basis"], "assumed");
    assert_eq!(report["findings"][0]["basis"], "assumed");
}

#[test]
fn the_working_tree_the_index_and_a_revision_are_told_apart() {
    let (repository, live) = scenario("prune-off-leftover");
    support::git(repository.path(), &["checkout", "--quiet", "main"]);
    let names = |arguments: &[&str]| {
        let (_, text) = stdout(
            presync(repository.path())
                .arg("plan")
                .args(arguments)
                .args(["--format", "json", "--repo-url", support::REPOSITORY_URL, "--snapshot"])
                .arg(&live),
        );
        let report: Value = serde_json::from_str(&text).unwrap();
        (report["head"]["revision"].as_str().unwrap().to_owned(), report["applications"].as_array().unwrap().len())
    };
    assert_eq!(names(&[]), ("worktree".to_owned(), 0));
    fs::remove_file(repository.path().join("apps/legacy/deployment-legacy-worker.yaml")).unwrap();
    assert_eq!(names(&[]), ("worktree".to_owned(), 1));
    assert_eq!(names(&["--staged"]), ("index".to_owned(), 0));
    support::git(repository.path(), &["add", "--all"]);
    assert_eq!(names(&["--staged"]), ("index".to_owned(), 1));
    assert_eq!(names(&["--base", "main", "--head", "change"]).1, 1);
}

#[test]
fn what_cannot_be_done_ends_with_2_and_says_what_to_do() {
    let nowhere = TempDir::new().unwrap();
    let output = presync(nowhere.path()).arg("check").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("presync failed") && text.contains("repository"), "{text}");

    let (repository, _) = scenario("prune-off-leftover");
    for (arguments, word) in [
        (vec!["check", "--base", "no-such-branch"], "no-such-branch"),
        (vec!["check", "--base", "main...change"], "not a range"),
        (vec!["check", "--base", ""], "for example `--base main`"),
        (vec!["check", "--snapshot", "missing.yaml"], "missing.yaml"),
        (vec!["check", "--app", "[", "--base", "main"], "pattern"),
        (vec!["check", "--max-snapshot-age", "soon"], "24h"),
    ] {
        let output = presync(repository.path()).args(&arguments).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(word), "{arguments:?}: {text}");
    }
}

#[test]
fn a_broken_manifest_fails_its_application_and_the_others_are_still_judged() {
    let (repository, live) = scenario("pvc-removed-unprotected");
    let broken = repository.path().join("apps/broken");
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join("bad.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [unclosed\n").unwrap();
    let application = fs::read_to_string(repository.path().join("clusters/prod/orders.yaml")).unwrap();
    fs::write(repository.path().join("clusters/prod/broken.yaml"), application.replace("orders", "broken")).unwrap();
    let (code, text) = stdout(
        presync(repository.path()).args(["check", "--base", "main", "--repo-url", support::REPOSITORY_URL, "--snapshot"]).arg(&live),
    );
    assert_eq!(code, 1);
    assert!(text.contains("render-failed") && text.contains("apps/broken/bad.yaml"), "{text}");
    assert!(text.contains("prune-persistent-data"), "{text}");
}

#[test]
fn only_the_applications_asked_for_are_listed() {
    let (repository, live) = scenario("moved-between-apps");
    let (_, text) = stdout(
        presync(repository.path())
            .args([
                "plan",
                "--base",
                "main",
                "--app",
                "argocd/be*",
                "--format",
                "json",
                "--repo-url",
                support::REPOSITORY_URL,
                "--snapshot",
            ])
            .arg(&live),
    );
    let report: Value = serde_json::from_str(&text).unwrap();
    let names: Vec<&str> = report["applications"].as_array().unwrap().iter().filter_map(|app| app["name"].as_str()).collect();
    assert_eq!(names, ["beta"]);
}

#[test]
fn a_pattern_that_matches_no_application_is_not_judged() {
    let (repository, live) = scenario("moved-between-apps");
    let (code, text) = stdout(presync(repository.path()).args(["check", "--base", "main", "--app", "betta", "--snapshot"]).arg(&live));
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("--app betta: it matches no Application that presync found") && text.contains("incomplete"), "{text}");
}

#[test]
fn an_unborn_branch_says_that_nothing_is_committed() {
    let empty = TempDir::new().unwrap();
    support::git(empty.path(), &["init", "--quiet"]);
    let output = presync(empty.path()).arg("check").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("nothing is committed on the current branch yet"), "{text}");
}

#[test]
fn strict_fails_on_what_could_not_be_judged() {
    let (repository, live) = scenario("kustomize-quotes-annotations");
    let run = |strict: &[&str]| {
        stdout(
            // No program is found, so that kustomizations are not judged.
            presync(repository.path())
                .env("PATH", "")
                .args(["check", "--base", "main", "--repo-url", support::REPOSITORY_URL])
                .args(strict)
                .arg("--snapshot")
                .arg(&live),
        )
    };
    let (code, text) = run(&[]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("kustomize"), "{text}");
    assert_eq!(run(&["--strict"]).0, 1);
}

#[test]
fn an_imported_snapshot_gives_the_same_plan_as_the_files_it_was_made_of() {
    let (repository, live) = scenario("pvc-removed-unprotected");
    let file = repository.path().join("live.presync.zst");
    presync(repository.path())
        .args(["snapshot", "import", "--captured-at", "2026-01-01T00:00:00Z", "--output"])
        .arg(&file)
        .arg(&live)
        .assert()
        .success();
    let plan = |snapshot: &Path| {
        let (_, text) = stdout(
            presync(repository.path())
                .args([
                    "check",
                    "--base",
                    "main",
                    "--head",
                    "change",
                    "--format",
                    "json",
                    "--repo-url",
                    support::REPOSITORY_URL,
                    "--snapshot",
                ])
                .arg(snapshot),
        );
        let mut report: Value = serde_json::from_str(&text).unwrap();
        report.as_object_mut().unwrap().remove("snapshots");
        // One of them says when it was read.
        report["findings"].as_array_mut().unwrap().retain(|finding| finding["rule"] != "snapshot-stale");
        report.as_object_mut().unwrap().remove("summary");
        report
    };
    assert_eq!(plan(&live), plan(&file));
    let (code, text) = stdout(presync(repository.path()).args(["snapshot", "show"]).arg(&file));
    assert_eq!(code, 0);
    assert!(text.contains("PersistentVolumeClaim") && text.contains("orders"), "{text}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let (repository, live) = scenario("pvc-removed-unprotected");
    let script = format!(
        "'{}' check --base main --repo-url {} --snapshot '{}' | head -n 1; exit ${{PIPESTATUS[0]}}",
        assert_cmd::cargo::cargo_bin("presync").display(),
        support::REPOSITORY_URL,
        live.display()
    );
    let output = std::process::Command::new("bash").args(["-c", &script]).current_dir(repository.path()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)) && !text.contains("panicked"), "{text}");
}

#[test]
fn completions_manual_and_help_are_printed() {
    let nowhere = TempDir::new().unwrap();
    for arguments in [
        vec!["completions", "bash"],
        vec!["man"],
        vec!["--help"],
        vec!["check", "--help"],
        vec!["rules"],
        vec!["explain", "prune-namespace"],
    ] {
        let (code, text) = stdout(presync(nowhere.path()).args(&arguments));
        assert_eq!(code, 0, "{arguments:?}");
        assert!(text.len() > 200, "{arguments:?}: {text}");
    }
    let output = presync(nowhere.path()).args(["explain", "prune-namespaces"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("prune-namespace"), "the nearest rule is named");
}

#[test]
fn a_broken_file_with_an_application_is_named_and_the_others_are_judged() {
    let (repository, live) = scenario("pvc-removed-unprotected");
    let broken = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: other\n";
    fs::write(repository.path().join("clusters/prod/other.yaml"), broken).unwrap();
    let mut command = presync(repository.path());
    let (code, text) = stdout(command.args(["check", "--base", "main", "--repo-url", support::REPOSITORY_URL, "--snapshot"]).arg(&live));
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("prune-persistent-data"), "{text}");
    assert!(text.contains("Argo CD objects in clusters/prod/other.yaml:"), "{text}");
}

#[test]
fn a_file_that_the_clone_lacks_ends_the_job_with_the_command_that_fetches_it() {
    let (repository, live) = scenario("pvc-removed-unprotected");
    let output = std::process::Command::new("git").args(["ls-tree", "-r", "main"]).current_dir(repository.path()).output().unwrap();
    let listing = String::from_utf8(output.stdout).unwrap();
    let line = listing.lines().find(|line| line.contains("persistentvolumeclaim")).unwrap();
    let id = line.split_whitespace().nth(2).unwrap();
    fs::remove_file(repository.path().join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
    let output = presync(repository.path())
        .args(["check", "--base", "main", "--head", "change", "--repo-url", support::REPOSITORY_URL, "--snapshot"])
        .arg(&live)
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("is not in the repository's object database") && error.contains("git "), "{error}");
}

#[test]
fn a_removed_set_that_nothing_renders_is_not_judged_without_a_snapshot() {
    let repository = TempDir::new().unwrap();
    let root = repository.path();
    support::git(root, &["init", "--quiet", "--initial-branch=main"]);
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: team, namespace: argocd}\nspec:\n  generators: [{list: {elements: [{a: x}]}}]\n  \
               template: {metadata: {name: '{{a}}'}, spec: {project: default, source: {repoURL: https://git.example.test/platform/fleet.git, path: app}, destination: {name: in-cluster}}}\n";
    support::write(root, "set.yaml", set);
    support::write(root, "app/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    support::commit(root, "base");
    fs::remove_file(root.join("set.yaml")).unwrap();
    let (code, text) = stdout(presync(root).args(["check", "--repo-url", support::REPOSITORY_URL]));
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("removal of ApplicationSet argocd/team (set.yaml:1)"), "{text}");
}
