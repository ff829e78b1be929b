//! The live state: import, redact, store, load, index.
//!
//! Takes snapshot files or what `kubectl get -o yaml` wrote; hands on [`LiveState`]: objects by key, by tracking, by owner, and Argo CD's settings.

pub mod live;

pub use live::{ClusterInfo, LiveObject, LiveState, Scope, Serves, SnapshotSource};
