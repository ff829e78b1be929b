//! `hook-leftover`: a hook leaves Git; its last copy stays in the cluster, because hooks are never pruned.

use super::draft::Findings;
use super::facts::{View, draft_of_condition, is_rendered_by_any, of_conditions};
use crate::plan::change::HOOK_LEFT;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, condition) in of_conditions(view, HOOK_LEFT) {
        if condition.key.as_ref().is_some_and(|key| !is_rendered_by_any(view, key)) {
            findings.push(draft_of_condition(plan, condition, condition.message.clone(), "", "leaves Git"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Severity;
    use serde_json::json;

    #[test]
    fn a_hook_that_leaves_git_is_named_and_one_that_another_application_has_is_not() {
        let mut old = plan("web", Vec::new());
        old.conditions = vec![condition(HOOK_LEFT, "it stays", "ConfigMap"), condition("ProjectDenies", "no", "ConfigMap")];
        let found = Run { plans: vec![old.clone()], ..Run::default() }.judge(&["hook-leftover"]);
        assert_eq!(found.iter().map(|finding| (finding.severity, finding.introduced)).collect::<Vec<_>>(), [(Severity::Info, true)]);
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "shop"}});
        let plans = vec![old, plan("other", vec![added(map)])];
        assert!(Run { plans, ..Run::default() }.judge(&["hook-leftover"]).is_empty());
    }
}
