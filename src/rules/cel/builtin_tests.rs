//! The built-in rules that are written in CEL: each fires where it must, and stays silent on the nearest harmless change.

use serde_json::{Value, json};

use super::super::fixture::*;
use crate::argocd::names::SYNC_OPTIONS;
use crate::finding::{Finding, Severity};
use crate::plan::{Action, Change, Reason, SyncMode, SyncPlan};

fn object(kind: &str, api_version: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}})
}

fn annotated(mut object: Value, name: &str, value: &str) -> Value {
    object["metadata"]["annotations"][name] = value.into();
    object
}

fn claim() -> Value {
    object("PersistentVolumeClaim", "v1", "data")
}

fn gone(automated: bool) -> Reason {
    Reason::RemovedFromGit { automated }
}

fn run_with(rule: &str, change: Change, build: impl FnOnce(&mut SyncPlan)) -> Vec<Finding> {
    let mut plan = plan("a", vec![change]);
    build(&mut plan);
    Run { plans: vec![plan], ..Run::default() }.judge(&[rule])
}

fn run(rule: &str, change: Change) -> Vec<Finding> {
    run_with(rule, change, |_| ())
}

#[test]
fn prune_crd_counts_what_goes_along() {
    let definition =
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.test"}});
    let found = run("prune-crd", removed(definition.clone(), Action::Prune, gone(true)));
    assert_eq!(
        found[0].message,
        "CustomResourceDefinition widgets.example.test will be deleted by the sync of `a`, and with it every object of its kind in the cluster"
    );
    assert!(run("prune-crd", removed(definition, Action::Orphan, Reason::CrdUntracked)).is_empty());
}

#[test]
fn crd_left_behind_speaks_of_untracked_definitions_only() {
    let definition =
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.test"}});
    assert_eq!(run("crd-left-behind", removed(definition.clone(), Action::Orphan, Reason::CrdUntracked))[0].severity, Severity::Info);
    assert!(run("crd-left-behind", removed(definition, Action::Orphan, Reason::NoFinalizer)).is_empty());
}

#[test]
fn pvc_unprotected_names_what_is_missing_and_looks_only_at_touched_claims() {
    let found = run("pvc-unprotected", added(claim()));
    assert_eq!((found.len(), found[0].severity, found[0].fixable), (1, Severity::Warning, true));
    assert_eq!(
        found[0].message,
        "PersistentVolumeClaim shop/data is not protected: without Prune=false a sync deletes it once its manifest is gone, and without \
         Delete=false it goes with its Application"
    );
    let half = run("pvc-unprotected", added(annotated(claim(), SYNC_OPTIONS, "Prune=false")));
    assert!(half[0].message.ends_with("is not protected: without Delete=false it goes with its Application"), "{}", half[0].message);
    assert!(run("pvc-unprotected", added(annotated(claim(), SYNC_OPTIONS, "Prune=confirm,Delete=false"))).is_empty());
    let untouched = changed(claim(), claim(), claim(), Action::None, Reason::InSync);
    assert!(run("pvc-unprotected", untouched).is_empty());
}

#[test]
fn pvc_unprotected_accepts_the_options_of_the_application() {
    let options = |plan: &mut SyncPlan| edit_spec(plan, |spec| spec["syncPolicy"]["syncOptions"] = json!(["Prune=false", "Delete=false"]));
    assert!(run_with("pvc-unprotected", added(claim()), options).is_empty());
    assert_eq!(run_with("pvc-unprotected", added(annotated(claim(), SYNC_OPTIONS, "Prune=true")), options).len(), 1);
}

#[test]
fn prune_off_leftover_words_each_reason() {
    let worded = |action, reason, live: Value| run("prune-off-leftover", removed_as(claim(), live, action, reason))[0].message.clone();
    assert!(worded(Action::Leftover, Reason::PruneOff, claim()).contains("`a` syncs without prune"));
    assert!(worded(Action::Leftover, Reason::ManualSync, claim()).contains("only if prune is ticked"));
    assert!(worded(Action::Leftover, Reason::NoSyncStarts, claim()).contains("the next one deletes it"));
    let protected = annotated(claim(), SYNC_OPTIONS, "Prune=false");
    let on_object = worded(Action::Retain, Reason::PruneFalse { on_application: false }, protected);
    assert!(on_object.contains("is kept by Prune=false on the live object;"), "{on_object}");
    assert!(!worded(Action::Retain, Reason::PruneFalse { on_application: true }, claim()).contains("on the live object"));
    assert!(run("prune-off-leftover", removed(claim(), Action::Prune, gone(true))).is_empty());
}

