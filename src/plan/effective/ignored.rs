//! What an ApplicationSet leaves alone on its live Applications (`spec.ignoreApplicationDifferences`).
//!
//! Takes the set; hands on [`SetIgnores`], which puts back on an updated Application what the set ignores.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::argocd::ApplicationSet;
use crate::argocd::names::GROUP;
use crate::plan::diff::{IgnoreError, IgnoreRules};

/// What a set leaves alone on its live Applications.
#[derive(Debug, Default)]
pub enum SetIgnores {
    /// Nothing.
    #[default]
    Nothing,
    /// The fields that these rules select.
    Fields(Box<IgnoreRules>),
    /// Argo CD fails on a rule, and updates none of the live Applications.
    Fails(String),
    /// Argo CD runs an expression that presync does not.
    NotRun(String),
}

impl SetIgnores {
    /// Of a set.
    pub fn of(set: &ApplicationSet) -> Self {
        let ignored = &set.spec.ignore_application_differences;
        if ignored.is_empty() {
            return Self::Nothing;
        }
        let rule = |name: &str, pointers: &[String], expressions: &[String]| json!({"group": GROUP, "kind": "Application", "name": name, "jsonPointers": pointers, "jqPathExpressions": expressions});
        let rules: Vec<Value> = ignored.iter().map(|one| rule(&one.name, &one.json_pointers, &one.jq_path_expressions)).collect();
        match IgnoreRules::compile(Some(&Value::Array(rules)), &BTreeMap::new()) {
            Ok(rules) => match rules.first_not_run() {
                Some(error) => Self::NotRun(error.to_string()),
                None => Self::Fields(Box::new(rules)),
            },
            Err(error @ IgnoreError::Unbounded { .. }) => Self::NotRun(error.to_string()),
            Err(error) => Self::Fails(error.to_string()),
        }
    }

    /// The updated Application with what is ignored as it is live.
    ///
    /// Source: Argo CD `applicationset/utils/createOrUpdate.go:CreateOrUpdate` and `applyIgnoreDifferences`: the patch is made between both without
    /// the ignored fields. A list that differs apart from them is replaced whole, and what was ignored in it is lost.
    pub(super) fn keep_live(&self, updated: Value, live: &Value) -> Value {
        match self {
            Self::Nothing => updated,
            Self::Fields(rules) => rules.patched_without(&updated, live),
            Self::Fails(_) | Self::NotRun(_) => live.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plan::effective::after_set;

    fn set(ignored: Value) -> ApplicationSet {
        let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "set", "namespace": "argocd"},
            "spec": {"generators": [], "template": {"metadata": {}, "spec": {}}, "ignoreApplicationDifferences": ignored}});
        ApplicationSet::read(Arc::new(object), "argocd").unwrap()
    }

    fn application(spec: Value) -> Value {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "shop", "namespace": "argocd"}, "spec": spec})
    }

    /// The spec of a live Application once the set has updated it.
    fn spec_after(ignored: Value, generated: Value, live: Value) -> Value {
        let set = set(ignored);
        after_set(&application(generated), &application(live), &set, &SetIgnores::of(&set))["spec"].clone()
    }

    #[test]
    fn a_field_that_a_jq_expression_selects_keeps_its_live_value_and_others_are_reset() {
        let (generated, live) =
            (json!({"source": {"targetRevision": "main", "path": "a"}}), json!({"source": {"targetRevision": "fix", "path": "b"}}));
        let after = spec_after(json!([{"jqPathExpressions": [".spec.source.targetRevision"]}]), generated.clone(), live.clone());
        assert_eq!(after, json!({"source": {"targetRevision": "fix", "path": "a"}}));
        let after = spec_after(json!([{"jsonPointers": ["/spec/source/targetRevision"]}]), generated.clone(), live.clone());
        assert_eq!(after, json!({"source": {"targetRevision": "fix", "path": "a"}}));
        assert_eq!(
            spec_after(json!([{"name": "other", "jsonPointers": ["/spec/source/targetRevision"]}]), generated.clone(), live),
            generated
        );
    }

    #[test]
    fn a_field_that_is_live_only_goes_unless_it_is_ignored() {
        let (generated, live) = (json!({"source": {"path": "a"}}), json!({"source": {"path": "a"}, "syncPolicy": {"automated": {}}}));
        assert_eq!(spec_after(json!([{"name": "shop", "jqPathExpressions": [".spec.syncPolicy"]}]), generated.clone(), live.clone()), live);
        assert_eq!(spec_after(json!([]), generated.clone(), live), generated);
    }

    #[test]
    fn what_is_ignored_in_a_list_stays_as_long_as_the_list_is_otherwise_the_same() {
        let sources =
            |revision: &str, path: &str| json!({"sources": [{"repoURL": "a", "targetRevision": revision}, {"repoURL": "b", "path": path}]});
        let ignored = json!([{"jqPathExpressions": [".spec.sources[] | select(.repoURL == \"a\").targetRevision"]}]);
        assert_eq!(spec_after(ignored.clone(), sources("main", "x"), sources("fix", "x")), sources("fix", "x"));
        let replaced = spec_after(ignored, sources("main", "y"), sources("fix", "x"));
        assert_eq!(replaced, json!({"sources": [{"repoURL": "a"}, {"repoURL": "b", "path": "y"}]}));
    }

    #[test]
    fn an_expression_that_cannot_be_parsed_fails_and_one_without_end_is_not_run() {
        assert!(matches!(SetIgnores::of(&set(json!([{"jqPathExpressions": [".spec["]}]))), SetIgnores::Fails(_)));
        assert!(matches!(SetIgnores::of(&set(json!([{"jqPathExpressions": ["repeat(.spec)"]}]))), SetIgnores::NotRun(_)));
        let live = json!({"source": {"path": "b"}});
        assert_eq!(spec_after(json!([{"jqPathExpressions": [".spec["]}]), json!({"source": {"path": "a"}}), live.clone()), live);
    }
}
