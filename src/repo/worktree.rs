//! The working tree: tracked files as they are on disk and untracked files that are not ignored.
//!
//! One walk lists the directories without following a symbolic link. Then all files are looked at in parallel: one whose size, times and inode
//! are those in the index is taken from there, as Git does; any other is read and hashed.

mod contents;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::{Flags, Mode, Stage};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

use super::index::{index_kind, open_index, push_index_entry};
use super::tree::{ContentId, EntryKind, Listing, Tree, TreeNote};
use super::{RepoError, Repository, Revision};
pub(super) use contents::read_again;
use contents::{Converter, Found, relative_path};

/// Contents up to this many bytes are kept from the moment they are hashed.
const KEEP_LIMIT: usize = 1 << 20;

/// Files that one task looks at.
const FILES_PER_TASK: usize = 256;

impl Repository {
    /// The working tree as `git add --all` would take it: tracked files as they are on disk, and untracked files that neither `.gitignore`,
    /// `info/exclude` nor the user's excludes file ignores. Submodules and other repositories inside are not entered; a submodule keeps the
    /// commit that the index has. Files that a sparse checkout leaves out are taken from the index.
    ///
    /// # Errors
    /// [`RepoError::NoWorkingTree`] for a bare repository, others when the index or the ignore files cannot be read. A file or directory that
    /// cannot be read is left out with a [`TreeNote`].
    pub fn worktree(&self) -> Result<Tree, RepoError> {
        let root = self.root_or_error()?;
        let repo = self.local();
        let index = open_index(&repo)?;
        let mut listing = Listing::default();
        let candidates = Walk::new(root, &repo, &index)?.run(&mut listing)?;
        let seen: Vec<Vec<Seen>> =
            candidates.par_chunks(FILES_PER_TASK).map(|chunk| look_at(self, root, &index, chunk)).collect::<Result<_, RepoError>>()?;
        let mut on_disk = BTreeSet::new();
        for seen in seen.into_iter().flatten() {
            on_disk.extend(seen.index_entry);
            match seen.outcome {
                Ok(found) => {
                    if let Some(held) = found.held {
                        listing.held.insert(ContentId(found.id), held);
                    }
                    listing.push(seen.path.as_bstr(), found.kind, found.id);
                }
                Err(reason) => listing.notes.push(TreeNote::Unreadable { path: seen.path.to_str_lossy().into_owned(), reason }),
            }
        }
        for (position, entry) in index.entries().iter().enumerate() {
            if entry.flags.contains(Flags::SKIP_WORKTREE) && !on_disk.contains(&position) {
                push_index_entry(self, &repo, &mut listing, entry.path(&index), entry)?;
            }
        }
        Ok(Tree::new(self.clone(), Revision::Worktree, listing))
    }
}

/// A file or symbolic link that the walk came by and that belongs to the tree.
struct Candidate {
    path: BString,
    /// Its position in the index, if it is there without a conflict.
    index_entry: Option<usize>,
}

/// A candidate that is still there, and what it holds; the reason where that cannot be read.
struct Seen {
    path: BString,
    index_entry: Option<usize>,
    outcome: Result<Found, String>,
}

/// The walk over the directories.
struct Walk<'r> {
    root: &'r Path,
    index: &'r gix::index::File,
    excludes: gix::AttributeStack<'r>,
}

/// A directory that is still to be listed.
struct Directory {
    /// Empty for the root, else without a slash at the end.
    path: BString,
    /// Untracked files in it do not count: the directory is ignored, or another repository.
    tracked_only: bool,
    /// The index has something below it.
    has_tracked: bool,
}

impl<'r> Walk<'r> {
    fn new(root: &'r Path, repo: &'r gix::Repository, index: &'r gix::index::File) -> Result<Self, RepoError> {
        let source = gix::worktree::stack::state::ignore::Source::WorktreeThenIdMappingIfNotSkipped;
        let excludes = repo.excludes(index, None, source).map_err(|source| RepoError::git("reading the ignore files", source))?;
        Ok(Self { root, index, excludes })
    }

