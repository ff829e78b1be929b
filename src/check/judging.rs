//! Hands the plans to the rules and keeps what counts.
//!
//! Takes plans; hands on findings, worst first.

use super::CheckError;
use super::applications::Discovered;
use super::options::Options;
use super::planning::Planned;
use crate::plan::SyncPlan;
use crate::rules::{self, Facts, Judged, RuleSet, WaiverComment};
use crate::snapshot::LiveState;

/// Seconds from which a snapshot counts as stale, where nobody says.
const A_DAY: i64 = 86_400;

/// Judges the plans. Without `--all` only what the change introduces counts.
pub(super) fn judge(
    planned: &Planned,
    discovered: &Discovered,
    live: &LiveState,
    comments: &[WaiverComment],
    rules: &RuleSet,
    options: &Options,
    max_age: Option<i64>,
) -> Result<Judged, CheckError> {
    let plans: Vec<SyncPlan> = planned.plans.iter().chain(&planned.unrendered).chain(&planned.beside).cloned().collect();
    let facts = Facts {
        plans: &plans,
        inventory: &discovered.inventory,
        live,
        duplicate_keys: &planned.duplicate_keys,
        render_failures: &planned.failures,
        unstable: &planned.unstable,
        rendered_elsewhere: &planned.rendered_elsewhere,
        now: options.now.as_second(),
        max_snapshot_age: options.max_snapshot_age.or(max_age).unwrap_or(A_DAY),
        comments,
        only_introduced: !options.all,
        complete: options.all && options.applications.is_empty(),
    };
    let mut judged = rules::judge(&facts, rules)?;
    if !options.all {
        judged.findings.retain(|finding| finding.introduced);
    }
    Ok(judged)
}

/// Says how many findings the configuration leaves out.
pub(super) fn left_out(count: usize) -> Option<String> {
    let findings = if count == 1 { "1 finding is".to_owned() } else { format!("{count} findings are") };
    (count > 0).then(|| format!("{findings} left out by `include` and `exclude` of the configuration"))
}
