//! `source-path-missing`: an Application points at a path that does not exist.

use super::draft::Findings;
use super::facts::{View, id_of, render_failures};
use crate::argocd::Application;
use crate::inventory::Delivery;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for draft in render_failures(view, "source-path-missing") {
        let help = draft.about().and_then(|application| not_applied(view, application));
        findings.push(match help {
            Some(help) => draft.help(help).relabelled("not applied yet"),
            None => draft,
        });
    }
}

/// What to do where the Application's file names other paths than what decides after the merge.
fn not_applied(view: &View<'_>, application: &str) -> Option<String> {
    let entry = view.entry(&id_of(application))?;
    let (head, effective) = (entry.head.as_ref()?, entry.effective.as_ref()?);
    let paths = |application: &Application| {
        let sources = application.spec.dry_sources();
        sources.iter().map(|source| source.path.clone()).filter(|path| !path.is_empty()).collect::<Vec<_>>().join(", ")
    };
    let (written, live) = (paths(&head.application), paths(effective));
    if written == live {
        return None;
    }
    let file = &head.manifest.origin.path;
    let what = match (&head.delivery, &head.parent) {
        (Delivery::ByHand, _) => format!("apply the file together with the merge (`kubectl apply -f {file}`)"),
        (Delivery::ParentSync, Some(parent)) => format!("sync `{}`, which applies the file, together with the merge", parent.name),
        _ => "see to it that the file is applied together with the merge".to_owned(),
    };
    Some(format!(
        "The live Application {} has path {live}, and {file} has path {written} but is not applied by the merge: {what}.",
        entry.id
    ))
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
    fn a_path_that_only_the_live_application_still_has_is_mended_by_applying_its_file() {
        let at = |path: &str| {
            let mut object = application_object("solo");
            object["spec"]["source"]["path"] = path.into();
            object
        };
        let mut inventory = inventory([(Some(at("apps")), Some(at("applications")), Some(at("apps")), None)]);
        for entry in inventory.entries.values_mut() {
            entry.effective = entry.live.as_ref().map(|(application, _)| application.clone());
        }
        let run = Run { render_failures: vec![failure("argocd/solo", "source-path-missing")], inventory, ..Run::default() };
        assert_eq!(
            run.judge(&["source-path-missing"])[0].help,
            "The live Application argocd/solo has path apps, and apps/solo.yaml has path applications but is not applied by the merge: \
             apply the file together with the merge (`kubectl apply -f apps/solo.yaml`)."
        );
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
