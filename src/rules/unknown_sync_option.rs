//! `unknown-sync-option`: a sync option that Argo CD passes over, on an object or on an Application.

use std::collections::BTreeSet;

use super::draft::{Draft, Findings};
use super::facts::{View, app_name};
use crate::argocd::Version;
use crate::argocd::hook::list;
use crate::argocd::names::SYNC_OPTIONS;
use crate::manifest::annotation;

const POINTER: &str = "/metadata/annotations/argocd.argoproj.io~1sync-options";

/// The options of Argo CD 2.14 to 3.6, with the place where they work.
///
/// Source: Argo CD `gitops-engine/pkg/sync/common/types.go`, `gitops-engine/pkg/sync/sync_context.go`, `controller/sync.go:SyncAppState`.
const KNOWN: [(&str, Where); 14] = [
    ("ApplyOutOfSyncOnly", Where::Application),
    ("ClientSideApplyMigration", Where::Application),
    ("CreateNamespace", Where::Application),
    ("Delete", Where::Both),
    ("FailOnSharedResource", Where::Application),
    ("Force", Where::Object),
    ("Prune", Where::Both),
    ("PruneLast", Where::Both),
    ("PrunePropagationPolicy", Where::Application),
    ("Replace", Where::Both),
    ("RespectIgnoreDifferences", Where::Application),
    ("ServerSideApply", Where::Both),
    ("SkipDryRunOnMissingResource", Where::Both),
    ("Validate", Where::Both),
];

/// Where the options of an object stand.
const IN_ANNOTATION: &str = "in the annotation argocd.argoproj.io/sync-options of an object only";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Application,
    Object,
    Both,
}

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let version = view.facts.live.settings().version();
    // A hook in two phases has two changes.
    let mut seen = BTreeSet::new();
    for (plan, change) in view.changes() {
        let Some(target) = &change.target else { continue };
        let before = change.base.as_ref().and_then(|base| annotation(&base.object, SYNC_OPTIONS));
        for entry in list(annotation(&target.object, SYNC_OPTIONS)) {
            let Some(problem) = problem(entry, None) else { continue };
            if !seen.insert((&plan.application.id, &change.key, entry)) {
                continue;
            }
            let message = sentence(entry, &change.key.named(), &problem);
            let draft = Draft::of_change(plan, change, message).discriminator(entry).introduced(!list(before).any(|old| old == entry)).at(
                Some(&target.origin),
                POINTER,
                "has no effect",
            );
            findings.push(draft);
        }
    }
    for plan in view.facts.plans {
        let entry = view.entry(&plan.application.id);
        let Some(head) = entry.and_then(|entry| entry.head.as_ref()) else { continue };
        let before = entry.and_then(|entry| entry.base.as_ref()).map(|base| &base.application.spec.sync_policy.sync_options);
        for option in &head.application.spec.sync_policy.sync_options.0 {
            let Some(problem) = problem(option, Some(version)) else { continue };
            let draft = Draft::of_application(&head.application, sentence(option, &app_name(plan), &problem))
                .discriminator(option.clone())
                .introduced(!before.is_some_and(|before| before.has(option)));
            findings.push(draft.at(Some(&head.manifest.origin), "/spec/syncPolicy/syncOptions", "has no effect"));
        }
    }
}

fn sentence(option: &str, whose: &str, problem: &Problem) -> String {
    match problem {
        Problem::Unknown(hint) => format!("Argo CD does not know the sync option `{option}` of {whose}, so it has no effect{hint}"),
        Problem::Elsewhere(place) => format!("the sync option `{option}` of {whose} has no effect here: it works {place}"),
    }
}

