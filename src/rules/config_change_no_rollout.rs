//! `config-change-no-rollout`: the content of a ConfigMap or Secret changes, and the pods that read it at their start are not restarted.

use std::collections::BTreeSet;

use super::draft::{Draft, Findings};
use super::facts::{References, View, enumerate, has_reloader, is_restarted, server_of};
use crate::manifest::ResourceKey;
use crate::plan::{Action, Change};
use serde_json::Value;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let mut references = None;
    for (plan, change) in view.changes() {
        if !changes_content(change) || has_reloader(change.target_object(), &change.key.name) {
            continue;
        }
        let references = references.get_or_insert_with(|| References::new(view));
        let mut readers = BTreeSet::new();
        for consumer in references.of(server_of(plan, change), &change.key) {
            let reads_it = consumer.reference.reads.as_deref().is_none_or(|key| changes_key(change, key));
            let is_stale = reads_it && consumer.reference.way.is_fixed_at_start() && runs_on(&consumer.key);
            if is_stale && !is_restarted(view, plan, change, &consumer.key) {
                readers.insert(format!("{} reads it through {}", consumer.key.named(), consumer.reference.way.as_str()));
            }
        }
        if readers.is_empty() {
            continue;
        }
        let readers: Vec<String> = readers.into_iter().collect();
        let message = format!(
            "{} changes, but {} and no pod template changes with it: running pods keep the old values until somebody restarts them",
            change.key.named(),
            enumerate(&readers, 4)
        );
        let pointer = change.diff.iter().map(|field| field.path.as_str()).find(|path| is_content(path)).unwrap_or("/data");
        findings.push(Draft::of_change(plan, change, message).at(change.target.as_ref().map(|target| &target.origin), pointer, "changes"));
    }
}

/// Whether the change under review alters what pods read.
fn changes_content(change: &Change) -> bool {
    let is_read = change.key.is("", "ConfigMap") || change.key.is("", "Secret");
    let (Some(base), Some(target)) = (&change.base, &change.target) else { return false };
    let edited = ["data", "stringData", "binaryData"].iter().any(|field| base.object.get(field) != target.object.get(field));
    is_read && edited && matches!(change.action, Action::Update | Action::Replace | Action::Recreate)
}

/// Whether one key of it is another one afterwards.
fn changes_key(change: &Change, key: &str) -> bool {
    let (Some(base), Some(target)) = (&change.base, &change.target) else { return true };
    let value = |object: &Value, field: &str| object.get(field).and_then(|entries| entries.get(key)).cloned();
    ["data", "stringData", "binaryData"].iter().any(|field| value(&base.object, field) != value(&target.object, field))
}

fn is_content(pointer: &str) -> bool {
    ["/data", "/stringData", "/binaryData"].iter().any(|field| pointer.starts_with(field))
}

/// Whether pods of this kind run on and are not started anew by themselves.
fn runs_on(key: &ResourceKey) -> bool {
    matches!(&*key.kind, "Deployment" | "StatefulSet" | "DaemonSet")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::Reason;
    use serde_json::json;

    fn map(value: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "env", "namespace": "shop"}, "data": {"A": value}})
    }

    fn workload(kind: &str, checksum: &str, volume: bool) -> Value {
        let container =
            if volume { json!({"name": "main"}) } else { json!({"name": "main", "envFrom": [{"configMapRef": {"name": "env"}}]}) };
        json!({"apiVersion": if kind == "Job" { "batch/v1" } else { "apps/v1" }, "kind": kind, "metadata": {"name": "quote", "namespace": "shop", "annotations": {}},
            "spec": {"template": {"metadata": {"annotations": {"checksum/config": checksum}},
                "spec": {"containers": [container], "volumes": [{"name": "v", "configMap": {"name": if volume { "env" } else { "other" }}}]}}}})
    }

    fn run(base: Value, target: Value) -> Vec<Finding> {
        let update = changed(map("a"), map("b"), map("a"), Action::Update, Reason::Differs { fields: 1 });
        let action = if base == target { Action::None } else { Action::Update };
        let reader = changed(base.clone(), target, base, action, Reason::InSync);
        Run { plans: vec![plan("quote", vec![update, reader])], ..Run::default() }.judge(&["config-change-no-rollout"])
    }

    #[test]
    fn pods_that_read_the_content_at_their_start_keep_the_old_one() {
        let found = run(workload("Deployment", "1", false), workload("Deployment", "1", false));
        assert_eq!(
            found[0].message,
            "ConfigMap shop/env changes, but Deployment shop/quote reads it through envFrom and no pod template changes with it: running pods keep the old \
             values until somebody restarts them"
        );
    }

    #[test]
    fn a_changing_template_a_reloader_jobs_and_whole_volumes_are_fine() {
        assert!(run(workload("Deployment", "1", false), workload("Deployment", "2", false)).is_empty());
        let mut reloaded = workload("Deployment", "1", false);
        reloaded["metadata"]["annotations"]["reloader.stakater.com/auto"] = "true".into();
        assert!(run(reloaded.clone(), reloaded).is_empty());
        for (annotation, value, restarts) in [
            ("reloader.stakater.com/auto", "false", false),
            ("configmap.reloader.stakater.com/reload", "other, env", true),
            ("configmap.reloader.stakater.com/reload", "other", false),
        ] {
            let mut workload = workload("Deployment", "1", false);
            workload["metadata"]["annotations"][annotation] = value.into();
            assert_eq!(run(workload.clone(), workload).is_empty(), restarts, "{annotation}: {value}");
        }
        assert!(run(workload("Job", "1", false), workload("Job", "1", false)).is_empty());
        assert!(run(workload("Deployment", "1", true), workload("Deployment", "1", true)).is_empty());
    }

    #[test]
    fn pods_that_read_another_key_and_workloads_without_pods_are_fine() {
        let with = |edit: &dyn Fn(&mut Value)| {
            let mut workload = workload("Deployment", "1", true);
            workload["spec"]["template"]["spec"]["volumes"] = json!([{"name": "v", "configMap": {"name": "env"}}]);
            edit(&mut workload);
            run(workload.clone(), workload).len()
        };
        let env = |key: &str| json!([{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "env", "key": key}}}]);
        let mount = |path: &str| json!([{"name": "v", "mountPath": "/x", "subPath": path}]);
        let container = "/spec/template/spec/containers/0";
        let set = |workload: &mut Value, field: &str, value: Value| workload.pointer_mut(container).unwrap()[field] = value;
        assert_eq!((with(&|one| set(one, "env", env("A"))), with(&|one| set(one, "env", env("B")))), (1, 0));
        assert_eq!((with(&|one| set(one, "volumeMounts", mount("A"))), with(&|one| set(one, "volumeMounts", mount("B")))), (1, 0));
        assert_eq!(
            with(&|one| {
                set(one, "env", env("A"));
                one["spec"]["replicas"] = 0.into();
            }),
            0
        );
    }
}
