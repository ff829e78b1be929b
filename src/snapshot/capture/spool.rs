//! Objects on their way into a snapshot: their texts in a temporary file without a name, in memory only what tells them apart.
//!
//! Takes redacted objects; hands on [`Entry`]s, and their texts when the file is written. Nothing stays behind when the program ends.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use serde_json::Value;

use crate::manifest::ResourceKey;
use crate::snapshot::clusters::SecretLimit;

/// What is known of an object without its text.
#[derive(Debug)]
pub(super) struct Entry {
    /// Server URL of its cluster.
    pub(super) cluster: Arc<str>,
    pub(super) key: ResourceKey,
    /// Where its text starts in the file.
    pub(super) start: u64,
    pub(super) length: usize,
    /// Its UID, shortened.
    pub(super) uid: u64,
    /// UIDs of its owners, shortened.
    pub(super) owners: Box<[u64]>,
    /// ConfigMaps and Secrets that its pods read.
    pub(super) reads: Box<[(&'static str, Arc<str>)]>,
    /// Group and kind that it defines, where it is a definition.
    pub(super) defines: Option<Box<(String, String)>>,
    pub(super) role: Role,
}

/// Why an object is kept in a snapshot of what Argo CD manages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// An Application tracks it.
    Tracked,
    /// Rules need it whoever has it.
    Needed,
    /// Only if something that is kept points at it.
    Candidate,
}

/// A UID, short enough to be kept for every object.
pub(super) fn short(uid: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    hasher.finish()
}

/// The texts.
#[derive(Debug)]
pub(super) struct Spool {
    file: BufWriter<File>,
    end: u64,
}

impl Spool {
    /// An empty one.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile()?), end: 0 })
    }

    /// Takes texts over; gives the place where they start.
    pub(super) fn add(&mut self, texts: &[u8]) -> io::Result<u64> {
        self.file.write_all(texts)?;
        let start = self.end;
        self.end += texts.len() as u64;
        Ok(start)
    }

    /// Ends writing.
    pub(super) fn finish(self) -> io::Result<Texts> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Texts { file: BufReader::new(file), at: u64::MAX })
    }
}

/// The texts, to be read.
#[derive(Debug)]
pub(super) struct Texts {
    file: BufReader<File>,
    at: u64,
}

impl Texts {
    /// Reads the text of an object into `text`.
    pub(super) fn read(&mut self, entry: &Entry, text: &mut Vec<u8>) -> io::Result<()> {
        if self.at != entry.start {
            self.file.seek(SeekFrom::Start(entry.start))?;
        }
        text.resize(entry.length, 0);
        self.file.read_exact(text)?;
        self.at = entry.start + entry.length as u64;
        Ok(())
    }
}

/// Several objects before they are in the file.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) texts: Vec<u8>,
    /// With places within `texts`.
    pub(super) entries: Vec<Entry>,
    /// Owners of pods and ReplicaSets.
    pub(super) wanted: Vec<u64>,
    /// Objects that were left out, and why.
    pub(super) left_out: Vec<String>,
    /// What cluster Secrets say about their clusters, which their redacted texts do not.
    pub(super) limits: Vec<SecretLimit>,
}

impl Page {
    /// Adds the text of an object; gives its place.
    pub(super) fn text(&mut self, object: &Value) -> (u64, usize) {
        let start = self.texts.len();
        self.texts.extend_from_slice(object.to_string().as_bytes());
        (start as u64, self.texts.len() - start)
    }

    /// Puts the texts into the file.
    pub(super) fn store(&mut self, spool: &mut Spool) -> io::Result<()> {
        let start = spool.add(&self.texts)?;
        self.texts.clear();
        self.entries.iter_mut().for_each(|entry| entry.start += start);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_come_back_in_any_order() {
        let entry = |name: &str, (start, length)| Entry {
            cluster: "".into(),
            key: ResourceKey::new("", "ConfigMap", "", name),
            start,
            length,
            uid: 0,
            owners: Box::default(),
            reads: Box::default(),
            defines: None,
            role: Role::Tracked,
        };
        let mut spool = Spool::new().unwrap();
        let mut all = Vec::new();
        for names in [["a", "b"], ["c", "d"]] {
            let mut page = Page::default();
            for name in names {
                let place = page.text(&json!({"name": name.repeat(3000)}));
                page.entries.push(entry(name, place));
            }
            page.store(&mut spool).unwrap();
            all.extend(page.entries);
        }
        let mut texts = spool.finish().unwrap();
        let mut text = Vec::new();
        for index in [3, 0, 1, 2] {
            texts.read(&all[index], &mut text).unwrap();
            let object: Value = serde_json::from_slice(&text).unwrap();
            assert!(object["name"].as_str().unwrap().starts_with(&*all[index].key.name));
        }
    }
}
