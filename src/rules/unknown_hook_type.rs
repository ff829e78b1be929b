//! `unknown-hook-type`: a hook annotation with a type that nobody knows, so that its object is never applied, or not in that phase.

use std::collections::BTreeSet;

use super::draft::{Draft, Findings};
use super::facts::{View, enumerate};
use crate::argocd::names::{HELM_HOOK, HOOK};
use crate::manifest::annotation;
use crate::plan::{Action, Change};

/// Types of `argocd.argoproj.io/hook`.
const ARGOCD: [&str; 7] = ["PreSync", "Sync", "PostSync", "SyncFail", "Skip", "PreDelete", "PostDelete"];
/// Types of `helm.sh/hook`, as Helm has them; those that Argo CD has no phase for are left out on purpose.
const HELM: [&str; 13] = [
    "pre-install",
    "post-install",
    "pre-upgrade",
    "post-upgrade",
    "pre-delete",
    "post-delete",
    "pre-rollback",
    "post-rollback",
    "test",
    "test-success",
    "test-failure",
    "crd-install",
    "test-install",
];

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    // An object that is a hook in two phases has two changes.
    let mut seen = BTreeSet::new();
    for (plan, change) in view.changes() {
        // A live object that Git has only as a hook of an unknown type counts as removed.
        if !matches!(change.action, Action::Skip | Action::Hook) && !change.action.is_removal() {
            continue;
        }
        let Some((name, known, unknown)) = unknown_types(change) else { continue };
        if !seen.insert((&plan.application.id, &change.key)) {
            continue;
        }
        let written: Vec<String> = unknown.iter().map(|written| with_suggestion(written, known)).collect();
        let (is, words) = if written.len() == 1 { ("is not a hook type", "it") } else { ("are no hook types", "them") };
        let (grade, end) = match change.action {
            Action::Skip => (None, format!("{} is never applied, and Argo CD reports no error", change.key.named())),
            Action::Prune => (None, format!("{} counts as removed from Git, and the sync deletes the live one", change.key.named())),
            action if action.is_removal() => (None, format!("{} counts as removed from Git and is never applied", change.key.named())),
            _ => (Some("partly"), format!("{} runs in its other phases only, as if {words} did not stand there", change.key.named())),
        };
        let message = format!("{} {is}: {end}", enumerate(&written, 3));
        let pointer = format!("/metadata/annotations/{}", name.replace('/', "~1"));
        let draft = Draft::of_change(plan, change, message).grade(grade);
        findings.push(draft.at(change.target.as_ref().map(|target| &target.origin), &pointer, "not known"));
    }
}

/// The annotation that decides, the types it can hold, and what it holds besides.
fn unknown_types(change: &Change) -> Option<(&'static str, &'static [&'static str], Vec<&str>)> {
    let object = change.target_object()?;
    let (name, known): (_, &'static [&'static str]) = if annotation(object, HOOK).is_some() { (HOOK, &ARGOCD) } else { (HELM_HOOK, &HELM) };
    let text = annotation(object, name)?;
    let unknown: Vec<&str> = text.split(',').map(str::trim).filter(|one| !known.contains(one)).collect();
    // An empty list is a hook of no type as well; a stray comma beside a type is not.
    let unknown: Vec<&str> =
        if change.action != Action::Hook { unknown } else { unknown.into_iter().filter(|one| !one.is_empty()).collect() };
    (!unknown.is_empty()).then_some((name, known, unknown))
}

/// What is written, with the type that it becomes when case, hyphens and underscores do not count.
fn with_suggestion(written: &str, known: &[&str]) -> String {
    let letters =
        |text: &str| text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect::<String>();
    match known.iter().find(|one| letters(one) == letters(written)) {
        Some(meant) => format!("`{written}` (exactly `{meant}` is needed)"),
        None => format!("`{written}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::{Finding, Severity};
    use crate::plan::Reason;
    use crate::plan::reason::LiveCopy;
    use serde_json::json;

    fn run(name: &str, value: &str, action: Action) -> Vec<Finding> {
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "schema", "namespace": "shop", "annotations": {name: value}}});
        let reason = match action {
            Action::Skip => Reason::UnknownHook { value: value.into() },
            _ => Reason::Hook { live_copy: LiveCopy::Stays },
        };
        let hook = Change { action, reason, ..added(job) };
        Run { plans: vec![plan("schema", vec![hook.clone(), hook])], ..Run::default() }.judge(&["unknown-hook-type"])
    }

    #[test]
    fn a_hook_of_an_unknown_type_is_an_error_and_what_was_meant_is_named() {
        let found = run(HOOK, "presync", Action::Skip);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Error));
        assert_eq!(
            found[0].message,
            "`presync` (exactly `PreSync` is needed) is not a hook type: Job shop/schema is never applied, and Argo CD reports no error"
        );
        assert_eq!(found[0].places[0].pointer, "/metadata/annotations/argocd.argoproj.io~1hook");
        assert_eq!(run(HELM_HOOK, "pre-instal", Action::Skip).len(), 1);
    }

    #[test]
    fn an_unknown_type_beside_a_known_one_is_a_warning() {
        let found = run(HOOK, "PreSync,foo", Action::Hook);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
    }

    #[test]
    fn known_types_and_those_of_helm_that_argo_cd_leaves_out_are_fine() {
        for (name, value, action) in [
            (HOOK, "PreSync, PostSync,", Action::Hook),
            (HOOK, "Skip", Action::Skip),
            (HELM_HOOK, "test", Action::Skip),
            (HELM_HOOK, "test-success,pre-rollback", Action::Skip),
            (HELM_HOOK, "pre-install,pre-upgrade", Action::Hook),
        ] {
            assert!(run(name, value, action).is_empty(), "{value}");
        }
    }
}
