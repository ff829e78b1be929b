//! Findings that somebody has waived, with a reason.
//!
//! Takes findings; marks those that an annotation or a comment suppresses. What the change under review adds itself does not count: a
//! waiver has to stand in Git, or on the live object, before.

use serde_json::Value;

use super::facts::View;
use crate::argocd::AppId;
use crate::finding::{Finding, Suppression};
use crate::manifest::annotation;

/// The annotation on an object or Application: `rule: reason[, rule: reason]`.
pub const ANNOTATION: &str = "presync.dev/ignore";

/// Marks the findings that an annotation on their object or Application suppresses.
pub(super) fn by_annotation(findings: &mut [Finding], view: &View<'_>) {
    for finding in findings {
        let reason = carriers(finding, view).into_iter().find_map(|object| reason(annotation(object, ANNOTATION)?, &finding.rule));
        finding.suppressed = reason.map(|reason| Suppression { by: "comment", reason, expires: None });
    }
}

/// The objects whose annotation counts: the object as it was in Git and as it is live, then the Application likewise.
fn carriers<'a>(finding: &Finding, view: &View<'a>) -> Vec<&'a Value> {
    let mut found = Vec::new();
    if let Some(key) = &finding.resource {
        for (_, change) in view.changes_of(key) {
            found.extend(change.base.as_ref().map(|base| &*base.object));
            found.extend(change.live.as_ref().map(|live| live.object()));
        }
    }
    if let Some((namespace, name)) = finding.application.as_deref().and_then(|application| application.split_once('/'))
        && let Some(entry) = view.entry(&AppId::new(namespace, name))
    {
        found.extend(entry.base.as_ref().map(|base| &*base.manifest.object));
        found.extend(entry.live.as_ref().map(|(_, live)| live.object()));
    }
    found
}

/// The reason that an annotation's text gives for a rule. Without a reason it does not count.
fn reason(text: &str, rule: &str) -> Option<String> {
    text.split(',').find_map(|entry| {
        let (name, reason) = entry.split_once(':')?;
        let reason = reason.trim();
        (name.trim() == rule && !reason.is_empty()).then(|| reason.to_owned())
    })
}

/// The reason that a line's comment `# presync: ignore[rule, …] reason` gives for a rule.
pub fn reason_in_comment(line: &str, rule: &str) -> Option<String> {
    let (_, comment) = line.split_once("# presync: ignore[")?;
    let (rules, reason) = comment.split_once(']')?;
    let reason = reason.trim();
    (rules.split(',').any(|name| name.trim() == rule) && !reason.is_empty()).then(|| reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::plan::{Action, Reason};
    use serde_json::json;

    fn claim(annotations: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "shop", "annotations": annotations}})
    }

    fn suppressed(base: Value, live: Value) -> Option<Suppression> {
        let change = removed_as(base, live, Action::Prune, Reason::RemovedFromGit { automated: true });
        let found = Run { plans: vec![plan("a", vec![change])], ..Run::default() }.judge(&["prune-persistent-data"]);
        found[0].suppressed.clone()
    }

    #[test]
    fn an_annotation_with_a_reason_suppresses_the_rule_that_it_names() {
        let waived = claim(json!({ANNOTATION: "pvc-unprotected: x, prune-persistent-data: a cache, nothing else"}));
        assert_eq!(suppressed(waived.clone(), claim(json!({}))).unwrap().reason, "a cache");
        assert!(suppressed(claim(json!({})), waived).is_some());
        for other in ["prune-persistent-data", "prune-persistent-data:", "prune-namespace: x"] {
            assert_eq!(suppressed(claim(json!({ANNOTATION: other})), claim(json!({}))), None, "{other}");
        }
    }

    #[test]
    fn a_comment_names_rules_and_gives_a_reason() {
        assert_eq!(reason_in_comment("replicas: 2  # presync: ignore[a, b] fixed size", "b").as_deref(), Some("fixed size"));
        assert_eq!(reason_in_comment("# presync: ignore[a]", "a"), None);
        assert_eq!(reason_in_comment("# presync: ignore[a] why", "b"), None);
    }
}
