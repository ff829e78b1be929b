//! One result, several formats: one file a format, each with its own versioned types.
//!
//! Takes a [`Report`]; hands on bytes.

pub mod applications;
mod dependents;
mod diagnostic;
mod excerpt;
mod fields;
pub mod json;
pub mod plan_text;
mod style;
pub mod summary;
pub mod text;

#[cfg(test)]
mod tests;

pub use style::Style;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::finding::{Finding, Severity, Unjudged};
use crate::manifest::Side;
use crate::plan::SyncPlan;
use crate::snapshot::SnapshotSource;

/// Everything a report can say.
pub struct Report<'a> {
    /// Full commit id of the base.
    pub base: String,
    /// Full commit id of the head, or `worktree` or `index`.
    pub head: String,
    /// Snapshots that were used.
    pub snapshots: &'a [SnapshotSource],
    /// Plans, by Application id: the affected Applications, or all with `--all`.
    pub plans: &'a [SyncPlan],
    /// List objects in sync and Applications without changes too (`--all`).
    pub all: bool,
    /// Findings, suppressed ones included, worst first, then by place.
    pub findings: &'a [Finding],
    /// What could not be looked at.
    pub unjudged: &'a [Unjudged],
    /// Texts of the files that findings point at.
    pub texts: &'a BTreeMap<(Side, Arc<str>), Arc<str>>,
    /// Remarks for people, such as an assumed merge base.
    pub notes: &'a [String],
    /// The level from which findings fail the check; `None` for never.
    pub fail_on: Option<Severity>,
    /// What could not be judged fails the check.
    pub strict: bool,
}

impl Report<'_> {
    /// Whether the check fails.
    pub fn fails(&self) -> bool {
        let failing = |finding: &Finding| finding.suppressed.is_none() && self.fail_on.is_some_and(|level| finding.severity >= level);
        self.findings.iter().any(failing) || (self.strict && !self.unjudged.is_empty())
    }
}
