//! Lays folders out as Git repositories, with nothing of this machine's Git configuration.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// The URL under which the repositories of fixtures are known.
pub(crate) const REPOSITORY_URL: &str = "https://git.example.test/platform/fleet.git";

/// A repository whose branch `main` holds `base` and whose branch `change`, checked out, holds `head`.
#[allow(dead_code, reason = "not every test lays out folders")]
pub(crate) fn lay_out(base: &Path, head: &Path) -> TempDir {
    let repository = TempDir::new().unwrap();
    git(repository.path(), &["init", "--quiet", "--initial-branch=main"]);
    copy(base, repository.path());
    commit(repository.path(), "base");
    git(repository.path(), &["checkout", "--quiet", "-b", "change"]);
    clear(repository.path());
    copy(head, repository.path());
    commit(repository.path(), "change");
    repository
}

/// Writes a file below a folder.
#[allow(dead_code, reason = "not every test writes files of its own")]
pub(crate) fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// An automated Application of this name whose source is a folder of the repository.
#[allow(dead_code, reason = "not every test has such an Application")]
pub(crate) fn application(name: &str, path: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {name}, namespace: argocd}}
spec:
  source: {{repoURL: {REPOSITORY_URL}, path: {path}}}
  destination: {{server: https://kubernetes.default.svc, namespace: shop}}
  syncPolicy: {{automated: {{}}}}
"
    )
}

/// Commits everything.
pub(crate) fn commit(repository: &Path, message: &str) {
    git(repository, &["add", "--all"]);
    git(repository, &["commit", "--quiet", "--allow-empty", "--message", message]);
}

/// Runs git in a repository.
pub(crate) fn git(repository: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.test", "-c", "commit.gpgsign=false", "-c", "gc.auto=0"])
        .args(arguments)
        .current_dir(repository)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[allow(dead_code, reason = "not every test lays out folders")]
fn clear(repository: &Path) {
    for entry in fs::read_dir(repository).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name == ".git") {
            continue;
        }
        if path.is_dir() { fs::remove_dir_all(&path).unwrap() } else { fs::remove_file(&path).unwrap() }
    }
}

/// Copies the content of a folder, links as links.
#[allow(dead_code, reason = "not every test lays out folders")]
pub(crate) fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&source, &target);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source).unwrap(), &target).unwrap();
        } else {
            fs::copy(&source, &target).unwrap();
        }
    }
}
