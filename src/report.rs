//! One result, several formats: one file a format, each with its own versioned types.
//!
//! Takes a [`Report`]; hands on bytes.

pub mod applications;
mod dependents;
mod diagnostic;
mod escape;
mod excerpt;
mod fields;
pub mod github;
pub mod gitlab;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod plan_text;
pub mod sarif;
pub mod setting;
mod style;
pub mod summary;
pub mod text;

#[cfg(test)]
mod tests;

pub use setting::{FileLinks, RuleText, Setting};
pub use style::Style;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::argocd::AppId;
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
    /// Applications whose files the change touches, and that render the same before and after.
    pub same: &'a [AppId],
    /// The level from which findings fail the check; `None` for never.
    pub fail_on: Option<Severity>,
    /// What could not be judged fails the check.
    pub strict: bool,
    /// The texts of the rules.
    pub rules: &'a [RuleText],
    /// The tree of all Applications.
    pub tree: &'a [applications::Node],
    /// Where and when the report is made.
    pub setting: &'a Setting,
}

impl<'a> Report<'a> {
    /// Whether the check fails.
    pub fn fails(&self) -> bool {
        self.findings.iter().any(|finding| self.counts(finding)) || (self.strict && !self.unjudged.is_empty())
    }

    /// Whether a finding fails the check.
    fn counts(&self, finding: &Finding) -> bool {
        finding.suppressed.is_none() && self.fail_on.is_some_and(|level| finding.severity >= level)
    }

    /// Path and line of the definition of the Application that a finding is about, for formats that need a file.
    fn definition_of(&self, finding: &Finding) -> Option<(&'a str, u32)> {
        let id = finding.application.as_ref()?;
        let plan = self.plans.iter().find(|plan| plan.application.id.to_string() == *id)?;
        plan.origin.as_ref().map(|origin| (&*origin.path, origin.line))
    }
}
