//! Tests against repositories that the real Git makes, in temporary directories and apart from the user's configuration.

mod change;
mod history;
mod link;
mod listing;
mod unpacked;
mod worktree;

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{EntryKind, RepoError, Repository, Tree};

/// A directory with a repository in it.
struct Sandbox {
    _temporary: tempfile::TempDir,
    dir: PathBuf,
}

impl Sandbox {
    /// A temporary directory without a repository.
    fn empty() -> Self {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let dir = std::fs::canonicalize(temporary.path()).expect("its path");
        Self { _temporary: temporary, dir }
    }

    /// A repository without commits, on branch `main`.
    fn init() -> Self {
        let sandbox = Self::empty();
        sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
        sandbox
    }

    /// A repository with one commit of these files.
    fn with(files: &[(&str, &str)]) -> Self {
        let sandbox = Self::init();
        sandbox.commit(files);
        sandbox
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.join(path)
    }

    fn write(&self, path: &str, contents: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("the directories");
        std::fs::write(path, contents).expect("the file");
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("the directories");
        std::os::unix::fs::symlink(target, path).expect("the link");
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.path(path)).expect("the file");
    }

    /// Writes the files, stages everything and commits.
    fn commit(&self, files: &[(&str, &str)]) {
        for (path, contents) in files {
            self.write(path, contents);
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=change"]);
    }

    /// Runs Git in the repository and gives what it prints.
    fn git(&self, arguments: &[&str]) -> String {
        git(&self.dir, arguments)
    }

    fn open(&self) -> Repository {
        open(&self.dir).expect("a repository")
    }

    fn head(&self) -> Tree {
        let repository = self.open();
        repository.commit_tree(&repository.resolve("HEAD").expect("a commit")).expect("its tree")
    }

    fn index(&self) -> Tree {
        self.open().index_tree().expect("the index")
    }

    fn worktree(&self) -> Tree {
        self.open().worktree().expect("the working tree")
    }

    /// A clone of this repository, with `--no-local` so that depth and filters count.
    fn clone_with(&self, arguments: &[&str]) -> Self {
        let clone = Self::empty();
        let url = format!("file://{}", self.dir.display());
        let mut all = vec!["clone", "--quiet"];
        all.extend(arguments);
        all.extend([url.as_str(), "."]);
        clone.git(&all);
        clone
    }
}

fn open(dir: &Path) -> Result<Repository, RepoError> {
    Repository::discover_with(dir, &gix::open::Permissions::isolated())
}

fn git(dir: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    let output = command
        .current_dir(dir)
        .args(["-c", "protocol.file.allow=always", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"])
        .args(arguments)
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "presync"),
            ("GIT_AUTHOR_EMAIL", "presync@example.test"),
            ("GIT_COMMITTER_NAME", "presync"),
            ("GIT_COMMITTER_EMAIL", "presync@example.test"),
            ("LC_ALL", "C"),
        ])
        .output()
        .expect("git");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a command line that an error's help printed, between the first pair of backticks that starts with `git`.
fn run_remedy(dir: &Path, error: &RepoError) {
    let help = miette::Diagnostic::help(error).expect("a help").to_string();
    let command = help.split('`').find(|part| part.starts_with("git ")).expect("a command").to_owned();
    let output = Command::new("sh")
        .current_dir(dir)
        .args(["-c", &command])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("sh");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A tree in the form of `git ls-tree -r`: mode, id, path.
fn listed(tree: &Tree) -> String {
    let mut text = String::new();
    for entry in tree.entries() {
        let mode = match entry.kind {
            EntryKind::File => "100644",
            EntryKind::Executable => "100755",
            EntryKind::Symlink => "120000",
            EntryKind::Submodule => "160000",
        };
        text.push_str(&format!("{mode} {} {}\n", entry.id, entry.path));
    }
    text
}

fn paths(tree: &Tree) -> Vec<&str> {
    tree.entries().iter().map(|entry| &*entry.path).collect()
}

fn text(tree: &Tree, path: &str) -> String {
    String::from_utf8_lossy(&tree.read(path).expect("contents")).into_owned()
}
