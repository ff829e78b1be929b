//! Names of revisions to commits, and commits to their trees.

use std::fmt;

use gix::ObjectId;

use super::tree::{ContentId, Listing, Tree, tree_entries};
use super::{RepoError, Repository, remedy};

/// A commit that is in the repository. Shown as its full id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(ObjectId);

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a [`Tree`] shows. Shown as the report writes it: the commit's id, `index` or `worktree`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision {
    /// A commit.
    Commit(Commit),
    /// What `git commit` would commit now.
    Index,
    /// The working tree.
    Worktree,
    /// Files that were fetched from elsewhere.
    Archive(ContentId),
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit(commit) => commit.fmt(f),
            Self::Index => f.write_str("index"),
            Self::Worktree => f.write_str("worktree"),
            Self::Archive(id) => write!(f, "archive-{id}"),
        }
    }
}

impl Repository {
    /// The commit that `revision` names: a branch, tag, full or shortened id, `HEAD~2`, `origin/main` and whatever else `git rev-parse` reads.
    ///
    /// # Errors
    /// [`RepoError::UnknownRevision`] when it leads to no commit that is here.
    pub fn resolve(&self, revision: &str) -> Result<Commit, RepoError> {
        let repo = self.local();
        let unknown = || {
            let shallow = repo.is_shallow().unwrap_or(false);
            let remedy = remedy::unknown_revision(&repo, revision, shallow);
            RepoError::UnknownRevision { revision: revision.to_owned(), shallow, remedy }
        };
        let id = repo.rev_parse_single(revision).map_err(|_| unknown())?;
        let commit = id.object().ok().and_then(|object| object.peel_to_commit().ok()).ok_or_else(unknown)?;
        Ok(Commit(commit.id))
    }

    /// The ids of the parents, in order. In a shallow clone they are named even where they are not here: the first parent of a merge commit
    /// that CI checked out is the tip of the branch that is merged into.
    ///
    /// # Errors
    /// When the commit cannot be read.
    pub fn parents(&self, commit: &Commit) -> Result<Vec<String>, RepoError> {
        let repo = self.local();
        let found = repo.find_commit(commit.0).map_err(|source| RepoError::git(format!("reading commit {commit}"), source))?;
        Ok(found.parent_ids().map(|id| id.to_string()).collect())
    }

    /// The best common ancestor of two commits. `None` when they have none as far as the history is here; in a shallow clone
    /// ([`Repository::is_shallow`]) that says little.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub fn merge_base(&self, a: &Commit, b: &Commit) -> Result<Option<Commit>, RepoError> {
        let repo = self.local();
        repo.merge_base(a.0, b.0)
            .map(|found| found.map(|id| Commit(id.detach())))
            .map_err(|source| RepoError::git(format!("looking for the common ancestor of {a} and {b}"), source))
    }

    /// Like [`Repository::merge_base`], where a missing ancestor is an error that says what to fetch.
    ///
    /// # Errors
    /// [`RepoError::NoMergeBase`] besides those of `merge_base`.
    pub fn merge_base_or_explain(&self, base: &Commit, head: &Commit) -> Result<Commit, RepoError> {
        self.merge_base(base, head)?.ok_or_else(|| {
            let repo = self.local();
            let shallow = repo.is_shallow().unwrap_or(false);
            RepoError::NoMergeBase { base: *base, head: *head, shallow, remedy: remedy::no_merge_base(&repo, shallow) }
        })
    }

    /// The files of a commit.
    ///
    /// # Errors
    /// When the commit's directory listings cannot be read.
    pub fn commit_tree(&self, commit: &Commit) -> Result<Tree, RepoError> {
        let repo = self.local();
        let failed = |source: gix::Error| self.missing_or_git(&repo, format!("the directory listing of commit {commit}"), source);
        let root = repo.find_commit(commit.0).and_then(|found| Ok(found.tree_id()?.detach())).map_err(failed)?;
        let mut listing = Listing::default();
        tree_entries(&repo, root, "", &mut listing).map_err(failed)?;
        Ok(Tree::new(self.clone(), Revision::Commit(*commit), listing))
    }

    /// The error for an object `what` that could not be read.
    pub(super) fn missing_or_git(&self, repo: &gix::Repository, what: String, source: gix::Error) -> RepoError {
        if source.is_not_found() {
            let (partial, remedy) = remedy::missing_object(repo);
            self.missing.get_or_init(|| (what.clone(), partial, remedy.clone()));
            RepoError::MissingObject { what, partial, remedy }
        } else {
            RepoError::git(format!("reading {what}"), source)
        }
    }
}
