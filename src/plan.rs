//! What Argo CD will do: pairing, diff, decision, phases and waves, cascade, foreseeable failures.
//!
//! Takes targets, live state and Applications; hands on [`SyncPlan`]s. Reads no files, runs no programs, knows no Git:
//! the plan is a function of values.

pub mod change;
pub mod diff;
pub mod failure;
pub mod reason;
pub mod schema;

pub use change::{Action, AppChange, Basis, Change, Condition, Dependent, FieldChange, Phase, SyncDecision, SyncMode, SyncPlan};
pub use reason::Reason;
