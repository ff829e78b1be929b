//! Results of earlier runs, by what they were made from: a render whose inputs, parameters and program are the same is not made again.
//!
//! Takes a [`Key`]; hands on [`Rendered`]. The entries are files in a folder of the user, named by their key, so that the folder may be copied
//! to another machine and used by many processes at once: a file is written aside and renamed, and one that is damaged is no entry.
//!
//! A render with a Secret that has values is never kept. The values are needed to see a change of the Secret, and they must not lie on disk;
//! so such a source is rendered anew in each run, and a run with the cache says the same as one without.

mod entry;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::{Key, Rendered};
use crate::manifest::Side;
use crate::repo::private_folder;

/// Bytes of all entries together from which those are removed that were not used for the longest time.
pub const MAX_BYTES: u64 = 1 << 30;
/// Bytes of one entry. A larger one is not kept.
const MAX_ENTRY_BYTES: usize = 64 << 20;
/// The time of last use is written down at most this often.
const USE_STEP: Duration = Duration::from_secs(3600);
/// Files that were written aside and never renamed are removed after this time.
const ABANDONED: Duration = Duration::from_secs(3600);
const ASIDE: &str = ".aside-";

/// A folder with results of earlier runs.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    max_bytes: u64,
    has_grown: AtomicBool,
    /// Why nothing is kept any more.
    broken: Mutex<Option<String>>,
}

impl Cache {
    /// The cache in a folder, which is made when something is kept.
    pub fn new(folder: &Path) -> Self {
        Self::bounded(folder, MAX_BYTES)
    }

    /// The same with another bound on the bytes of all entries.
    pub fn bounded(folder: &Path, max_bytes: u64) -> Self {
        // The version of the format, so that another version of presync finds nothing it misreads.
        let folder = folder.join(format!("renders-{}", entry::FORMAT));
        Self { folder, max_bytes, has_grown: AtomicBool::new(false), broken: Mutex::default() }
    }

    /// What an equal render gave earlier, as files of this side.
    pub fn get(&self, key: &Key, side: Side) -> Option<Rendered> {
        let path = self.path(key);
        let rendered = entry::decode(key, &fs::read(&path).ok()?, side)?;
        // Reading goes on where the time cannot be written down.
        let _ = note_use(&path);
        Some(rendered)
    }

    /// Keeps a render. Where that cannot be done, the run goes on, and [`Cache::broken`] says why.
    pub fn put(&self, key: &Key, rendered: &Rendered) {
        let has_secrets = rendered.manifests.iter().any(|manifest| entry::has_secret_values(manifest));
        if has_secrets || rendered.is_transient || self.broken().is_some() {
            return;
        }
        let Some(bytes) = entry::encode(key, rendered).filter(|bytes| bytes.len() <= MAX_ENTRY_BYTES) else { return };
        match self.write(&self.path(key), &bytes) {
            Ok(()) => self.has_grown.store(true, Ordering::Relaxed),
            Err(error) => {
                let why = format!("renders cannot be kept in {}: {error}", self.folder.display());
                self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
            }
        }
    }

    /// Why nothing is kept any more, for example because the disk is full.
    pub fn broken(&self) -> Option<String> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name = blake3::Hash::from_bytes(*key).to_hex();
        let (shard, rest) = name.split_at(2);
        self.folder.join(shard).join(rest)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let shard = path.parent().unwrap_or(&self.folder);
        private_folder(shard)?;
        let mut aside = tempfile::Builder::new().prefix(ASIDE).tempfile_in(shard)?;
        aside.write_all(bytes)?;
        aside.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Removes what was not used for the longest time, until the entries fit with room to spare. Other processes may do the same.
    fn trim(&self) {
        let mut entries = Vec::new();
        for file in files(&self.folder) {
            let Ok(state) = file.metadata() else { continue };
            let used = state.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if !file.file_name().to_string_lossy().starts_with(ASIDE) {
                entries.push((used, state.len(), file.path()));
            } else if used.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(file.path());
            }
        }
        let mut bytes: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        if bytes <= self.max_bytes {
            return;
        }
        entries.sort();
        for (_, length, path) in entries {
            if bytes <= self.max_bytes / 10 * 9 {
                return;
            }
            // Another process may have been faster.
            let _ = fs::remove_file(path);
            bytes = bytes.saturating_sub(length);
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        if self.has_grown.load(Ordering::Relaxed) {
            self.trim();
        }
    }
}

fn note_use(path: &Path) -> io::Result<()> {
    let file = File::options().append(true).open(path)?;
    let now = SystemTime::now();
    if now.duration_since(file.metadata()?.modified()?).is_ok_and(|age| age < USE_STEP) {
        return Ok(());
    }
    file.set_modified(now)
}

/// The files of the folders in a folder.
fn files(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    let shards = fs::read_dir(folder).into_iter().flatten().flatten();
    shards.flat_map(|shard| fs::read_dir(shard.path()).into_iter().flatten().flatten())
}

#[cfg(test)]
mod tests;