#[test]
fn protection_not_live_compares_base_with_the_live_object() {
    let protected = annotated(claim(), SYNC_OPTIONS, "Prune=false");
    let found = run("protection-not-live", removed_as(protected.clone(), claim(), Action::Prune, gone(true)));
    assert_eq!(
        found[0].message,
        "Prune=false for PersistentVolumeClaim shop/data is only in Git; the live object does not carry it, so the sync of `a` deletes it"
    );
    assert!(run("protection-not-live", removed(claim(), Action::Prune, gone(true))).is_empty());
    let kept = removed(protected, Action::Retain, Reason::PruneFalse { on_application: false });
    assert!(run("protection-not-live", kept).is_empty());
}

#[test]
fn a_protection_that_is_not_live_is_the_one_finding_about_a_pruned_claim() {
    let protected = annotated(claim(), SYNC_OPTIONS, "Prune=false");
    let change = removed_as(protected, claim(), Action::Prune, gone(true));
    let run = Run { plans: vec![plan("a", vec![change])], live: snapshot(&[claim()]), ..Run::default() };
    assert_eq!(run.loud(), [("protection-not-live".to_owned(), Severity::Error)]);
}

#[test]
fn a_claim_that_waits_for_a_manual_sync_is_one_warning() {
    let run = |mut plan: SyncPlan| {
        plan.sync.mode = SyncMode::Manual;
        Run { plans: vec![plan], live: snapshot(&[claim()]), ..Run::default() }.loud()
    };
    let change = removed(claim(), Action::Leftover, Reason::ManualSync);
    let config = || object("ConfigMap", "v1", "c");
    let kept = changed(config(), config(), config(), Action::None, Reason::InSync);
    assert_eq!(run(plan("a", vec![change, kept])), [("prune-persistent-data".to_owned(), Severity::Warning)]);
}

#[test]
fn immutable_field_changed_speaks_of_fields_and_points_at_them() {
    let mut base = object("Deployment", "apps/v1", "front");
    base["spec"] = json!({"selector": {"matchLabels": {"app": "front"}}});
    let mut target = base.clone();
    target["spec"]["selector"]["matchLabels"]["tier"] = "web".into();
    let fails = |fields: &[&str]| {
        let fields = fields.iter().map(|&field| field.to_owned()).collect();
        let reason = Reason::Fails { message: "spec.selector of Deployment shop/front is immutable".into(), fields };
        run("immutable-field-changed", changed(base.clone(), target.clone(), base.clone(), Action::Fail, reason))
    };
    let found = fails(&["/spec/selector"]);
    assert_eq!(found[0].severity, Severity::Error);
    assert_eq!(found[0].message, "spec.selector of Deployment shop/front is immutable");
    assert_eq!(found[0].places[0].pointer, "/spec/selector");
    assert!(fails(&[]).is_empty(), "failures for other reasons are not about a field");
}

#[test]
fn prune_needs_confirmation_names_what_waits_with_it() {
    let confirm = || removed(claim(), Action::Confirm, Reason::PruneConfirm { on_application: false });
    let waits = |name: &str| Change { reached: false, ..added(object("ConfigMap", "v1", name)) };
    let message = |changes: Vec<Change>| {
        let found = Run { plans: vec![plan("mail", changes)], ..Run::default() }.judge(&["prune-needs-confirmation"]);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        found[0].message.clone()
    };
    let alone = "The sync of `mail` stops and waits for approval to delete PersistentVolumeClaim shop/data";
    assert_eq!(message(vec![confirm()]), alone);
    assert_eq!(message(vec![confirm(), waits("a")]), format!("{alone}; the change of ConfigMap shop/a waits with it"));
    assert_eq!(message(vec![confirm(), waits("a"), waits("b")]), format!("{alone}; 2 other changes of the Application wait with it"));
    let retained = removed(claim(), Action::Retain, Reason::PruneFalse { on_application: false });
    assert!(run("prune-needs-confirmation", retained).is_empty());
}

