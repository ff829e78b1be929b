//! One event gives one finding: which rule's finding stays where several speak of the same object.

use std::collections::BTreeMap;

use crate::finding::{Finding, Severity};
use crate::manifest::ResourceKey;

/// A rule, and the rules that say nothing about an object that it speaks of.
const TABLE: &[(&str, &[&str])] = &[
    ("application-renamed", &["cascade-delete-application", "orphaned-by-app-removal", "mass-prune", "unmanaged-application"]),
    ("definition-too-late", &["prune-off-leftover"]),
    ("duplicate-application-name", &["destination-changed"]),
    (
        "moved-between-apps",
        &[
            "protection-not-live",
            "protection-misspelled",
            "protection-misplaced",
            "stateful-identity-changed",
            "prune-persistent-data",
            "prune-custom-resource",
            "prune-collects-dependents",
            "prune-referenced-object",
            "prune-namespace",
            "prune-off-leftover",
            "pvc-unprotected",
            "root-prunes-itself",
        ],
    ),
    ("prune-unrendered", &["protection-misplaced", "prune-persistent-data", "prune-custom-resource"]),
    (
        "protection-misspelled",
        &[
            "unknown-sync-option",
            "protection-not-live",
            "protection-misplaced",
            "prune-persistent-data",
            "prune-namespace",
            "prune-custom-resource",
        ],
    ),
    ("protection-not-live", &["protection-misplaced", "prune-persistent-data", "prune-namespace", "prune-custom-resource"]),
    ("protection-misplaced", &["prune-persistent-data", "prune-custom-resource"]),
    ("root-prunes-itself", &["cascade-delete-application", "orphaned-by-app-removal"]),
    ("stateful-identity-changed", &["prune-persistent-data"]),
    ("prune-collects-dependents", &["prune-custom-resource"]),
    ("nondeterministic-render", &["config-change-no-rollout", "live-edit-overwritten", "field-owned-by-other"]),
    ("hook-cannot-replace-live", &["immutable-field-changed"]),
    ("force-deletes-claim", &["pvc-unprotected"]),
    ("hook-deletes-data", &["pvc-unprotected"]),
    ("force-replace-stateful", &["immutable-field-changed", "pvc-unprotected", "prune-persistent-data"]),
    ("ignored-field-reset-on-sync", &["replicas-owned-by-autoscaler", "field-owned-by-other", "live-edit-overwritten"]),
    ("replicas-drop-to-default", &["replicas-owned-by-autoscaler", "field-owned-by-other", "live-edit-overwritten"]),
    ("replicas-owned-by-autoscaler", &["field-owned-by-other", "live-edit-overwritten"]),
    ("field-owned-by-other", &["live-edit-overwritten", "resources-owned-by-recommender"]),
];

/// Drops findings about an object that a more exact rule speaks of as well. What stays is as bad as the worst that it stands for.
pub(super) fn keep_most_exact(findings: &mut Vec<Finding>) {
    let mut spoken: BTreeMap<ResourceKey, BTreeMap<&'static str, Severity>> = BTreeMap::new();
    for finding in findings.iter() {
        if let Some(resource) = &finding.resource
            && let Some((winner, _)) = TABLE.iter().find(|(winner, _)| *winner == &*finding.rule)
        {
            spoken.entry(resource.clone()).or_default().insert(winner, finding.severity);
        }
    }
    findings.retain(|finding| {
        let Some(winners) = finding.resource.as_ref().and_then(|resource| spoken.get_mut(resource)) else { return true };
        let mut stays = true;
        for (winner, _) in TABLE.iter().filter(|(_, losers)| losers.contains(&&*finding.rule)) {
            if let Some(severity) = winners.get_mut(winner) {
                *severity = finding.severity.max(*severity);
                stays = false;
            }
        }
        stays
    });
    for finding in findings {
        let raised = finding.resource.as_ref().and_then(|resource| spoken.get(resource)?.get(&*finding.rule));
        finding.severity = raised.map_or(finding.severity, |raised| *raised);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleSet;
    use crate::rules::fixture::finding;

    fn kept(found: &[(&str, &str)]) -> Vec<String> {
        let mut findings = found.iter().map(|(rule, name)| finding(rule, name)).collect();
        keep_most_exact(&mut findings);
        findings.iter().map(|finding| finding.rule.to_string()).collect()
    }

    #[test]
    fn the_more_exact_rule_stays_alone_on_an_object() {
        assert_eq!(kept(&[("prune-persistent-data", "a"), ("protection-misspelled", "a")]), ["protection-misspelled"]);
    }

    #[test]
    fn other_objects_and_other_rules_are_not_touched() {
        let found = [("prune-persistent-data", "a"), ("protection-misspelled", "b"), ("mass-prune", "b")];
        assert_eq!(kept(&found), found.map(|(rule, _)| rule));
    }

    #[test]
    fn the_table_names_rules_that_exist_and_nobody_beats_himself() {
        let rules = RuleSet::builtin().unwrap();
        for (winner, losers) in TABLE {
            for id in losers.iter().chain([winner]) {
                assert!(rules.definition(id).is_some(), "{id}");
            }
            assert!(!losers.contains(winner), "{winner}");
        }
    }
}
