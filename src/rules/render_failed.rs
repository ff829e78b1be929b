//! `render-failed`: a source gives no manifests, for a reason that no other rule names.

use super::draft::Findings;
use super::facts::{View, render_failures};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    render_failures(view, "render-failed").for_each(|draft| findings.push(draft));
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;

    #[test]
    fn a_failure_of_this_kind_is_an_error_with_its_own_message_and_others_are_left_to_other_rules() {
        let run = |rule| Run { render_failures: vec![failure("argocd/a", rule)], ..Run::default() }.judge(&["render-failed"]);
        let found = run("render-failed");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, crate::finding::Severity::Error);
        assert_eq!(found[0].message, "it fails");
        assert_eq!(found[0].resource.as_ref().unwrap().to_string(), "argoproj.io/Application argocd/a");
        assert_eq!((&*found[0].places[0].origin.path, found[0].places[0].origin.line), ("apps/a.yaml", 7));
        assert!(run("source-path-missing").is_empty());
    }
}
