//! Kinds one by one: what must fail, and the near misses that must not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use serde_json::{Value, json};

use super::*;

mod storage;

const CLIENT: Apply = Apply { strategy: ApplyStrategy::ClientSide, force: false };
const SERVER: Apply = Apply { strategy: ApplyStrategy::ServerSide, force: false };
const REPLACE: Apply = Apply { strategy: ApplyStrategy::Replace, force: false };
const FORCE: Apply = Apply { strategy: ApplyStrategy::ClientSide, force: true };
const FORCE_REPLACE: Apply = Apply { strategy: ApplyStrategy::Replace, force: true };

fn object(api_version: &str, kind: &str, rest: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "shop"}});
    let fields = object.as_object_mut().unwrap();
    fields.extend(rest.as_object().unwrap().clone());
    object
}

/// `base` as the live object after a client-side apply, with what the server added.
fn applied(base: &Value, added: &[(&str, Value)]) -> Value {
    let mut live = base.clone();
    live["metadata"]["annotations"] = json!({effective::LAST_APPLIED: base.to_string()});
    for (pointer, value) in added {
        let mut at = &mut live;
        for part in pointer.split('/').skip(1) {
            at = match part.parse::<usize>() {
                Ok(index) => &mut at[index],
                Err(_) => &mut at[part],
            };
        }
        *at = value.clone();
    }
    live
}

fn with(base: &Value, pointer: &str, value: Value) -> Value {
    applied(base, &[(pointer, value)])
        .pointer("")
        .map(|object| {
            let mut object = object.clone();
            object["metadata"].as_object_mut().unwrap().remove("annotations");
            object
        })
        .unwrap()
}

fn without(base: &Value, parent: &str, key: &str) -> Value {
    let mut object = base.clone();
    object.pointer_mut(parent).and_then(Value::as_object_mut).unwrap().remove(key);
    object
}

fn outcome(target: &Value, live: &Value, apply: Apply) -> Outcome {
    foresee_apply(target, live, apply, &Context::default())
}

#[track_caller]
fn passes(target: &Value, live: &Value, applies: &[Apply]) {
    for apply in applies {
        let outcome = outcome(target, live, *apply);
        assert!(matches!(outcome, Outcome::Update | Outcome::Replace), "{apply:?}: {outcome:?}");
    }
}

#[track_caller]
fn refused(target: &Value, live: &Value, apply: Apply) -> Failure {
    match outcome(target, live, apply) {
        Outcome::Fail(failure) => failure,
        other => panic!("{apply:?}: {other:?}"),
    }
}

