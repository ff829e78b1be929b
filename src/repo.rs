//! The Git repository as revisions.
//!
//! Takes a directory and names of revisions; hands on a [`Tree`] (a read-only virtual file tree at a commit, of the index or of the working
//! tree), the [`ChangeSet`] between two of them, and the names and addresses by which others know the repository. It never writes, never uses
//! the network, never runs a program and reads no file outside the repository.

mod change;
mod error;
pub mod follow;
mod index;
pub mod kept;
mod link;
pub mod parsed;
mod path;
mod remedy;
mod remote;
mod rename;
mod revision;
pub mod semver;
mod stored;
// They make symbolic links, file modes and names that only Unix has.
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod tree;
mod unpacked;
pub mod url;
mod worktree;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub use change::{Change, ChangeSet, PathChange};
pub use error::RepoError;
pub use follow::{Follows, MergeTarget, revision_follows};
pub use kept::{Kept, private_folder};
pub use link::{LinkError, LinkTarget, OutOfBoundsLink};
pub use parsed::{Format, ParsedFile, Parser};
pub use path::clean_path;
pub use remote::RefNames;
pub use revision::{Commit, Revision};
pub use tree::{ContentId, Entry, EntryKind, Tree, TreeNote};
pub use url::{RepoUrl, without_password, without_passwords};

/// A Git repository. Cheap to clone and to share between threads.
#[derive(Debug, Clone)]
pub struct Repository {
    shared: Arc<gix::ThreadSafeRepository>,
    /// The first object that was asked for and is not here: what it would hold, whether the clone is partial, what to do.
    missing: Arc<OnceLock<(String, bool, String)>>,
}

impl Repository {
    /// Opens the repository that `dir` belongs to: `dir` itself or the nearest directory above it. Bare repositories and linked working trees
    /// are fine. As in Git, `GIT_INDEX_FILE`, `GIT_WORK_TREE` and the like are honoured, so that hooks see the index they were called for.
    ///
    /// # Errors
    /// When there is no repository, when it belongs to another user ([`RepoError::DubiousOwnership`], as Git does), or when it cannot be read.
    pub fn discover(dir: &Path) -> Result<Self, RepoError> {
        Self::discover_with(dir, &gix::open::Permissions::all())
    }

    /// Opens the repository whose working tree or, if it is bare, whose own folder this is. Nothing in the environment changes which files are
    /// read: it speaks of the repository that a hook was called for.
    ///
    /// # Errors
    /// As [`Repository::discover`]; a folder somewhere inside of a repository is none.
    pub fn at(dir: &Path) -> Result<Self, RepoError> {
        let mut permissions = gix::open::Permissions::all();
        permissions.env.git_prefix = gix::sec::Permission::Deny;
        permissions.env.objects = gix::sec::Permission::Deny;
        let repository = Self::discover_with(dir, &permissions)?;
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let own = repository.root().unwrap_or_else(|| repository.shared.git_dir());
        if real(own) == real(dir) { Ok(repository) } else { Err(RepoError::NotARepository { dir: dir.to_owned() }) }
    }

    fn discover_with(dir: &Path, permissions: &gix::open::Permissions) -> Result<Self, RepoError> {
        if !dir.is_dir() {
            return Err(RepoError::NotARepository { dir: dir.to_owned() });
        }
        let options = || gix::open::Options::default().permissions(*permissions);
        let trust = gix::sec::trust::Mapping { full: options(), reduced: options() };
        let shared =
            gix::ThreadSafeRepository::discover_opts(dir, gix::discover::upwards::Options::default(), trust).map_err(|source| {
                match source.downcast_any_ref::<gix::discover::upwards::Error>() {
                    Some(_) => RepoError::NotARepository { dir: dir.to_owned() },
                    None => RepoError::git(format!("opening the repository at `{}`", dir.display()), source),
                }
            })?;
        let repo = shared.to_thread_local();
        if repo.git_dir_trust() != gix::sec::Trust::Full {
            let owned = repo.workdir().unwrap_or_else(|| repo.git_dir());
            return Err(RepoError::dubious_ownership(&std::fs::canonicalize(owned).unwrap_or_else(|_| owned.to_owned())));
        }
        Ok(Self { shared: Arc::new(shared), missing: Arc::default() })
    }

    /// The root of the working tree. `None` for a bare repository.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.shared.work_dir()
    }

    /// The folder that all working trees of the repository share, which names it on this machine.
    fn common_dir(&self) -> PathBuf {
        self.local().common_dir().to_owned()
    }

    /// Whether the history was cut when it was fetched (`git clone --depth`, `fetch-depth` in CI).
    #[must_use]
    pub fn is_shallow(&self) -> bool {
        self.local().is_shallow().unwrap_or(false)
    }

    /// Runs something with the handle that this thread keeps: making one costs more than reading a small file with it.
    fn with_local<T>(&self, run: impl FnOnce(&gix::Repository) -> T) -> T {
        thread_local! {
            static KEPT: RefCell<Option<(Arc<gix::ThreadSafeRepository>, gix::Repository)>> = const { RefCell::new(None) };
        }
        KEPT.with(|kept| match kept.try_borrow_mut() {
            Ok(mut kept) => {
                let fits = kept.as_ref().is_some_and(|(shared, _)| Arc::ptr_eq(shared, &self.shared));
                if !fits {
                    *kept = None;
                }
                run(&kept.get_or_insert_with(|| (Arc::clone(&self.shared), self.local())).1)
            }
            // The thread is already inside of such a call.
            Err(_) => run(&self.local()),
        })
    }

    /// A handle for the current thread.
    fn local(&self) -> gix::Repository {
        self.shared.to_thread_local()
    }

    fn root_or_error(&self) -> Result<&Path, RepoError> {
        self.root().ok_or_else(|| RepoError::NoWorkingTree { git_dir: self.shared.git_dir().to_owned() })
    }
}
