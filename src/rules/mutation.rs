//! Spoils a rule while the tests run, so that `scripts/mutation-check` can see whether they notice.
//!
//! `PRESYNC_MUTATION=silent:RULE` takes a rule's findings away; `loud:RULE` turns its condition round for everything that it is silent about.

use std::collections::BTreeSet;

use super::{Facts, RuleSet};
use crate::finding::{Finding, Severity};

/// Applies the mutation of the environment to the findings of rules that are in the set.
pub(super) fn apply(findings: &mut Vec<Finding>, facts: &Facts<'_>, rules: &RuleSet, candidates: impl Fn(&str) -> bool) {
    let Ok(mutation) = std::env::var("PRESYNC_MUTATION") else { return };
    let (kind, id) = mutation.split_once(':').unwrap();
    if !rules.rules.contains_key(id) || !candidates(id) {
        return;
    }
    if kind == "silent" {
        findings.retain(|finding| &*finding.rule != id);
        return;
    }
    let spoken: BTreeSet<_> =
        findings.iter().filter(|finding| &*finding.rule == id).filter_map(|finding| finding.resource.clone()).collect();
    let changes = facts.plans.iter().flat_map(|plan| plan.changes.iter().map(move |change| (plan, change)));
    let mut more: Vec<Finding> = changes
        .filter(|(_, change)| !spoken.contains(&change.key))
        .map(|(plan, change)| loud(id, Some(plan.application.id.to_string()), Some(change.key.clone())))
        .collect();
    if more.is_empty() && spoken.is_empty() {
        more.push(loud(id, None, None));
    }
    findings.append(&mut more);
}

fn loud(rule: &str, application: Option<String>, resource: Option<crate::manifest::ResourceKey>) -> Finding {
    Finding { severity: Severity::Warning, message: "turned round".to_owned(), application, resource, ..super::fixture::finding(rule, "") }
}
