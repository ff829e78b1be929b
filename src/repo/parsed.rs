//! Files parsed once, by content: the same blob at base and head, or under two Applications, is read a single time.
//!
//! Takes bytes; hands on [`ParsedFile`]s that know nothing of where the file stands.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memchr::memmem;
use rayon::prelude::*;
use serde_json::Value;

use super::kept::{Fresh, Kept};
use super::{ContentId, Entry, RepoError, Tree, stored};
use crate::manifest::reader::{self, DuplicateKey, Limits, ReadError, ReadErrorKind};
use crate::manifest::{Content, ResourceKey};

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A stream of YAML or JSON documents.
    Stream,
    /// Exactly one JSON value.
    Json,
}

/// An object of a file, lists expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedObject {
    /// Its key as it stands; `None` where it has no kind.
    pub key: Option<ResourceKey>,
    /// The object.
    pub object: Content,
    /// Index of its document.
    pub document: usize,
    /// JSON pointer from the document to the object.
    pub within: String,
}

/// A document's place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPlace {
    /// Bytes of the decoded text.
    pub range: Range<usize>,
    /// Line of the first content.
    pub line: u32,
    /// JSON pointers of keys that appear twice.
    pub duplicate_keys: Vec<String>,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedFile {
    /// Its size.
    pub bytes: u64,
    /// Its documents.
    pub documents: Vec<DocumentPlace>,
    /// Its objects in order, lists expanded.
    pub objects: Vec<ParsedObject>,
    /// Why reading stopped, if it did.
    pub error: Option<ReadError>,
    /// Whether the text has the mark that makes a file be left out.
    pub skipped: bool,
    /// Whether the text has the three words that make Argo CD take a broken file for a manifest.
    pub looks_like_manifest: bool,
    /// A second JSON value follows the first.
    pub second_json_value: bool,
}

/// A part of what was read, behind a lock of its own.
#[derive(Default)]
struct Shard {
    parsed: HashMap<(ContentId, Format), Arc<ParsedFile>>,
    marked: HashMap<ContentId, bool>,
    /// What earlier runs did not keep.
    fresh: Vec<(ContentId, Option<Format>)>,
}

impl ParsedFile {
    /// What a renderer wrote: a stream of documents.
    pub fn of_output(bytes: &[u8]) -> Self {
        parse(bytes, Format::Stream, None)
    }
}

/// Parses files, each content once.
pub struct Parser {
    skip_mark: &'static str,
    mark: memmem::Finder<'static>,
    kept: Kept,
    shards: [Mutex<Shard>; 16],
}

impl Parser {
    /// Nothing read yet but what is kept. Files that hold `skip_mark` are not parsed but marked as skipped; [`Parser::is_marked`] looks
    /// for `mark`.
    pub fn new(skip_mark: &'static str, mark: &'static str, kept: Kept) -> Self {
        Self { skip_mark, mark: memmem::Finder::new(mark), kept, shards: Default::default() }
    }

    /// The parsed file of a tree's entry.
    ///
    /// # Errors
    /// When the contents cannot be read from the repository; what cannot be parsed is part of the result.
    pub fn parse(&self, tree: &Tree, entry: &Entry, format: Format) -> Result<Arc<ParsedFile>, RepoError> {
        let key = (entry.id, format);
        let shard = self.shard(&entry.id);
        if let Some(parsed) = lock(shard).parsed.get(&key) {
            return Ok(Arc::clone(parsed));
        }
        let known = self.kept.parsed(&entry.id, format);
        let is_known = known.is_some();
        let parsed = Arc::new(match known {
            Some(parsed) => parsed,
            None => parse(&tree.read_entry(entry)?, format, Some(self.skip_mark)),
        });
        let mut shard = lock(shard);
        if !is_known {
            shard.fresh.push((entry.id, Some(format)));
        }
        shard.parsed.insert(key, Arc::clone(&parsed));
        Ok(parsed)
    }

    /// Whether the mark may stand in a file. It does not in one that cannot be read, and may in one in UTF-16.
    pub fn is_marked(&self, tree: &Tree, entry: &Entry) -> bool {
        let shard = self.shard(&entry.id);
        if let Some(&marked) = lock(shard).marked.get(&entry.id) {
            return marked;
        }
        if let Some(marked) = self.kept.mark(&entry.id) {
            lock(shard).marked.insert(entry.id, marked);
            return marked;
        }
        let bytes = tree.read_entry(entry);
        let marked = bytes.as_ref().is_ok_and(|bytes| self.mark.find(bytes).is_some() || is_utf16(bytes));
        let mut shard = lock(shard);
        shard.marked.insert(entry.id, marked);
        if bytes.is_ok() {
            shard.fresh.push((entry.id, None));
        }
        marked
    }

