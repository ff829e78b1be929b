//! Trees for tests of renderers.

use std::path::Path;
use std::process::Command;

use crate::repo::{Repository, Tree};

/// The tree of a repository with these files and symbolic links. The repository stays on disk as long as the test process.
pub(crate) fn tree(files: &[(&str, &str)], links: &[(&str, &str)]) -> Tree {
    let folder = tempfile::tempdir().unwrap().keep();
    let place = |path: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    files.iter().for_each(|(path, contents)| std::fs::write(place(path), contents).unwrap());
    links.iter().for_each(|(path, target)| std::os::unix::fs::symlink(target, place(path)).unwrap());
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--allow-empty", "--message", "files"]);
    let repository = Repository::discover(&folder).unwrap();
    repository.commit_tree(&repository.resolve("HEAD").unwrap()).unwrap()
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.test", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