    /// Collects the files. Submodules go straight to the listing.
    fn run(mut self, listing: &mut Listing) -> Result<Vec<Candidate>, RepoError> {
        let mut candidates = Vec::with_capacity(self.index.entries().len());
        let mut pending = vec![Directory { path: BString::default(), tracked_only: false, has_tracked: true }];
        while let Some(directory) = pending.pop() {
            let on_disk = self.root.join(relative_path(directory.path.as_bstr())?);
            let mut unreadable = |error: std::io::Error| {
                let path = directory.path.to_str_lossy().into_owned();
                listing.notes.push(TreeNote::Unreadable { path, reason: error.to_string() });
            };
            let entries = match std::fs::read_dir(&on_disk) {
                Ok(entries) => entries,
                Err(error) => {
                    unreadable(error);
                    continue;
                }
            };
            let is_root = directory.path.is_empty();
            let (mut subdirectories, mut files, mut is_repository) = (Vec::new(), Vec::new(), false);
            for entry in entries {
                let (name, file_type) = match entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))) {
                    Ok(entry) => entry,
                    Err(error) => {
                        unreadable(error);
                        continue;
                    }
                };
                let Ok(name) = gix::path::os_str_into_bstr(&name) else { continue };
                if name.eq_ignore_ascii_case(b".git") {
                    is_repository |= !is_root;
                    continue;
                }
                let path = joined(directory.path.as_bstr(), name);
                if file_type.is_dir() {
                    subdirectories.push(path);
                } else if file_type.is_file() || file_type.is_symlink() {
                    files.push(path);
                }
            }
            if is_repository && !directory.has_tracked {
                continue;
            }
            let tracked_only = directory.tracked_only || is_repository;
            for path in files {
                candidates.extend(self.file(path, tracked_only)?);
            }
            for path in subdirectories {
                pending.extend(self.directory(path, tracked_only, listing)?);
            }
        }
        Ok(candidates)
    }

    fn file(&mut self, path: BString, tracked_only: bool) -> Result<Option<Candidate>, RepoError> {
        if let Some(stages) = self.index.entry_range(path.as_bstr()) {
            let unconflicted =
                |position: &usize| self.index.entries().get(*position).is_some_and(|entry| entry.stage() == Stage::Unconflicted);
            let index_entry = stages.into_iter().find(unconflicted);
            return Ok(Some(Candidate { path, index_entry }));
        }
        if tracked_only || self.is_excluded(path.as_bstr(), Mode::FILE)? {
            return Ok(None);
        }
        Ok(Some(Candidate { path, index_entry: None }))
    }

    fn directory(&mut self, path: BString, tracked_only: bool, listing: &mut Listing) -> Result<Option<Directory>, RepoError> {
        let submodule = self.index.entry_by_path(path.as_bstr()).filter(|entry| entry.mode == Mode::COMMIT);
        if let Some(submodule) = submodule {
            listing.push(path.as_bstr(), EntryKind::Submodule, submodule.id);
            return Ok(None);
        }
        let has_tracked = self.index.prefixed_entries(joined(path.as_bstr(), b"".as_bstr()).as_bstr()).is_some();
        if !has_tracked && (tracked_only || self.is_excluded(path.as_bstr(), Mode::DIR)?) {
            return Ok(None);
        }
        Ok(Some(Directory { path, tracked_only, has_tracked }))
    }

    /// Whether the untracked `path` is ignored, itself or with a directory above it.
    fn is_excluded(&mut self, path: &BStr, mode: Mode) -> Result<bool, RepoError> {
        self.excludes
            .at_entry(path, Some(mode))
            .map(|platform| platform.is_excluded())
            .map_err(|source| RepoError::git(format!("reading the ignore files for `{}`", path.to_str_lossy()), source))
    }
}

/// Looks at some candidates. Those that are gone meanwhile are left out.
fn look_at(repository: &Repository, root: &Path, index: &gix::index::File, candidates: &[Candidate]) -> Result<Vec<Seen>, RepoError> {
    let repo = repository.local();
    let failed = |source| RepoError::git("reading the repository's configuration", source);
    let capabilities = repo.filesystem_options().map_err(failed)?;
    // Nanoseconds on both sides: a file written in the second of the index is then hashed only if it could really have changed since.
    let stat_options = gix::index::entry::stat::Options { use_nsec: true, ..repo.stat_options().map_err(failed)? };
    let mut converter = None;
    let mut all = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let on_disk = root.join(relative_path(candidate.path.as_bstr())?);
        let Ok(metadata) = gix::index::fs::Metadata::from_path_no_follow(&on_disk) else { continue };
        let tracked = candidate.index_entry.and_then(|position| index.entries().get(position));
        let tracked = tracked.and_then(|entry| Some((entry, index_kind(entry.mode)?)));
        let kind = match tracked {
            // Without symbolic links in the file system, Git writes the link's text into a file.
            Some((_, EntryKind::Symlink)) if !capabilities.symlink && metadata.is_file() => EntryKind::Symlink,
            _ if metadata.is_symlink() => EntryKind::Symlink,
            Some((_, kind @ (EntryKind::File | EntryKind::Executable))) if !capabilities.executable_bit => kind,
            _ if metadata.is_executable() => EntryKind::Executable,
            _ => EntryKind::File,
        };
        let is_clean = tracked.is_some_and(|(entry, index_kind)| {
            let same_type = (index_kind == EntryKind::Symlink) == (kind == EntryKind::Symlink) && index_kind != EntryKind::Submodule;
            let trusted = entry.flags.contains(Flags::ASSUME_VALID)
                || gix::index::entry::Stat::from_fs(&metadata)
                    .is_ok_and(|now| entry.stat.matches(&now, stat_options) && !entry.stat.is_racy(index.timestamp(), stat_options));
            same_type && trusted && !entry.flags.contains(Flags::INTENT_TO_ADD)
        });
        let outcome = match tracked {
            Some((entry, _)) if is_clean => Ok(Found { kind, id: entry.id, held: None }),
            _ => {
                let converter = match &mut converter {
                    Some(converter) => converter,
                    none => none.insert(Converter::new(&repo, root, index)?),
                };
                converter.hash(candidate.path.as_bstr(), kind, KEEP_LIMIT).map(|mut found| {
                    if tracked.is_some_and(|(entry, _)| entry.id == found.id) {
                        found.held = None;
                    }
                    found
                })
            }
        };
        let outcome = match outcome {
            Err(RepoError::Changed { .. }) => continue,
            Err(error) => Err(reason(&error)),
            Ok(found) => Ok(found),
        };
        all.push(Seen { path: candidate.path.clone(), index_entry: candidate.index_entry, outcome });
    }
    Ok(all)
}

/// The error and its causes in one line.
fn reason(error: &RepoError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

fn joined(directory: &BStr, name: &BStr) -> BString {
    let mut path = BString::from(Vec::with_capacity(directory.len() + 1 + name.len()));
    path.extend_from_slice(directory);
    if !directory.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
