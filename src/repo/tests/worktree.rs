//! The working tree: what is on disk against what Git would add.

use super::*;
use crate::repo::Revision;

/// What `git add --all` would make of the working tree, in the form of [`listed`], by way of a second index.
fn added(sandbox: &Sandbox) -> String {
    let second = sandbox.path(".git/second-index");
    let index = sandbox.path(".git/index");
    if index.exists() {
        std::fs::copy(&index, &second).expect("a copy of the index");
        // Git looks again at files that are as young as the index; a copy of a later moment would hide them.
        let written = index.metadata().and_then(|metadata| metadata.modified()).expect("the time of the index");
        std::fs::File::options().write(true).open(&second).and_then(|copy| copy.set_modified(written)).expect("the same time");
    }
    let run = |arguments: &[&str]| {
        let output = Command::new("git")
            .current_dir(&sandbox.dir)
            .args(["-c", "core.quotePath=false", "-c", "advice.addEmbeddedRepo=false"])
            .args(arguments)
            .env("GIT_INDEX_FILE", &second)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    run(&["add", "--all"]);
    let listed = run(&["ls-files", "--format=%(objectmode) %(objectname) %(path)"]);
    std::fs::remove_file(second).expect("the second index");
    listed
}

#[track_caller]
fn assert_is_what_git_would_add(sandbox: &Sandbox) -> Tree {
    let tree = sandbox.worktree();
    assert_eq!(listed(&tree), added(sandbox));
    tree
}

/// Sets the times of a file back, so that neither it nor the index is from this very moment.
fn age(sandbox: &Sandbox, path: &str) {
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(1000);
    let file = std::fs::File::options().write(true).open(sandbox.path(path)).expect("the file");
    file.set_modified(old).expect("the time");
}

#[test]
fn changed_new_and_deleted_files_are_as_on_disk() {
    let sandbox = Sandbox::with(&[("same", "same\n"), ("changed", "one\n"), ("deleted", "gone\n"), ("dir/deep/x", "x\n")]);
    sandbox.write("changed", "two\n");
    sandbox.write("new/file", "new\n");
    sandbox.remove("deleted");
    let tree = assert_is_what_git_would_add(&sandbox);
    assert_eq!(tree.revision(), Revision::Worktree);
    assert_eq!(paths(&tree), ["changed", "dir/deep/x", "new/file", "same"]);
    assert_eq!(text(&tree, "changed"), "two\n");
    assert_eq!(text(&tree, "new/file"), "new\n");
    assert_eq!(text(&tree, "same"), "same\n");
}

#[test]
fn a_change_of_the_same_size_in_the_same_moment_is_seen() {
    let sandbox = Sandbox::with(&[("a", "one\n")]);
    for round in 0..20 {
        let contents = format!("{round:03}\n");
        sandbox.git(&["add", "a"]);
        sandbox.write("a", &contents);
        assert_eq!(text(&sandbox.worktree(), "a"), contents);
    }
}

#[test]
fn a_touched_file_keeps_its_identity() {
    let sandbox = Sandbox::with(&[("a", "one\n")]);
    age(&sandbox, "a");
    assert_eq!(sandbox.worktree().entries(), sandbox.head().entries());
    assert_eq!(text(&sandbox.worktree(), "a"), "one\n");
}

#[test]
fn a_clean_file_is_known_by_its_index_entry_without_being_read() {
    let sandbox = Sandbox::with(&[("a", "one\n"), ("b", "two\n")]);
    for path in ["a", "b"] {
        age(&sandbox, path);
    }
    sandbox.git(&["update-index", "--refresh"]);
    // With this flag Git promises not to look; other contents would be seen if the file were read.
    sandbox.git(&["update-index", "--assume-unchanged", "a"]);
    sandbox.write("a", "other\n");
    assert_eq!(sandbox.worktree().entries(), sandbox.head().entries());
}

#[test]
fn ignored_files_are_left_out_wherever_the_pattern_stands() {
    let sandbox = Sandbox::with(&[(".gitignore", "*.log\n/build/\n!keep.log\n"), ("sub/.gitignore", "secret*\n"), ("x", "x")]);
    std::fs::create_dir_all(sandbox.path(".git/info")).expect("a directory");
    sandbox.write(".git/info/exclude", "local-only\n");
    sandbox.write("user-excludes", "*.swp\n");
    let excludes = sandbox.path("user-excludes").display().to_string();
    sandbox.git(&["config", "core.excludesFile", &excludes]);
    for path in [
        "a.log",
        "keep.log",
        "build/out",
        "build/deep/out",
        "sub/secret.yaml",
        "sub/deep/secrets/x",
        "sub/shown",
        "secret.yaml",
        "local-only",
        "sub/local-only",
        "x.swp",
        "sub/build/out",
    ] {
        sandbox.write(path, "x");
    }
    let tree = assert_is_what_git_would_add(&sandbox);
    assert_eq!(
        paths(&tree),
        [".gitignore", "keep.log", "secret.yaml", "sub/.gitignore", "sub/build/out", "sub/shown", "user-excludes", "x"]
    );
}

#[test]
fn a_tracked_file_counts_though_it_is_ignored_and_its_neighbours_do_not() {
    let sandbox = Sandbox::with(&[("build/tracked", "x"), ("build/deep/tracked", "x")]);
    sandbox.write(".gitignore", "build/\n");
    sandbox.write("build/untracked", "x");
    sandbox.write("build/deep/untracked", "x");
    sandbox.write("build/deep/tracked", "changed");
    let tree = assert_is_what_git_would_add(&sandbox);
    assert_eq!(paths(&tree), [".gitignore", "build/deep/tracked", "build/tracked"]);
}

#[test]
fn other_repositories_inside_are_not_entered() {
    let sandbox = Sandbox::with(&[("a", "a")]);
    let nested = sandbox.path("nested");
    std::fs::create_dir_all(&nested).expect("a directory");
    git(&nested, &["init", "--quiet"]);
    sandbox.write("nested/inside", "x");
    sandbox.write("deep/er/x", "x");
    assert_eq!(paths(&sandbox.worktree()), ["a", "deep/er/x"]);
}

#[test]
fn a_submodule_is_one_entry_and_is_not_entered() {
    let library = Sandbox::with(&[("lib.yaml", "x")]);
    let sandbox = Sandbox::with(&[("a", "a")]);
    sandbox.git(&["submodule", "--quiet", "add", &library.dir.display().to_string(), "vendor/lib"]);
    sandbox.commit(&[]);
    sandbox.write("vendor/lib/untracked", "x");
    let tree = assert_is_what_git_would_add(&sandbox);
    assert_eq!(paths(&tree), [".gitmodules", "a", "vendor/lib"]);
    assert_eq!(tree.get("vendor/lib").expect("the submodule").kind, EntryKind::Submodule);
    assert_eq!(tree.entries(), sandbox.head().entries());
}

#[test]
fn modes_and_kinds_are_those_on_disk() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with(&[("run", "x"), ("file", "target")]);
    std::fs::set_permissions(sandbox.path("run"), std::fs::Permissions::from_mode(0o755)).expect("the mode");
    sandbox.remove("file");
    sandbox.link("file", "target");
    let tree = assert_is_what_git_would_add(&sandbox);
    assert_eq!(tree.get("run").expect("an entry").kind, EntryKind::Executable);
    assert_eq!(tree.get("file").expect("an entry").kind, EntryKind::Symlink);
    assert_eq!(text(&tree, "file"), "target");
}

