//! `replicas-drop-to-default`: Git has no `replicas`, and the apply takes the live number away: the last applied configuration has it, or the
//! object is replaced.

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, next_sync, respects_ignored, server_of, writer_of};
use crate::argocd::names::LAST_APPLIED;
use crate::argocd::options::object_value;
use crate::manifest::annotation;
use crate::plan::{Action, Basis, Change, SyncPlan};

const POINTER: &str = "/spec/replicas";

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, change) in view.changes() {
        let rewrites = matches!(change.action, Action::Replace | Action::Recreate);
        if !rewrites && !matches!(change.action, Action::Update | Action::Adopt | Action::None) {
            continue;
        }
        let (Some(target), Some(live)) = (&change.target, change.live_object()) else { continue };
        let Some(now) = live.pointer(POINTER).and_then(Value::as_i64).filter(|now| *now > 1) else { continue };
        if target.object.pointer(POINTER).is_some_and(|value| !value.is_null())
            || !matches!(&*change.key.kind, "Deployment" | "StatefulSet")
        {
            continue;
        }
        let removed = change.base.as_ref().filter(|base| base.object.pointer(POINTER).is_some());
        // A field that is ignored starts no sync, but the next one that runs takes it away.
        let is_applied = plan.sync.starts || change.action != Action::None || removed.is_some();
        if (view.ignores(plan, live, POINTER) && respects_ignored(plan)) || !is_applied {
            continue;
        }
        let why = if rewrites { resets(change) } else { drops(plan, change, live) };
        let Some(why) = why else { continue };
        let then = match view.scalers.of(server_of(plan, change), &change.key) {
            Some(scaler) => format!("until {} reacts", scaler.key.named()),
            None if plan.basis == Basis::Assumed => "until something scales it".to_owned(),
            None => "and stays there, as nothing scales it".to_owned(),
        };
        let from = if plan.basis == Basis::Assumed { String::new() } else { format!(" from {now}") };
        let message = format!("Without replicas in Git, {} drops {}{from} to 1 {then}: {why}", next_sync(plan), change.key.named());
        let mut draft = Draft::of_change(plan, change, message);
        if rewrites {
            draft = draft.help(
                "Write the number that is needed into Git, or take Replace=true and Force=true away. Under an autoscaler ignore `/spec/replicas` with \
                 ignoreDifferences and set RespectIgnoreDifferences=true: the live number is then sent along.",
            );
        }
        let draft = draft.at(removed.map(|base| &base.origin), POINTER, "leaves Git");
        findings.push(draft.at(Some(&target.origin), "/spec", "has no replicas"));
    }
}

/// Why storing the whole target resets the field; `None` where the plan does not say that it does.
fn resets(change: &Change) -> Option<String> {
    let is_reset = change.diff.iter().any(|field| field.path == POINTER);
    let how = match change.action {
        Action::Recreate => "the sync deletes it and creates it again as Git has it",
        _ => "Replace=true stores it as Git has it",
    };
    is_reset.then(|| format!("{how}, and the default holds"))
}

/// Why the apply takes the field away; `None` where it leaves it alone.
fn drops(plan: &SyncPlan, change: &Change, live: &Value) -> Option<String> {
    let target = change.target_object()?;
    let server_side = match object_value(target, "ServerSideApply") {
        Some(value) => value == "true",
        None => plan.application.spec.sync_policy.sync_options.has("ServerSideApply=true"),
    };
    if server_side {
        // Another manager of the field, such as an autoscaler, keeps it.
        let writer = writer_of(live, POINTER)?;
        return (writer.manager == "argocd-controller").then(|| "Argo CD alone owns the field, and gives it up".to_owned());
    }
    if plan.basis == Basis::Assumed {
        let before = live.pointer(POINTER)?;
        return Some(format!(
            "Git had replicas: {before} and the last apply with it, so the apply removes the field and the default holds"
        ));
    }
    let last: Value = serde_json::from_str(annotation(live, LAST_APPLIED)?).ok()?;
    let before = last.pointer(POINTER)?.as_i64()?;
    Some(format!("the last applied configuration still has replicas: {before}, so the apply removes the field and the default holds"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::Reason;
    use serde_json::json;

    fn deployment(replicas: Option<i64>) -> Value {
        let spec = replicas.map_or(json!({}), |replicas| json!({"replicas": replicas}));
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api", "namespace": "shop"}, "spec": spec})
    }

    fn run(target: Value, live_replicas: i64, last: Value, build: impl FnOnce(&mut SyncPlan)) -> Vec<Finding> {
        let mut live = deployment(Some(live_replicas));
        live["metadata"]["annotations"] = json!({LAST_APPLIED: last.to_string()});
        let mut plan = plan("api", vec![changed(deployment(Some(2)), target, live, Action::Update, Reason::Differs { fields: 1 })]);
        build(&mut plan);
        Run { plans: vec![plan], ..Run::default() }.judge(&["replicas-drop-to-default"])
    }

    #[test]
    fn replicas_that_the_last_apply_had_drop_to_one() {
        let found = run(deployment(None), 7, deployment(Some(2)), |_| ());
        assert!(found[0].message.contains("drops Deployment shop/api from 7 to 1 and stays there"), "{}", found[0].message);
        assert_eq!(found[0].places[0].pointer, POINTER);
    }

    #[test]
    fn without_a_snapshot_the_base_tells_what_the_last_apply_had() {
        let mut assumed = plan(
            "api",
            vec![changed(deployment(Some(2)), deployment(None), deployment(Some(2)), Action::Update, Reason::Differs { fields: 1 })],
        );
        assumed.basis = Basis::Assumed;
        let found = Run { plans: vec![assumed], ..Run::default() }.judge(&["replicas-drop-to-default"]);
        assert!(
            found[0].assumed && found[0].message.contains("drops Deployment shop/api to 1 until something scales it"),
            "{}",
            found[0].message
        );
    }

    #[test]
    fn a_last_apply_without_replicas_one_live_pod_and_a_number_in_git_are_fine() {
        assert!(run(deployment(None), 7, deployment(None), |_| ()).is_empty());
        assert!(run(deployment(None), 1, deployment(Some(2)), |_| ()).is_empty());
        assert!(run(deployment(Some(3)), 7, deployment(Some(2)), |_| ()).is_empty());
    }

    #[test]
    fn server_side_apply_and_ignored_and_respected_fields_leave_it_alone() {
        let server_side = |plan: &mut SyncPlan| edit_spec(plan, |spec| spec["syncPolicy"]["syncOptions"] = json!(["ServerSideApply=true"]));
        assert!(run(deployment(None), 7, deployment(Some(2)), server_side).is_empty());
        let respected = |plan: &mut SyncPlan| {
            edit_spec(plan, |spec| {
                spec["ignoreDifferences"] = json!([{"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}]);
                spec["syncPolicy"]["syncOptions"] = json!(["RespectIgnoreDifferences=true"]);
            });
        };
        assert!(run(deployment(None), 7, deployment(Some(2)), respected).is_empty());
    }
}
