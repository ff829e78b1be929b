//! `generate-paths-miss-change`: the change alters what an Application renders to, and its manifest-generate-paths keep Argo CD from looking.

use super::draft::{Draft, Findings};
use super::facts::{View, of_conditions};
use crate::argocd::names::MANIFEST_GENERATE_PATHS;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, condition) in of_conditions(view, "GeneratePathsMissChange") {
        let name = &plan.application.id.name;
        let message = format!(
            "{} changes what Application {name} renders to, but its manifest-generate-paths do not cover any changed file: Argo CD will not \
             notice this change",
            condition.message
        );
        let pointer = format!("/metadata/annotations/{}", MANIFEST_GENERATE_PATHS.replace('/', "~1"));
        let draft = Draft::of_application(&plan.application, message);
        findings.push(draft.at(plan.origin.as_ref(), &pointer, "does not cover it"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;

    #[test]
    fn a_change_that_argo_cd_will_not_notice_is_a_warning() {
        let mut hidden = plan("web", Vec::new());
        hidden.conditions = vec![condition("GeneratePathsMissChange", "base/web/deployment.yaml", "Application")];
        let found = Run { plans: vec![hidden, plan("other", Vec::new())], ..Run::default() }.judge(&["generate-paths-miss-change"]);
        assert_eq!((found.len(), found[0].severity), (1, crate::finding::Severity::Warning));
        assert!(found[0].message.starts_with("base/web/deployment.yaml changes what Application web renders to"), "{}", found[0].message);
        assert_eq!(found[0].places[0].pointer, "/metadata/annotations/argocd.argoproj.io~1manifest-generate-paths");
        assert!(Run { plans: vec![plan("other", Vec::new())], ..Run::default() }.judge(&["generate-paths-miss-change"]).is_empty());
    }
}
