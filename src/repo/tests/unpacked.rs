//! Trees of fetched archives.

use super::*;

#[test]
fn files_of_an_archive_are_read_like_those_of_a_commit() {
    let sandbox = Sandbox::with(&[("a", "committed\n")]);
    let repository = sandbox.open();
    let files = || vec![("b/c".to_owned(), b"two".to_vec()), ("a".to_owned(), b"one".to_vec())];
    let tree = repository.unpacked(files()).expect("a tree");
    assert_eq!(&*tree.read("a").expect("the file"), b"one");
    assert_eq!(tree.under("b").len(), 1);
    assert_eq!(tree.revision(), repository.unpacked(files()).expect("a tree").revision());
    assert_ne!(tree.revision(), repository.unpacked(Vec::new()).expect("a tree").revision());
}
