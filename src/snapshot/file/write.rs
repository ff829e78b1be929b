//! Writes the snapshot file.

use std::io::{self, Write};

use rayon::prelude::*;

use super::{FORMAT, HEADER_KIND, Header, HeaderArgocd, HeaderCluster, Registration, TRAILER_KIND, Trailer};
use crate::snapshot::live::{LiveObject, LiveState};
use crate::snapshot::redact::REDACTED;

/// How many objects are written at a time.
const CHUNK: usize = 4096;
/// Level of compression: zstd's own default.
const LEVEL: i32 = 3;

/// Where a snapshot comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// When the cluster was read, RFC 3339; `None` where nobody knows.
    pub captured_at: Option<String>,
    /// What was read, in a few words.
    pub source: String,
}

/// Writes live state as a snapshot file, compressed unless `plain`. Returns the digest.
///
/// # Errors
/// Where `out` cannot be written to.
pub fn write(state: &LiveState, provenance: &Provenance, plain: bool, out: &mut dyn Write) -> io::Result<String> {
    if plain { write_lines(state, provenance, out) } else { compress(out, |out| write_lines(state, provenance, out)) }
}

/// Compresses what is written to `out`.
pub(in crate::snapshot) fn compress<T>(out: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let mut encoder = zstd::stream::write::Encoder::new(out, LEVEL)?;
    encoder.include_checksum(true)?;
    let written = write(&mut encoder)?;
    encoder.finish()?;
    Ok(written)
}

/// A snapshot file that is being written line by line.
pub(in crate::snapshot) struct Lines<'a> {
    out: &'a mut dyn Write,
    hasher: blake3::Hasher,
    objects: usize,
}

impl<'a> Lines<'a> {
    /// Writes the header.
    pub(in crate::snapshot) fn start(out: &'a mut dyn Write, header: &Header) -> io::Result<Self> {
        let mut lines = Self { out, hasher: blake3::Hasher::new(), objects: 0 };
        let mut line = serde_json::to_vec(header)?;
        line.push(b'\n');
        lines.add(&line, 0)?;
        Ok(lines)
    }

    /// Writes whole lines, of so many objects.
    pub(in crate::snapshot) fn add(&mut self, lines: &[u8], objects: usize) -> io::Result<()> {
        self.hasher.update(lines);
        self.objects += objects;
        self.out.write_all(lines)
    }

    /// Writes the trailer. Returns the digest.
    pub(in crate::snapshot) fn finish(self) -> io::Result<String> {
        let digest = format!("blake3:{}", self.hasher.finalize());
        let trailer = Trailer { kind: TRAILER_KIND.to_owned(), objects: self.objects, digest: digest.clone() };
        serde_json::to_writer(&mut *self.out, &trailer)?;
        self.out.write_all(b"\n")?;
        Ok(digest)
    }
}

fn write_lines(state: &LiveState, provenance: &Provenance, out: &mut dyn Write) -> io::Result<String> {
    let mut file = Lines::start(out, &header(state, provenance))?;
    for chunk in state.all().chunks(CHUNK * rayon::current_num_threads()) {
        let lines = |objects: &[std::sync::Arc<LiveObject>]| {
            let text = objects.iter().try_fold(Vec::new(), |text, object| append(text, object));
            text.map(|text| (text, objects.len()))
        };
        let texts = chunk.par_chunks(CHUNK).map(lines).collect::<Result<Vec<_>, _>>()?;
        for (text, objects) in texts {
            file.add(&text, objects)?;
        }
    }
    file.finish()
}

/// One line. The object goes through a tree, so that its fields come in the same order whoever wrote it.
fn append(mut text: Vec<u8>, object: &LiveObject) -> serde_json::Result<Vec<u8>> {
    text.extend_from_slice(br#"{"cluster":"#);
    serde_json::to_writer(&mut text, &*object.cluster)?;
    text.extend_from_slice(br#","object":"#);
    serde_json::to_writer(&mut text, &*object.glance())?;
    text.extend_from_slice(b"}\n");
    Ok(text)
}

fn header(state: &LiveState, provenance: &Provenance) -> Header {
    let settings = state.settings();
    let clusters = state.clusters().iter().map(|cluster| HeaderCluster {
        server: cluster.server.to_string(),
        name: cluster.name.to_string(),
        kubernetes_version: cluster.kubernetes_version.clone(),
        api_resources: cluster.api_resources.clone().map(|mut resources| {
            resources.sort();
            resources
        }),
        unlisted: cluster.unlisted.clone(),
        only_managed: cluster.only_managed,
        namespaces: cluster.limit.as_ref().map(|limit| limit.namespaces.clone()).unwrap_or_default(),
        cluster_resources: cluster.limit.as_ref().is_some_and(|limit| limit.cluster_resources),
        registration: cluster.registered.then(|| Registration {
            project: cluster.project.clone(),
            labels: cluster.labels.clone(),
            annotations: cluster.annotations.clone(),
        }),
    });
    let entries = settings.entries.iter().filter(|(_, value)| *value != REDACTED);
    Header {
        kind: HEADER_KIND.to_owned(),
        version: FORMAT,
        captured_at: provenance.captured_at.clone(),
        source: provenance.source.clone(),
        clusters: clusters.collect(),
        argocd: state.knows_argocd.then(|| HeaderArgocd {
            version: settings.known_version.map(|version| version.to_string()),
            namespace: Some(settings.namespace.clone()),
            settings: entries.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }),
        secrets: "keys".to_owned(),
        incomplete: state.incomplete().to_vec(),
        unlisted_applications: state.unlisted_applications().iter().cloned().collect(),
    }
}
