//! Hands the plans to the rules and keeps what counts.
//!
//! Takes plans; hands on findings, worst first.

use super::CheckError;
use super::applications::Discovered;
use super::options::Options;
use super::planning::Planned;
use crate::finding::Finding;
use crate::plan::SyncPlan;
use crate::rules::{self, Facts, RuleSet};
use crate::snapshot::LiveState;

/// Judges the plans. Without `--all` only what the change introduces counts.
pub(super) fn judge(planned: &Planned, discovered: &Discovered, live: &LiveState, options: &Options) -> Result<Vec<Finding>, CheckError> {
    let plans: Vec<SyncPlan> = planned.plans.iter().chain(&planned.unrendered).cloned().collect();
    let facts = Facts {
        plans: &plans,
        inventory: &discovered.inventory,
        live,
        duplicate_keys: &planned.duplicate_keys,
        render_failures: &planned.failures,
        unstable: &planned.unstable,
        now: options.now.as_second(),
        max_snapshot_age: options.max_snapshot_age,
    };
    let mut findings = rules::judge(&facts, &RuleSet::builtin()?)?.findings;
    if !options.all {
        findings.retain(|finding| finding.introduced);
    }
    Ok(findings)
}
