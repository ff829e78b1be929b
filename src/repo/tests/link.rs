//! Symbolic links.

use super::*;
use crate::repo::{LinkError, LinkTarget, OutOfBoundsLink};

fn resolve(tree: &Tree, path: &str) -> String {
    match tree.resolve_link(path) {
        Ok(LinkTarget::File(entry)) => format!("file {}", entry.path),
        Ok(LinkTarget::Directory(dir)) => format!("directory {dir}"),
        Err(LinkError::OutOfBounds { link, target }) => format!("out of bounds {link} -> {target}"),
        Err(LinkError::Dangling { missing, .. }) => format!("dangling {missing}"),
        Err(LinkError::Cycle { .. }) => "cycle".to_owned(),
        Err(LinkError::Submodule { submodule, .. }) => format!("submodule {submodule}"),
        Err(LinkError::Unreadable(error)) => panic!("{error}"),
    }
}

#[test]
fn links_lead_where_the_file_system_would_go() {
    let sandbox = Sandbox::init();
    for (path, target) in [
        ("apps/a/file", "../../shared/values.yaml"),
        ("apps/a/chain", "file"),
        ("apps/a/dir", "../../shared"),
        ("apps/a/root", "../.."),
        ("apps/a/dangling", "nope/x.yaml"),
        ("apps/a/through-file", "x.yaml/y"),
        ("apps/a/outside", "../../../etc/passwd"),
        ("apps/a/out-and-in", "../../../repo/shared"),
        ("apps/a/absolute", "/etc/passwd"),
        ("apps/a/cycle-1", "cycle-2"),
        ("apps/a/cycle-2", "cycle-1"),
        ("apps/a/self", "self/x"),
        ("apps/a/to-outside", "outside"),
        ("shared/up", "../apps/a/dir/values.yaml"),
        ("apps/a/sub", "../../vendor/sub/x"),
    ] {
        sandbox.link(path, target);
    }
    sandbox.git(&["update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,vendor/sub"]);
    std::fs::create_dir_all(sandbox.path("vendor/sub")).expect("the submodule's directory");
    sandbox.commit(&[("shared/values.yaml", "v"), ("apps/a/x.yaml", "x")]);
    for tree in [sandbox.head(), sandbox.worktree()] {
        for (path, expected) in [
            ("apps/a/x.yaml", "file apps/a/x.yaml"),
            ("apps/a/file", "file shared/values.yaml"),
            ("apps/a/chain", "file shared/values.yaml"),
            ("apps/a/dir", "directory shared"),
            ("apps/a/dir/values.yaml", "file shared/values.yaml"),
            ("apps/a/dir/../apps/a/x.yaml", "file apps/a/x.yaml"),
            ("apps/a/root", "directory "),
            ("apps/a/root/shared/up", "file shared/values.yaml"),
            ("apps/a/dangling", "dangling apps/a/nope"),
            ("apps/a/through-file", "dangling apps/a/x.yaml/y"),
            ("apps/a/outside", "out of bounds apps/a/outside -> ../../../etc/passwd"),
            ("apps/a/out-and-in", "out of bounds apps/a/out-and-in -> ../../../repo/shared"),
            ("apps/a/absolute", "out of bounds apps/a/absolute -> /etc/passwd"),
            ("apps/a/to-outside", "out of bounds apps/a/outside -> ../../../etc/passwd"),
            ("../x", "out of bounds ../x -> ../x"),
            ("apps/a/cycle-1", "cycle"),
            ("apps/a/self", "cycle"),
            ("apps/a/sub", "submodule vendor/sub"),
        ] {
            assert_eq!(resolve(&tree, path), expected, "{path} in {}", tree.revision());
        }
        let links = tree.out_of_bounds_links().expect("the links");
        let link = |path: &str, target: &str| OutOfBoundsLink { path: path.to_owned(), target: target.to_owned() };
        assert_eq!(
            links,
            [
                link("apps/a/absolute", "/etc/passwd"),
                link("apps/a/out-and-in", "../../../repo/shared"),
                link("apps/a/outside", "../../../etc/passwd"),
            ]
        );
    }
}

#[test]
fn a_link_at_the_root_leaves_it_with_one_step() {
    let sandbox = Sandbox::init();
    sandbox.link("up", "..");
    sandbox.link("here", ".");
    sandbox.link("back", "a/../a");
    sandbox.commit(&[("a/x", "x")]);
    let tree = sandbox.head();
    let links = tree.out_of_bounds_links().expect("the links");
    assert_eq!(links.iter().map(|link| link.path.as_str()).collect::<Vec<_>>(), ["up"]);
    assert_eq!(resolve(&tree, "here/here/a/x"), "file a/x");
    assert_eq!(resolve(&tree, "back/x"), "file a/x");
}
