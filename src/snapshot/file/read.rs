//! Reads the snapshot file and proves that it is as it was written.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr_iter, memmem, memrchr};

use super::{FORMAT, HEADER_KIND, Header, TRAILER_KIND, Trailer};
use crate::manifest::ResourceKey;
use crate::manifest::key::split_api_version;
use crate::snapshot::error::SnapshotError;
use crate::snapshot::peek::Peek;

/// Where a compressed snapshot starts.
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Where an uncompressed one starts.
const PLAIN_START: &[u8] = br#"{"kind":"presync/Snapshot","#;
/// How the lines of a snapshot start.
const LINE_STARTS: [&[u8]; 2] = [br#"{"kind":"presync/"#, br#"{"cluster":"#];
/// The most that a snapshot may hold, uncompressed. A larger one would not fit into memory.
const MAX_BYTES: u64 = 8 << 30;

/// Cluster of an object, and its place in the text.
pub(in crate::snapshot) type Placed = (Arc<str>, Range<usize>);

/// A snapshot file that was proved whole.
pub(in crate::snapshot) struct Contents {
    pub(in crate::snapshot) header: Header,
    pub(in crate::snapshot) text: Arc<Vec<u8>>,
    pub(in crate::snapshot) objects: Vec<Placed>,
    pub(in crate::snapshot) digest: String,
}

/// Whether bytes are meant as a snapshot file.
pub(in crate::snapshot) fn is_snapshot(bytes: &[u8]) -> bool {
    bytes.starts_with(ZSTD_MAGIC) || bytes.starts_with(PLAIN_START)
}

/// What is wrong with a text that does not start with the header of a snapshot: it lacks it, or it is something else.
pub(in crate::snapshot) fn not_started_as_one(path: &str, text: &[u8]) -> SnapshotError {
    let path = path.to_owned();
    if LINE_STARTS.iter().any(|start| text.starts_with(start)) {
        SnapshotError::Damaged { path, why: "its first line is no header of a snapshot".to_owned() }
    } else {
        SnapshotError::NoSnapshot { path }
    }
}

/// Reads a snapshot file.
///
/// # Errors
/// Where it is none, or is cut, edited, reordered or of another format version.
pub(in crate::snapshot) fn read(path: &str, bytes: Vec<u8>) -> Result<Contents, SnapshotError> {
    let damaged = |why: &str| SnapshotError::Damaged { path: path.to_owned(), why: why.to_owned() };
    let text = if bytes.starts_with(ZSTD_MAGIC) { decompress(&bytes).map_err(|why| damaged(&why))? } else { bytes };
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let header = serde_json::from_slice(first).ok().filter(|header: &Header| header.kind == HEADER_KIND);
    let Some(header) = header else {
        return Err(not_started_as_one(path, &text));
    };
    let lines = split(&text).ok_or_else(|| damaged("its end is missing"))?;
    if header.version != FORMAT {
        return Err(SnapshotError::Version { path: path.to_owned(), version: header.version });
    }
    let trailer: Trailer = serde_json::from_slice(lines.trailer).map_err(|_| damaged("its end is missing"))?;
    if trailer.kind != TRAILER_KIND {
        return Err(damaged("its end is missing"));
    }
    let (digest, objects) = rayon::join(
        || format!("blake3:{}", blake3::hash(text.get(..lines.body.end).unwrap_or_default())),
        || objects(&text, lines.body.clone()),
    );
    let objects = objects.ok_or_else(|| damaged("a line is no object"))?;
    if objects.len() != trailer.objects {
        return Err(damaged(&format!("it holds {} objects and its end says {}", objects.len(), trailer.objects)));
    }
    if digest != trailer.digest && !is_sorted(&text, &objects) {
        return Err(damaged("its lines are out of order"));
    }
    if digest != trailer.digest {
        return Err(damaged("its content is not what was written (the digest differs)"));
    }
    Ok(Contents { header, objects, digest, text: Arc::new(text) })
}

fn decompress(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let failed = |_| "it cannot be decompressed, so it is cut or changed".to_owned();
    let decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(failed)?;
    let mut text = Vec::new();
    decoder.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_BYTES { Err(format!("it holds more than {MAX_BYTES} bytes")) } else { Ok(text) }
}

struct Lines<'a> {
    /// The lines between header and trailer.
    body: Range<usize>,
    trailer: &'a [u8],
}

fn split(text: &[u8]) -> Option<Lines<'_>> {
    let all = text.strip_suffix(b"\n")?;
    let trailer = memrchr(b'\n', all)? + 1;
    let header = memchr_iter(b'\n', all).next()?;
    Some(Lines { body: header + 1..trailer, trailer: all.get(trailer..)? })
}

/// Whether objects stand in the order of cluster and key.
fn is_sorted(text: &[u8], objects: &[Placed]) -> bool {
    let key = |range: &Range<usize>| {
        let peek = Peek::text(text.get(range.clone()).unwrap_or_default()).unwrap_or_default();
        let metadata = &peek.metadata;
        ResourceKey::new(split_api_version(&peek.api_version).0, &peek.kind, &metadata.namespace, &metadata.name)
    };
    objects.iter().map(|(cluster, range)| (cluster, key(range))).is_sorted()
}

/// The objects of lines in exactly the form that is written.
fn objects(text: &[u8], body: Range<usize>) -> Option<Vec<Placed>> {
    let mut objects = Vec::new();
    let mut cluster: (&[u8], Arc<str>) = (b"", "".into());
    let field = memmem::Finder::new(br#","object":"#);
    let mut start = body.start;
    for length in memchr_iter(b'\n', text.get(body)?).scan(0, |previous, end| Some(end - std::mem::replace(previous, end + 1))) {
        let line = text.get(start..start + length)?.strip_suffix(b"}")?;
        let rest = line.strip_prefix(br#"{"cluster":"#)?;
        let server = rest.get(..field.find(rest)?)?;
        if cluster.0 != server {
            cluster = (server, serde_json::from_slice::<String>(server).ok()?.into());
        }
        let object = start + br#"{"cluster":,"object":"#.len() + server.len()..start + line.len();
        objects.push((cluster.1.clone(), object));
        start += length + 1;
    }
    Some(objects)
}
