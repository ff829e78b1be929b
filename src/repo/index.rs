//! The index: what `git commit` would commit now.

use gix::bstr::ByteSlice;
use gix::index::entry::{Flags, Mode, Stage};

use super::tree::{EntryKind, Listing, Tree, tree_entries};
use super::{RepoError, Repository, Revision};

impl Repository {
    /// The files that are staged.
    ///
    /// # Errors
    /// [`RepoError::NoWorkingTree`] for a bare repository, [`RepoError::Unmerged`] when a conflict is not resolved.
    pub fn index_tree(&self) -> Result<Tree, RepoError> {
        self.root_or_error()?;
        let repo = self.local();
        let index = open_index(&repo)?;
        let mut listing = Listing::default();
        for entry in index.entries() {
            let path = entry.path(&index);
            if entry.stage() != Stage::Unconflicted {
                return Err(RepoError::Unmerged { path: path.to_str_lossy().into_owned() });
            }
            // `git add --intent-to-add` announces a file; nothing of it would be committed.
            if !entry.flags.contains(Flags::INTENT_TO_ADD) {
                push_index_entry(self, &repo, &mut listing, path, entry)?;
            }
        }
        Ok(Tree::new(self.clone(), Revision::Index, listing))
    }
}

/// The index as it is on disk; empty where there is none yet.
pub(super) fn open_index(repo: &gix::Repository) -> Result<gix::index::File, RepoError> {
    if !repo.index_path().exists() {
        return Ok(gix::index::File::from_state(gix::index::State::new(repo.object_hash()), repo.index_path()));
    }
    repo.open_index().map_err(|source| RepoError::git("reading the index", source))
}

/// Adds an entry of the index; for the directory entry of a sparse index everything below it.
pub(super) fn push_index_entry(
    repository: &Repository,
    repo: &gix::Repository,
    listing: &mut Listing,
    path: &gix::bstr::BStr,
    entry: &gix::index::Entry,
) -> Result<(), RepoError> {
    if entry.mode == Mode::DIR {
        let prefix = path.to_str_lossy();
        return tree_entries(repo, entry.id, &prefix, listing)
            .map_err(|source| repository.missing_or_git(repo, format!("the directory listing of `{prefix}`"), source));
    }
    if let Some(kind) = index_kind(entry.mode) {
        listing.push(path, kind, entry.id);
    }
    Ok(())
}

/// `None` for a directory.
pub(super) fn index_kind(mode: Mode) -> Option<EntryKind> {
    EntryKind::from_git(mode.to_tree_entry_mode()?.kind())
}
