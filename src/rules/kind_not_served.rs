//! `kind-not-served`: the cluster does not serve a kind, so the whole sync is refused.

use super::draft::Findings;
use super::facts::{View, app_name, draft_of_condition, of_conditions};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, condition) in of_conditions(view, "KindNotServed") {
        let message = format!(
            "{} and {} does not install it: the whole sync is refused, also for objects that have nothing to do with it",
            condition.message.trim_end_matches('.'),
            app_name(plan)
        );
        findings.push(draft_of_condition(plan, condition, message, "/kind", "not served"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;

    #[test]
    fn a_kind_that_the_cluster_does_not_serve_refuses_the_whole_sync() {
        let mut refused = plan("svc", Vec::new());
        refused.conditions = vec![condition("KindNotServed", "the cluster does not serve example.test/v1 Thing", "Thing")];
        let found = Run { plans: vec![refused, plan("other", Vec::new())], ..Run::default() }.judge(&["kind-not-served"]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "the cluster does not serve example.test/v1 Thing and `svc` does not install it: the whole sync is refused, also for objects that \
             have nothing to do with it"
        );
        assert_eq!(found[0].resource.as_ref().unwrap().to_string(), "Thing shop/x");
    }

    #[test]
    fn other_remarks_are_left_to_other_rules() {
        let mut shared = plan("svc", Vec::new());
        shared.conditions = vec![condition("SharedResourceWarning", "two Applications have it", "ConfigMap")];
        assert!(Run { plans: vec![shared], ..Run::default() }.judge(&["kind-not-served"]).is_empty());
    }
}
