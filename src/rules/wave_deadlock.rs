//! `wave-deadlock`: an object becomes healthy only through a later wave, so the sync hangs.

use super::draft::Findings;
use super::facts::{View, hangs};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    hangs(view, "WaveDeadlock", findings);
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