#[test]
fn prune_custom_resource_leaves_built_in_kinds_and_argo_cds_own_alone() {
    let pruned = |kind, version| run("prune-custom-resource", removed(object(kind, version, "blue"), Action::Prune, gone(true)));
    let found = pruned("Widget", "parts.example.test/v1");
    assert_eq!(found[0].severity, Severity::Warning);
    assert!(found[0].message.starts_with("Widget shop/blue will be deleted by the sync of `a`"), "{}", found[0].message);
    for (kind, version) in [
        ("ConfigMap", "v1"),
        ("Deployment", "apps/v1"),
        ("Ingress", "networking.k8s.io/v1"),
        ("ServiceMonitor", "monitoring.coreos.com/v1"),
        ("Application", "argoproj.io/v1alpha1"),
    ] {
        assert!(pruned(kind, version).is_empty(), "{kind}");
    }
    assert_eq!(pruned("Rollout", "argoproj.io/v1alpha1").len(), 1);
    assert_eq!(pruned("VolumeSnapshot", "snapshot.storage.k8s.io/v1").len(), 1);
    assert!(run("prune-custom-resource", removed(object("Widget", "a.test/v1", "b"), Action::Leftover, Reason::PruneOff)).is_empty());
}

#[test]
fn leftover_namespace_speaks_only_of_namespaces_that_argo_cd_made() {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "metrics"}});
    let found = run("leftover-namespace", removed(namespace.clone(), Action::Orphan, Reason::AutoCreatedNamespace));
    assert_eq!(found[0].severity, Severity::Info);
    assert!(found[0].message.starts_with("Namespace metrics was made by CreateNamespace=true of `a`"), "{}", found[0].message);
    assert!(run("leftover-namespace", removed(namespace, Action::Orphan, Reason::NoFinalizer)).is_empty());
}

fn on_template(value: &str) -> Value {
    let mut deployment = object("Deployment", "apps/v1", "search");
    deployment["spec"]["template"]["metadata"]["annotations"] = json!({SYNC_OPTIONS: value, "example.test/other": "x"});
    deployment
}

#[test]
fn protection_misplaced_on_a_pod_template_is_found_when_it_is_deleted_or_written() {
    let deleted = run("protection-misplaced", removed(on_template("Prune=false"), Action::Prune, gone(true)));
    assert_eq!(deleted[0].severity, Severity::Warning);
    assert_eq!(
        deleted[0].message,
        "argocd.argoproj.io/sync-options on the pod template of Deployment shop/search has no effect; the object itself has none and will be \
         deleted by the sync of `a`"
    );
    assert_eq!(run("protection-misplaced", added(on_template("Prune=false"))).len(), 1);
    let same = changed(on_template("Prune=false"), on_template("Prune=false"), on_template("Prune=false"), Action::None, Reason::InSync);
    assert!(run("protection-misplaced", same).is_empty());
}

#[test]
fn protection_misplaced_knows_compare_options() {
    const COMPARE: &str = "argocd.argoproj.io/compare-options";
    let pruned = |object| run("protection-misplaced", removed(object, Action::Prune, gone(true)));
    let index = || object("ConfigMap", "v1", "index");
    let extraneous = pruned(annotated(index(), COMPARE, "IgnoreExtraneous"));
    assert!(extraneous[0].message.starts_with("IgnoreExtraneous does not protect ConfigMap shop/index"), "{}", extraneous[0].message);
    let option = pruned(annotated(index(), COMPARE, "Prune=false"));
    assert!(option[0].message.contains("stands in argocd.argoproj.io/compare-options"), "{}", option[0].message);
}

#[test]
fn protection_misplaced_leaves_other_annotations_and_kept_objects_alone() {
    let extraneous = annotated(object("ConfigMap", "v1", "index"), "argocd.argoproj.io/compare-options", "IgnoreExtraneous");
    assert!(run("protection-misplaced", removed(extraneous.clone(), Action::Leftover, Reason::NoSyncStarts)).is_empty());
    assert!(run("protection-misplaced", added(extraneous)).is_empty());
    assert!(run("protection-misplaced", removed(on_template("Validate=false"), Action::Prune, gone(true))).is_empty());
    let both = annotated(on_template("Prune=false"), SYNC_OPTIONS, "Prune=true");
    assert!(run("protection-misplaced", removed(both, Action::Prune, gone(true))).is_empty());
    let plain = object("Deployment", "apps/v1", "plain");
    assert!(run("protection-misplaced", removed(plain, Action::Prune, gone(true))).is_empty());
}

#[test]
fn a_misplaced_protection_is_the_only_loud_finding_about_an_object() {
    let template = json!({"spec": {"template": {"metadata": {"annotations": {SYNC_OPTIONS: "Prune=false"}}}}});
    let mut set = object("StatefulSet", "apps/v1", "ledger");
    set["spec"] = template["spec"].clone();
    set["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}}]);
    let run = Run { plans: vec![plan("a", vec![removed(set, Action::Prune, gone(true))])], ..Run::default() };
    assert_eq!(run.loud(), [("protection-misplaced".to_owned(), Severity::Error)], "data that goes is an error whoever speaks of it");
}
