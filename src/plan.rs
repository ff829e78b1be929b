//! What Argo CD will do: pairing, diff, decision, phases and waves, cascade, foreseeable failures.
//!
//! Takes targets, live state and Applications; hands on [`SyncPlan`]s. Reads no files, runs no programs, knows no Git:
//! the plan is a function of values.

pub mod application;
pub mod attempt;
pub mod change;
pub mod clusters;
pub mod decision;
pub mod deletion;
pub mod dependents;
pub mod diff;
pub mod effective;
pub mod failure;
pub mod operation;
pub mod pairing;
pub mod permission;
pub mod reason;
pub mod redaction;
pub mod removal;
#[cfg(test)]
pub(crate) mod sample;
pub mod schema;
pub mod targets;
pub mod tasks;
pub mod waits;
pub mod watch;
pub mod withdrawn;
pub mod world;

pub use change::{
    Action, AppChange, Basis, Change, Condition, FieldChange, KIND_WITHDRAWN, ONCE_APPLIED, PROJECT_MISSING, Phase, SYNC_NEEDS_APPROVAL,
    SYNC_RUNNING, SyncDecision, SyncMode, SyncPlan,
};
pub use dependents::{Dependent, Tie};
pub use reason::Reason;
pub use withdrawn::Withdrawn;
pub use world::World;