fn deployment() -> Value {
    let template = json!({"metadata": {"labels": {"app": "x", "tier": "web"}}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}});
    object("apps/v1", "Deployment", json!({"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template}}))
}

#[test]
fn a_selector_cannot_change_and_labels_can() {
    let base = deployment();
    let live = applied(&base, &[("/spec/replicas", json!(1))]);
    let target = with(&base, "/spec/selector/matchLabels/tier", json!("web"));
    for apply in [CLIENT, SERVER, REPLACE] {
        let failure = refused(&target, &live, apply);
        assert_eq!(failure.kind, FailureKind::Immutable { fields: vec!["/spec/selector".into()] });
        assert_eq!(failure.changes[0].pointer, "/spec/selector/matchLabels/tier");
        assert!(
            failure.message.starts_with("spec.selector of Deployment shop/x is immutable: the sync will fail at this object"),
            "{}",
            failure.message
        );
    }
    assert_eq!(outcome(&target, &live, FORCE), Outcome::Recreate);
    assert_eq!(outcome(&target, &live, FORCE_REPLACE), Outcome::Recreate);
    let labelled = with(&base, "/spec/template/metadata/labels/new", json!("1"));
    passes(&labelled, &live, &[CLIENT, SERVER, REPLACE, FORCE]);
    passes(&with(&base, "/spec/selector/matchExpressions", json!([])), &live, &[CLIENT, SERVER, REPLACE]);
}

#[test]
fn a_template_that_its_selector_does_not_match_cannot_even_be_created() {
    let target = with(&deployment(), "/spec/template/metadata/labels/app", json!("y"));
    assert_eq!(foresee_create(&target, CLIENT, &Context::default()).map(|failure| failure.kind), Some(FailureKind::SelectorMismatch));
    assert_eq!(foresee_create(&deployment(), CLIENT, &Context::default()), None);
    let expressions = json!([{"key": "tier", "operator": "In", "values": ["web"]}, {"key": "old", "operator": "DoesNotExist"}]);
    let matching = with(&deployment(), "/spec/selector/matchExpressions", expressions);
    assert_eq!(foresee_create(&matching, CLIENT, &Context::default()), None);
    // Force would delete it first.
    let gone = refused(&target, &applied(&deployment(), &[]), FORCE_REPLACE);
    assert_eq!(gone.kind, FailureKind::ForceDeletes { cause: Box::new(FailureKind::SelectorMismatch) });
}

#[test]
fn a_deployment_that_turns_to_recreate_keeps_its_rolling_update_only_under_server_side_apply() {
    let base = deployment();
    let defaulted = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
    let live = applied(&base, &[("/spec/strategy", defaulted)]);
    let target = with(&base, "/spec/strategy", json!({"type": "Recreate"}));
    passes(&target, &live, &[CLIENT, REPLACE]);
    assert_eq!(refused(&target, &live, SERVER).certainty, Certainty::Likely);
    passes(&with(&base, "/spec/strategy", json!({"type": "Recreate", "rollingUpdate": null})), &live, &[SERVER]);
}

fn stateful_set() -> Value {
    let claim =
        json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "100Gi"}}}});
    let mut set = deployment();
    set["kind"] = json!("StatefulSet");
    set["spec"]["serviceName"] = json!("x");
    set["spec"]["volumeClaimTemplates"] = json!([claim]);
    set
}

fn live_stateful_set() -> Value {
    applied(
        &stateful_set(),
        &[
            ("/spec/podManagementPolicy", json!("OrderedReady")),
            ("/spec/revisionHistoryLimit", json!(10)),
            ("/spec/updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})),
            ("/spec/volumeClaimTemplates/0/apiVersion", json!("v1")),
            ("/spec/volumeClaimTemplates/0/kind", json!("PersistentVolumeClaim")),
            ("/spec/volumeClaimTemplates/0/spec/volumeMode", json!("Filesystem")),
            ("/spec/volumeClaimTemplates/0/status", json!({"phase": "Pending"})),
        ],
    )
}

#[test]
fn a_stateful_set_may_change_its_seven_free_fields_and_write_defaults_out() {
    let free = [
        ("/spec/replicas", json!(3)),
        ("/spec/ordinals", json!({"start": 1})),
        ("/spec/template/spec/containers/0/image", json!("a:2")),
        ("/spec/updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})),
        ("/spec/persistentVolumeClaimRetentionPolicy", json!({"whenDeleted": "Delete"})),
        ("/spec/minReadySeconds", json!(5)),
        ("/spec/revisionHistoryLimit", json!(3)),
        ("/spec/podManagementPolicy", json!("OrderedReady")),
        ("/spec/volumeClaimTemplates/0/spec/volumeMode", json!("Filesystem")),
        ("/spec/volumeClaimTemplates/0/spec/resources/requests/storage", json!("102400Mi")),
    ];
    for (pointer, value) in free {
        passes(&with(&stateful_set(), pointer, value), &live_stateful_set(), &[CLIENT, SERVER, REPLACE, FORCE]);
    }
}

#[test]
fn a_stateful_set_may_not_change_what_makes_its_pods_and_claims() {
    let fixed = [
        ("/spec/serviceName", json!("y")),
        ("/spec/podManagementPolicy", json!("Parallel")),
        ("/spec/volumeClaimTemplates/0/spec/resources/requests/storage", json!("200Gi")),
        ("/spec/volumeClaimTemplates/0/spec/storageClassName", json!("fast")),
        ("/spec/volumeClaimTemplates/0/metadata/labels", json!({"a": "b"})),
        ("/spec/volumeClaimTemplates", json!([])),
    ];
    for (pointer, value) in fixed {
        let target = with(&stateful_set(), pointer, value);
        for apply in [CLIENT, SERVER, REPLACE] {
            let failure = refused(&target, &live_stateful_set(), apply);
            assert!(failure.changes.iter().all(|change| change.pointer.starts_with(pointer)), "{failure:?}");
        }
        assert_eq!(outcome(&target, &live_stateful_set(), FORCE), Outcome::Recreate);
    }
}

fn job() -> Value {
    let template =
        json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "m:1", "env": [{"name": "A", "value": "1"}]}]}});
    object("batch/v1", "Job", json!({"spec": {"backoffLimit": 0, "template": template}}))
}

