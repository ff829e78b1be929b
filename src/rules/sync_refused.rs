//! `sync-refused`: Argo CD cannot compare the Application or refuses its sync before anything is applied.

use super::draft::Findings;
use super::facts::{View, app_name, draft_of_condition, of_conditions};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for kind in ["ComparisonError", "SyncRefused"] {
        for (plan, condition) in of_conditions(view, kind) {
            let reason = condition.message.trim_end_matches('.');
            let message = format!("{reason}; nothing of {} is synced", app_name(plan));
            findings.push(draft_of_condition(plan, condition, message, "", "refused"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;

    #[test]
    fn what_cannot_be_compared_and_what_is_refused_are_errors() {
        let mut refused = plan("svc", Vec::new());
        refused.conditions = vec![
            condition("ComparisonError", "Argo CD cannot compare ConfigMap shop/x", "ConfigMap"),
            condition("SyncRefused", "Job without a name cannot be applied", "Job"),
        ];
        let found = Run { plans: vec![refused, plan("other", Vec::new())], ..Run::default() }.judge(&["sync-refused"]);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].message, "Argo CD cannot compare ConfigMap shop/x; nothing of `svc` is synced");
        assert_eq!(found[0].severity, crate::finding::Severity::Error);
    }

    #[test]
    fn other_remarks_are_left_to_other_rules() {
        let mut shared = plan("svc", Vec::new());
        shared.conditions = vec![condition("KindNotServed", "the cluster does not serve it", "ConfigMap")];
        assert!(Run { plans: vec![shared], ..Run::default() }.judge(&["sync-refused"]).is_empty());
    }
}