    /// Keeps what is new for later runs.
    ///
    /// # Errors
    /// When the cache cannot be written.
    pub fn keep(&self) -> std::io::Result<()> {
        if !self.kept.is_on() {
            return Ok(());
        }
        let mut fresh = Fresh::default();
        let mut parsed = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            for (id, format) in &shard.fresh {
                match format {
                    None => fresh.mark(id, shard.marked.get(id).copied().unwrap_or_default()),
                    Some(format) => parsed.extend(shard.parsed.get(&(*id, *format)).map(|file| (*id, *format, Arc::clone(file)))),
                }
            }
        }
        let encoded: Vec<_> = parsed.into_par_iter().filter_map(|(id, format, file)| Some((id, format, stored::encode(&file)?))).collect();
        for (id, format, encoded) in encoded {
            fresh.parsed(&id, format, encoded);
        }
        self.kept.save(fresh)
    }

    fn shard(&self, id: &ContentId) -> &Mutex<Shard> {
        &self.shards[usize::from(id.as_bytes().last().copied().unwrap_or_default() & 15)]
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

pub(super) fn parse(bytes: &[u8], format: Format, skip_mark: Option<&str>) -> ParsedFile {
    let mut file = ParsedFile {
        bytes: bytes.len() as u64,
        documents: Vec::new(),
        objects: Vec::new(),
        error: None,
        skipped: skip_mark.is_some_and(|mark| memmem::find(bytes, mark.as_bytes()).is_some()),
        looks_like_manifest: false,
        second_json_value: false,
    };
    if file.skipped {
        return file;
    }
    let decoded = reader::decode(bytes);
    let text = &*decoded.text;
    match format {
        Format::Stream => {
            let stream = reader::read_stream(text, &Limits::default());
            file.error = stream.error;
            file.looks_like_manifest = file.error.is_some() && looks_like_manifest(text.as_bytes());
            for document in stream.documents {
                let duplicate_keys = pointers(&document.duplicate_keys);
                file.documents.push(DocumentPlace { range: document.range, line: document.line, duplicate_keys });
                expand(document.value, file.documents.len() - 1, &mut file.objects);
            }
            if !file.looks_like_manifest && file.objects.iter().any(|object| object.key.is_none()) {
                file.looks_like_manifest = looks_like_manifest(text.as_bytes());
            }
        }
        Format::Json => match reader::read_json_within(text, &Limits::default()) {
            Ok((value, duplicates)) => {
                file.documents.push(DocumentPlace { range: 0..text.len(), line: 1, duplicate_keys: pointers(&duplicates) });
                expand(value, 0, &mut file.objects);
            }
            Err(error) => {
                file.second_json_value = matches!(error.kind, ReadErrorKind::SecondJsonValue);
                file.error = Some(error);
            }
        },
    }
    file
}

fn pointers(duplicates: &[DuplicateKey]) -> Vec<String> {
    duplicates.iter().map(|duplicate| duplicate.pointer.to_string()).collect()
}

/// Source: Argo CD `reposerver/repository/repository.go:getObjsFromYAMLOrJSON`, the test on a file that cannot be split.
fn looks_like_manifest(bytes: &[u8]) -> bool {
    ["apiVersion:", "kind:", "metadata:"].iter().all(|word| memmem::find(bytes, word.as_bytes()).is_some())
}

/// Adds an object, or the elements of anything with a list of `items`. A null list without spec and status adds nothing.
///
/// Source: Argo CD `reposerver/repository/repository.go:GenerateManifests` (`IsList`, `isNullList`).
fn expand(value: Value, document: usize, objects: &mut Vec<ParsedObject>) {
    let push = |value: Value, within: String, objects: &mut Vec<ParsedObject>| {
        let key = key_of(&value);
        objects.push(ParsedObject { key, object: value.into(), document, within });
    };
    match value {
        Value::Object(mut fields) if fields.get("items").is_some_and(Value::is_array) => {
            if let Some(Value::Array(items)) = fields.remove("items") {
                for (index, item) in items.into_iter().enumerate() {
                    push(item, format!("/items/{index}"), objects);
                }
            }
        }
        Value::Object(fields)
            if fields.get("items").is_some_and(Value::is_null) && !fields.contains_key("spec") && !fields.contains_key("status") => {}
        value => push(value, String::new(), objects),
    }
}

/// An object's own key; one with only a `generateName` is called by that.
fn key_of(object: &Value) -> Option<ResourceKey> {
    let key = ResourceKey::of(object)?;
    match crate::manifest::metadata_str(object, "generateName") {
        Some(prefix) if key.name.is_empty() => Some(ResourceKey { name: prefix.into(), ..key }),
        _ => Some(key),
    }
}