fn live_job(added: &[(&str, Value)]) -> Value {
    let labels = json!({"controller-uid": "u", "job-name": "x"});
    let mut all = vec![
        ("/spec/completionMode", json!("NonIndexed")),
        ("/spec/completions", json!(1)),
        ("/spec/parallelism", json!(1)),
        ("/spec/selector", json!({"matchLabels": {"controller-uid": "u"}})),
        ("/spec/template/metadata", json!({"labels": labels})),
        ("/spec/template/spec/terminationGracePeriodSeconds", json!(30)),
        ("/spec/template/spec/containers/0/imagePullPolicy", json!("IfNotPresent")),
    ];
    all.extend(added.iter().cloned());
    applied(&job(), &all)
}

#[test]
fn a_job_keeps_its_template_and_may_change_how_it_runs() {
    for (pointer, value) in
        [("/spec/parallelism", json!(3)), ("/spec/backoffLimit", json!(4)), ("/spec/suspend", json!(true)), ("/spec/completions", json!(1))]
    {
        passes(&with(&job(), pointer, value), &live_job(&[]), &[CLIENT, SERVER]);
    }
    for (pointer, value) in [
        ("/spec/template/spec/containers/0/image", json!("m:2")),
        ("/spec/template/spec/containers/0/env/0/value", json!("2")),
        ("/spec/completions", json!(2)),
        ("/spec/completionMode", json!("Indexed")),
    ] {
        let failure = refused(&with(&job(), pointer, value), &live_job(&[]), CLIENT);
        assert_eq!(failure.changes.first().map(|change| change.pointer.as_str()), Some(pointer));
    }
    let env_gone = without(&job(), "/spec/template/spec/containers/0", "env");
    assert_eq!(refused(&env_gone, &live_job(&[]), CLIENT).changes[0].pointer, "/spec/template/spec/containers/0/env");
}

#[test]
fn replacing_a_job_fails_without_any_change() {
    let failure = refused(&job(), &live_job(&[]), REPLACE);
    assert!(matches!(failure.kind, FailureKind::ReplaceLosesFields { .. }));
    assert_eq!(outcome(&job(), &live_job(&[]), FORCE_REPLACE), Outcome::Recreate);
}

#[test]
fn a_suspended_job_that_never_ran_may_move_and_an_indexed_one_may_grow_with_its_parallelism() {
    let moved = with(&job(), "/spec/template/spec/nodeSelector", json!({"zone": "a"}));
    refused(&moved, &live_job(&[]), CLIENT);
    passes(&moved, &live_job(&[("/spec/suspend", json!(true))]), &[CLIENT]);
    let indexed = with(&job(), "/spec/completionMode", json!("Indexed"));
    let live = applied(&indexed, &[("/spec/completions", json!(2)), ("/spec/parallelism", json!(2))]);
    let grown = with(&with(&indexed, "/spec/completions", json!(3)), "/spec/parallelism", json!(3));
    passes(&grown, &live, &[CLIENT]);
    refused(&with(&indexed, "/spec/completions", json!(3)), &live, CLIENT);
}

