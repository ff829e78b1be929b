//! `unknown-argocd-annotation`: an annotation that is nearly one of Argo CD's, and that Argo CD takes no notice of.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::draft::{Draft, Findings};
use super::facts::View;
use crate::manifest::{Manifest, pointer::escape};

const PREFIX: &str = "argocd.argoproj.io/";

/// Every annotation and label of Argo CD and its operator behind the prefix.
///
/// Source: Argo CD `common/common.go`, `gitops-engine/pkg/sync/common/types.go`, `docs/user-guide/annotations-and-labels.md`.
const KNOWN: [&str; 28] = [
    "application-set-refresh",
    "auto-label-cluster-info",
    "client-side-apply-migration-manager",
    "compare-options",
    "deletion-approved",
    "hook",
    "hook-delete-policy",
    "hook-finalizer",
    "hydrate",
    "hydrate-timestamp",
    "ignore-default-links",
    "ignore-healthcheck",
    "ignore-resource-updates",
    "ignore-restart-policy",
    "installation-id",
    "instance",
    "kubernetes-version",
    "managed-by",
    "managed-by-cluster-argocd",
    "managed-by-url",
    "manifest-generate-paths",
    "refresh",
    "refresh-timestamp",
    "secret-type",
    "skip-reconcile",
    "sync-options",
    "sync-wave",
    "tracking-id",
];

/// Prefixes that are written in place of the right one.
const WRONG_PREFIXES: [&str; 4] = ["argoproj.io/", "argo-cd.argoproj.io/", "argocd.io/", "argocd.argoprj.io/"];

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    // A hook in two phases has two changes.
    let mut seen = BTreeSet::new();
    for (plan, change) in view.changes() {
        let Some(target) = &change.target else { continue };
        let before = change.base.as_deref().and_then(annotations);
        for key in annotations(target).into_iter().flat_map(Map::keys) {
            let Some(meant) = meant_by(key) else { continue };
            if !seen.insert((&plan.application.id, &change.key, key)) {
                continue;
            }
            let message = format!(
                "Argo CD does not know the annotation `{key}` of {}, so it has no effect; `{PREFIX}{meant}` looks like what is meant",
                change.key.named()
            );
            let draft = Draft::of_change(plan, change, message)
                .discriminator(key.clone())
                .introduced(!before.is_some_and(|before| before.contains_key(key)))
                .at(Some(&target.origin), &format!("/metadata/annotations/{}", escape(key)), "not known");
            findings.push(draft);
        }
    }
}

fn annotations(manifest: &Manifest) -> Option<&Map<String, Value>> {
    manifest.object.pointer("/metadata/annotations")?.as_object()
}

/// The annotation that a key that Argo CD does not know is nearly.
fn meant_by(key: &str) -> Option<&'static str> {
    if let Some(name) = WRONG_PREFIXES.iter().find_map(|prefix| key.strip_prefix(prefix)) {
        return KNOWN.into_iter().find(|known| *known == name);
    }
    let name = key.strip_prefix(PREFIX)?;
    if KNOWN.contains(&name) {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', '.'], "");
    let name = plain(name);
    let near = KNOWN.into_iter().map(|known| (strsim::levenshtein(&plain(known), &name), known)).min()?;
    // Two letters of a long word are a slip, and of a short one another word.
    (near.0 <= (name.len() / 5).min(2)).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use serde_json::json;
    use strsim::levenshtein as distance;

    #[test]
    fn slips_are_named_with_what_is_meant_and_other_words_are_not() {
        for (key, meant) in [
            ("argocd.argoproj.io/syncwave", Some("sync-wave")),
            ("argocd.argoproj.io/Sync-Wave", Some("sync-wave")),
            ("argocd.argoproj.io/sync-option", Some("sync-options")),
            ("argocd.argoproj.io/hooks", Some("hook")),
            ("argocd.argoproj.io/hook-deletion-policy", None),
            ("argoproj.io/hook", Some("hook")),
            ("argoproj.io/something", None),
            ("argocd.argoproj.io/sync-wave", None),
            ("argocd.argoproj.io/our-own-note", None),
            ("argocd.argoproj.io/book", None),
            ("example.test/sync-wave", None),
        ] {
            assert_eq!(meant_by(key), meant, "{key}");
        }
    }

    #[test]
    fn the_distance_counts_letters() {
        assert_eq!([distance("", "abc"), distance("abc", "abc"), distance("abc", "abd"), distance("kitten", "sitting")], [3, 0, 1, 3]);
    }

    #[test]
    fn a_slip_points_at_the_annotation() {
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "migrate", "namespace": "shop",
            "annotations": {"argocd.argoproj.io/syncwave": "1"}}});
        let mut other = job.clone();
        other["metadata"] = json!({"name": "other", "namespace": "shop", "annotations": {"argocd.argoproj.io/our-own-note": "1"}});
        let plans = vec![plan("web", vec![added(job), added(other)])];
        let found = Run { plans, ..Run::default() }.judge(&["unknown-argocd-annotation"]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "Argo CD does not know the annotation `argocd.argoproj.io/syncwave` of Job shop/migrate, so it has no effect; \
             `argocd.argoproj.io/sync-wave` looks like what is meant"
        );
        assert_eq!(found[0].places[0].pointer, "/metadata/annotations/argocd.argoproj.io~1syncwave");
    }
}
