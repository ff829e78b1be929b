//! Writes the snapshot file.

use std::io::{self, Write};

use rayon::prelude::*;

use super::{FORMAT, HEADER_KIND, Header, HeaderArgocd, HeaderCluster, TRAILER_KIND, Trailer};
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
    if plain {
        return write_lines(state, provenance, out);
    }
    let mut encoder = zstd::stream::write::Encoder::new(out, LEVEL)?;
    encoder.include_checksum(true)?;
    let digest = write_lines(state, provenance, &mut encoder)?;
    encoder.finish()?;
    Ok(digest)
}

fn write_lines(state: &LiveState, provenance: &Provenance, out: &mut dyn Write) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut line = serde_json::to_vec(&header(state, provenance))?;
    line.push(b'\n');
    hasher.update(&line);
    out.write_all(&line)?;
    for chunk in state.all().chunks(CHUNK * rayon::current_num_threads()) {
        let lines = |objects: &[std::sync::Arc<LiveObject>]| objects.iter().try_fold(Vec::new(), |text, object| append(text, object));
        let texts = chunk.par_chunks(CHUNK).map(lines).collect::<Result<Vec<_>, _>>()?;
        for text in texts {
            hasher.update(&text);
            out.write_all(&text)?;
        }
    }
    let digest = format!("blake3:{}", hasher.finalize());
    let trailer = Trailer { kind: TRAILER_KIND.to_owned(), objects: state.all().len(), digest: digest.clone() };
    serde_json::to_writer(&mut *out, &trailer)?;
    out.write_all(b"\n")?;
    Ok(digest)
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
    }
}
