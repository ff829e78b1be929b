//! One entry as bytes: a checksum, then JSON compressed with zstd. Types of its own, so that the file outlives changes of the inner ones.

use std::io::Read;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{Duplicate, Key, Rendered};
use crate::manifest::origin::{RenderedFrom, Renderer};
use crate::manifest::{Manifest, Origin, ResourceKey, Side, reader};

/// Counts up with each change of what an entry holds or how renders are made of the same inputs.
pub(super) const FORMAT: u32 = 2;
/// Bytes of the decompressed JSON.
const MAX_TEXT_BYTES: u64 = 512 << 20;
const CHECKSUM_BYTES: usize = 32;
/// Fast: an entry is written once and read often.
const LEVEL: i32 = 1;

#[derive(Serialize, Deserialize)]
struct Entry {
    manifests: Vec<StoredManifest>,
    duplicate_keys: Vec<(StoredOrigin, String)>,
    warnings: Vec<String>,
    assumptions: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredManifest {
    group: String,
    kind: String,
    namespace: String,
    name: String,
    origin: StoredOrigin,
    object: Value,
}

#[derive(Serialize, Deserialize)]
struct StoredOrigin {
    path: String,
    start: usize,
    end: usize,
    line: u32,
    within: String,
    made: Option<StoredFrom>,
}

#[derive(Serialize, Deserialize)]
struct StoredFrom {
    by: StoredRenderer,
    others: Vec<StoredOrigin>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum StoredRenderer {
    Kustomize,
    Helm,
    Chart,
    Jsonnet,
    Plugin,
}

/// Whether an object is a Secret with values, in whatever place they stand.
pub(super) fn has_secret_values(manifest: &Manifest) -> bool {
    if !manifest.key.is("", "Secret") {
        return false;
    }
    let filled = |field: &str| manifest.object.get(field).is_some_and(|values| values.as_object().is_none_or(|values| !values.is_empty()));
    filled("data") || filled("stringData") || crate::manifest::annotation(&manifest.object, crate::argocd::names::LAST_APPLIED).is_some()
}

/// The bytes of an entry; `None` where it cannot be written as JSON.
pub(super) fn encode(key: &Key, rendered: &Rendered) -> Option<Vec<u8>> {
    let entry = Entry {
        manifests: rendered.manifests.iter().map(|manifest| StoredManifest::of(manifest)).collect(),
        duplicate_keys: rendered.duplicate_keys.iter().map(|key| (StoredOrigin::of(&key.origin), key.pointer.clone())).collect(),
        warnings: rendered.warnings.clone(),
        assumptions: rendered.assumptions.clone(),
    };
    let compressed = zstd::bulk::compress(&serde_json::to_vec(&entry).ok()?, LEVEL).ok()?;
    let mut bytes = checksum(key, &compressed).to_vec();
    bytes.extend(compressed);
    Some(bytes)
}

/// What an entry holds; `None` where the bytes are no entry of this key.
pub(super) fn decode(key: &Key, bytes: &[u8], side: Side) -> Option<Rendered> {
    let (sum, compressed) = bytes.split_at_checked(CHECKSUM_BYTES)?;
    if sum != checksum(key, compressed) {
        return None;
    }
    let mut text = String::new();
    zstd::stream::read::Decoder::new(compressed).ok()?.take(MAX_TEXT_BYTES).read_to_string(&mut text).ok()?;
    // The reader of manifests, because it keeps every number as it is.
    let entry: Entry = serde_json::from_value(reader::read_json(&text).ok()?).ok()?;
    Some(Rendered {
        manifests: entry.manifests.into_iter().map(|stored| Arc::new(stored.manifest(side))).collect(),
        duplicate_keys: entry
            .duplicate_keys
            .into_iter()
            .map(|(origin, pointer)| Duplicate { origin: origin.origin(side), pointer })
            .collect(),
        warnings: entry.warnings,
        assumptions: entry.assumptions,
        is_transient: false,
        unstable: Vec::new(),
    })
}

fn checksum(key: &Key, compressed: &[u8]) -> [u8; CHECKSUM_BYTES] {
    *blake3::keyed_hash(key, compressed).as_bytes()
}

impl StoredManifest {
    fn of(manifest: &Manifest) -> Self {
        let ResourceKey { group, kind, namespace, name } = &manifest.key;
        Self {
            group: group.to_string(),
            kind: kind.to_string(),
            namespace: namespace.to_string(),
            name: name.to_string(),
            origin: StoredOrigin::of(&manifest.origin),
            object: Value::clone(&manifest.object),
        }
    }

    fn manifest(self, side: Side) -> Manifest {
        Manifest {
            key: ResourceKey::new(&self.group, &self.kind, &self.namespace, &self.name),
            object: self.object.into(),
            origin: self.origin.origin(side),
        }
    }
}

impl StoredOrigin {
    fn of(origin: &Origin) -> Self {
        let made = origin.rendered.as_deref().map(|from| StoredFrom {
            by: match from.renderer {
                Renderer::Kustomize => StoredRenderer::Kustomize,
                Renderer::Helm => StoredRenderer::Helm,
                Renderer::Chart => StoredRenderer::Chart,
                Renderer::Jsonnet => StoredRenderer::Jsonnet,
                Renderer::Plugin => StoredRenderer::Plugin,
            },
            others: from.others.iter().map(Self::of).collect(),
        });
        Self {
            path: origin.path.to_string(),
            start: origin.document.start,
            end: origin.document.end,
            line: origin.line,
            within: origin.within.clone(),
            made,
        }
    }

    fn origin(self, side: Side) -> Origin {
        let rendered = self.made.map(|made| {
            let renderer = match made.by {
                StoredRenderer::Kustomize => Renderer::Kustomize,
                StoredRenderer::Helm => Renderer::Helm,
                StoredRenderer::Chart => Renderer::Chart,
                StoredRenderer::Jsonnet => Renderer::Jsonnet,
                StoredRenderer::Plugin => Renderer::Plugin,
            };
            Arc::new(RenderedFrom { renderer, others: made.others.into_iter().map(|other| other.origin(side)).collect() })
        });
        Origin { path: self.path.into(), side, document: self.start..self.end, line: self.line, within: self.within, rendered }
    }
}