#[test]
fn a_cron_job_and_other_free_kinds_may_change_everything() {
    let schedule = |at: &str| object("batch/v1", "CronJob", json!({"spec": {"schedule": at, "jobTemplate": {"spec": {"template": {}}}}}));
    passes(&schedule("1 * * * *"), &applied(&schedule("0 * * * *"), &[]), &[CLIENT, SERVER, REPLACE, FORCE]);
    for (api_version, kind) in [
        ("networking.k8s.io/v1", "Ingress"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("policy/v1", "PodDisruptionBudget"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("v1", "ServiceAccount"),
        ("example.test/v1", "Shelf"),
    ] {
        let version = |value: &str| object(api_version, kind, json!({"spec": {"selector": {"matchLabels": {"a": value}}}}));
        passes(&version("new"), &applied(&version("old"), &[]), &[CLIENT, SERVER, REPLACE, FORCE]);
    }
}

#[test]
fn a_pod_may_change_images_and_little_else() {
    let base = object("v1", "Pod", json!({"spec": {"containers": [{"name": "a", "image": "a:1"}]}}));
    let live = applied(&base, &[("/spec/nodeName", json!("n1")), ("/spec/tolerations", json!([{"key": "k", "operator": "Exists"}]))]);
    passes(&with(&base, "/spec/containers/0/image", json!("a:2")), &live, &[CLIENT, SERVER]);
    let added = json!([{"key": "k", "operator": "Exists"}, {"key": "l", "operator": "Exists"}]);
    passes(&with(&base, "/spec/tolerations", added), &live, &[CLIENT]);
    let failure = refused(&with(&base, "/spec/containers/0/command", json!(["sh"])), &live, CLIENT);
    assert_eq!(failure.certainty, Certainty::Likely);
    assert!(failure.message.contains("will likely fail"), "{}", failure.message);
    assert!(matches!(refused(&base, &live, REPLACE).kind, FailureKind::ReplaceLosesFields { .. }));
}

fn service(spec: Value) -> Value {
    object("v1", "Service", json!({"spec": spec}))
}

#[test]
fn a_service_keeps_its_address() {
    let base = service(json!({"ports": [{"port": 80}]}));
    let live = applied(
        &base,
        &[("/spec/clusterIP", json!("10.0.7.21")), ("/spec/clusterIPs", json!(["10.0.7.21"])), ("/spec/type", json!("ClusterIP"))],
    );
    let headless = with(&base, "/spec/clusterIP", json!("None"));
    for apply in [CLIENT, SERVER, REPLACE] {
        let failure = refused(&headless, &live, apply);
        assert_eq!(
            failure.message,
            "spec.clusterIP of Service shop/x is 10.0.7.21 live and cannot become None: the sync will fail at this object"
        );
    }
    assert_eq!(outcome(&headless, &live, FORCE), Outcome::Recreate);
    passes(&base, &live, &[CLIENT, SERVER, REPLACE]);
    passes(&with(&base, "/spec/clusterIP", json!("10.0.7.21")), &live, &[CLIENT, SERVER, REPLACE]);
    passes(&with(&base, "/spec/type", json!("NodePort")), &live, &[CLIENT, SERVER, REPLACE]);
    let external = service(json!({"type": "ExternalName", "externalName": "a.example.test"}));
    passes(&external, &live, &[CLIENT, SERVER, REPLACE]);
    let dual = with(&base, "/spec/clusterIPs", json!(["10.0.7.21", "fd00::1"]));
    passes(&dual, &live, &[CLIENT]);
}

#[test]
fn a_headless_service_may_drop_the_word_none() {
    let base = service(json!({"clusterIP": "None", "ports": [{"port": 80}]}));
    let live = applied(&base, &[("/spec/clusterIPs", json!(["None"]))]);
    passes(&without(&base, "/spec", "clusterIP"), &live, &[CLIENT, SERVER, REPLACE]);
}

#[test]
fn an_immutable_configmap_keeps_its_data() {
    let base = object("v1", "ConfigMap", json!({"immutable": true, "data": {"a": "1"}}));
    let live = applied(&base, &[]);
    let failure = refused(&with(&base, "/data/a", json!("2")), &live, CLIENT);
    assert!(failure.message.starts_with("ConfigMap shop/x is immutable live: its data cannot change"), "{}", failure.message);
    assert!(failure.message.ends_with("Give it a new name"), "{}", failure.message);
    refused(&without(&base, "", "immutable"), &live, CLIENT);
    passes(&with(&base, "/metadata/labels", json!({"a": "b"})), &live, &[CLIENT, SERVER, REPLACE]);
    let free = object("v1", "ConfigMap", json!({"data": {"a": "1"}}));
    passes(&with(&base, "/data/a", json!("2")), &applied(&free, &[]), &[CLIENT, SERVER, REPLACE]);
}

#[test]
fn a_secret_keeps_its_type_and_never_shows_its_values() {
    let base = object("v1", "Secret", json!({"data": {"a": "c2VjcmV0"}}));
    let live = applied(&base, &[("/type", json!("Opaque"))]);
    passes(&base, &live, &[CLIENT, SERVER, REPLACE]);
    refused(&with(&base, "/type", json!("example.test/token")), &live, CLIENT);
    let frozen = with(&base, "/immutable", json!(true));
    let held = applied(&frozen, &[("/type", json!("Opaque")), ("/data/a", json!("hidden"))]);
    // Values are not comparable by default.
    passes(&frozen, &held, &[CLIENT, SERVER, REPLACE]);
    let more = with(&frozen, "/data/b", json!("aHVzaA=="));
    for context in [Context::default(), Context { secret_values_known: true, ..Context::default() }] {
        let Outcome::Fail(failure) = foresee_apply(&more, &held, CLIENT, &context) else { panic!("{context:?}") };
        let text = format!("{failure:?}");
        assert!(!text.contains("aHVzaA") && !text.contains("c2VjcmV0") && !text.contains("hidden"), "{text}");
    }
}

#[test]
fn a_role_binding_is_recreated_client_side_and_refused_otherwise() {
    let base = object("rbac.authorization.k8s.io/v1", "RoleBinding", json!({"roleRef": {"kind": "Role", "name": "a"}, "subjects": []}));
    let live = applied(&base, &[("/roleRef/apiGroup", json!("rbac.authorization.k8s.io"))]);
    let target = with(&base, "/roleRef/name", json!("b"));
    assert_eq!(outcome(&target, &live, CLIENT), Outcome::Recreate);
    refused(&target, &live, SERVER);
    refused(&target, &live, REPLACE);
    passes(&with(&base, "/subjects", json!([{"kind": "User", "name": "u"}])), &live, &[CLIENT, SERVER, REPLACE]);
}

#[test]
fn classes_keep_what_defines_them() {
    let cases = [
        ("networking.k8s.io/v1", "IngressClass", json!({"spec": {"controller": "a"}}), "/spec/controller", json!("b")),
        ("scheduling.k8s.io/v1", "PriorityClass", json!({"value": 1}), "/value", json!(2)),
        ("node.k8s.io/v1", "RuntimeClass", json!({"handler": "a"}), "/handler", json!("b")),
        ("storage.k8s.io/v1", "StorageClass", json!({"provisioner": "a", "parameters": {"a": "b"}}), "/parameters/c", json!("d")),
        ("storage.k8s.io/v1", "StorageClass", json!({"provisioner": "a"}), "/volumeBindingMode", json!("WaitForFirstConsumer")),
        ("storage.k8s.io/v1", "CSIDriver", json!({"spec": {}}), "/spec/attachRequired", json!(false)),
    ];
    for (api_version, kind, rest, pointer, value) in cases {
        let base = object(api_version, kind, rest);
        assert_eq!(refused(&with(&base, pointer, value), &applied(&base, &[]), CLIENT).certainty, Certainty::Likely, "{kind}");
        passes(&with(&base, "/metadata/labels", json!({"a": "b"})), &applied(&base, &[]), &[CLIENT, SERVER, REPLACE]);
    }
    let class = object("storage.k8s.io/v1", "StorageClass", json!({"provisioner": "a"}));
    let defaulted = applied(&class, &[("/reclaimPolicy", json!("Delete")), ("/volumeBindingMode", json!("Immediate"))]);
    passes(&class, &defaulted, &[CLIENT, SERVER, REPLACE]);
    passes(&with(&class, "/allowVolumeExpansion", json!(true)), &defaulted, &[CLIENT, SERVER, REPLACE]);
}

fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"properties": {"spec": {"properties": {
        "zone": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "zone is fixed"}]},
        "size": {"type": "string"}}}}}});
    let mut crd = object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        json!({"spec": {
        "group": "example.test", "scope": "Namespaced", "names": {"kind": "Shelf", "plural": "shelves"}, "versions": [{"name": "v1", "schema": schema}]}}),
    );
    crd["metadata"] = json!({"name": "shelves.example.test"});
    crd
}

