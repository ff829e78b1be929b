//! Differences between trees.

use super::*;
use crate::repo::{Change, ChangeSet};

fn shown(changes: &ChangeSet) -> Vec<String> {
    let show = |change: &Change| match change {
        Change::Added => "A".to_owned(),
        Change::Removed => "D".to_owned(),
        Change::Modified => "M".to_owned(),
        Change::Renamed { from } => format!("R {from} ->"),
    };
    changes.changes().iter().map(|change| format!("{} {}", show(&change.change), change.path)).collect()
}

fn lines(seed: &str) -> String {
    (0..40).map(|line| format!("{seed}-{line}: value\n")).collect()
}

#[test]
fn added_removed_and_modified_paths_are_sorted() {
    let sandbox = Sandbox::with(&[("apps/foo/a", "a"), ("apps/foo-bar/b", "b"), ("z", "z"), ("same", "same")]);
    let base = sandbox.head();
    sandbox.write("apps/foo/a", "changed");
    sandbox.write("new", "something quite different");
    sandbox.remove("z");
    let head = sandbox.worktree();
    let changes = ChangeSet::between(&base, &head);
    assert_eq!(shown(&changes), ["M apps/foo/a", "A new", "D z"]);
    assert!(changes.touches_under("apps/foo") && changes.touches_under("apps") && changes.touches_under(""));
    assert!(!changes.touches_under("apps/foo-bar") && !changes.touches_under("ap"));
    assert!(changes.touches("z") && changes.touches_under("z") && !changes.touches("same"));
    assert!(ChangeSet::between(&head, &head).is_empty());
}

#[test]
fn a_change_of_mode_or_kind_is_a_modification() {
    let sandbox = Sandbox::with(&[("run", "x"), ("link", "target")]);
    let base = sandbox.head();
    sandbox.git(&["update-index", "--chmod=+x", "run"]);
    sandbox.remove("link");
    sandbox.link("link", "target");
    sandbox.git(&["add", "link"]);
    assert_eq!(shown(&ChangeSet::between(&base, &sandbox.index())), ["M link", "M run"]);
}

#[test]
fn renames_are_paired_by_equal_and_by_similar_contents() {
    let sandbox = Sandbox::with(&[("old/equal", &lines("equal")), ("old/similar", &lines("similar")), ("old/other", &lines("other"))]);
    let base = sandbox.head();
    sandbox.git(&["mv", "old", "new"]);
    sandbox.write("new/similar", &lines("similar").replace("similar-7:", "changed:"));
    sandbox.write("new/other", &lines("nothing in common"));
    let expected = ["R old/equal -> new/equal", "A new/other", "R old/similar -> new/similar", "D old/other"];
    let changes = ChangeSet::between(&base, &sandbox.worktree());
    assert_eq!(shown(&changes), expected);
    assert!(changes.touches_under("old") && changes.touches("old/similar"));
    sandbox.commit(&[]);
    assert_eq!(shown(&ChangeSet::between(&base, &sandbox.head())), expected);
}

#[test]
fn a_copy_is_not_a_rename_and_one_source_is_used_once() {
    let sandbox = Sandbox::with(&[("a", &lines("a")), ("b", &lines("b"))]);
    let base = sandbox.head();
    sandbox.write("copy", &lines("a"));
    sandbox.remove("b");
    sandbox.write("c", &lines("b"));
    sandbox.write("d", &lines("b"));
    assert_eq!(shown(&ChangeSet::between(&base, &sandbox.worktree())), ["R b -> c", "A copy", "A d"]);
}

#[test]
fn contents_that_are_not_here_leave_files_unpaired() {
    let origin = Sandbox::with(&[("equal", &lines("equal")), ("similar", &lines("similar"))]);
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    origin.git(&["mv", "equal", "equal-moved"]);
    origin.git(&["mv", "similar", "similar-moved"]);
    origin.commit(&[("similar-moved", &lines("similar").replace("similar-7:", "changed:"))]);
    let clone = origin.clone_with(&["--no-local", "--filter=blob:none", "--no-checkout"]);
    let repository = clone.open();
    let tree = |revision: &str| repository.commit_tree(&repository.resolve(revision).expect("a commit")).expect("a tree");
    let changes = ChangeSet::between(&tree("HEAD~1"), &tree("HEAD"));
    assert_eq!(shown(&changes), ["R equal -> equal-moved", "D similar", "A similar-moved"]);
}

#[test]
fn many_moved_files_are_paired_by_equal_contents_only() {
    let names: Vec<(String, String)> = (0..300).map(|number| (format!("old/{number:03}"), lines(&number.to_string()))).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|(path, contents)| (path.as_str(), contents.as_str())).collect();
    let sandbox = Sandbox::with(&files);
    let base = sandbox.head();
    sandbox.git(&["mv", "old", "new"]);
    let changes = ChangeSet::between(&base, &sandbox.index());
    assert_eq!(changes.changes().len(), 300);
    assert!(changes.changes().iter().all(|change| matches!(change.change, Change::Renamed { .. })));
    assert_eq!(changes.touched().len(), 600);
}
