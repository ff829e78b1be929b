//! `wave-deadlock`: an object becomes healthy only through a later wave, so the sync hangs.

use super::draft::Findings;
use super::facts::{View, draft_of_condition, of_conditions};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, condition) in of_conditions(view, "WaveDeadlock") {
        let message = format!("{}, and nothing that comes after it is applied", condition.message.trim_end_matches('.'));
        findings.push(draft_of_condition(plan, condition, message, "", "waits here"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;

    #[test]
    fn the_remark_of_the_plan_becomes_an_error_about_the_object() {
        let run = |kind| {
            let mut plan = plan("db", Vec::new());
            plan.conditions = vec![condition(kind, "Job shop/x needs ConfigMap shop/y: the sync hangs", "Job")];
            Run { plans: vec![plan], ..Run::default() }.judge(&["wave-deadlock"])
        };
        let found = run("WaveDeadlock");
        assert_eq!(found[0].severity, crate::finding::Severity::Error);
        assert_eq!(found[0].message, "Job shop/x needs ConfigMap shop/y: the sync hangs, and nothing that comes after it is applied");
        assert!(run("RepeatedResourceWarning").is_empty());
    }
}
