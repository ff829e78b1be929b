//! Remarks of the plan that are findings by themselves.

use super::View;
use crate::plan::{Condition, SyncPlan};
use crate::rules::draft::{Draft, Findings};

/// The remarks of one kind with their plans.
pub(in crate::rules) fn of_conditions<'a>(
    view: &View<'a>,
    kind: &'static str,
) -> impl Iterator<Item = (&'a SyncPlan, &'a Condition)> + use<'a> {
    let all = view.facts.plans.iter().flat_map(|plan| plan.conditions.iter().map(move |condition| (plan, condition)));
    all.filter(move |(_, condition)| condition.kind == kind)
}

/// A finding about what a remark is about: its object, else the Application. Introduced where the change touches the Application: of a sync
/// that is refused the plan lists no single changes.
pub(in crate::rules) fn draft_of_condition(plan: &SyncPlan, condition: &Condition, message: String, pointer: &str, label: &str) -> Draft {
    let draft = match &condition.key {
        Some(key) => Draft::of_plan(plan, message).resource(key.clone()),
        None => Draft::of_application(&plan.application, message).assumed(plan.basis == crate::plan::Basis::Assumed),
    };
    draft.introduced(plan.affected).at(condition.origin.as_ref(), pointer, label)
}

/// Each remark on a hang of the sync as a finding where it waits.
pub(in crate::rules) fn hangs(view: &View<'_>, kind: &'static str, findings: &mut Findings<'_>) {
    for (plan, condition) in of_conditions(view, kind) {
        let message = format!("{}, and nothing that comes after it is applied", condition.message.trim_end_matches('.'));
        findings.push(draft_of_condition(plan, condition, message, "", "waits here"));
    }
}
