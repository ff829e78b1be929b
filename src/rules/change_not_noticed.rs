//! `change-not-noticed`: an edit in Git that Argo CD's comparison does not see, so that no sync starts because of it.

use serde_json::{Map, Value};

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, enumerate};
use crate::manifest::pointer::escape;
use crate::plan::{Action, Change, SyncMode, SyncPlan};

/// Maps without defaults: what leaves Git and is live stays there.
const PLAIN_MAPS: [&str; 4] = ["/data", "/binaryData", "/metadata/labels", "/metadata/annotations"];

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let is_compared = |plan: &&SyncPlan| matches!(plan.sync.mode, SyncMode::Automated | SyncMode::Manual | SyncMode::Blocked);
    for plan in view.facts.plans.iter().filter(|plan| plan.affected).filter(is_compared) {
        for change in plan.changes.iter().filter(|change| change.action == Action::None) {
            let (Some(base), Some(target), Some(live)) = (&change.base, &change.target, change.live_object()) else { continue };
            if base.object == target.object {
                continue;
            }
            let kept = kept_keys(&base.object, &target.object, live);
            let kept: Vec<String> = kept.into_iter().filter(|pointer| !view.ignores(plan, live, pointer)).collect();
            if let Some((pointer, key)) = repeated(&change.key.kind, &base.object, &target.object) {
                let message = format!(
                    "Argo CD does not notice this edit of {}: {pointer} has {key} more than once, and the comparison looks at only one of them; no sync of {} starts because of it",
                    change.key.named(),
                    app_name(plan)
                );
                findings.push(draft(plan, change, message, &pointer));
            } else if let Some(first) = kept.first() {
                let words = if kept.len() == 1 { ["leaves", "stays", "it"] } else { ["leave", "stay", "them"] };
                let [leaves, stays, them] = words;
                let message = format!(
                    "{} {leaves} Git, but {stays} on the live {}: nothing there says that Argo CD applied {them}, so that {} does not notice",
                    enumerate(&kept, 3),
                    change.key.named(),
                    app_name(plan)
                );
                findings.push(draft(plan, change, message, first));
            }
        }
    }
}

fn draft(plan: &SyncPlan, change: &Change, message: String, pointer: &str) -> Draft {
    let draft = Draft::of_change(plan, change, message).introduced(true);
    draft.at(change.origin(), pointer, "not noticed")
}

/// Keys that leave Git while the live object has them with the value that Git had.
fn kept_keys(base: &Value, target: &Value, live: &Value) -> Vec<String> {
    fn map<'v>(object: &'v Value, pointer: &str) -> Option<&'v Map<String, Value>> {
        object.pointer(pointer).and_then(Value::as_object)
    }
    let mut found = Vec::new();
    for pointer in PLAIN_MAPS {
        for (key, value) in map(base, pointer).into_iter().flatten() {
            let in_target = map(target, pointer).is_some_and(|map| map.contains_key(key));
            if !in_target && map(live, pointer).and_then(|map| map.get(key)) == Some(value) {
                found.push(format!("{pointer}/{}", escape(key)));
            }
        }
    }
    found
}

/// A list of a built-in kind, edited by the change, in which one key stands more than once, with that key.
///
/// Source: Kubernetes `k8s.io/api/core/v1/types.go` (`patchMergeKey` of ports and env).
fn repeated(kind: &str, base: &Value, target: &Value) -> Option<(String, String)> {
    let mut lists = Vec::new();
    if kind == "Service" {
        lists.push(("/spec/ports".to_owned(), "port"));
    }
    for template in ["/spec/template", "/spec/jobTemplate/spec/template"] {
        for containers in ["containers", "initContainers"] {
            let pointer = format!("{template}/spec/{containers}");
            for index in 0..target.pointer(&pointer).and_then(Value::as_array).map_or(0, Vec::len) {
                lists.push((format!("{pointer}/{index}/env"), "name"));
                lists.push((format!("{pointer}/{index}/ports"), "containerPort"));
            }
        }
    }
    lists.into_iter().find_map(|(pointer, key)| {
        let items = target.pointer(&pointer).and_then(Value::as_array)?;
        if base.pointer(&pointer).and_then(Value::as_array) == Some(items) {
            return None;
        }
        let value = |item: &Value| item.get(key).cloned();
        let twice = items.iter().enumerate().find_map(|(index, item)| {
            value(item).filter(|wanted| items.iter().skip(index + 1).any(|other| other.get(key) == Some(wanted)))
        })?;
        let text = twice.as_str().map_or_else(|| twice.to_string(), str::to_owned);
        Some((pointer, format!("{key} {text}")))
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::Reason;
    use serde_json::json;

    fn run(base: Value, target: Value, live: Value, action: Action) -> Vec<Finding> {
        let change = changed(base, target, live, action, Reason::InSync);
        Run { plans: vec![plan("web", vec![change])], ..Run::default() }.judge(&["change-not-noticed"])
    }

    fn map(data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "shop"}, "data": data})
    }

    fn service(ports: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "dns", "namespace": "shop"}, "spec": {"ports": ports}})
    }

    #[test]
    fn a_key_that_leaves_git_and_stays_live_is_named() {
        let found = run(map(json!({"a": "1", "b": "2"})), map(json!({"a": "1"})), map(json!({"a": "1", "b": "2"})), Action::None);
        assert_eq!(
            found[0].message,
            "/data/b leaves Git, but stays on the live ConfigMap shop/x: nothing there says that Argo CD applied it, so that `web` does not notice"
        );
    }

    #[test]
    fn a_port_with_two_protocols_is_named() {
        let tcp = json!({"port": 53, "protocol": "TCP"});
        let both = json!([tcp, {"port": 53, "protocol": "UDP"}]);
        let found = run(service(json!([tcp])), service(both.clone()), service(json!([tcp])), Action::None);
        assert!(found[0].message.contains("/spec/ports has port 53 more than once"), "{}", found[0].message);
        assert!(run(service(both.clone()), service(both.clone()), service(json!([tcp])), Action::None).is_empty());
        assert!(run(service(json!([tcp])), service(both), service(json!([tcp])), Action::Update).is_empty());
    }

    #[test]
    fn what_is_not_live_either_and_what_the_plan_notices_are_fine() {
        let (both, one) = (map(json!({"a": "1", "b": "2"})), map(json!({"a": "1"})));
        assert!(run(both.clone(), one.clone(), one.clone(), Action::None).is_empty());
        assert!(run(both.clone(), one.clone(), both.clone(), Action::Update).is_empty());
        assert!(run(both.clone(), one, map(json!({"a": "1", "b": "9"})), Action::None).is_empty());
    }
}
