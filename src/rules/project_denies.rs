//! `project-denies`: the Application's project does not permit its source, its destination or one of its objects, so nothing is synced.

use super::draft::Findings;
use super::facts::{View, app_name, draft_of_condition, of_conditions};
use crate::plan::{Condition, PROJECT_MISSING, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, condition) in of_conditions(view, "ProjectDenies") {
        let (pointer, label) = if condition.key.is_some() { ("", "not permitted") } else { ("/spec/project", "this project") };
        findings.push(draft_of_condition(plan, condition, message(plan, condition), pointer, label));
    }
    for (plan, condition) in of_conditions(view, PROJECT_MISSING) {
        let help = format!(
            "Correct the name in spec.project, or create the AppProject {} first: in a change of its own, or by hand.",
            plan.application.spec.project
        );
        findings.push(draft_of_condition(plan, condition, message(plan, condition), "/spec/project", "this project").help(help));
    }
}

fn message(plan: &SyncPlan, condition: &Condition) -> String {
    format!("{}: the whole sync of {} is refused", condition.message.trim_end_matches('.'), app_name(plan))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Severity;

    #[test]
    fn an_object_that_the_project_does_not_permit_refuses_the_whole_sync() {
        let mut refused = plan("bakery", Vec::new());
        refused.conditions = vec![condition("ProjectDenies", "project food does not permit ConfigMap shop/x", "ConfigMap")];
        let found = Run { plans: vec![refused], ..Run::default() }.judge(&["project-denies"]);
        assert_eq!(found[0].message, "project food does not permit ConfigMap shop/x: the whole sync of `bakery` is refused");
        assert_eq!((found[0].severity, found[0].resource.as_ref().unwrap().to_string()), (Severity::Error, "ConfigMap shop/x".into()));
    }

    #[test]
    fn a_project_that_does_not_permit_the_application_is_named_on_the_application() {
        let mut refused = plan("bakery", Vec::new());
        let denied = condition("ProjectDenies", "project food does not permit the repository x", "Application");
        refused.conditions = vec![Condition { key: None, ..denied }];
        let found = Run { plans: vec![refused], ..Run::default() }.judge(&["project-denies"]);
        assert_eq!(found[0].resource.as_ref().unwrap().to_string(), "argoproj.io/Application argocd/bakery");
        assert_eq!(found[0].places[0].pointer, "/spec/project");
    }

    #[test]
    fn a_project_that_does_not_exist_is_to_be_created_or_named_right() {
        let mut refused = plan("bakery", Vec::new());
        edit_application(&mut refused, |object| object["spec"]["project"] = "foood".into());
        let missing = condition(PROJECT_MISSING, "the Application's project foood does not exist", "Application");
        refused.conditions = vec![Condition { key: None, ..missing }];
        let found = Run { plans: vec![refused], ..Run::default() }.judge(&["project-denies"]);
        assert_eq!(found[0].message, "the Application's project foood does not exist: the whole sync of `bakery` is refused");
        assert_eq!(
            found[0].help,
            "Correct the name in spec.project, or create the AppProject foood first: in a change of its own, or by hand."
        );
    }

    #[test]
    fn an_application_that_the_change_does_not_touch_is_not_introduced() {
        let mut refused = plan("bakery", Vec::new());
        refused.affected = false;
        refused.conditions = vec![condition("ProjectDenies", "project food does not permit ConfigMap shop/x", "ConfigMap")];
        assert!(!Run { plans: vec![refused], ..Run::default() }.judge(&["project-denies"])[0].introduced);
    }

    #[test]
    fn a_project_that_permits_everything_is_fine() {
        assert!(Run { plans: vec![plan("bakery", Vec::new())], ..Run::default() }.judge(&["project-denies"]).is_empty());
    }
}
