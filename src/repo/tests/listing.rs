//! Trees of commits and of the index.

use std::sync::Arc;

use super::*;
use crate::repo::{Revision, TreeNote};

const LS_TREE: [&str; 4] = ["ls-tree", "-r", "--format=%(objectmode) %(objectname) %(path)", "HEAD"];
const LS_FILES: [&str; 2] = ["ls-files", "--format=%(objectmode) %(objectname) %(path)"];

fn with_all_kinds() -> Sandbox {
    let sandbox = Sandbox::init();
    sandbox.link("apps/link", "../README.md");
    sandbox.write("run.sh", "#!/bin/sh\n");
    sandbox.git(&["add", "run.sh"]);
    sandbox.git(&["update-index", "--chmod=+x", "run.sh"]);
    make_executable(&sandbox, "run.sh");
    sandbox.git(&["update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,vendor/sub"]);
    std::fs::create_dir_all(sandbox.path("vendor/sub")).expect("the submodule's directory");
    sandbox.commit(&[
        ("README.md", "hello\n"),
        ("apps/foo/a.yaml", "a: 1\n"),
        ("apps/foo-bar/b.yaml", "b: 1\n"),
        ("apps/foo.yaml", "c: 1\n"),
        ("apps/foo/deep/er/d.yaml", "d: 1\n"),
        ("apps/größe.yaml", "e: 1\n"),
        ("Apps/upper.yaml", "f: 1\n"),
    ]);
    sandbox
}

fn make_executable(sandbox: &Sandbox, path: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(sandbox.path(path), std::fs::Permissions::from_mode(0o755)).expect("the mode");
}

#[test]
fn a_commit_lists_what_git_lists() {
    let sandbox = with_all_kinds();
    sandbox.git(&["config", "core.quotePath", "false"]);
    let tree = sandbox.head();
    assert_eq!(listed(&tree), sandbox.git(&LS_TREE));
    assert_eq!(tree.entries().len(), 10);
    assert!(tree.notes().is_empty());
    let sha = sandbox.git(&["rev-parse", "HEAD"]);
    assert_eq!(tree.revision().to_string(), sha.trim());
}

#[test]
fn the_index_lists_what_is_staged_and_not_what_is_on_disk() {
    let sandbox = with_all_kinds();
    sandbox.git(&["config", "core.quotePath", "false"]);
    sandbox.write("staged.yaml", "staged\n");
    sandbox.git(&["add", "staged.yaml"]);
    sandbox.write("staged.yaml", "later\n");
    sandbox.write("untracked.yaml", "untracked\n");
    sandbox.git(&["rm", "--quiet", "README.md"]);
    let tree = sandbox.index();
    assert_eq!(listed(&tree), sandbox.git(&LS_FILES));
    assert_eq!(text(&tree, "staged.yaml"), "staged\n");
    assert_eq!(tree.revision(), Revision::Index);
    assert!(tree.get("README.md").is_none());
}

#[test]
fn an_announced_file_is_not_in_the_index_yet() {
    let sandbox = Sandbox::with(&[("a", "a")]);
    sandbox.write("b", "b");
    sandbox.git(&["add", "--intent-to-add", "b"]);
    assert_eq!(paths(&sandbox.index()), ["a"]);
    assert_eq!(text(&sandbox.worktree(), "b"), "b");
}

#[test]
fn an_index_with_conflicts_is_an_error_and_the_working_tree_is_not() {
    let sandbox = Sandbox::with(&[("a", "base\n")]);
    sandbox.git(&["checkout", "--quiet", "-b", "other"]);
    sandbox.commit(&[("a", "other\n")]);
    sandbox.git(&["checkout", "--quiet", "main"]);
    sandbox.commit(&[("a", "main\n")]);
    let merge = Command::new("git").current_dir(&sandbox.dir).args(["merge", "--quiet", "other"]).output().expect("git");
    assert!(!merge.status.success());
    let error = sandbox.open().index_tree().expect_err("a conflict");
    assert!(matches!(error, RepoError::Unmerged { ref path } if path == "a"), "{error:?}");
    assert!(text(&sandbox.worktree(), "a").contains("<<<<<<<"));
}

#[test]
fn a_directory_is_a_slice_and_never_its_namesake() {
    let tree = with_all_kinds().head();
    let under = |dir| tree.under(dir).iter().map(|entry| &*entry.path).collect::<Vec<_>>();
    assert_eq!(under("apps/foo"), ["apps/foo/a.yaml", "apps/foo/deep/er/d.yaml"]);
    assert_eq!(under("apps/foo/"), under("apps/foo"));
    assert_eq!(under("./apps/foo"), under("apps/foo"));
    assert_eq!(under("apps/foo-bar"), ["apps/foo-bar/b.yaml"]);
    assert_eq!(under("apps/fo"), [""; 0]);
    assert_eq!(under("apps/foo.yaml"), [""; 0]);
    assert_eq!(under("").len(), tree.entries().len());
    assert_eq!(under("zzz"), [""; 0]);
    assert!(tree.is_dir("apps/foo/deep") && tree.is_dir("") && tree.is_dir("."));
    assert!(!tree.is_dir("apps/foo.yaml") && !tree.is_dir("apps/fo") && !tree.is_dir("vendor/sub"));
}

#[test]
fn contents_are_read_by_path_and_links_are_not_followed() {
    let sandbox = with_all_kinds();
    let tree = sandbox.head();
    assert_eq!(text(&tree, "apps/foo/a.yaml"), "a: 1\n");
    assert_eq!(text(&tree, "apps/link"), "../README.md");
    let entry = tree.get("README.md").expect("an entry");
    assert_eq!(tree.size(entry).expect("a size"), 6);
    assert!(matches!(tree.read("apps"), Err(RepoError::NoSuchFile { .. })));
    assert!(matches!(tree.read("nope"), Err(RepoError::NoSuchFile { .. })));
    assert!(matches!(tree.read("vendor/sub"), Err(RepoError::Submodule { .. })));
}

#[test]
fn trees_are_shared_between_threads() {
    let sandbox = with_all_kinds();
    let tree = sandbox.head();
    let other = tree.clone();
    let read = std::thread::spawn(move || other.read("README.md").map(|contents| contents.len()));
    assert_eq!(read.join().expect("a thread").expect("contents"), 6);
    let contents: Arc<[u8]> = tree.read("README.md").expect("contents");
    assert_eq!(&*contents, b"hello\n");
}

#[test]
fn a_path_that_is_not_utf8_is_noted_and_left_out() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::with(&[("a", "a")]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.yaml");
    if std::fs::write(sandbox.dir.join(name), "x").is_err() {
        // Some file systems take UTF-8 names only.
        return;
    }
    let note = TreeNote::PathNotUtf8 { path: "caf\u{fffd}.yaml".to_owned() };
    assert_eq!(sandbox.worktree().notes(), std::slice::from_ref(&note));
    sandbox.commit(&[]);
    for tree in [sandbox.head(), sandbox.index(), sandbox.worktree()] {
        assert_eq!(paths(&tree), ["a"]);
        assert_eq!(tree.notes(), std::slice::from_ref(&note));
    }
}

#[test]
fn an_empty_repository_has_an_empty_index_and_working_tree() {
    let sandbox = Sandbox::init();
    assert!(sandbox.index().entries().is_empty());
    assert!(sandbox.worktree().entries().is_empty());
    assert!(matches!(sandbox.open().resolve("HEAD"), Err(RepoError::UnknownRevision { shallow: false, .. })));
}
