//! `kind-not-served`: the cluster does not serve a kind, so the whole sync is refused.

use super::draft::Findings;
use super::facts::{View, app_name, draft_of_condition, of_conditions};
use crate::manifest::ResourceKey;
use crate::plan::KIND_WITHDRAWN;
use crate::snapshot::kinds::is_built_in;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, condition) in of_conditions(view, "KindNotServed") {
        let message = format!(
            "{} and {} does not install it: the whole sync is refused, also for objects that have nothing to do with it",
            condition.message.trim_end_matches('.'),
            app_name(plan)
        );
        let key = condition.key.as_ref();
        let other = key.and_then(|key| Some((key, view.facts.live.served_version(&plan.server, &key.group, &key.kind)?)));
        findings.push(match other {
            None => draft_of_condition(plan, condition, message, "/kind", "not served"),
            Some((key, version)) => {
                draft_of_condition(plan, condition, message, "/apiVersion", "not served").help(other_version(key, &version))
            }
        });
    }
    withdrawn(view, findings);
}

/// Objects in a version that the cluster serves no longer once a CustomResourceDefinition of the change is applied.
fn withdrawn(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, condition) in of_conditions(view, KIND_WITHDRAWN) {
        let message = format!(
            "{}: from then on the whole sync of {} is refused, also for objects that have nothing to do with it",
            condition.message.trim_end_matches('.'),
            app_name(plan)
        );
        let help = "Move the objects to a version that stays, and keep the old one in `spec.versions` with `served: true` until no Application \
                    renders it any more.";
        findings.push(draft_of_condition(plan, condition, message, "/apiVersion", "not served any more").help(help));
    }
}

/// What to do where the cluster has the kind in this version only.
fn other_version(key: &ResourceKey, version: &str) -> String {
    let served = if key.group.is_empty() { version.to_owned() } else { format!("{}/{version}", key.group) };
    let write = format!("Write a version that the cluster serves, `apiVersion: {served}`, with the fields of that version");
    if is_built_in(&key.group, &key.kind) {
        format!("{write}.")
    } else {
        format!("{write}, or let a CustomResourceDefinition that serves the version of the file be synced first.")
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use serde_json::json;

    /// The help where the cluster serves the kind of this group in version `v1` only, and where it points.
    fn help_on_another_version(group: &str, kind: &str) -> (String, String) {
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"},
            "spec": {"group": group, "names": {"kind": kind}, "scope": "Namespaced", "versions": [{"name": "v1", "served": true}]}});
        let mut refused = plan("svc", Vec::new());
        let mut not_served = condition("KindNotServed", "the cluster does not serve it, only v1", kind);
        not_served.key = Some(crate::manifest::ResourceKey::new(group, kind, "shop", "x"));
        refused.conditions = vec![not_served];
        let found = Run { plans: vec![refused], live: snapshot(&[definition]), ..Run::default() }.judge(&["kind-not-served"]);
        (found[0].help.clone(), found[0].places[0].pointer.clone())
    }

    #[test]
    fn of_a_kind_that_is_served_in_another_version_that_version_is_to_be_written() {
        let (help, pointer) = help_on_another_version("argoproj.io", "Application");
        assert_eq!(help, "Write a version that the cluster serves, `apiVersion: argoproj.io/v1`, with the fields of that version.");
        assert_eq!(pointer, "/apiVersion");
        let (help, _) = help_on_another_version("shop.test", "Shelf");
        assert!(help.contains("`apiVersion: shop.test/v1`") && help.contains("CustomResourceDefinition"), "{help}");
    }

    #[test]
    fn a_kind_that_the_cluster_does_not_serve_refuses_the_whole_sync() {
        let mut refused = plan("svc", Vec::new());
        refused.conditions = vec![condition("KindNotServed", "the cluster does not serve example.test/v1 Thing", "Thing")];
        let found = Run { plans: vec![refused, plan("other", Vec::new())], ..Run::default() }.judge(&["kind-not-served"]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "the cluster does not serve example.test/v1 Thing and `svc` does not install it: the whole sync is refused, also for objects that \
             have nothing to do with it"
        );
        assert_eq!(found[0].resource.as_ref().unwrap().to_string(), "Thing shop/x");
    }

    #[test]
    fn other_remarks_are_left_to_other_rules() {
        let mut shared = plan("svc", Vec::new());
        shared.conditions = vec![condition("SharedResourceWarning", "two Applications have it", "ConfigMap")];
        assert!(Run { plans: vec![shared], ..Run::default() }.judge(&["kind-not-served"]).is_empty());
    }
}
