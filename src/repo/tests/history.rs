//! Names of revisions, common ancestors, remotes, and clones that lack something.

use miette::Diagnostic;

use super::*;

fn history(commits: usize) -> Sandbox {
    let sandbox = Sandbox::init();
    for number in 0..commits {
        sandbox.commit(&[("a", &format!("{number}\n"))]);
    }
    sandbox
}

fn resolve(sandbox: &Sandbox, revision: &str) -> Result<String, RepoError> {
    sandbox.open().resolve(revision).map(|commit| commit.to_string())
}

#[test]
fn all_the_usual_names_of_a_commit_are_understood() {
    let sandbox = history(3);
    sandbox.git(&["tag", "light"]);
    sandbox.git(&["tag", "--annotate", "--message=x", "heavy", "HEAD~1"]);
    sandbox.git(&["branch", "feature/x", "HEAD~2"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    let sha = sandbox.git(&["rev-parse", "HEAD"]);
    for revision in
        ["HEAD", "main", "refs/heads/main", "HEAD~2", "HEAD^", "light", "heavy", "feature/x", "origin/main", sha.trim(), &sha[..8]]
    {
        let expected = sandbox.git(&["rev-parse", &format!("{revision}^{{commit}}")]);
        assert_eq!(resolve(&sandbox, revision).expect(revision), expected.trim(), "{revision}");
    }
    for revision in ["nope", "HEAD~9", "", "HEAD:a", "0123456789012345678901234567890123456789", "-x"] {
        assert!(matches!(resolve(&sandbox, revision), Err(RepoError::UnknownRevision { .. })), "{revision}");
    }
}

#[test]
fn the_common_ancestor_is_that_of_git() {
    let sandbox = history(2);
    sandbox.git(&["checkout", "--quiet", "-b", "feature"]);
    sandbox.commit(&[("b", "b")]);
    sandbox.git(&["checkout", "--quiet", "main"]);
    sandbox.commit(&[("c", "c")]);
    let repository = sandbox.open();
    let (main, feature) = (repository.resolve("main").expect("main"), repository.resolve("feature").expect("feature"));
    let base = repository.merge_base_or_explain(&main, &feature).expect("an ancestor");
    assert_eq!(base.to_string(), sandbox.git(&["merge-base", "main", "feature"]).trim());
    assert_eq!(repository.parents(&main).expect("parents"), [base.to_string()]);
}

#[test]
fn unrelated_histories_have_no_common_ancestor() {
    let sandbox = history(1);
    sandbox.git(&["checkout", "--quiet", "--orphan", "other"]);
    sandbox.commit(&[("a", "other")]);
    let repository = sandbox.open();
    let (main, other) = (repository.resolve("main").expect("main"), repository.resolve("other").expect("other"));
    assert_eq!(repository.merge_base(&main, &other).expect("an answer"), None);
    let error = repository.merge_base_or_explain(&main, &other).expect_err("no ancestor");
    assert!(matches!(error, RepoError::NoMergeBase { shallow: false, .. }));
}

/// `main` and `feature` part three commits ago.
fn forked() -> Sandbox {
    let origin = history(3);
    origin.git(&["checkout", "--quiet", "-b", "feature"]);
    for number in 0..3 {
        origin.commit(&[("b", &number.to_string())]);
    }
    origin.git(&["checkout", "--quiet", "main"]);
    for number in 0..3 {
        origin.commit(&[("c", &number.to_string())]);
    }
    origin
}

#[test]
fn a_branch_that_a_shallow_clone_lacks_is_fetched_by_the_command_in_the_help() {
    for revision in ["origin/main", "main"] {
        let clone = forked().clone_with(&["--no-local", "--depth=1", "--branch=feature"]);
        assert!(clone.open().is_shallow());
        let error = clone.open().resolve(revision).expect_err("not here");
        assert!(matches!(error, RepoError::UnknownRevision { shallow: true, .. }), "{error:?}");
    }
    let origin = forked();
    let clone = origin.clone_with(&["--no-local", "--depth=1", "--branch=feature"]);
    let error = clone.open().resolve("origin/main").expect_err("not here");
    run_remedy(&clone.dir, &error);
    assert!(!clone.open().is_shallow());
    let repository = clone.open();
    let (main, feature) = (repository.resolve("origin/main").expect("main"), repository.resolve("HEAD").expect("HEAD"));
    let base = repository.merge_base_or_explain(&main, &feature).expect("an ancestor");
    assert_eq!(base.to_string(), origin.git(&["merge-base", "main", "feature"]).trim());
}

#[test]
fn a_branch_that_a_full_clone_lacks_is_fetched_by_the_command_in_the_help() {
    let origin = forked();
    let clone = origin.clone_with(&["--no-local", "--single-branch", "--branch=feature"]);
    let error = clone.open().resolve("origin/main").expect_err("not here");
    assert!(matches!(error, RepoError::UnknownRevision { shallow: false, .. }), "{error:?}");
    run_remedy(&clone.dir, &error);
    assert_eq!(resolve(&clone, "origin/main").expect("main"), origin.git(&["rev-parse", "main"]).trim());
    let error = clone.open().resolve("main").expect_err("not a branch of the clone");
    assert!(error.help().expect("a help").to_string().contains("then name it `origin/main`"));
}

#[test]
fn a_commit_that_a_shallow_clone_lacks_is_fetched_by_the_command_in_the_help() {
    let origin = forked();
    let clone = origin.clone_with(&["--no-local", "--depth=1", "--branch=feature"]);
    let sha = origin.git(&["rev-parse", "main~1"]);
    let error = clone.open().resolve(sha.trim()).expect_err("not here");
    run_remedy(&clone.dir, &error);
    assert_eq!(resolve(&clone, sha.trim()).expect("the commit"), sha.trim());
}

#[test]
fn the_parent_that_a_shallow_clone_lacks_is_fetched_by_the_command_in_the_help() {
    let origin = forked();
    let clone = origin.clone_with(&["--no-local", "--depth=1", "--branch=feature"]);
    let error = clone.open().resolve("HEAD~2").expect_err("not here");
    run_remedy(&clone.dir, &error);
    assert_eq!(resolve(&clone, "HEAD~2").expect("the commit"), origin.git(&["rev-parse", "feature~2"]).trim());
}

#[test]
fn a_common_ancestor_that_a_shallow_clone_lacks_is_fetched_by_the_command_in_the_help() {
    let origin = forked();
    let clone = origin.clone_with(&["--no-local", "--depth=1", "--no-single-branch"]);
    let bases = || {
        let repository = clone.open();
        let (main, feature) = (repository.resolve("origin/main").expect("main"), repository.resolve("origin/feature").expect("feature"));
        repository.merge_base_or_explain(&main, &feature)
    };
    let error = bases().expect_err("no ancestor here");
    assert!(matches!(error, RepoError::NoMergeBase { shallow: true, .. }), "{error:?}");
    assert!(error.help().expect("a help").to_string().contains("`git fetch --deepen=50 origin`"));
    run_remedy(&clone.dir, &error);
    assert_eq!(bases().expect("an ancestor").to_string(), origin.git(&["merge-base", "main", "feature"]).trim());

    let deepened = origin.clone_with(&["--no-local", "--depth=1", "--no-single-branch"]);
    deepened.git(&["fetch", "--quiet", "--deepen=50", "origin"]);
    let repository = deepened.open();
    let (main, feature) = (repository.resolve("origin/main").expect("main"), repository.resolve("origin/feature").expect("feature"));
    assert!(repository.merge_base_or_explain(&main, &feature).is_ok());
}

#[test]
fn a_checkout_of_a_merge_as_ci_makes_it_names_its_parents_and_can_be_deepened() {
    let origin = forked();
    origin.git(&["checkout", "--quiet", "--detach", "main"]);
    origin.git(&["merge", "--quiet", "--no-edit", "feature"]);
    origin.git(&["update-ref", "refs/pull/7/merge", "HEAD"]);
    origin.git(&["checkout", "--quiet", "main"]);
    let main = origin.git(&["rev-parse", "main"]);

    let checkout = Sandbox::init();
    let url = format!("file://{}", origin.dir.display());
    checkout.git(&["remote", "add", "origin", &url]);
    checkout.git(&["fetch", "--quiet", "--no-tags", "--depth=1", "origin", "+refs/pull/7/merge:refs/remotes/pull/7/merge"]);
    checkout.git(&["checkout", "--quiet", "--force", "refs/remotes/pull/7/merge"]);

    let repository = checkout.open();
    let head = repository.resolve("HEAD").expect("HEAD");
    let parents = repository.parents(&head).expect("parents");
    assert_eq!(parents.len(), 2);
    assert_eq!(parents[0], main.trim());
    let error = repository.resolve("HEAD^1").expect_err("not here");
    run_remedy(&checkout.dir, &error);
    assert_eq!(resolve(&checkout, "HEAD^1").expect("the parent"), main.trim());
}

#[test]
fn contents_that_a_partial_clone_lacks_are_fetched_by_the_command_in_the_help() {
    let origin = Sandbox::with(&[("apps/a.yaml", "a: 1\n")]);
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    origin.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let clone = origin.clone_with(&["--no-local", "--filter=blob:none", "--no-checkout"]);
    let tree = clone.head();
    assert_eq!(tree.entries(), origin.head().entries());
    let error = tree.read("apps/a.yaml").expect_err("not here");
    assert!(matches!(error, RepoError::MissingObject { partial: true, .. }), "{error:?}");
    assert!(error.to_string().contains("apps/a.yaml"), "{error}");
    assert!(matches!(tree.size(&tree.entries()[0]), Err(RepoError::MissingObject { .. })));
    run_remedy(&clone.dir, &error);
    assert_eq!(text(&clone.head(), "apps/a.yaml"), "a: 1\n");
}

#[test]
fn directories_that_a_treeless_clone_lacks_are_fetched_by_the_command_in_the_help() {
    let origin = Sandbox::with(&[("apps/a.yaml", "a: 1\n")]);
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = origin.clone_with(&["--no-local", "--filter=tree:0", "--no-checkout"]);
    let repository = clone.open();
    let error = repository.commit_tree(&repository.resolve("HEAD").expect("HEAD")).expect_err("not here");
    assert!(matches!(error, RepoError::MissingObject { partial: true, .. }), "{error:?}");
    run_remedy(&clone.dir, &error);
    assert_eq!(text(&clone.head(), "apps/a.yaml"), "a: 1\n");
}

#[test]
fn a_bare_repository_has_commits_and_no_working_tree() {
    let origin = Sandbox::with(&[("a", "a")]);
    let bare = origin.clone_with(&["--bare"]);
    assert_eq!(bare.head().entries(), origin.head().entries());
    let repository = bare.open();
    assert_eq!(repository.root(), None);
    for error in [repository.worktree().expect_err("no working tree"), repository.index_tree().expect_err("no index")] {
        assert!(matches!(error, RepoError::NoWorkingTree { .. }), "{error:?}");
    }
}

#[test]
fn a_directory_without_a_repository_is_said_to_be_one() {
    let sandbox = Sandbox::empty();
    assert!(matches!(open(&sandbox.dir), Err(RepoError::NotARepository { .. })));
    assert!(matches!(open(&sandbox.path("nope")), Err(RepoError::NotARepository { .. })));
}

#[test]
fn a_repository_of_another_user_is_refused_and_the_help_quotes_its_path() {
    let error = RepoError::dubious_ownership(Path::new("/srv/it's mine"));
    let help = error.help().expect("a help").to_string();
    assert_eq!(help, r"if you trust it: `git config --global --add safe.directory '/srv/it'\''s mine'`");

    let sandbox = Sandbox::with(&[("a", "a")]);
    if std::os::unix::fs::chown(&sandbox.dir, Some(12345), None).is_err() {
        // Only the superuser can give a directory away.
        return;
    }
    assert!(matches!(open(&sandbox.dir), Err(RepoError::DubiousOwnership { ref dir, .. }) if *dir == sandbox.dir));
}

#[test]
fn remotes_are_known_as_written_and_as_rewritten_without_passwords() {
    let sandbox = history(1);
    assert!(sandbox.open().remote_urls().is_empty());
    sandbox.git(&["remote", "add", "origin", "gh:acme/fleet"]);
    sandbox.git(&["config", "url.git@github.com:.insteadOf", "gh:"]);
    sandbox.git(&["remote", "add", "upstream", "https://bot:secret@git.example.test/platform/fleet.git"]);
    sandbox.git(&["remote", "set-url", "--push", "upstream", "ssh://git@push.example.test/platform/fleet.git"]);
    assert_eq!(
        sandbox.open().remote_urls(),
        [
            "gh:acme/fleet",
            "git@github.com:acme/fleet",
            "https://bot@git.example.test/platform/fleet.git",
            "ssh://git@push.example.test/platform/fleet.git",
        ]
    );
}

#[test]
fn branches_tags_and_the_default_branch_are_listed_by_short_name() {
    let origin = history(2);
    origin.git(&["branch", "feature/x"]);
    origin.git(&["tag", "v1.0.0"]);
    let clone = origin.clone_with(&["--no-local"]);
    clone.git(&["branch", "local"]);
    let repository = clone.open();
    assert_eq!(repository.default_branch().as_deref(), Some("main"));
    let names = repository.ref_names().expect("the names");
    assert_eq!(names.branches, ["feature/x", "local", "main"]);
    assert_eq!(names.tags, ["v1.0.0"]);
    assert_eq!(origin.open().default_branch(), None);
}
