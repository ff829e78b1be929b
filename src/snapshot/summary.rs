//! What a snapshot holds, in numbers.

use std::collections::BTreeMap;

use super::live::{LiveState, SnapshotSource};

/// What `presync snapshot show` prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The sources, with the time of their capture and their digests.
    pub sources: Vec<SnapshotSource>,
    /// One entry for each cluster, by server URL.
    pub clusters: Vec<ClusterSummary>,
    /// Number of objects by instance name of the Application that tracks them.
    pub by_application: BTreeMap<String, usize>,
    /// Number of objects that nobody tracks and nobody owns.
    pub untracked: usize,
    /// What could not be listed or read, and why.
    pub incomplete: Vec<String>,
}

/// The numbers of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSummary {
    /// Server URL.
    pub server: String,
    /// Registered name; empty where only the URL is known.
    pub name: String,
    /// Version of Kubernetes.
    pub kubernetes_version: Option<String>,
    /// Number of kinds in its list of API resources; `None` where the snapshot has no list.
    pub api_resources: Option<usize>,
    /// Number of objects.
    pub objects: usize,
    /// Number of objects by group and kind, as `group/Kind`.
    pub by_kind: BTreeMap<String, usize>,
}

/// Counts what live state holds.
pub fn summary(state: &LiveState) -> Summary {
    let mut clusters: BTreeMap<&str, ClusterSummary> = BTreeMap::new();
    for cluster in state.clusters() {
        clusters.entry(&cluster.server).or_insert_with(|| ClusterSummary {
            server: cluster.server.to_string(),
            name: cluster.name.to_string(),
            kubernetes_version: cluster.kubernetes_version.clone(),
            api_resources: cluster.api_resources.as_ref().map(Vec::len),
            ..ClusterSummary::default()
        });
    }
    let kinds = state.all().chunk_by(|a, b| (&a.cluster, &a.key.group, &a.key.kind) == (&b.cluster, &b.key.group, &b.key.kind));
    for same in kinds {
        let Some(first) = same.first() else { continue };
        let server = || ClusterSummary { server: first.cluster.to_string(), ..ClusterSummary::default() };
        let cluster = clusters.entry(&first.cluster).or_insert_with(server);
        let kind = if first.key.group.is_empty() { first.key.kind.to_string() } else { format!("{}/{}", first.key.group, first.key.kind) };
        cluster.objects += same.len();
        cluster.by_kind.insert(kind, same.len());
    }
    let mut by_application: BTreeMap<String, usize> = BTreeMap::new();
    let mut untracked = 0;
    for object in state.all().iter().filter(|object| !object.is_owned()) {
        match &object.tracking {
            Some(instance) => *by_application.entry(instance.to_string()).or_default() += 1,
            None => untracked += 1,
        }
    }
    Summary {
        sources: state.sources().to_vec(),
        clusters: clusters.into_values().collect(),
        by_application,
        untracked,
        incomplete: state.incomplete().to_vec(),
    }
}
