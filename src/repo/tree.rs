//! A read-only virtual file tree at one revision: the listing is made at once and sorted, contents are read when asked for.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::tree::EntryKind as GitKind;

use super::{RepoError, Repository, Revision, worktree};

/// What is never read into memory: files above this many bytes.
pub(super) const READ_LIMIT: u64 = 64 << 20;

/// The identity of a file's contents: equal exactly when the contents are (a Git blob id; for a submodule the id of its commit).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub(super) ObjectId);

impl ContentId {
    /// The bytes of the id, for cache keys.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A regular file that may be executed.
    Executable,
    /// A symbolic link. Its contents are the link's text.
    Symlink,
    /// Another repository, of which only the commit is known.
    Submodule,
}

/// One path of a [`Tree`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path relative to the repository root, with `/`.
    pub path: Arc<str>,
    /// What stands there.
    pub kind: EntryKind,
    /// The identity of its contents.
    pub id: ContentId,
}

/// Something about a tree that its listing cannot show.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeNote {
    /// The path is not UTF-8, and the entry was left out.
    PathNotUtf8 {
        /// The path with replacement characters.
        path: String,
    },
    /// A directory or file of the working tree could not be read, and was left out.
    Unreadable {
        /// The path, relative to the repository root.
        path: String,
        /// What the operating system said.
        reason: String,
    },
}

/// The files of a repository at one revision. Cheap to clone and to share between threads.
#[derive(Debug, Clone)]
pub struct Tree {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    repository: Repository,
    revision: Revision,
    listing: Listing,
    /// Whether anything is a symbolic link or a submodule.
    has_links: bool,
}

/// What is found while a tree is listed.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) entries: Vec<Entry>,
    pub(super) notes: Vec<TreeNote>,
    /// Contents that the object database need not have.
    pub(super) held: BTreeMap<ContentId, Held>,
}

/// Contents that were seen in the working tree only.
#[derive(Debug, Clone)]
pub(super) enum Held {
    Memory(Arc<[u8]>),
    /// Too large to keep: the path, relative to the repository root.
    Disk(PathBuf),
}

impl Listing {
    /// Adds an entry, or a note in place of one whose path is not UTF-8.
    pub(super) fn push(&mut self, path: &BStr, kind: EntryKind, id: ObjectId) {
        match path.to_str() {
            Ok(path) => self.entries.push(Entry { path: Arc::from(path), kind, id: ContentId(id) }),
            Err(_) => self.notes.push(TreeNote::PathNotUtf8 { path: path.to_str_lossy().into_owned() }),
        }
    }
}

impl Tree {
    pub(super) fn new(repository: Repository, revision: Revision, mut listing: Listing) -> Self {
        listing.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        listing.notes.sort_by(|a, b| a.path().cmp(b.path()));
        let has_links = listing.entries.iter().any(|entry| matches!(entry.kind, EntryKind::Symlink | EntryKind::Submodule));
        Self { inner: Arc::new(Inner { repository, revision, listing, has_links }) }
    }

