//! Private temporary folders with files of trees, for programs that read files: never the user's working tree.
//!
//! Takes trees and [`Inputs`]; hands on folders. One folder a tree is shared by all renders that only read it, and each file is written to
//! it once; a render that writes gets a copy of its own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use super::inputs::Inputs;
use super::leftovers::Folder;
use crate::repo::{Entry, EntryKind, LinkError, RepoError, Tree};

/// Why files cannot be laid out.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// A temporary folder or file cannot be written.
    #[error("a temporary folder cannot be written: {0}")]
    Write(#[from] io::Error),
    /// The contents of a file are not in the repository.
    #[error(transparent)]
    Read(#[from] RepoError),
    /// A symbolic link leaves the repository.
    #[error(transparent)]
    Link(LinkError),
}

/// All temporary folders of a run. They are removed with it.
#[derive(Default)]
pub struct Scratch {
    root: Mutex<Option<(TempDir, Folder)>>,
    checkouts: Mutex<HashMap<String, Arc<Checkout>>>,
}

/// Files of one tree in a folder.
pub struct Checkout {
    root: PathBuf,
    written: Mutex<HashSet<Arc<str>>>,
}

/// A folder with files of a tree that belongs to one render. It is removed with this value.
pub struct Copy {
    folder: TempDir,
}

impl Scratch {
    /// The folder of a tree with the files that the inputs name.
    ///
    /// # Errors
    /// When a file cannot be read or written, or a symbolic link leaves the repository.
    pub fn checkout(&self, tree: &Tree, inputs: &Inputs) -> Result<Arc<Checkout>, ScratchError> {
        let name = tree.revision().to_string();
        let checkout = {
            let mut checkouts = self.checkouts.lock().unwrap_or_else(PoisonError::into_inner);
            match checkouts.get(&name) {
                Some(known) => Arc::clone(known),
                None => {
                    let root = self.folder()?.join(&name);
                    fs::create_dir_all(&root)?;
                    let fresh = Arc::new(Checkout { root, written: Mutex::default() });
                    checkouts.insert(name, Arc::clone(&fresh));
                    fresh
                }
            }
        };
        checkout.write(tree, inputs)?;
        Ok(checkout)
    }

    /// A folder of its own with the files that the inputs name, some of them with other contents, and files that the tree does not have.
    ///
    /// # Errors
    /// As [`Scratch::checkout`].
    pub fn copy(&self, tree: &Tree, inputs: &Inputs, contents: &BTreeMap<String, Vec<u8>>) -> Result<Copy, ScratchError> {
        let folder = tempfile::Builder::new().prefix("copy-").tempdir_in(self.folder()?)?;
        for entry in inputs.entries(tree).into_iter().filter(|entry| !contents.contains_key(&*entry.path)) {
            write_entry(folder.path(), tree, entry)?;
        }
        for (path, contents) in contents {
            write_file(&folder.path().join(path), contents)?;
        }
        Ok(Copy { folder })
    }

    /// An empty folder of its own, for a program's home.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn home(&self) -> Result<TempDir, ScratchError> {
        Ok(tempfile::Builder::new().prefix("home-").tempdir_in(self.folder()?)?)
    }

    /// The folder that holds everything; made when it is first needed.
    fn folder(&self) -> io::Result<PathBuf> {
        let mut root = self.root.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((root, _)) = &*root {
            return Ok(root.path().to_owned());
        }
        let fresh = tempfile::Builder::new().prefix("presync-").tempdir()?;
        // Programs name files by their real path; what they say is shortened by it.
        let path = fs::canonicalize(fresh.path())?;
        let noted = Folder::of(fresh.path());
        *root = Some((fresh, noted));
        Ok(path)
    }
}

impl Checkout {
    /// The folder that stands for the repository's root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What a program said, with paths in this folder shown from the repository's root.
    pub fn readable(&self, text: &str) -> String {
        readable(text, &self.root)
    }

    fn write(&self, tree: &Tree, inputs: &Inputs) -> Result<(), ScratchError> {
        let entries = inputs.entries(tree);
        // Held while writing: who finds a file noted here must find it on disk as well.
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in entries {
            if !written.contains(&entry.path) {
                write_entry(&self.root, tree, entry)?;
                written.insert(Arc::clone(&entry.path));
            }
        }
        Ok(())
    }
}

