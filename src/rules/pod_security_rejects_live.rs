//! `pod-security-rejects-live`: a label on a namespace refuses pods like those that run in it now.

use super::draft::{Draft, Findings};
use super::facts::{Level, View, enumerate, plural, pod_template, server_of, violation};
use crate::manifest::{ResourceKey, label};
use crate::plan::{Change, SyncPlan};
use crate::snapshot::LiveObject;

const LABEL: &str = "pod-security.kubernetes.io/enforce";
const POINTER: &str = "/metadata/labels/pod-security.kubernetes.io~1enforce";
/// Workloads that the message names.
const MAX_NAMED: usize = 3;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, change) in view.changes().filter(|(_, change)| change.key.is("", "Namespace")) {
        let (Some(target), Some(live)) = (&change.target, change.live_object()) else { continue };
        let Some((level, word)) = label(&target.object, LABEL).and_then(|word| Some((Level::parse(word)?, word))) else { continue };
        if label(live, LABEL).and_then(Level::parse).is_some_and(|before| before == level || before == Level::Restricted) {
            continue;
        }
        let (refused, looked_at) = refused(view, plan, change, level);
        if refused.is_empty() {
            continue;
        }
        let message = format!(
            "`enforce: {word}` on {} refuses the pods of {} of {} that run there when they are next created: {}",
            change.key.named(),
            refused.len(),
            plural(looked_at, "workload"),
            enumerate(&refused, MAX_NAMED)
        );
        let is_new = change.base.as_ref().and_then(|base| label(&base.object, LABEL)) != Some(word);
        findings.push(Draft::of_change(plan, change, message).introduced(is_new).at(Some(&target.origin), POINTER, "refuses what runs"));
    }
}

/// The workloads of a namespace whose pods a level refuses, in words, and how many there are. What Git has for them after the change counts.
fn refused(view: &View<'_>, plan: &SyncPlan, namespace: &Change, level: Level) -> (Vec<String>, usize) {
    let server = server_of(plan, namespace);
    let (mut found, mut looked_at) = (Vec::new(), 0);
    for object in view.facts.live.in_namespace(server, &namespace.key.name).filter(|object| makes_pods(object)) {
        let in_git = view.changes_of(&object.key).iter().filter(|(plan, change)| server_of(plan, change) == server);
        let mut targets = Vec::new();
        let mut goes = false;
        for (_, change) in in_git {
            goes |= change.action.deletes();
            targets.extend(change.target_object());
        }
        let newest = match targets.first() {
            Some(target) => target,
            None if goes => continue,
            None => object.object(),
        };
        let Some(spec) = pod_template(newest).and_then(|template| template.get("spec")) else { continue };
        looked_at += 1;
        found.extend(violation(level, spec).map(|why| format!("{} ({why})", object.key.named())));
    }
    (found, looked_at)
}

/// Whether pods come of the object, and it comes of no other that is looked at itself.
fn makes_pods(object: &LiveObject) -> bool {
    let is_workload = |group: &str, kind: &str| {
        matches!(
            (group, kind),
            ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
                | ("batch", "Job" | "CronJob")
                | ("", "Pod" | "ReplicationController")
        )
    };
    let ResourceKey { group, kind, .. } = &object.key;
    is_workload(group, kind) && !object.owners.iter().any(|owner| is_workload(&owner.group, &owner.kind))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::{Action, Reason};
    use serde_json::{Value, json};

    fn namespace(level: Option<&str>) -> Value {
        let mut object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        if let Some(level) = level {
            object["metadata"]["labels"] = json!({LABEL: level});
        }
        object
    }

    fn deployment(host_network: bool) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"template": {"spec": {"hostNetwork": host_network, "containers": [{"name": "web"}]}}}})
    }

    fn run(before: Option<&str>, after: &str, on_cluster: Value, other: Option<Change>) -> Vec<Finding> {
        let edit = changed(namespace(before), namespace(Some(after)), namespace(before), Action::Update, Reason::Differs { fields: 1 });
        let plans = vec![plan("web", std::iter::once(edit).chain(other).collect())];
        Run { plans, live: snapshot(&[namespace(before), on_cluster]), ..Run::default() }.judge(&["pod-security-rejects-live"])
    }

    #[test]
    fn a_label_that_refuses_what_runs_is_named_with_the_workload_and_the_reason() {
        let found = run(None, "baseline", deployment(true), None);
        assert_eq!(
            found[0].message,
            "`enforce: baseline` on Namespace shop refuses the pods of 1 of 1 workload that run there when they are next created: \
             Deployment shop/web (it shares a namespace of the host)"
        );
        assert!(found[0].introduced);
    }

    #[test]
    fn what_the_level_permits_and_levels_that_held_before_are_fine() {
        assert!(run(None, "baseline", deployment(false), None).is_empty());
        assert!(run(None, "privileged", deployment(true), None).is_empty());
        assert!(run(Some("restricted"), "baseline", deployment(true), None).is_empty());
        assert_eq!(run(Some("baseline"), "restricted", deployment(false), None).len(), 1);
    }

    #[test]
    fn what_the_change_mends_or_deletes_counts_no_more() {
        let mended = changed(deployment(true), deployment(false), deployment(true), Action::Update, Reason::Differs { fields: 1 });
        assert!(run(None, "baseline", deployment(true), Some(mended)).is_empty());
        let gone = removed(deployment(true), Action::Prune, Reason::RemovedFromGit { automated: true });
        assert!(run(None, "baseline", deployment(true), Some(gone)).is_empty());
    }
}
