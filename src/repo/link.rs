//! Symbolic links inside a tree, followed without ever looking at the disk.

use std::collections::VecDeque;

use thiserror::Error;

use super::RepoError;
use super::tree::{Entry, EntryKind, Tree};

/// As many links as Linux follows for one path (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// Longest text that is taken for the target of a link (`PATH_MAX`).
const MAX_TARGET: usize = 4096;

/// Where a path leads after all symbolic links are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// A file.
    File(Entry),
    /// A directory of the tree, `""` for the root.
    Directory(String),
}

/// Why a path leads nowhere.
#[derive(Debug, Error)]
pub enum LinkError {
    /// A link on the way is absolute, or goes above the repository root.
    #[error("the symbolic link `{link}` leaves the repository: it points to `{target}`")]
    OutOfBounds {
        /// The link's path.
        link: String,
        /// The link's text.
        target: String,
    },
    /// Nothing stands where the path leads.
    #[error("`{path}` leads to `{missing}`, which does not exist")]
    Dangling {
        /// The path that was followed.
        path: String,
        /// The first path that does not exist.
        missing: String,
    },
    /// The links lead in a circle.
    #[error("the symbolic links from `{path}` lead in a circle")]
    Cycle {
        /// The path that was followed.
        path: String,
    },
    /// The path leads into a submodule, whose files are in another repository.
    #[error("`{path}` leads into the submodule `{submodule}`")]
    Submodule {
        /// The path that was followed.
        path: String,
        /// The submodule's path.
        submodule: String,
    },
    /// The text of a link could not be read.
    #[error(transparent)]
    Unreadable(#[from] RepoError),
}

/// A symbolic link that Argo CD refuses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutOfBoundsLink {
    /// The link's path.
    pub path: String,
    /// The link's text.
    pub target: String,
}

impl Tree {
    /// Where `path` leads when symbolic links are followed as the file system would, in every component. A path that goes through no link leads
    /// to itself.
    ///
    /// # Errors
    /// When a link leaves the repository, leads nowhere, in a circle or into a submodule.
    pub fn resolve_link(&self, path: &str) -> Result<LinkTarget, LinkError> {
        // Most paths are just there.
        if !self.has_links() && components(path).eq(path.split('/')) && !path.contains("..") {
            match self.get(path) {
                Some(entry) if matches!(entry.kind, EntryKind::File | EntryKind::Executable) => return Ok(LinkTarget::File(entry.clone())),
                None if self.is_dir(path) => return Ok(LinkTarget::Directory(path.to_owned())),
                _ => {}
            }
        }
        let mut pending: VecDeque<String> = components(path).map(str::to_owned).collect();
        let mut reached: Vec<String> = Vec::new();
        // The link that the pending components come from, for the message.
        let mut link = (path.to_owned(), path.to_owned());
        let mut followed = 0;
        while let Some(component) = pending.pop_front() {
            if component == ".." {
                if reached.pop().is_none() {
                    return Err(LinkError::OutOfBounds { link: link.0, target: link.1 });
                }
                continue;
            }
            reached.push(component);
            let here = reached.join("/");
            let Some(entry) = self.get(&here) else {
                if self.is_dir(&here) {
                    continue;
                }
                return Err(LinkError::Dangling { path: path.to_owned(), missing: here });
            };
            match entry.kind {
                EntryKind::File | EntryKind::Executable if pending.is_empty() => return Ok(LinkTarget::File(entry.clone())),
                EntryKind::File | EntryKind::Executable => {
                    let missing = format!("{here}/{}", pending.make_contiguous().join("/"));
                    return Err(LinkError::Dangling { path: path.to_owned(), missing });
                }
                EntryKind::Submodule => return Err(LinkError::Submodule { path: path.to_owned(), submodule: here }),
                EntryKind::Symlink => {
                    followed += 1;
                    let target = self.link_text(entry)?;
                    if followed > MAX_LINKS || target.len() > MAX_TARGET {
                        return Err(LinkError::Cycle { path: path.to_owned() });
                    }
                    if target.starts_with('/') {
                        return Err(LinkError::OutOfBounds { link: here, target });
                    }
                    reached.pop();
                    for component in components(&target).rev() {
                        pending.push_front(component.to_owned());
                    }
                    link = (here, target);
                }
            }
        }
        Ok(LinkTarget::Directory(reached.join("/")))
    }

    /// The file that `path`, which has no `..` in it, leads to, if there is one.
    #[must_use]
    pub fn file_behind(&self, path: &str) -> Option<Entry> {
        if !self.has_links() {
            return self.get(path).cloned();
        }
        match self.resolve_link(path) {
            Ok(LinkTarget::File(entry)) => Some(entry),
            _ => None,
        }
    }

    /// All links that make Argo CD refuse the whole repository, sorted by path: absolute ones, and relative ones that leave the root at any
    /// component (`util/app/path/path.go:CheckOutOfBoundsSymlinks`, which judges the text of each link by itself and follows none).
    ///
    /// # Errors
    /// When the text of a link cannot be read.
    pub fn out_of_bounds_links(&self) -> Result<Vec<OutOfBoundsLink>, RepoError> {
        let mut links = Vec::new();
        for entry in self.entries().iter().filter(|entry| entry.kind == EntryKind::Symlink) {
            let target = self.link_text(entry)?;
            if target.starts_with('/') || leaves_root(&entry.path, &target) {
                links.push(OutOfBoundsLink { path: entry.path.to_string(), target });
            }
        }
        Ok(links)
    }

    fn link_text(&self, entry: &Entry) -> Result<String, RepoError> {
        Ok(String::from_utf8_lossy(&self.read_entry(entry)?).into_owned())
    }
}

fn components(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|component| !component.is_empty() && *component != ".")
}

fn leaves_root(link: &str, target: &str) -> bool {
    let mut depth = components(link).count().saturating_sub(1);
    for component in components(target) {
        if component != ".." {
            depth += 1;
        } else if depth == 0 {
            return true;
        } else {
            depth -= 1;
        }
    }
    false
}
