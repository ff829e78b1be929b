//! The live state: import, redact, store, load, index.
//!
//! Takes snapshot files or what `kubectl get -o yaml` wrote; hands on [`LiveState`]: objects by key, by tracking, by owner, and Argo CD's settings.

mod assemble;
mod builtin;
pub mod clusters;
pub mod error;
mod index;
mod intern;
pub mod kinds;
mod kubectl;
pub mod live;
pub mod load;
pub mod owners;
mod peek;
mod settings;

pub use assemble::AssumedObject;
pub use clusters::{ClusterError, ClusterInfo};
pub use error::SnapshotError;
pub use kinds::{ApiResource, Scope, Serves};
pub use live::{LiveObject, LiveState, SnapshotSource};
pub use load::load;
pub use owners::Owner;