    /// What the tree shows.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.inner.revision
    }

    /// All files, symbolic links and submodules, sorted by path in byte order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.inner.listing.entries
    }

    /// Whether any entry leads elsewhere: a symbolic link or a submodule.
    #[must_use]
    pub fn has_links(&self) -> bool {
        self.inner.has_links
    }

    /// What the listing cannot show, sorted by path.
    #[must_use]
    pub fn notes(&self) -> &[TreeNote] {
        &self.inner.listing.notes
    }

    /// The entries below the directory `dir`, at any depth; all of them for `""` and `.`.
    #[must_use]
    pub fn under(&self, dir: &str) -> &[Entry] {
        let (entries, dir) = (self.entries(), normal(dir));
        if dir.is_empty() {
            return entries;
        }
        let from = entries.get(first_below(entries, dir)..).unwrap_or_default();
        from.get(..from.partition_point(|entry| is_below(&entry.path, dir))).unwrap_or_default()
    }

    /// The entry at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Entry> {
        let path = normal(path);
        let index = self.entries().binary_search_by(|entry| (*entry.path).cmp(path)).ok()?;
        self.entries().get(index)
    }

    /// Whether `path` is a directory with something in it (Git knows no others). The root always is one.
    #[must_use]
    pub fn is_dir(&self, path: &str) -> bool {
        let (entries, dir) = (self.entries(), normal(path));
        dir.is_empty() || entries.get(first_below(entries, dir)).is_some_and(|entry| is_below(&entry.path, dir))
    }

    /// The path of the submodule that `path` is or lies in.
    #[must_use]
    pub fn submodule_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        let path = normal(path);
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        let mut folders = ends.filter_map(|end| path.get(..end));
        folders.find(|folder| self.get(folder).is_some_and(|entry| entry.kind == EntryKind::Submodule))
    }

    /// The contents of the file at `path`, or the text of the symbolic link there. Follows nothing.
    ///
    /// # Errors
    /// When there is no file at `path`, or it cannot be read.
    pub fn read(&self, path: &str) -> Result<Arc<[u8]>, RepoError> {
        let no_such_file = || RepoError::NoSuchFile { path: path.to_owned(), revision: self.revision() };
        self.read_entry(self.get(path).ok_or_else(no_such_file)?)
    }

    /// The contents of an entry of this tree.
    ///
    /// Contents are what a commit holds: for a file of the working tree after the conversion of line ends and encoding that `git add` would do.
    /// Filter programs (as of Git LFS) are not run.
    ///
    /// # Errors
    /// When the entry is a submodule, its contents are not here (partial clone), larger than presync reads, or changed on disk meanwhile.
    pub fn read_entry(&self, entry: &Entry) -> Result<Arc<[u8]>, RepoError> {
        if entry.kind == EntryKind::Submodule {
            return Err(RepoError::Submodule { path: entry.path.to_string() });
        }
        match self.inner.listing.held.get(&entry.id) {
            Some(Held::Memory(contents)) => Ok(Arc::clone(contents)),
            Some(Held::Disk(path)) => worktree::read_again(&self.inner.repository, path, entry),
            None => self.read_object(entry),
        }
    }

    fn read_object(&self, entry: &Entry) -> Result<Arc<[u8]>, RepoError> {
        self.inner.repository.with_local(|repo| {
            let what = || format!("the contents of `{}` in {}", entry.path, self.revision());
            let failed = |source| self.inner.repository.missing_or_git(repo, what(), source);
            let size = repo.find_header(entry.id.0).map_err(failed)?.size();
            if size > READ_LIMIT {
                return Err(RepoError::TooLarge { path: entry.path.to_string(), size, limit: READ_LIMIT });
            }
            Ok(repo.find_blob(entry.id.0).map_err(failed)?.detach().data.into())
        })
    }

    /// The size of an entry's contents in bytes, without reading them where that can be avoided.
    ///
    /// # Errors
    /// As [`Tree::read_entry`].
    pub fn size(&self, entry: &Entry) -> Result<u64, RepoError> {
        if entry.kind == EntryKind::Submodule || self.inner.listing.held.contains_key(&entry.id) {
            return Ok(self.read_entry(entry)?.len() as u64);
        }
        let repo = self.inner.repository.local();
        let what = || format!("the contents of `{}` in {}", entry.path, self.revision());
        let header = repo.find_header(entry.id.0).map_err(|source| self.inner.repository.missing_or_git(&repo, what(), source))?;
        Ok(header.size())
    }

    /// Whether everything that anybody has asked the repository for was there. What lacks a file is no basis for a verdict.
    ///
    /// # Errors
    /// The first object that was missing, with the command that fetches it.
    pub fn nothing_missing(&self) -> Result<(), RepoError> {
        let missing = |(what, partial, remedy): &(String, bool, String)| {
            Err(RepoError::MissingObject { what: what.clone(), partial: *partial, remedy: remedy.clone() })
        };
        self.inner.repository.missing.get().map_or(Ok(()), missing)
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.inner.repository
    }

    /// Contents that were seen in the working tree and are kept in memory.
    pub(super) fn held_in_memory(&self, id: &ContentId) -> Option<&Arc<[u8]>> {
        match self.inner.listing.held.get(id) {
            Some(Held::Memory(contents)) => Some(contents),
            _ => None,
        }
    }
}

impl TreeNote {
    fn path(&self) -> &str {
        match self {
            Self::PathNotUtf8 { path } | Self::Unreadable { path, .. } => path,
        }
    }
}

impl EntryKind {
    /// `None` for a directory.
    pub(super) fn from_git(kind: GitKind) -> Option<Self> {
        match kind {
            GitKind::Tree => None,
            GitKind::Blob => Some(Self::File),
            GitKind::BlobExecutable => Some(Self::Executable),
            GitKind::Link => Some(Self::Symlink),
            GitKind::Commit => Some(Self::Submodule),
        }
    }

    pub(super) fn to_git(self) -> GitKind {
        match self {
            Self::File => GitKind::Blob,
            Self::Executable => GitKind::BlobExecutable,
            Self::Symlink => GitKind::Link,
            Self::Submodule => GitKind::Commit,
        }
    }
}

/// Adds everything below the Git tree `root`, with `prefix` (empty or ending with `/`) before each path.
pub(super) fn tree_entries(repo: &gix::Repository, root: ObjectId, prefix: &str, listing: &mut Listing) -> gix::Result<()> {
    for file in repo.find_tree(root)?.traverse().breadthfirst.files()? {
        if let Some(kind) = EntryKind::from_git(file.mode.kind()) {
            let mut path = BString::from(prefix);
            path.extend_from_slice(&file.filepath);
            listing.push(path.as_bstr(), kind, file.oid);
        }
    }
    Ok(())
}

/// The index of the first entry that can be below `dir`: of the first path that is not before `dir` with a slash.
fn first_below(entries: &[Entry], dir: &str) -> usize {
    let is_before = |path: &str| {
        let (path, dir) = (path.as_bytes(), dir.as_bytes());
        let shared = path.len().min(dir.len());
        match path.get(..shared).cmp(&dir.get(..shared)) {
            Ordering::Equal => path.get(dir.len()).is_none_or(|next| *next < b'/'),
            other => other == Ordering::Less,
        }
    };
    entries.partition_point(|entry| is_before(&entry.path))
}

fn is_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

/// `path` without a leading `./` and surrounding slashes; `.` is the root.
fn normal(path: &str) -> &str {
    let path = path.strip_prefix("./").unwrap_or(path).trim_matches('/');
    if path == "." { "" } else { path }
}