#[test]
fn a_definition_keeps_scope_and_stored_versions() {
    let live = applied(&definition(), &[("/status/storedVersions", json!(["v1"]))]);
    refused(&with(&definition(), "/spec/scope", json!("Cluster")), &live, CLIENT);
    refused(&with(&definition(), "/spec/versions/0/name", json!("v2")), &live, REPLACE);
    assert_eq!(outcome(&definition(), &live, REPLACE), Outcome::Update);
    assert_eq!(outcome(&definition(), &live, FORCE_REPLACE), Outcome::Update);
    let misnamed = with(&definition(), "/metadata/name", json!("shelf.example.test"));
    assert!(foresee_create(&misnamed, CLIENT, &Context::default()).is_some());
    assert_eq!(foresee_create(&definition(), CLIENT, &Context::default()), None);
}

#[test]
fn a_namespace_is_updated_whatever_the_options() {
    let namespace = object("v1", "Namespace", json!({}));
    for apply in [CLIENT, SERVER, REPLACE, FORCE, FORCE_REPLACE] {
        assert_eq!(outcome(&namespace, &applied(&namespace, &[]), apply), Outcome::Update, "{apply:?}");
    }
}

#[test]
fn a_custom_resource_keeps_fields_that_its_definition_freezes() {
    let crd = definition();
    let context = Context::from_objects([&crd]);
    let shelf = object("example.test/v1", "Shelf", json!({"spec": {"zone": "a", "size": "s"}}));
    let live = applied(&shelf, &[]);
    let Outcome::Fail(failure) = foresee_apply(&with(&shelf, "/spec/zone", json!("b")), &live, CLIENT, &context) else { panic!() };
    assert!(failure.message.starts_with("spec.zone of Shelf shop/x is immutable (zone is fixed)"), "{}", failure.message);
    assert_eq!(foresee_apply(&with(&shelf, "/spec/size", json!("l")), &live, CLIENT, &context), Outcome::Update);
    assert_eq!(foresee_apply(&without(&shelf, "/spec", "zone"), &live, CLIENT, &context), Outcome::Update);
}

