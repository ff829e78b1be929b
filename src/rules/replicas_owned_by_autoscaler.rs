//! `replicas-owned-by-autoscaler`: Git sets `replicas` on a workload that an autoscaler scales.

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{Scaler, View, app_name, respects_ignored, server_of};
use crate::inventory::Entry;
use crate::plan::{Action, AppChange, Change, SyncPlan};

const POINTER: &str = "/spec/replicas";

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, change) in view.changes() {
        if change.action == Action::Skip {
            continue;
        }
        let Some(target) = &change.target else { continue };
        let Some(replicas) = target.object.pointer(POINTER).and_then(Value::as_i64) else { continue };
        let Some(scaler) = view.scalers.of(server_of(plan, change), &change.key) else { continue };
        // Which manager owns the field, only the live object tells.
        let ignored = [change.target_object(), change.live_object()].into_iter().flatten().any(|side| view.ignores(plan, side, POINTER));
        if scaler.leaves_alone(replicas) || (ignored && respects_ignored(plan)) {
            continue;
        }
        let live = change.live_object().and_then(|live| live.pointer(POINTER)).and_then(Value::as_i64);
        let now = live.map(|live| format!(" (live {live})")).unwrap_or_default();
        let (grade, effect) = match (plan.sync.self_heal, ignored) {
            (_, true) => (
                Some("no-self-heal"),
                format!("the field is ignored only in the comparison, so each full sync of {} sets it back to {replicas}", app_name(plan)),
            ),
            (true, false) => (None, format!("{} heals itself, so each scaling is undone within seconds", app_name(plan))),
            (false, false) => (
                Some("no-self-heal"),
                format!("each sync of {} sets it back to {replicas}, and in between it shows OutOfSync", app_name(plan)),
            ),
        };
        let message =
            format!("{} sets replicas: {replicas} in Git while {} scales it{now}; {effect}", change.key.named(), scaler.key.named());
        let draft = Draft::of_change(plan, change, message)
            .grade(grade)
            .introduced(is_introduced(view, plan, change, scaler))
            .at(Some(&target.origin), POINTER, format!("{replicas} replicas in Git"))
            .at(scaler.origin, "", "scales it");
        findings.push(draft);
    }
}

/// The conflict is new if the change under review sets the number, brings the autoscaler or makes it interfere, or turns on what makes them fight.
fn is_introduced(view: &View<'_>, plan: &SyncPlan, change: &Change, scaler: &Scaler<'_>) -> bool {
    let before = change.base.as_ref().and_then(|base| base.object.pointer(POINTER));
    let after = change.target_object().and_then(|target| target.pointer(POINTER));
    let replicas = after.and_then(Value::as_i64).unwrap_or_default();
    before != after
        || !scaler.interfered_before(replicas)
        || (plan.change == AppChange::Modified && policy_changes(view.entry(&plan.application.id)))
}

