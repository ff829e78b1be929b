//! The snapshot file: JSON Lines, compressed with zstd. A header, one object a line in the order of keys, and a trailer with a digest.
//!
//! Takes live state and gives bytes, the same for the same state; takes bytes and gives objects and header, or says what is damaged.

mod read;
mod write;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::kinds::{ApiResource, KindName};

pub(super) use read::{Contents, is_snapshot, not_started_as_one, read};
pub(super) use write::{Lines, compress};
pub use write::{Provenance, write};

/// `kind` of the header.
pub(super) const HEADER_KIND: &str = "presync/Snapshot";
/// `kind` of the trailer.
const TRAILER_KIND: &str = "presync/SnapshotEnd";
/// Version of the format.
pub(super) const FORMAT: u64 = 1;

/// The first line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Header {
    pub(super) kind: String,
    pub(super) version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) captured_at: Option<String>,
    pub(super) source: String,
    pub(super) clusters: Vec<HeaderCluster>,
    pub(super) argocd: Option<HeaderArgocd>,
    /// How the values of Secrets are kept: `keys` means not at all.
    pub(super) secrets: String,
    pub(super) incomplete: Vec<String>,
    /// Applications whose objects are not all there, as `namespace/name`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unlisted_applications: Vec<String>,
}

/// A cluster in the header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct HeaderCluster {
    pub(super) server: String,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kubernetes_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) api_resources: Option<Vec<ApiResource>>,
    /// Kinds whose objects are not all there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unlisted: Vec<KindName>,
    /// Only what Applications manage is there, as the API of Argo CD tells it; of other objects nothing is known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) only_managed: bool,
    /// The namespaces to which its cluster Secret limits Argo CD; none where it does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) namespaces: Vec<String>,
    /// Whether, being limited, Argo CD sees objects outside namespaces as well.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) cluster_resources: bool,
    /// What a cluster Secret would say, where the snapshot has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) registration: Option<Registration>,
}

/// What a cluster Secret says about its cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Registration {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) project: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
}

/// Argo CD in the header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct HeaderArgocd {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    pub(super) settings: BTreeMap<String, String>,
}

/// The last line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Trailer {
    kind: String,
    objects: usize,
    /// `blake3:` and the hexadecimal digest of all bytes before the line.
    digest: String,
}

#[cfg(test)]
mod tests;
