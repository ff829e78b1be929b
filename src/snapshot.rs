//! The live state: capture, import, redact, store, load, index.
//!
//! Takes an API server, snapshot files or what `kubectl get -o yaml` wrote; hands on [`LiveState`]: objects by key, by tracking, by owner, and Argo CD's settings.

mod assemble;
mod builtin;
pub mod capture;
pub mod clusters;
mod compare;
pub mod error;
pub mod file;
mod index;
mod intern;
pub mod kinds;
mod kubectl;
pub mod live;
pub mod load;
pub mod owners;
mod peek;
pub mod redact;
mod settings;
pub mod store;
pub mod summary;

pub use assemble::AssumedObject;
pub use capture::Capture;
pub use clusters::{ClusterError, ClusterInfo, NamespaceLimit, secret_text};
pub use compare::{Comparison, Differing, Place, compare};
pub use error::SnapshotError;
pub use file::{Provenance, write};
pub use kinds::{ApiResource, KindName, Scope, Serves};
pub use live::{LiveObject, LiveState, SecretEdits, SnapshotSource};
pub use load::{Input, load, load_from, load_inputs};
pub use owners::Owner;
pub use redact::{REDACTED, SecretNames, is_redacted, may_be_secret};
pub use store::{Access, save};
pub use summary::{ClusterSummary, Summary, summary};