fn policy_changes(entry: Option<&Entry>) -> bool {
    let policy = |definition: Option<&crate::inventory::Definition>| {
        definition.map(|definition| {
            let spec = &definition.application.spec;
            (spec.ignore_differences.clone(), definition.application.automated().cloned(), spec.sync_policy.sync_options.clone())
        })
    };
    entry.is_some_and(|entry| policy(entry.base.as_ref()) != policy(entry.head.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::{Finding, Severity};
    use crate::plan::Reason;
    use serde_json::json;

    fn deployment(replicas: Option<i64>) -> serde_json::Value {
        let mut object =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api", "namespace": "shop"}, "spec": {}});
        if let Some(replicas) = replicas {
            object["spec"]["replicas"] = replicas.into();
        }
        object
    }

    fn autoscaler(min: i64, max: i64) -> serde_json::Value {
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "api", "namespace": "shop"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "api"}, "minReplicas": min, "maxReplicas": max}})
    }

    fn run(scaler: serde_json::Value, replicas: Option<i64>, build: impl FnOnce(&mut SyncPlan)) -> Vec<Finding> {
        let update =
            changed(deployment(replicas), deployment(replicas), deployment(Some(7)), Action::Update, Reason::Differs { fields: 1 });
        let mut plan = plan("api", vec![added(scaler), update]);
        plan.sync.self_heal = true;
        build(&mut plan);
        Run { plans: vec![plan], ..Run::default() }.judge(&["replicas-owned-by-autoscaler"])
    }

    #[test]
    fn a_new_autoscaler_of_a_workload_with_replicas_is_an_error_under_self_heal() {
        let found = run(autoscaler(2, 9), Some(2), |_| ());
        assert_eq!((found[0].severity, found[0].introduced), (Severity::Error, true));
        assert_eq!(
            found[0].message,
            "Deployment shop/api sets replicas: 2 in Git while HorizontalPodAutoscaler shop/api scales it (live 7); `api` heals itself, so each \
             scaling is undone within seconds"
        );
        assert_eq!(found[0].places.iter().map(|place| &*place.pointer).collect::<Vec<_>>(), ["/spec/replicas", ""]);
    }

    #[test]
    fn without_self_heal_it_is_a_warning() {
        assert_eq!(run(autoscaler(2, 9), Some(2), |plan| plan.sync.self_heal = false)[0].severity, Severity::Warning);
    }

    #[test]
    fn absent_replicas_a_fixed_number_and_ignored_and_respected_fields_are_fine() {
        assert!(run(autoscaler(2, 9), None, |_| ()).is_empty());
        assert!(run(autoscaler(2, 2), Some(2), |_| ()).is_empty());
        let respected = |plan: &mut SyncPlan| {
            edit_spec(plan, |spec| {
                spec["ignoreDifferences"] = json!([{"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}]);
                spec["syncPolicy"] = json!({"syncOptions": ["RespectIgnoreDifferences=true"]});
            });
        };
        assert!(run(autoscaler(2, 9), Some(2), respected).is_empty());
    }

    #[test]
    fn an_autoscaler_does_nothing_to_a_workload_without_replicas() {
        assert!(run(autoscaler(2, 9), Some(0), |_| ()).is_empty());
        assert_eq!(run(autoscaler(0, 9), Some(0), |_| ()).len(), 1, "one that may scale to zero scales from zero");
        let keda = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "q", "namespace": "shop"},
            "spec": {"scaleTargetRef": {"name": "api"}}});
        assert_eq!(run(keda, Some(0), |_| ()).len(), 1, "KEDA wakes it up");
    }

    #[test]
    fn a_paused_scaled_object_scales_nothing_or_to_one_number() {
        let keda = |annotation: &str, value: &str| {
            json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "spec": {"scaleTargetRef": {"name": "api"}},
                "metadata": {"name": "q", "namespace": "shop", "annotations": {annotation: value}}})
        };
        assert!(run(keda("autoscaling.keda.sh/paused", "true"), Some(2), |_| ()).is_empty());
        assert_eq!(run(keda("autoscaling.keda.sh/paused", "false"), Some(2), |_| ()).len(), 1);
        assert!(run(keda("autoscaling.keda.sh/paused-replicas", "2"), Some(2), |_| ()).is_empty());
        assert_eq!(run(keda("autoscaling.keda.sh/paused-replicas", "3"), Some(2), |_| ()).len(), 1);
    }

    #[test]
    fn a_field_that_is_left_to_its_manager_and_respected_is_fine() {
        let mut live = deployment(Some(7));
        live["metadata"]["managedFields"] = json!([{"manager": "kube-controller-manager", "operation": "Update", "subresource": "scale",
            "apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
        let found = |manager: &str| {
            let update = changed(deployment(Some(2)), deployment(Some(2)), live.clone(), Action::Update, Reason::Differs { fields: 1 });
            let mut plan = plan("api", vec![added(autoscaler(2, 9)), update]);
            edit_spec(&mut plan, |spec| {
                spec["ignoreDifferences"] = json!([{"group": "apps", "kind": "Deployment", "managedFieldsManagers": [manager]}]);
                spec["syncPolicy"] = json!({"syncOptions": ["RespectIgnoreDifferences=true"]});
            });
            Run { plans: vec![plan], ..Run::default() }.judge(&["replicas-owned-by-autoscaler"]).len()
        };
        assert_eq!((found("kube-controller-manager"), found("another")), (0, 1));
    }

    #[test]
    fn another_group_or_name_is_another_workload() {
        for (field, value) in [("apiVersion", "example.test/v1"), ("name", "web"), ("kind", "StatefulSet")] {
            let mut scaler = autoscaler(2, 9);
            scaler["spec"]["scaleTargetRef"][field] = value.into();
            assert!(run(scaler, Some(2), |_| ()).is_empty(), "{field}");
        }
    }

    #[test]
    fn a_keda_object_scales_a_deployment_by_default_and_a_live_autoscaler_was_there_before() {
        let keda = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "q", "namespace": "shop"},
            "spec": {"scaleTargetRef": {"name": "api"}}});
        assert_eq!(run(keda.clone(), Some(2), |_| ()).len(), 1);
        let update = changed(deployment(Some(2)), deployment(Some(2)), deployment(Some(7)), Action::Update, Reason::Differs { fields: 1 });
        let run = Run { plans: vec![plan("api", vec![update])], live: snapshot(&[keda]), ..Run::default() };
        assert!(!run.judge(&["replicas-owned-by-autoscaler"])[0].introduced);
    }
}
