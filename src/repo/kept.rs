//! What earlier runs have read: parsed files by content, in one file a repository under the cache directory.
//!
//! Takes a directory; hands on [`Kept`], which finds what was read before and writes what is new. The file is a convenience: one that
//! is missing, cut, altered or of another build counts as empty. Contents that may hold a Secret are never in it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::stored;
use super::{ContentId, Format, ParsedFile, Repository};

/// Opens the file: its format and the build of the reader that wrote it.
const MAGIC: &[u8] = concat!("presync parsed 2 ", env!("CARGO_PKG_VERSION"), " ", env!("PRESYNC_READER"), "\n").as_bytes();
/// Bytes of a content id.
const ID: usize = 20;
/// Bytes of a record: id, tag, start and length.
const RECORD: usize = ID + 1 + 4 + 4;
/// Bytes of the digest over everything behind it.
const DIGEST: usize = blake3::OUT_LEN;
/// Bytes from which on a file is begun anew instead of added to.
const MAX_BYTES: usize = 256 << 20;
/// Repositories that are kept; those not written for longest go.
const MAX_FILES: usize = 64;
/// A file is written again when this many contents are new to it and they are more than a twentieth of it.
const WORTH_WRITING: usize = 64;

/// What is known of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tag {
    /// Whether it has the mark that was looked for.
    Mark = 0,
    /// Parsed as a stream of documents.
    Stream = 1,
    /// Parsed as one JSON value.
    Json = 2,
}

impl From<Format> for Tag {
    fn from(format: Format) -> Self {
        match format {
            Format::Stream => Self::Stream,
            Format::Json => Self::Json,
        }
    }
}

/// The contents that earlier runs have read.
#[derive(Debug, Default)]
pub struct Kept {
    file: Option<PathBuf>,
    bytes: Arc<Vec<u8>>,
    records: usize,
}

/// What this run has read and earlier ones have not.
#[derive(Default)]
pub(super) struct Fresh {
    entries: BTreeMap<([u8; ID], Tag), Vec<u8>>,
}

impl Fresh {
    /// Adds whether a content has the mark.
    pub(super) fn mark(&mut self, id: &ContentId, marked: bool) {
        if let Ok(id) = id.as_bytes().try_into() {
            self.entries.insert((id, Tag::Mark), vec![u8::from(marked)]);
        }
    }

    /// Adds an encoded file.
    pub(super) fn parsed(&mut self, id: &ContentId, format: Format, encoded: Vec<u8>) {
        if let Ok(id) = id.as_bytes().try_into() {
            self.entries.insert((id, format.into()), encoded);
        }
    }
}

/// Makes a folder that only its owner reads, with those above it; what is there stays as it is.
///
/// # Errors
/// Where it cannot be made.
pub fn private_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Kept {
    /// What is kept for a repository under a cache directory.
    pub fn open(directory: &Path, repository: &Repository) -> Self {
        let place = repository.common_dir();
        let place = std::fs::canonicalize(&place).unwrap_or(place);
        let name = blake3::hash(place.as_os_str().as_encoded_bytes()).to_hex();
        let file = directory.join("parsed").join(name.get(..32).unwrap_or_default());
        let bytes = std::fs::read(&file).unwrap_or_default();
        let records = count(&bytes).unwrap_or_default();
        Self { file: Some(file), bytes: Arc::new(if records == 0 { Vec::new() } else { bytes }), records }
    }

    /// Whether anything can be kept.
    pub(super) fn is_on(&self) -> bool {
        self.file.is_some()
    }

    /// Whether a content has the mark.
    pub(super) fn mark(&self, id: &ContentId) -> Option<bool> {
        self.find(id, Tag::Mark).and_then(|place| self.bytes.get(place)).map(|found| found == [1])
    }

    /// A parsed file, whose objects are read when somebody looks at them.
    pub(super) fn parsed(&self, id: &ContentId, format: Format) -> Option<ParsedFile> {
        stored::decode(&self.bytes, self.find(id, format.into())?)
    }

    fn find(&self, id: &ContentId, tag: Tag) -> Option<Range<usize>> {
        let wanted = (id.as_bytes(), tag as u8);
        let (mut low, mut high) = (0, self.records);
        while low < high {
            let middle = low.midpoint(high);
            let record = self.record(middle)?;
            match (record.id, record.tag).cmp(&wanted) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(record.start..record.start.checked_add(record.length)?),
            }
        }
        None
    }

    fn record(&self, index: usize) -> Option<Record<'_>> {
        let start = MAGIC.len() + DIGEST + 4 + index * RECORD;
        let bytes = self.bytes.get(start..start + RECORD)?;
        Some(Record { id: bytes.get(..ID)?, tag: *bytes.get(ID)?, start: number(bytes, ID + 1)?, length: number(bytes, ID + 5)? })
    }

    /// Writes what is new beside what is kept, where that is worth it.
    ///
    /// # Errors
    /// When the file cannot be written; what was kept before stays whole.
    pub(super) fn save(&self, fresh: Fresh) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if fresh.entries.is_empty() || (self.records > 0 && fresh.entries.len() < WORTH_WRITING.max(self.records / 20)) {
            return Ok(());
        }
        let added: usize = fresh.entries.values().map(Vec::len).sum();
        let mut all: BTreeMap<(&[u8], u8), &[u8]> = BTreeMap::new();
        if self.bytes.len() + added < MAX_BYTES {
            let old = (0..self.records).filter_map(|index| self.record(index));
            all.extend(old.filter_map(|record| {
                let held = self.bytes.get(record.start..record.start.checked_add(record.length)?)?;
                Some(((record.id, record.tag), held))
            }));
        }
        all.extend(fresh.entries.iter().map(|((id, tag), bytes)| ((id.as_slice(), *tag as u8), bytes.as_slice())));
        write(file, &assemble(&all)?)
    }
}

