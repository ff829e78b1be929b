//! What a capture read, ready to be written as a snapshot file.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, Write};
use std::sync::Arc;

use super::error::CaptureError;
use super::list::Sink;
use super::spool::{Entry, Texts};
use crate::argocd::Settings;
use crate::snapshot::file::{FORMAT, HEADER_KIND, Header, HeaderArgocd, HeaderCluster, Lines, compress};

/// What a capture read. The texts of its objects are in a temporary file.
#[derive(Debug)]
pub struct Captured {
    header: Header,
    /// Sorted by cluster and key.
    entries: Vec<Entry>,
    texts: Texts,
}

/// What could not be read, and why.
#[derive(Debug, Default)]
pub(super) struct Missing {
    pub(super) incomplete: Vec<String>,
    /// Applications whose objects are not all there, as `namespace/name`.
    pub(super) applications: BTreeSet<String>,
}

/// The time now, as snapshots state it.
pub(super) fn now() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

impl Captured {
    /// Chooses and sorts what was read.
    #[allow(clippy::too_many_arguments, reason = "called from the two captures alone, each of which knows all of it")]
    pub(super) fn new(
        source: &str,
        captured_at: String,
        clusters: Vec<HeaderCluster>,
        argocd: Option<&Settings>,
        missing: Missing,
        entries: Vec<Entry>,
        wanted: &HashSet<u64>,
        sink: Arc<Sink>,
    ) -> Result<Self, CaptureError> {
        let sink = Arc::into_inner(sink).ok_or_else(|| io::Error::other("a list is still running"))?;
        let mut entries = sink.choice.at_the_end(entries, wanted);
        entries.sort_by(|a, b| (&a.cluster, &a.key).cmp(&(&b.cluster, &b.key)));
        entries.dedup_by(|later, first| later.cluster == first.cluster && later.key == first.key);
        let Missing { mut incomplete, applications } = missing;
        incomplete.sort();
        incomplete.dedup();
        let header = Header {
            kind: HEADER_KIND.to_owned(),
            version: FORMAT,
            captured_at: Some(captured_at),
            source: source.to_owned(),
            clusters,
            argocd: argocd.map(|settings| HeaderArgocd {
                version: settings.known_version.map(|version| version.to_string()),
                namespace: Some(settings.namespace.clone()),
                settings: settings.entries.clone(),
            }),
            secrets: "keys".to_owned(),
            incomplete,
            unlisted_applications: applications.into_iter().collect(),
        };
        Ok(Self { header, entries, texts: sink.spool.into_inner().finish()? })
    }

    /// Number of objects.
    pub fn objects(&self) -> usize {
        self.entries.len()
    }

    /// Number of objects by cluster.
    pub fn objects_by_cluster(&self) -> BTreeMap<String, usize> {
        let mut counts: BTreeMap<String, usize> = self.header.clusters.iter().map(|cluster| (cluster.server.clone(), 0)).collect();
        for entry in &self.entries {
            *counts.entry(entry.cluster.to_string()).or_default() += 1;
        }
        counts
    }

    /// What could not be read, and why.
    pub fn incomplete(&self) -> &[String] {
        &self.header.incomplete
    }

    /// Writes the snapshot file, compressed unless `plain`. Returns the digest.
    ///
    /// # Errors
    /// Where `out` cannot be written to, or the temporary file cannot be read.
    pub fn write(mut self, plain: bool, out: &mut dyn Write) -> io::Result<String> {
        if plain {
            return self.write_lines(out);
        }
        compress(out, |out| self.write_lines(out))
    }

    fn write_lines(&mut self, out: &mut dyn Write) -> io::Result<String> {
        let mut lines = Lines::start(out, &self.header)?;
        let (mut text, mut line) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            self.texts.read(entry, &mut text)?;
            line.clear();
            line.extend_from_slice(br#"{"cluster":"#);
            serde_json::to_writer(&mut line, &*entry.cluster)?;
            line.extend_from_slice(br#","object":"#);
            line.extend_from_slice(&text);
            line.extend_from_slice(b"}\n");
            lines.add(&line, 1)?;
        }
        lines.finish()
    }
}
