//! Live state read from an API server, and live state made from objects that were read one by one.
//!
//! Takes the name of a server; hands on a [`Captured`], whose objects were redacted as they arrived and wait in a temporary file.

mod argocd;
mod captured;
mod choose;
mod client;
mod connect;
mod discovery;
mod error;
mod kubernetes;
mod list;
mod spool;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use serde_json::Value;

use super::assemble::{Parts, Raw, assemble};
use super::clusters::ClusterInfo;
use super::kubectl::Batch;
use super::live::{Body, LiveState};
use super::settings::Stated;

pub use argocd::ArgocdCapture;
pub use captured::Captured;
pub use client::Limits;
pub use connect::{ArgocdServer, KubernetesServer, choose_cryptography};
pub use error::CaptureError;
pub use kubernetes::KubernetesCapture;
pub use list::{Progress, Watcher};

/// Captures a cluster from its Kubernetes API server.
///
/// # Errors
/// Where the server is out of reach, does not know who asks, or lets nothing be listed. Single kinds that are refused are no error:
/// [`Captured::incomplete`] names them.
pub fn from_kubernetes(options: &KubernetesCapture, watcher: Watcher) -> Result<Captured, CaptureError> {
    run(kubernetes::capture(options, watcher))
}

/// Captures all clusters of an Argo CD from its API.
///
/// # Errors
/// Where the server is out of reach, does not know who asks, or does not show its Applications. [`Captured::incomplete`] names what else
/// it does not show.
pub fn from_argocd(options: &ArgocdCapture, watcher: Watcher) -> Result<Captured, CaptureError> {
    run(argocd::capture(options, watcher))
}

/// Runs a capture to its end or until somebody interrupts it.
fn run(capture: impl Future<Output = Result<Captured, CaptureError>>) -> Result<Captured, CaptureError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            captured = capture => captured,
            Ok(()) = tokio::signal::ctrl_c() => Err(CaptureError::Interrupted),
        }
    })
}

/// Threads that read answers.
const WORKERS: usize = 4;

/// Collects objects and what else is known about their clusters. Secret values are dropped as an object is added.
#[derive(Debug, Default)]
pub struct Capture {
    /// The clusters.
    pub clusters: Vec<ClusterInfo>,
    /// Argo CD's version, as it states it.
    pub argocd_version: Option<String>,
    /// The namespace Argo CD runs in.
    pub argocd_namespace: Option<String>,
    /// Entries of `argocd-cm`; those of a live `argocd-cm` among the objects win.
    pub settings: BTreeMap<String, String>,
    /// What could not be listed, and why.
    pub incomplete: Vec<String>,
    pub(super) batches: BTreeMap<Arc<str>, Vec<Batch>>,
}

/// How many bytes of objects stand in one text.
const BATCH_BYTES: usize = 16 << 20;

impl Capture {
    /// Adds an object of a cluster, given by its server URL.
    pub fn add(&mut self, cluster: &str, object: Value) {
        let batches = self.batches.entry(cluster.into()).or_default();
        match batches.last_mut() {
            Some(batch) if batch.text.len() < BATCH_BYTES => batch.push(object),
            _ => {
                let mut batch = Batch::default();
                batch.push(object);
                batches.push(batch);
            }
        }
    }

    /// The state that the objects make up.
    pub fn finish(self) -> LiveState {
        let stated = Stated { version: self.argocd_version, namespace: self.argocd_namespace, entries: self.settings };
        let mut parts = Parts { stated, clusters: self.clusters, incomplete: self.incomplete, ..Parts::default() };
        for (cluster, batches) in self.batches {
            for batch in batches {
                let arena = Arc::new(batch.text);
                parts.incomplete.extend(batch.left_out);
                let raw = |range| Raw { cluster: cluster.clone(), body: Body::text(arena.clone(), range) };
                for item in batch.items {
                    parts.limits.extend(item.limit.map(|limit| (cluster.clone(), limit)));
                    parts.objects.push(raw(item.range));
                }
            }
        }
        assemble(parts)
    }
}