impl Copy {
    /// The folder that stands for the repository's root.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// What a program said, with paths in this folder shown from the repository's root.
    pub fn readable(&self, text: &str) -> String {
        readable(text, self.folder.path())
    }
}

fn readable(text: &str, root: &Path) -> String {
    let root = root.to_string_lossy();
    text.replace(&format!("{root}/"), "").replace(&*root, ".")
}

/// Writes one entry. Files are written without their executable bit: nothing in a scratch folder is run.
fn write_entry(root: &Path, tree: &Tree, entry: &Entry) -> Result<(), ScratchError> {
    let path = root.join(&*entry.path);
    match entry.kind {
        // Another repository, of which nothing is here.
        EntryKind::Submodule => Ok(fs::create_dir_all(path)?),
        EntryKind::File | EntryKind::Executable => Ok(write_file(&path, &tree.read_entry(entry)?)?),
        EntryKind::Symlink => {
            if let Err(error @ LinkError::OutOfBounds { .. }) = tree.resolve_link(&entry.path) {
                return Err(ScratchError::Link(error));
            }
            let target = String::from_utf8_lossy(&tree.read_entry(entry)?).into_owned();
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            Ok(link(&target, &path)?)
        }
    }
}

fn write_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, contents)
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(windows)]
fn link(target: &str, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target, path)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::render::fixture::tree;

    fn folder(path: &str) -> Inputs {
        let mut inputs = Inputs::default();
        inputs.folder(path);
        inputs
    }

    #[test]
    fn only_what_is_asked_for_is_written_and_links_stay_links() {
        let tree = tree(&[("apps/a.yaml", "a"), ("other/b.yaml", "b")], &[("apps/b.yaml", "../other/b.yaml")]);
        let scratch = Scratch::default();
        let checkout = scratch.checkout(&tree, &folder("apps")).unwrap();
        assert_eq!(fs::read_to_string(checkout.root().join("apps/a.yaml")).unwrap(), "a");
        assert!(fs::symlink_metadata(checkout.root().join("apps/b.yaml")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(checkout.root().join("apps/b.yaml")).unwrap(), "b");
    }

    #[test]
    fn a_tree_has_one_folder_that_grows_and_goes_with_the_run() {
        let tree = tree(&[("a/x", "1"), ("b/y", "2")], &[]);
        let scratch = Scratch::default();
        let first = scratch.checkout(&tree, &folder("a")).unwrap();
        assert!(!first.root().join("b/y").exists());
        let second = scratch.checkout(&tree, &folder("b")).unwrap();
        assert_eq!(first.root(), second.root());
        assert!(first.root().join("b/y").exists());
        let root = first.root().to_owned();
        drop(scratch);
        assert!(!root.exists());
    }

    #[test]
    fn a_copy_takes_other_contents_and_leaves_the_shared_folder_alone() {
        let tree = tree(&[("a/x", "1"), ("a/z", "2")], &[]);
        let scratch = Scratch::default();
        let shared = scratch.checkout(&tree, &folder("a")).unwrap();
        let copy = scratch.copy(&tree, &folder("a"), &BTreeMap::from([("a/x".to_owned(), b"changed".to_vec())])).unwrap();
        assert_eq!(fs::read_to_string(copy.root().join("a/x")).unwrap(), "changed");
        assert_eq!(fs::read_to_string(copy.root().join("a/z")).unwrap(), "2");
        assert_eq!(fs::read_to_string(shared.root().join("a/x")).unwrap(), "1");
    }

    #[test]
    fn a_link_that_leaves_the_repository_is_refused() {
        let tree = tree(&[("a/x", "1")], &[("a/secret", "../../../etc/passwd")]);
        let scratch = Scratch::default();
        assert!(matches!(scratch.checkout(&tree, &folder("a")), Err(ScratchError::Link(_))));
    }

    #[test]
    fn what_programs_say_is_shown_from_the_root_of_the_repository() {
        let tree = tree(&[("a/x", "1")], &[]);
        let scratch = Scratch::default();
        let checkout = scratch.checkout(&tree, &folder("a")).unwrap();
        let said = format!("open {}/a/y: no such file", checkout.root().display());
        assert_eq!(checkout.readable(&said), "open a/y: no such file");
    }
}