#[test]
fn force_breaks_server_side_apply_of_any_object_until_argo_cd_stops_passing_both() {
    let map = object("v1", "ConfigMap", json!({"data": {}}));
    let both = Apply { strategy: ApplyStrategy::ServerSide, force: true };
    assert_eq!(refused(&map, &applied(&map, &[]), both).kind, FailureKind::ForceWithServerSideApply);
    assert!(foresee_create(&map, both, &Context::default()).is_some());
    let later = Context { force_breaks_server_side_apply: false, ..Context::default() };
    assert_eq!(foresee_apply(&map, &applied(&map, &[]), both, &later), Outcome::Update);
}

#[test]
fn odd_objects_do_not_break_the_judgement() {
    for odd in [
        json!(null),
        json!([]),
        json!({}),
        json!({"kind": 5, "spec": []}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": "x"}),
    ] {
        for apply in [CLIENT, SERVER, REPLACE, FORCE, FORCE_REPLACE] {
            foresee_apply(&odd, &deployment(), apply, &Context::default());
            foresee_apply(&deployment(), &odd, apply, &Context::default());
            foresee_create(&odd, apply, &Context::default());
        }
    }
}

#[test]
fn force_deletes_any_object_with_a_finalizer() {
    let base = deployment();
    let live = applied(&base, &[("/metadata/finalizers", json!(["example.test/hold"]))]);
    let failure = refused(&with(&base, "/spec/selector/matchLabels/tier", json!("web")), &live, FORCE);
    assert!(matches!(failure.kind, FailureKind::ForceDeletes { .. }));
    assert_eq!(failure.certainty, Certainty::Likely);
}
