//! Directories and files of a repository as the git generator lists them.

use std::sync::OnceLock;

use crate::repo::{EntryKind, RepoError, Tree};

/// The files of one side, with their directories listed once.
pub struct GitFiles {
    tree: Tree,
    directories: OnceLock<Vec<String>>,
}

/// Why a file cannot be read.
pub(super) enum Unread {
    /// Argo CD cannot read it either.
    Fails(String),
    /// This clone of the repository lacks its content.
    NotHere(String),
}

impl GitFiles {
    /// Over a tree.
    pub fn new(tree: &Tree) -> Self {
        Self { tree: tree.clone(), directories: OnceLock::new() }
    }

    /// All directories but the root and those below one whose name starts with a dot.
    ///
    /// Source: Argo CD `reposerver/repository/repository.go:GetGitDirectories`.
    pub(super) fn directories(&self) -> &[String] {
        self.directories.get_or_init(|| {
            let mut found: Vec<String> = Vec::new();
            for entry in self.tree.entries() {
                let folder = match entry.kind {
                    EntryKind::Submodule => Some(&*entry.path),
                    _ => entry.path.rsplit_once('/').map(|(folder, _)| folder),
                };
                let Some(folder) = folder else { continue };
                let mut end = 0;
                for part in folder.split('/') {
                    end += part.len();
                    if part.starts_with('.') {
                        break;
                    }
                    found.extend(folder.get(..end).map(str::to_owned));
                    end += 1;
                }
            }
            found.sort_unstable();
            found.dedup();
            found
        })
    }

    /// The paths of all files, sorted.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.tree.entries().iter().map(|entry| &*entry.path)
    }

    /// The contents of a file; links inside of the repository are followed.
    ///
    /// # Errors
    /// In words.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, Unread> {
        let failed = |error: RepoError| match error {
            RepoError::MissingObject { .. } => Unread::NotHere(error.to_string()),
            other => Unread::Fails(other.to_string()),
        };
        let entry = self.tree.get(path).ok_or_else(|| Unread::Fails(format!("{path} is not there")))?;
        let bytes = match entry.kind {
            EntryKind::Symlink => match self.tree.resolve_link(path) {
                Ok(crate::repo::LinkTarget::File(target)) => self.tree.read_entry(&target),
                Ok(_) => return Err(Unread::Fails(format!("{path} is a link to a directory"))),
                Err(error) => return Err(Unread::Fails(error.to_string())),
            },
            _ => self.tree.read_entry(entry),
        };
        bytes.map(|bytes| bytes.to_vec()).map_err(failed)
    }
}
