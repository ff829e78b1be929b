//! `hook-needs-later-object`: a hook needs an object that comes later in the same sync, so the sync hangs.

use super::draft::Findings;
use super::facts::{View, hangs};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    hangs(view, "HookNeedsLater", findings);
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;

    #[test]
    fn the_remark_of_the_plan_becomes_an_error_about_the_object() {
        let run = |kind| {
            let mut plan = plan("db", Vec::new());
            plan.conditions = vec![condition(kind, "Job shop/x needs ConfigMap shop/y: the sync hangs", "Job")];
            Run { plans: vec![plan], ..Run::default() }.judge(&["hook-needs-later-object"])
        };
        let found = run("HookNeedsLater");
        assert_eq!(found[0].severity, crate::finding::Severity::Error);
        assert_eq!(found[0].message, "Job shop/x needs ConfigMap shop/y: the sync hangs, and nothing that comes after it is applied");
        assert!(run("RepeatedResourceWarning").is_empty());
    }
}