/// Where one content lies in the file.
struct Record<'a> {
    id: &'a [u8],
    tag: u8,
    start: usize,
    length: usize,
}

/// The number of records of a whole file; `None` for one that is cut, altered or of another build.
fn count(bytes: &[u8]) -> Option<usize> {
    let behind = bytes.strip_prefix(MAGIC)?;
    let (digest, rest) = behind.split_at_checked(DIGEST)?;
    if blake3::hash(rest).as_bytes() != digest {
        return None;
    }
    number(rest, 0)
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(four)).ok()
}

fn assemble(all: &BTreeMap<(&[u8], u8), &[u8]>) -> io::Result<Vec<u8>> {
    let four = |number: usize| u32::try_from(number).map(u32::to_le_bytes).map_err(io::Error::other);
    let mut bytes = MAGIC.to_vec();
    bytes.extend([0; DIGEST]);
    bytes.extend(four(all.len())?);
    let mut start = bytes.len() + all.len() * RECORD;
    for ((id, tag), held) in all {
        bytes.extend_from_slice(id);
        bytes.push(*tag);
        bytes.extend(four(start)?);
        bytes.extend(four(held.len())?);
        start += held.len();
    }
    for held in all.values() {
        bytes.extend_from_slice(held);
    }
    let digest = blake3::hash(bytes.get(MAGIC.len() + DIGEST..).unwrap_or_default());
    if let Some(place) = bytes.get_mut(MAGIC.len()..MAGIC.len() + DIGEST) {
        place.copy_from_slice(digest.as_bytes());
    }
    Ok(bytes)
}

/// Writes aside and renames, so that nobody ever sees half a file. Only its owner may read it.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = file.parent().ok_or_else(|| io::Error::other("no folder"))?;
    private_folder(directory)?;
    let mut aside = tempfile::NamedTempFile::new_in(directory)?;
    aside.write_all(bytes)?;
    aside.persist(file).map_err(|error| error.error)?;
    forget_oldest(directory)
}

fn forget_oldest(directory: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    let excess = files.len().saturating_sub(MAX_FILES);
    files.iter().take(excess).try_for_each(|(_, path)| std::fs::remove_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::parsed;

    fn kept(file: &Path) -> Kept {
        let bytes = std::fs::read(file).unwrap_or_default();
        let records = count(&bytes).unwrap_or_default();
        Kept { file: Some(file.to_owned()), bytes: Arc::new(bytes), records }
    }

    fn id(number: u8) -> ContentId {
        ContentId(gix::ObjectId::from([number; ID]))
    }

    fn parse(text: &str) -> ParsedFile {
        parsed::parse(text.as_bytes(), Format::Stream, Some("+skip"))
    }

    fn saved(file: &Path, texts: &[&str]) -> Kept {
        let mut fresh = Fresh::default();
        for (number, text) in (1..).zip(texts) {
            fresh.mark(&id(number), number % 2 == 0);
            if let Some(encoded) = stored::encode(&parse(text)) {
                fresh.parsed(&id(number), Format::Stream, encoded);
            }
        }
        kept(file).save(fresh).unwrap();
        kept(file)
    }

    const CONFIG: &str = "# first\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, name: b}\ndata: {n: 1.5, m: yes}\n---\nkind: List\nitems:\n- {kind: Pod, metadata: {generateName: x-}}\n";

    #[test]
    fn what_is_kept_comes_back_as_it_was_parsed() {
        let directory = tempfile::tempdir().unwrap();
        let kept = saved(&directory.path().join("parsed/r"), &[CONFIG, "just: values\n"]);
        assert_eq!(kept.parsed(&id(1), Format::Stream), Some(parse(CONFIG)));
        assert_eq!(kept.parsed(&id(2), Format::Stream), Some(parse("just: values\n")));
        assert_eq!((kept.mark(&id(1)), kept.mark(&id(2)), kept.mark(&id(3))), (Some(false), Some(true), None));
        assert!(kept.parsed(&id(1), Format::Json).is_none(), "another way of reading is another result");
    }

    #[test]
    fn a_file_that_was_cut_or_altered_counts_as_empty() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("parsed/r");
        saved(&file, &[CONFIG]);
        let whole = std::fs::read(&file).unwrap();
        for cut in 0..whole.len() {
            assert_eq!(count(&whole[..cut]), None, "cut at {cut}");
        }
        for at in MAGIC.len()..whole.len() {
            let mut altered = whole.clone();
            altered[at] ^= 1;
            assert_eq!(count(&altered), None, "altered at {at}");
        }
    }

    #[test]
    fn few_new_contents_are_not_worth_writing_the_file_again() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("parsed/r");
        saved(&file, &[CONFIG]);
        let before = std::fs::read(&file).unwrap();
        let mut fresh = Fresh::default();
        fresh.mark(&id(9), true);
        kept(&file).save(fresh).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), before);
        let mut fresh = Fresh::default();
        (100..=200).for_each(|number| fresh.mark(&id(number), true));
        kept(&file).save(fresh).unwrap();
        let after = kept(&file);
        assert_eq!((after.mark(&id(150)), after.parsed(&id(1), Format::Stream)), (Some(true), Some(parse(CONFIG))));
    }
}
