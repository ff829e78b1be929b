//! Contents of files of the working tree as a commit would hold them.
//!
//! Reads only what lies inside the working tree: no directory on the way may be a symbolic link, and the file that was opened must be the one
//! that was looked at.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::objs::{Find, Kind};

use super::super::index::open_index;
use super::super::tree::{ContentId, Entry, EntryKind, Held, READ_LIMIT};
use super::super::{RepoError, Repository};

/// What a path of the working tree holds.
pub(super) struct Found {
    pub(super) kind: EntryKind,
    pub(super) id: ObjectId,
    /// Where the contents are, unless the object database has them.
    pub(super) held: Option<Held>,
}

/// Reads files of the working tree and converts them as `git add` does: line ends, `working-tree-encoding`, `$Id$`.
///
/// Filter programs that the configuration names (as of Git LFS) are not run: a pull request could choose them by its `.gitattributes`.
pub(super) struct Converter<'r> {
    repo: &'r gix::Repository,
    root: &'r Path,
    index: &'r gix::index::File,
    pipeline: gix::filter::plumbing::Pipeline,
    attributes: gix::worktree::Stack,
}

impl<'r> Converter<'r> {
    pub(super) fn new(repo: &'r gix::Repository, root: &'r Path, index: &'r gix::index::File) -> Result<Self, RepoError> {
        let source = gix::worktree::stack::state::attributes::Source::WorktreeThenIdMapping;
        let (mut pipeline, attributes) = repo
            .attributes_only(index, source)
            .and_then(|attributes| gix::filter::Pipeline::new(repo, attributes.detach()))
            .map_err(|source| RepoError::git("reading the Git attributes", source))?
            .into_parts();
        let options = pipeline.options_mut();
        options.drivers.clear();
        options.crlf_roundtrip_check = gix::filter::plumbing::pipeline::CrlfRoundTripCheck::Skip;
        Ok(Self { repo, root, index, pipeline, attributes })
    }

    /// The identity of what is at `path` now. Contents of up to `keep` bytes stay in memory.
    pub(super) fn hash(&mut self, path: &BStr, kind: EntryKind, keep: usize) -> Result<Found, RepoError> {
        let relative = relative_path(path)?;
        let (contents, id) = match self.read(&relative, kind) {
            Ok(contents) => {
                let id = self.hash_bytes(&contents)?;
                (contents, id)
            }
            Err(RepoError::TooLarge { .. }) => {
                return Ok(Found { kind, id: self.hash_large(&relative)?, held: Some(Held::Disk(relative)) });
            }
            Err(error) => return Err(error),
        };
        let held = if contents.len() <= keep { Held::Memory(contents.into()) } else { Held::Disk(relative) };
        Ok(Found { kind, id, held: Some(held) })
    }

    /// The contents of the file or the text of the link at `relative`, as a commit would hold them.
    fn read(&mut self, relative: &Path, kind: EntryKind) -> Result<Vec<u8>, RepoError> {
        let metadata = look_up(self.root, relative)?;
        if metadata.is_symlink() {
            let target = std::fs::read_link(self.root.join(relative)).map_err(|source| unreadable(relative, source))?;
            return Ok(gix::path::into_bstr(target)
                .map_err(|source| RepoError::git("reading a symbolic link", source))?
                .into_owned()
                .into());
        }
        if metadata.len() > READ_LIMIT {
            return Err(RepoError::TooLarge { path: shown(relative), size: metadata.len(), limit: READ_LIMIT });
        }
        let mut contents = Vec::new();
        let file = open(self.root, relative, &metadata)?;
        file.take(READ_LIMIT).read_to_end(&mut contents).map_err(|source| unreadable(relative, source))?;
        if kind == EntryKind::Symlink {
            return Ok(contents);
        }
        self.convert(relative, contents)
    }

