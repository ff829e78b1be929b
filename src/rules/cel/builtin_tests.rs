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
    assert_eq!(run(plan("a", vec![change])), [("prune-persistent-data".to_owned(), Severity::Warning)]);
}
