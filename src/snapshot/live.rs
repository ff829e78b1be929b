//! Live objects and the indexes over them.

use std::sync::Arc;

use serde_json::Value;

use crate::argocd::Settings;
use crate::manifest::ResourceKey;

/// One object of the cluster. Its text is parsed when somebody first looks at it.
#[derive(Debug)]
pub struct LiveObject {
    /// The object's identity.
    pub key: ResourceKey,
    /// Server URL of its cluster.
    pub cluster: Arc<str>,
    object: Value,
}

impl LiveObject {
    /// The object.
    pub fn object(&self) -> &Value {
        &self.object
    }
}

/// Whether a kind lives in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In namespaces.
    Namespaced,
    /// Cluster-wide.
    Cluster,
}

/// Whether a cluster serves a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Serves {
    /// In this version.
    Yes,
    /// Only in another version.
    OtherVersion(String),
    /// Not at all.
    No,
    /// The snapshot does not say.
    Unknown,
}

/// What a snapshot says about a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterInfo {
    /// Server URL.
    pub server: Arc<str>,
    /// Registered name.
    pub name: Arc<str>,
}

/// Where live state came from, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotSource {
    /// File, folder or URL as given.
    pub source: String,
    /// When it was captured, RFC 3339; `None` where it does not say.
    pub captured_at: Option<String>,
    /// Server URL of the (first) cluster.
    pub cluster: String,
    /// Number of objects.
    pub objects: usize,
}

/// The live state of all clusters.
#[derive(Debug, Default)]
pub struct LiveState {
    /// Argo CD's settings.
    pub settings: Settings,
    /// Clusters known.
    pub clusters: Vec<ClusterInfo>,
    /// Where it came from; empty where live state is assumed.
    pub sources: Vec<SnapshotSource>,
    /// What could not be listed, and why.
    pub incomplete: Vec<String>,
}