    fn convert(&mut self, relative: &Path, contents: Vec<u8>) -> Result<Vec<u8>, RepoError> {
        use gix::filter::plumbing::pipeline::convert::ToGitOutcome;

        let failed = |source| RepoError::git(format!("converting `{}` as `git add` would", shown(relative)), source);
        let (index, objects) = (self.index, &self.repo.objects);
        let platform = self
            .attributes
            .at_path(relative, Some(gix::index::entry::Mode::FILE), objects)
            .map_err(|source| unreadable(relative, source))?;
        let outcome = self
            .pipeline
            .convert_to_git(
                contents.as_slice(),
                relative,
                &mut |_, attributes| {
                    platform.matching_attributes(attributes);
                },
                &mut |buffer| {
                    let path = gix::path::to_unix_separators_on_windows(gix::path::into_bstr(relative)?);
                    let Some(entry) = index.entry_by_path(path.as_ref()) else { return Ok(None) };
                    let object = objects.try_find(&entry.id, buffer)?;
                    Ok(object.filter(|object| object.kind == Kind::Blob).map(|_| ()))
                },
            )
            .map_err(failed)?;
        let converted = match outcome {
            ToGitOutcome::Unchanged(_) => None,
            ToGitOutcome::Buffer(buffer) => Some(buffer.to_vec()),
            ToGitOutcome::Process(mut output) => {
                let mut buffer = Vec::new();
                output.read_to_end(&mut buffer).map_err(|source| unreadable(relative, source))?;
                Some(buffer)
            }
        };
        Ok(converted.unwrap_or(contents))
    }

    fn hash_bytes(&self, contents: &[u8]) -> Result<ObjectId, RepoError> {
        gix::objs::compute_hash(self.repo.object_hash(), Kind::Blob, contents).map_err(|source| RepoError::git("hashing a file", source))
    }

    /// Hashes a file that is too large to be read, without conversion.
    fn hash_large(&self, relative: &Path) -> Result<ObjectId, RepoError> {
        let metadata = look_up(self.root, relative)?;
        let mut file = open(self.root, relative, &metadata)?;
        let (mut progress, interrupt) = (gix::progress::Discard, AtomicBool::new(false));
        gix::objs::compute_stream_hash(self.repo.object_hash(), Kind::Blob, &mut file, metadata.len(), &mut progress, &interrupt)
            .map_err(|source| RepoError::git(format!("hashing `{}`", shown(relative)), source))
    }
}

/// Reads contents that were too large to keep when the tree was listed.
pub(in super::super) fn read_again(repository: &Repository, relative: &Path, entry: &Entry) -> Result<Arc<[u8]>, RepoError> {
    let root = repository.root_or_error()?;
    let repo = repository.local();
    let index = open_index(&repo)?;
    let mut converter = Converter::new(&repo, root, &index)?;
    let contents = converter.read(relative, entry.kind)?;
    if ContentId(converter.hash_bytes(&contents)?) != entry.id {
        return Err(RepoError::Changed { path: shown(relative) });
    }
    Ok(contents.into())
}

/// The metadata of a file or symbolic link below `root`, provided that no directory on the way is a symbolic link.
fn look_up(root: &Path, relative: &Path) -> Result<Metadata, RepoError> {
    let changed = || RepoError::Changed { path: shown(relative) };
    let mut on_disk: PathBuf = root.to_owned();
    let mut components = relative.components().peekable();
    while let Some(component) = components.next() {
        let Component::Normal(name) = component else { return Err(changed()) };
        on_disk.push(name);
        let metadata = std::fs::symlink_metadata(&on_disk).map_err(|_| changed())?;
        if components.peek().is_none() {
            return if metadata.is_file() || metadata.is_symlink() { Ok(metadata) } else { Err(changed()) };
        }
        if !metadata.is_dir() {
            return Err(changed());
        }
    }
    Err(changed())
}

/// Opens a file that [`look_up`] has seen.
fn open(root: &Path, relative: &Path, seen: &Metadata) -> Result<File, RepoError> {
    let file = File::open(root.join(relative)).map_err(|source| unreadable(relative, source))?;
    let opened = file.metadata().map_err(|source| unreadable(relative, source))?;
    if seen.is_file() && is_same_file(seen, &opened) { Ok(file) } else { Err(RepoError::Changed { path: shown(relative) }) }
}

#[cfg(unix)]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    a.dev() == b.dev() && a.ino() == b.ino()
}

#[cfg(not(unix))]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    a.len() == b.len() && a.file_type() == b.file_type()
}

/// A path of the index as one of the operating system.
pub(super) fn relative_path(path: &BStr) -> Result<PathBuf, RepoError> {
    let relative = gix::path::from_bstr(path);
    relative.map(std::borrow::Cow::into_owned).map_err(|source| RepoError::git("reading a path", source))
}

fn unreadable(relative: &Path, source: std::io::Error) -> RepoError {
    RepoError::Unreadable { path: shown(relative), source }
}

fn shown(relative: &Path) -> String {
    gix::path::into_bstr(relative).map_or_else(
        |_| relative.to_string_lossy().into_owned(),
        |path| gix::path::to_unix_separators_on_windows(path).to_str_lossy().into_owned(),
    )
}