#[test]
fn modes_are_those_of_the_index_where_the_file_system_has_none() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with(&[("run", "x")]);
    sandbox.git(&["config", "core.fileMode", "false"]);
    std::fs::set_permissions(sandbox.path("run"), std::fs::Permissions::from_mode(0o755)).expect("the mode");
    let tree = assert_is_what_git_would_add(&sandbox);
    assert_eq!(tree.get("run").expect("an entry").kind, EntryKind::File);
}

#[test]
fn a_directory_that_became_a_link_is_not_entered() {
    let outside = Sandbox::empty();
    outside.write("secret.yaml", "secret\n");
    let sandbox = Sandbox::with(&[("apps/secret.yaml", "public\n"), ("a", "a")]);
    std::fs::remove_dir_all(sandbox.path("apps")).expect("the directory");
    sandbox.link("apps", &outside.dir.display().to_string());
    let tree = assert_is_what_git_would_add(&sandbox);
    assert_eq!(paths(&tree), ["a", "apps"]);
    assert_eq!(tree.get("apps").expect("an entry").kind, EntryKind::Symlink);
}

#[test]
fn a_directory_that_becomes_a_link_after_the_listing_is_not_read_through() {
    let large = "x".repeat(3 << 20);
    let outside = Sandbox::empty();
    outside.write("large", &large);
    let sandbox = Sandbox::with(&[("a", "a")]);
    sandbox.write("apps/large", &large);
    let tree = sandbox.worktree();
    assert_eq!(text(&tree, "apps/large"), large);
    std::fs::rename(sandbox.path("apps"), sandbox.path("moved")).expect("a rename");
    sandbox.link("apps", &outside.dir.display().to_string());
    let error = tree.read("apps/large").expect_err("the way leads outside");
    assert!(matches!(error, RepoError::Changed { .. }), "{error:?}");
}

