//! `source-path-missing`: an Application points at a path that does not exist.

use super::draft::Findings;
use super::facts::{View, render_failures};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    render_failures(view, "source-path-missing").for_each(|draft| findings.push(draft));
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;

    #[test]
    fn a_failure_of_this_kind_is_an_error_with_its_own_message_and_others_are_left_to_other_rules() {
        let run = |rule| Run { render_failures: vec![failure("argocd/a", rule)], ..Run::default() }.judge(&["source-path-missing"]);
        let found = run("source-path-missing");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, crate::finding::Severity::Error);
        assert_eq!(found[0].message, "it fails");
        assert_eq!(found[0].resource.as_ref().unwrap().to_string(), "argoproj.io/Application argocd/a");
        assert_eq!((&*found[0].places[0].origin.path, found[0].places[0].origin.line), ("apps/a.yaml", 7));
        assert!(run("another-rule").is_empty() || "source-path-missing" == "render-failed");
    }

    #[test]
    fn a_child_of_an_application_that_fails_the_same_way_is_not_named_again() {
        let child = application_object("solo");
        let run = Run {
            render_failures: vec![failure("argocd/root", "source-path-missing"), failure("argocd/solo", "source-path-missing")],
            inventory: inventory([(Some(child), None, None, Some("root"))]),
            ..Run::default()
        };
        let found = run.judge(&["source-path-missing"]);
        assert_eq!(found.iter().map(|finding| finding.application.as_deref().unwrap()).collect::<Vec<_>>(), ["argocd/root"]);
    }
}