enum Problem {
    /// With what is meant.
    Unknown(String),
    /// With where it works.
    Elsewhere(&'static str),
}

/// What is wrong with an option of an object, or of an Application in a version. Argo CD compares whole entries, so case and blanks count.
fn problem(entry: &str, application_in: Option<Version>) -> Option<Problem> {
    if entry.is_empty() {
        return None;
    }
    let (name, value) = entry.split_once(['=', ':']).unwrap_or((entry, ""));
    let plain = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    if plain(name) == "ignoreextraneous" {
        return Some(Problem::Elsewhere("in the annotation argocd.argoproj.io/compare-options of the object"));
    }
    let Some((known, place)) = KNOWN.into_iter().find(|(known, _)| plain(known) == plain(name)) else {
        return Some(Problem::Unknown(if plain(name) == "retry" {
            "; retries are set in spec.syncPolicy.retry".to_owned()
        } else {
            String::new()
        }));
    };
    match (place, application_in) {
        (Where::Application, None) => return Some(Problem::Elsewhere("in spec.syncPolicy.syncOptions of the Application only")),
        (Where::Object, Some(_)) => return Some(Problem::Elsewhere(IN_ANNOTATION)),
        (Where::Both, Some(version)) if matches!(known, "Prune" | "Delete") && !version.reads_application_prune_and_delete() => {
            return Some(Problem::Elsewhere("on an Application from Argo CD 3.4 on, and before only in the object's annotation"));
        }
        (Where::Both, Some(version)) if known == "SkipDryRunOnMissingResource" && !version.reads_application_skip_dry_run() => {
            return Some(Problem::Elsewhere("on an Application from Argo CD 3.1 on, and before only in the object's annotation"));
        }
        _ => {}
    }
    if entry.strip_prefix(known).is_none_or(|rest| !rest.starts_with('=')) {
        return Some(Problem::Unknown(format!("; it is spelt `{known}=…`")));
    }
    let values: &[&str] = match known {
        "PrunePropagationPolicy" => &["foreground", "background", "orphan"],
        "Prune" | "Delete" => &["true", "false", "confirm"],
        _ => &["true", "false"],
    };
    (!values.contains(&value)).then(|| Problem::Unknown(format!("; its values are {}", values.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use serde_json::json;

    fn on_object(options: &str) -> Vec<Finding> {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "shop", "annotations": {SYNC_OPTIONS: options}}});
        Run { plans: vec![plan("web", vec![added(map)])], ..Run::default() }.judge(&["unknown-sync-option"])
    }

    #[test]
    fn an_option_that_is_unknown_or_stands_in_the_wrong_place_is_named() {
        for (options, end) in [
            ("ApplyOnly=true", "so it has no effect"),
            ("Retry=true", "retries are set in spec.syncPolicy.retry"),
            ("serverSideApply=true", "it is spelt `ServerSideApply=…`"),
            ("Replace: true", "it is spelt `Replace=…`"),
            ("Replace=True", "its values are true, false"),
            ("CreateNamespace=true", "it works in spec.syncPolicy.syncOptions of the Application only"),
            ("IgnoreExtraneous", "it works in the annotation argocd.argoproj.io/compare-options of the object"),
        ] {
            let found = on_object(options);
            assert_eq!(found.len(), 1, "{options}");
            assert!(found[0].message.ends_with(end), "{}", found[0].message);
        }
    }

    #[test]
    fn known_options_are_fine() {
        assert!(on_object("Prune=false, Delete=confirm,Validate=false,ServerSideApply=true,Replace=true,Force=true").is_empty());
        assert!(on_object("").is_empty());
    }

    #[test]
    fn some_options_of_an_application_are_read_from_a_version_on() {
        let works = |option: &str, minor: u16| problem(option, Some(Version { major: 3, minor })).is_none();
        assert_eq!([works("Prune=false", 3), works("Prune=false", 4), works("Delete=false", 3)], [false, true, false]);
        assert_eq!([0, 1].map(|minor| works("SkipDryRunOnMissingResource=true", minor)), [false, true]);
    }

    #[test]
    fn options_of_an_application_are_looked_at_as_well() {
        let object = |options: &[&str]| {
            let mut object = application_object("web");
            object["spec"]["syncPolicy"] = json!({"syncOptions": options});
            object
        };
        let run = |base: &[&str], head: &[&str]| {
            let inventory = inventory([(Some(object(base)), Some(object(head)), None, None)]);
            let found = Run { plans: vec![plan("web", Vec::new())], inventory, ..Run::default() }.judge(&["unknown-sync-option"]);
            found.into_iter().map(|finding| (finding.introduced, finding.message)).collect::<Vec<_>>()
        };
        assert!(run(&[], &["CreateNamespace=true", "PrunePropagationPolicy=foreground", "RespectIgnoreDifferences=true"]).is_empty());
        let forced = run(&[], &["Force=true"]);
        assert!(forced[0].1.ends_with("it works in the annotation argocd.argoproj.io/sync-options of an object only"), "{}", forced[0].1);
        for misspelt in ["prune=false", "Prune=False", "Prune = false", "Prune=false ", "delete=false"] {
            assert_eq!(run(&[], &[misspelt]).len(), 1, "{misspelt}");
        }
        let found = run(&["Other=true"], &["Other=true", "CreateNameSpace=true"]);
        assert_eq!(found.iter().map(|(introduced, _)| *introduced).collect::<Vec<_>>(), [true, false]);
        assert!(found[0].1.ends_with("it is spelt `CreateNamespace=…`"), "{}", found[0].1);
    }
}