#[test]
fn a_file_that_changes_after_the_listing_is_either_kept_or_refused() {
    let sandbox = Sandbox::with(&[("a", "a")]);
    sandbox.write("small", "one");
    sandbox.write("large", &"x".repeat(2 << 20));
    let tree = sandbox.worktree();
    sandbox.write("small", "two");
    sandbox.write("large", &"y".repeat(2 << 20));
    assert_eq!(text(&tree, "small"), "one");
    assert!(matches!(tree.read("large"), Err(RepoError::Changed { .. })));
}

#[test]
fn line_ends_are_those_that_would_be_committed() {
    let sandbox = Sandbox::with(&[("a.yaml", "one\ntwo\n"), ("b.yaml", "x\n")]);
    sandbox.git(&["config", "core.autocrlf", "true"]);
    sandbox.write("a.yaml", "one\r\ntwo\r\n");
    sandbox.write("b.yaml", "x\r\ny\r\n");
    sandbox.write("new.yaml", "new\r\n");
    let tree = assert_is_what_git_would_add(&sandbox);
    assert_eq!(tree.get("a.yaml"), sandbox.head().get("a.yaml"));
    assert_eq!(text(&tree, "b.yaml"), "x\ny\n");
    assert_eq!(text(&tree, "new.yaml"), "new\n");
}

#[test]
fn attributes_decide_over_line_ends_and_name_no_program() {
    let sandbox = Sandbox::with(&[(".gitattributes", "*.txt text\n*.bin -text\n*.evil filter=evil\n")]);
    sandbox.git(&["config", "filter.evil.clean", "touch ran; cat"]);
    sandbox.write("a.txt", "a\r\n");
    sandbox.write("a.bin", "a\r\n");
    sandbox.write("a.evil", "a\n");
    let tree = sandbox.worktree();
    assert_eq!(text(&tree, "a.txt"), "a\n");
    assert_eq!(text(&tree, "a.bin"), "a\r\n");
    assert_eq!(text(&tree, "a.evil"), "a\n");
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_still_there() {
    let origin = Sandbox::with(&[("apps/a/x.yaml", "a\n"), ("apps/b/y.yaml", "b\n"), ("docs/z.md", "z\n")]);
    for index in ["--no-sparse-index", "--sparse-index"] {
        let sandbox = origin.clone_with(&["--no-local"]);
        sandbox.git(&["sparse-checkout", "set", "--cone", index, "apps/a"]);
        assert!(!sandbox.path("docs").exists());
        assert_eq!(sandbox.worktree().entries(), origin.head().entries(), "{index}");
        assert_eq!(sandbox.index().entries(), origin.head().entries(), "{index}");
        assert_eq!(text(&sandbox.worktree(), "docs/z.md"), "z\n");
    }
}

#[test]
fn a_linked_working_tree_has_its_own_files_and_index() {
    let sandbox = Sandbox::with(&[("a", "a")]);
    let linked = Sandbox::empty();
    let dir = linked.path("linked");
    sandbox.git(&["worktree", "add", "--quiet", "-b", "other", &dir.display().to_string()]);
    std::fs::write(dir.join("b"), "b").expect("a file");
    git(&dir, &["add", "b"]);
    let repository = open(&dir).expect("a repository");
    assert_eq!(repository.root(), Some(dir.as_path()));
    assert_eq!(paths(&repository.index_tree().expect("the index")), ["a", "b"]);
    assert_eq!(paths(&repository.worktree().expect("the working tree")), ["a", "b"]);
    assert_eq!(paths(&sandbox.worktree()), ["a"]);
}

#[test]
fn a_directory_that_cannot_be_read_is_noted() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with(&[("a", "a")]);
    sandbox.write("closed/b", "b");
    std::fs::set_permissions(sandbox.path("closed"), std::fs::Permissions::from_mode(0o000)).expect("the mode");
    let readable = std::fs::read_dir(sandbox.path("closed")).is_ok();
    let tree = sandbox.worktree();
    std::fs::set_permissions(sandbox.path("closed"), std::fs::Permissions::from_mode(0o755)).expect("the mode");
    // The superuser may read everything.
    let expected = if readable { 0 } else { 1 };
    assert_eq!(tree.notes().len(), expected, "{:?}", tree.notes());
}

#[test]
fn the_repository_is_found_from_a_directory_below() {
    let sandbox = Sandbox::with(&[("apps/a/x.yaml", "x")]);
    let repository = open(&sandbox.path("apps/a")).expect("a repository");
    assert_eq!(repository.root().map(|root| std::fs::canonicalize(root).expect("a path")), Some(sandbox.dir.clone()));
    assert_eq!(paths(&repository.worktree().expect("the working tree")), ["apps/a/x.yaml"]);
}
