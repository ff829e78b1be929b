//! The hooks for pre-commit: what their entry does in a repository with staged changes, and, where pre-commit is installed, a real commit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_yaml::Value;
use tempfile::TempDir;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn hooks() -> Vec<Value> {
    serde_yaml::from_str(&fs::read_to_string(root().join(".pre-commit-hooks.yaml")).unwrap()).unwrap()
}

/// A repository at the base of a scenario, in which the claim is still there.
fn repository() -> TempDir {
    let base = root().join("fixtures/scenarios/pvc-removed-unprotected/base");
    let repository = support::lay_out(&base, &base);
    support::git(repository.path(), &["remote", "add", "origin", support::REPOSITORY_URL]);
    repository
}

/// The path of the claim's manifest.
fn claim(repository: &Path) -> PathBuf {
    let folder = repository.join("apps/orders");
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| fs::read_to_string(path).unwrap().contains("kind: PersistentVolumeClaim")).unwrap()
}

fn run_entry(hook: &Value, repository: &Path) -> Output {
    let words: Vec<&str> = hook["entry"].as_str().unwrap().split(' ').collect();
    assert_eq!(words[0], "presync");
    let mut command = Command::new(env!("CARGO_BIN_EXE_presync"));
    command
        .args(&words[1..])
        .current_dir(repository)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", repository);
    command.output().unwrap()
}

#[test]
fn each_hook_lets_a_harmless_commit_pass_and_stops_one_that_drops_a_claim() {
    let hooks = hooks();
    let ids: Vec<&str> = hooks.iter().map(|hook| hook["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["presync", "presync-system"]);
    for hook in &hooks {
        // pre-commit does not count deleted files, and would pass over the commit that only deletes.
        assert_eq!((&hook["pass_filenames"], &hook["always_run"]), (&Value::Bool(false), &Value::Bool(true)));
        let repository = repository();
        fs::write(repository.path().join("README"), "more\n").unwrap();
        support::git(repository.path(), &["add", "--all"]);
        let output = run_entry(hook, repository.path());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));

        fs::remove_file(claim(repository.path())).unwrap();
        assert_eq!(run_entry(hook, repository.path()).status.code(), Some(0), "what is not staged does not count");
        support::git(repository.path(), &["add", "--all"]);
        let output = run_entry(hook, repository.path());
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("prune-persistent-data"), "{text}");
    }
}

#[test]
#[ignore = "needs pre-commit; `make test-pre-commit` installs and runs it"]
fn a_real_commit_passes_or_is_stopped() {
    let repository = repository();
    let revision = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()).output().unwrap().stdout;
    let config = format!(
        "repos:\n- repo: {}\n  rev: {}\n  hooks:\n  - id: presync-system\n",
        root().display(),
        String::from_utf8(revision).unwrap().trim()
    );
    fs::write(repository.path().join(".pre-commit-config.yaml"), config).unwrap();
    support::commit(repository.path(), "hooks");
    let home = TempDir::new().unwrap();
    let folder = Path::new(env!("CARGO_BIN_EXE_presync")).parent().unwrap();
    let path =
        std::env::join_paths([folder.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap()))).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(repository.path())
            .env("PATH", &path)
            .env("HOME", home.path())
            .env("PRE_COMMIT_HOME", home.path());
        for name in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{name}_NAME"), "Test").env(format!("GIT_{name}_EMAIL"), "test@example.test");
        }
        let output = command.output().unwrap();
        (output.status.success(), format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
    };
    let (installed, text) = run("pre-commit", &["install"]);
    assert!(installed, "{text}");
    fs::write(repository.path().join("README"), "more\n").unwrap();
    run("git", &["add", "--all"]);
    let (committed, text) = run("git", &["commit", "--message=harmless"]);
    assert!(committed && text.contains("Passed"), "{text}");
    fs::remove_file(claim(repository.path())).unwrap();
    run("git", &["add", "--all"]);
    let (committed, text) = run("git", &["commit", "--message=drops the claim"]);
    assert!(!committed && text.contains("Failed") && text.contains("prune-persistent-data"), "{text}");
}
