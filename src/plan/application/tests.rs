use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::argocd::names::{HOOK, SYNC_OPTIONS, TRACKING_ID};
use crate::manifest::Side;
use crate::plan::sample;
use crate::snapshot::{self, LiveState};

fn application(sync_policy: Value, status: Value) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "bakery", "namespace": "argocd", "uid": "1"},
        "spec": {"destination": {"server": "https://kubernetes.default.svc", "namespace": "sweets"}, "source": {"repoURL": "r", "path": "p"},
        "syncPolicy": sync_policy}, "status": status})
}

fn map(name: &str, mode: &str, annotations: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "sweets", "annotations": annotations},
        "data": {"mode": mode}})
}

fn tracked(mut object: Value) -> Value {
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    object["metadata"]["annotations"][TRACKING_ID] = json!(format!("bakery:/ConfigMap:sweets/{name}"));
    object["metadata"]["uid"] = json!(name);
    object
}

fn planned(application: Value, targets: &[Value], live: &[Value], revision: Revision) -> SyncPlan {
    planned_at(None, application, targets, live, revision)
}

/// With a snapshot that was captured at a time.
fn planned_at(captured: Option<&str>, application: Value, targets: &[Value], live: &[Value], revision: Revision) -> SyncPlan {
    let items: Vec<&Value> = live.iter().chain([&application]).collect();
    let bytes = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string().into_bytes();
    let live: LiveState = match captured {
        None => snapshot::load_inputs(vec![snapshot::Input::Bytes { name: "live.json".into(), bytes }]).unwrap(),
        Some(captured) => sample::snapshot(&format!("capturedAt: {captured}"), &items.into_iter().cloned().collect::<Vec<_>>()),
    };
    let world = World::new(&live, Default::default(), &[]);
    let origin = Origin { path: "a".into(), side: Side::Head, document: 0..0, line: 1, within: String::new(), rendered: None };
    let manifest = |object: &Value| {
        Arc::new(Manifest { key: ResourceKey::of(object).unwrap(), object: object.clone().into(), origin: origin.clone() })
    };
    let rendered: Vec<Arc<Manifest>> = targets.iter().map(manifest).collect();
    let input = Input {
        application: Arc::new(Application::read(Arc::new(application), "argocd").unwrap()),
        origin: Some(origin.clone()),
        rendered: &rendered,
        rendered_at_base: &rendered,
        previous_server: None,
        revision,
    };
    plan(&input, &world)
}

fn lines(plan: &SyncPlan) -> Vec<String> {
    let listed = plan.changes.iter().filter(|change| change.action != Action::None);
    listed.map(|change| format!("{} {}", change.action.as_str(), change.key.name)).collect()
}

fn heals() -> Value {
    json!({"automated": {"prune": true, "selfHeal": true}})
}

fn synced() -> Value {
    json!({"operationState": {"phase": "Succeeded", "syncResult": {"source": {"repoURL": "r", "path": "p"}}}})
}

#[test]
fn s9_49_self_heal_applies_what_is_out_of_sync_and_runs_no_hook() {
    let hook = map("hook", "a", json!({HOOK: "PreSync"}));
    let rewritten = map("rack", "a", json!({SYNC_OPTIONS: "Replace=true"}));
    let targets = [map("oven", "b", json!({})), rewritten.clone(), hook];
    let live = [tracked(map("oven", "a", json!({}))), tracked(rewritten), tracked(map("tray", "a", json!({})))];
    let partial = planned(application(heals(), synced()), &targets, &live, Revision::Synced);
    assert_eq!(lines(&partial), ["prune tray", "update oven"]);
    let whole = planned(application(heals(), synced()), &targets, &live, Revision::New);
    assert_eq!(lines(&whole), ["hook hook", "prune tray", "update oven", "replace rack"]);
}

#[test]
fn self_heal_takes_in_what_has_the_same_kind_and_name_in_another_namespace() {
    let mut elsewhere = map("oven", "a", json!({SYNC_OPTIONS: "Replace=true"}));
    elsewhere["metadata"]["namespace"] = json!("other");
    let mut live_elsewhere = elsewhere.clone();
    live_elsewhere["metadata"]["annotations"][TRACKING_ID] = json!("bakery:/ConfigMap:other/oven");
    live_elsewhere["metadata"]["uid"] = json!("other");
    let targets = [map("oven", "b", json!({})), elsewhere];
    let live = [tracked(map("oven", "a", json!({}))), live_elsewhere];
    let partial = planned(application(heals(), synced()), &targets, &live, Revision::Synced);
    assert_eq!(lines(&partial).len(), 2, "{:?}", lines(&partial));
}

#[test]
fn a_plain_object_that_became_a_hook_is_pruned_by_self_heal_which_runs_no_hook() {
    let targets = [map("oven", "a", json!({})), map("tray", "a", json!({HOOK: "PreSync"}))];
    let live = [tracked(map("oven", "a", json!({}))), tracked(map("tray", "a", json!({})))];
    assert_eq!(lines(&planned(application(heals(), synced()), &targets, &live, Revision::Synced)), ["prune tray"]);
}

#[test]
fn s9_51_an_object_turns_server_side_apply_of_its_application_off() {
    let big = "x".repeat(300_000);
    let policy = json!({"automated": {}, "syncOptions": ["ServerSideApply=true"]});
    let targets = [map("one", &big, json!({})), map("two", &big, json!({SYNC_OPTIONS: "ServerSideApply=false"}))];
    let plan = planned(application(policy, Value::Null), &targets, &[], Revision::New);
    let mut lines = lines(&plan);
    lines.sort();
    assert_eq!(lines, ["create one", "fail two"], "only client-side apply writes the whole object into an annotation");
}

#[test]
fn a_sync_that_runs_is_told_with_what_it_waits_for_and_what_comes_after_it() {
    let plan = |policy: Value, state: Value| {
        let mut application = application(policy, json!({"operationState": state}));
        application["operation"] = json!({"sync": {"prune": true}, "retry": {"refresh": true}});
        let live = [tracked(map("oven", "a", json!({})))];
        planned_at(Some("2026-11-30T10:00:00Z"), application, &[map("oven", "b", json!({}))], &live, Revision::New).sync
    };
    let health =
        json!({"phase": "Running", "startedAt": "2026-11-29T16:00:00Z", "message": "waiting for healthy state of apps/Deployment/x"});
    let waits = plan(heals(), health.clone());
    assert_eq!((waits.mode, waits.starts), (SyncMode::Automated, true));
    assert_eq!(
        waits.reason,
        "a sync has been running since 2026-11-29T16:00:00Z (waiting for healthy state of apps/Deployment/x); merging now means it waits \
         until that one has ended"
    );
    let by_hand = plan(json!({}), health).reason;
    assert!(by_hand.ends_with("apps/Deployment/x); nobody can start another until it has ended"), "{by_hand}");
    let failed =
        json!({"phase": "Running", "startedAt": "2026-11-29T16:00:00Z", "finishedAt": "2026-11-30T09:59:00Z", "message": "denied"});
    assert_eq!(
        plan(heals(), failed).reason,
        "a sync has failed since 2026-11-29T16:00:00Z and is tried again; its next attempt is to the merged revision, with prune on and the \
         options that it was started with (no options)"
    );
    let usual =
        json!({"phase": "Running", "startedAt": "2026-11-30T09:30:00Z", "message": "waiting for healthy state of apps/Deployment/x"});
    assert_eq!(plan(heals(), usual).reason, "automated sync; a sync that was running when the snapshot was captured ends first");
}
