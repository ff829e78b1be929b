//! What is known about Argo CD and its clusters, as far as it decides what sources render to.
//!
//! Takes live state and the configuration; hands on settings and capabilities.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::argocd::Settings;
use crate::argocd::names::BUILD_OPTIONS;
use crate::config::Config;
use crate::render::Capabilities;
use crate::snapshot::{ClusterInfo, LiveState};

/// Argo CD's settings: those of the snapshot, else what the configuration says of them.
pub(super) fn settings(config: &Config, live: Option<&LiveState>) -> Settings {
    let mut settings = live.map(|live| live.settings().clone()).unwrap_or_default();
    if let Some(options) = config.kustomize.build_options.as_ref().filter(|_| !live.is_some_and(LiveState::knows_argocd)) {
        settings.entries.insert(BUILD_OPTIONS.to_owned(), options.clone());
    }
    settings
}

/// What each cluster is able to do, by server URL and by name.
pub(super) fn capabilities(live: &LiveState) -> BTreeMap<Arc<str>, Capabilities> {
    let of = |cluster: &ClusterInfo| Capabilities {
        kube_version: cluster.kubernetes_version.clone().unwrap_or_default(),
        api_versions: live.api_versions(&cluster.server),
    };
    let mut found = BTreeMap::new();
    for cluster in live.clusters() {
        let able = of(cluster);
        if !cluster.name.is_empty() {
            found.insert(Arc::clone(&cluster.name), able.clone());
        }
        found.insert(Arc::clone(&cluster.server), able);
    }
    found
}
