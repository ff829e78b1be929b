//! `ignore-rule-never-matches`: an entry of `ignoreDifferences` that cannot match anything, so that it protects nothing.

use std::collections::BTreeSet;

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, app_name};
use crate::argocd::pattern::Pattern;
use crate::manifest::ResourceKey;
use crate::plan::SyncPlan;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    // The template of a set is one mistake, however many Applications it makes.
    let mut sets = BTreeSet::new();
    for plan in view.facts.plans {
        let entry = view.entry(&plan.application.id);
        let Some(head) = entry.and_then(|entry| entry.head.as_ref()) else { continue };
        let before = entry.and_then(|entry| entry.base.as_ref()).map(|base| &base.application.spec.ignore_differences);
        for (index, rule) in head.application.spec.ignore_differences.iter().enumerate() {
            let Some(problem) = problem(rule, plan) else { continue };
            if head.generated.as_ref().is_some_and(|by| !sets.insert((&by.set, index))) {
                continue;
            }
            let message = format!("an entry of `ignoreDifferences` of {} matches nothing: {problem}", app_name(plan));
            let draft = Draft::of_application(&head.application, message)
                .discriminator(problem)
                .introduced(!before.is_some_and(|before| before.contains(rule)));
            findings.push(draft.at(Some(&head.manifest.origin), &format!("/spec/ignoreDifferences/{index}"), "matches nothing"));
        }
    }
}

/// Why an entry certainly matches nothing of what the Application has.
fn problem(rule: &Value, plan: &SyncPlan) -> Option<String> {
    of_pointers(rule).or_else(|| of_kind(rule, plan))
}

/// A text that is no JSON pointer.
///
/// Source: Argo CD `util/argo/normalizers/diff_normalizer.go`; RFC 6901 has no wildcards.
fn of_pointers(rule: &Value) -> Option<String> {
    let pointers = rule.get("jsonPointers").and_then(Value::as_array)?;
    pointers.iter().filter_map(Value::as_str).find_map(|pointer| {
        if !pointer.starts_with('/') {
            return Some(format!("`{pointer}` is no JSON pointer, which starts with `/`"));
        }
        let is_wildcard = |token: &str| token == "*" || token == "**" || token.ends_with("[]") || token.ends_with("[*]");
        pointer
            .split('/')
            .any(is_wildcard)
            .then(|| format!("`{pointer}` has a wildcard, which JSON pointers do not know; jqPathExpressions do"))
    })
}

/// An object of the Application that the entry was probably meant for, where it is for no object of it.
fn of_kind(rule: &Value, plan: &SyncPlan) -> Option<String> {
    let text = |field: &str| rule.get(field).and_then(Value::as_str).unwrap_or_default();
    let (group, kind) = (text("group"), text("kind"));
    if kind.is_empty() {
        return None;
    }
    let (groups, kinds) = (Pattern::new(group), Pattern::new(kind));
    let keys = || plan.changes.iter().map(|change| &change.key);
    if keys().any(|key| groups.matches(&key.group) && kinds.matches(&key.kind)) {
        return None;
    }
    let is_meant = |key: &&ResourceKey| key.kind.eq_ignore_ascii_case(kind) || format!("{}s", key.kind).eq_ignore_ascii_case(kind);
    let meant = keys().find(is_meant)?;
    let written = if group.is_empty() { format!("kind `{kind}` without a group") } else { format!("`{group}/{kind}`") };
    let right = if meant.group.is_empty() {
        format!("`kind: {}` without a group", meant.kind)
    } else {
        format!("`group: {}` and `kind: {}`", meant.group, meant.kind)
    };
    Some(format!("it is for {written}, and {} needs {right}", meant.named()))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use serde_json::json;

    fn run(before: Option<Value>, rule: Value) -> Vec<Finding> {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}});
        let object = |rules: Vec<Value>| {
            let mut object = application_object("web");
            object["spec"]["ignoreDifferences"] = json!(rules);
            object
        };
        let base = object(before.into_iter().collect());
        let inventory = inventory([(Some(base), Some(object(vec![rule])), None, None)]);
        let plans = vec![plan("web", vec![added(deployment)])];
        Run { plans, inventory, ..Run::default() }.judge(&["ignore-rule-never-matches"])
    }

    #[test]
    fn a_missing_group_a_misspelt_kind_and_what_is_no_pointer_are_named() {
        for (rule, end) in [
            (
                json!({"kind": "Deployment", "jsonPointers": ["/spec/replicas"]}),
                "it is for kind `Deployment` without a group, and Deployment shop/web needs `group: apps` and `kind: Deployment`",
            ),
            (
                json!({"group": "apps", "kind": "deployments", "jsonPointers": ["/spec/replicas"]}),
                "it is for `apps/deployments`, and Deployment shop/web needs `group: apps` and `kind: Deployment`",
            ),
            (
                json!({"group": "apps", "kind": "Deployment", "jsonPointers": ["spec.replicas"]}),
                "`spec.replicas` is no JSON pointer, which starts with `/`",
            ),
            (
                json!({"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/template/spec/containers/*/image"]}),
                "has a wildcard, which JSON pointers do not know; jqPathExpressions do",
            ),
        ] {
            let found = run(None, rule);
            assert_eq!((found.len(), found[0].introduced), (1, true));
            assert!(found[0].message.ends_with(end), "{}", found[0].message);
        }
    }

    #[test]
    fn entries_that_match_patterns_and_kinds_that_the_application_does_not_have_are_fine() {
        for rule in [
            json!({"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}),
            json!({"group": "*", "kind": "*", "jsonPointers": ["/spec/replicas"]}),
            json!({"group": "apps", "kind": "Deploy*", "jqPathExpressions": [".spec.replicas"]}),
            json!({"kind": "Secret", "jsonPointers": ["/data"]}),
            json!({"group": "admissionregistration.k8s.io", "kind": "MutatingWebhookConfiguration", "jsonPointers": ["/webhooks/0/clientConfig"]}),
        ] {
            assert!(run(None, rule.clone()).is_empty(), "{rule}");
        }
    }

    #[test]
    fn an_old_entry_is_not_new() {
        let rule = json!({"kind": "Deployment", "jsonPointers": ["/spec/replicas"]});
        assert!(!run(Some(rule.clone()), rule)[0].introduced);
    }
}
