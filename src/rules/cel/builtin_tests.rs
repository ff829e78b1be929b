//! The built-in rules that are written in CEL: each fires where it must, and stays silent on the nearest harmless change.

use serde_json::{Value, json};

use super::super::fixture::*;
use crate::argocd::names::SYNC_OPTIONS;
use crate::finding::{Finding, Severity};
use crate::manifest::ResourceKey;
use crate::plan::reason::Refused;
use crate::plan::{Action, Change, Condition, Dependent, Reason, SYNC_NEEDS_APPROVAL, SYNC_RUNNING, SyncMode, SyncPlan, Tie};

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
    let by_hand = worded(Action::Leftover, Reason::PruneFalse { on_application: true }, claim());
    assert!(by_hand.contains("is kept by Prune=false;"), "{by_hand}");
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
fn a_claim_that_waits_for_a_manual_sync_is_no_warning() {
    let run = |mut plan: SyncPlan| {
        plan.sync.mode = SyncMode::Manual;
        Run { plans: vec![plan], live: snapshot(&[claim()]), ..Run::default() }.loud()
    };
    let change = removed(claim(), Action::Leftover, Reason::ManualSync);
    let config = || object("ConfigMap", "v1", "c");
    let kept = changed(config(), config(), config(), Action::None, Reason::InSync);
    assert_eq!(run(plan("a", vec![change, kept])), []);
}

#[test]
fn immutable_field_changed_speaks_of_fields_and_points_at_them() {
    let mut base = object("Deployment", "apps/v1", "front");
    base["spec"] = json!({"selector": {"matchLabels": {"app": "front"}}});
    let mut target = base.clone();
    target["spec"]["selector"]["matchLabels"]["tier"] = "web".into();
    let fails = |cause: Refused| {
        let fields = vec!["/spec/selector".to_owned()];
        let reason = Reason::Fails { message: "spec.selector of Deployment shop/front is immutable".into(), cause, fields };
        run("immutable-field-changed", changed(base.clone(), target.clone(), base.clone(), Action::Fail, reason))
    };
    let found = fails(Refused::Immutable);
    assert_eq!(found[0].severity, Severity::Error);
    assert_eq!(found[0].message, "spec.selector of Deployment shop/front is immutable");
    assert_eq!(found[0].places[0].pointer, "/spec/selector");
    assert!(fails(Refused::Invalid).is_empty(), "failures for other reasons are not about a change");
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
    let volume = Dependent::direct(ResourceKey::new("", "PersistentVolume", "", "pv-1"), Tie::Volume, None);
    let pod = Dependent::direct(ResourceKey::new("", "Pod", "shop", "p"), Tie::Owned, None);
    let with_volume = Change { cascade: vec![volume.clone(), pod.clone()], ..confirm() };
    assert_eq!(message(vec![with_volume]), format!("{alone}, and with it PersistentVolume pv-1 and 1 more object"));
    assert_eq!(message(vec![Change { cascade: vec![pod], ..confirm() }]), format!("{alone}, and 1 object with it"));
    let retained = removed(claim(), Action::Retain, Reason::PruneFalse { on_application: false });
    assert!(run("prune-needs-confirmation", retained).is_empty());
    let set = object("StatefulSet", "apps/v1", "db");
    let recreated = changed(set.clone(), set.clone(), set, Action::Recreate, Reason::ForceOption);
    let found = run("force-replace-stateful", Change { cascade: vec![volume], ..recreated });
    assert!(found[0].message.contains("stop at once, and PersistentVolume pv-1 go with it"), "{}", found[0].message);
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

#[test]
fn hook_cannot_replace_live_speaks_of_hooks_that_are_live() {
    let job = annotated(object("Job", "batch/v1", "assets"), "argocd.argoproj.io/hook", "PreSync");
    let reason = Reason::Fails {
        message: "the template of Job shop/assets is immutable".into(),
        cause: Refused::Immutable,
        fields: vec!["/spec/template".into()],
    };
    let mut change = changed(job.clone(), job.clone(), job, Action::Fail, reason);
    change.phase = crate::plan::Phase::PreSync;
    let loud = Run { plans: vec![plan("a", vec![change.clone()])], ..Run::default() }.loud();
    assert_eq!(loud, [("hook-cannot-replace-live".to_owned(), Severity::Error)]);
    let found = run("hook-cannot-replace-live", change.clone());
    assert!(found[0].message.ends_with("The sync of `a` stops in PreSync, before anything else"), "{}", found[0].message);
    change.live = None;
    assert!(run("hook-cannot-replace-live", change).is_empty());
}

#[test]
fn force_replace_stateful_looks_at_claims_and_stateful_sets_only() {
    let recreate = |object: Value| {
        let change = changed(object.clone(), object.clone(), object, Action::Recreate, Reason::ForceOption);
        run("force-replace-stateful", change)
    };
    let forced = |object: Value| annotated(object, SYNC_OPTIONS, "Replace=true,Force=true");
    assert_eq!(
        recreate(forced(claim()))[0].message,
        "Each sync of `a` deletes PersistentVolumeClaim shop/data and makes a new, empty one (Force=true deletes it and creates it again)"
    );
    assert!(recreate(annotated(claim(), SYNC_OPTIONS, "Force=true"))[0].message.starts_with("The sync of `a` deletes"));
    assert!(recreate(forced(object("Job", "batch/v1", "prep"))).is_empty());
    assert!(run("force-replace-stateful", changed(claim(), claim(), claim(), Action::Update, Reason::Differs { fields: 1 })).is_empty());
}

#[test]
fn job_reruns_under_selfheal_leaves_hooks_and_lasting_jobs_alone() {
    let mut job = object("Job", "batch/v1", "seed");
    job["spec"]["ttlSecondsAfterFinished"] = 60.into();
    let heals = |plan: &mut SyncPlan| plan.sync.self_heal = true;
    let found = run_with("job-reruns-under-selfheal", added(job.clone()), heals);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Error));
    assert!(found[0].message.ends_with("`a` heals itself and runs it again, endlessly"), "{}", found[0].message);
    assert_eq!(run("job-reruns-under-selfheal", added(job.clone()))[0].severity, Severity::Warning);
    let hook = annotated(job.clone(), "argocd.argoproj.io/hook", "Sync");
    assert!(run_with("job-reruns-under-selfheal", Change { action: Action::Hook, ..added(hook) }, heals).is_empty());
    job["spec"] = json!({});
    assert!(run_with("job-reruns-under-selfheal", added(job), heals).is_empty());
}

#[test]
fn a_misplaced_protection_on_a_claim_is_as_bad_as_the_loss_that_it_stands_for() {
    let claim = annotated(claim(), "argocd.argoproj.io/compare-options", "IgnoreExtraneous");
    let run =
        Run { plans: vec![plan("a", vec![removed(claim.clone(), Action::Prune, gone(true))])], live: snapshot(&[claim]), ..Run::default() };
    assert_eq!(run.loud(), [("protection-misplaced".to_owned(), Severity::Error)]);
}

#[test]
fn every_expression_runs_on_changes_of_every_action_and_kind_that_it_may_meet() {
    let kinds = [
        ("PersistentVolumeClaim", "v1"),
        ("StatefulSet", "apps/v1"),
        ("Job", "batch/v1"),
        ("Namespace", "v1"),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
        ("Widget", "parts.example.test/v1"),
    ];
    let actions = [
        Action::Create,
        Action::Update,
        Action::Adopt,
        Action::Replace,
        Action::Recreate,
        Action::None,
        Action::Hook,
        Action::Skip,
        Action::Fail,
        Action::Prune,
        Action::Leftover,
        Action::Retain,
        Action::Confirm,
        Action::Delete,
        Action::Orphan,
    ];
    let mut changes = Vec::new();
    for (kind, version) in kinds {
        for action in actions {
            let bare = object(kind, version, "x");
            let mut empty = bare.clone();
            empty["metadata"]["annotations"] = Value::Null;
            let reason = Reason::Fails { message: "it is refused".into(), cause: Refused::Immutable, fields: vec!["/spec".into()] };
            for object in [bare, empty] {
                let full = changed(object.clone(), object.clone(), object.clone(), action, reason.clone());
                let live_only = Change { target: None, base: None, ..full.clone() };
                let target_only = Change { live: None, base: None, ..full.clone() };
                changes.extend([full, live_only, target_only]);
            }
        }
    }
    let run = Run { plans: vec![plan("a", changes)], ..Run::default() };
    super::super::judge(&run.facts(), &super::super::RuleSet::builtin().unwrap()).unwrap();
}

fn application_set(spec: Value) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "fleet", "namespace": "argocd"}, "spec": spec})
}

#[test]
fn appset_unknown_generator_names_what_is_no_generator() {
    let found = |generators: Value| run("appset-unknown-generator", added(application_set(json!({"generators": generators}))));
    let lists = json!([{"list": {}}, {"lists": {"elements": []}, "selector": {}}]);
    assert_eq!(
        found(lists.clone())[0].message,
        "ApplicationSet argocd/fleet: 1 generator of no known kind (`lists`): Argo CD only logs that, and the entry yields nothing"
    );
    assert!(found(json!([{"list": {}}, {"plugin": {}}, {"matrix": {}}])).is_empty());
    assert!(found(json!("broken")).is_empty());
    let old = application_set(json!({"generators": lists}));
    assert!(run("appset-unknown-generator", changed(old.clone(), old.clone(), old, Action::None, Reason::InSync)).is_empty());
}

#[test]
fn rolling_sync_disables_automated_speaks_of_new_strategies_over_automated_templates() {
    let set = |kind: &str, automated: Value| {
        application_set(json!({"strategy": {"type": kind, "rollingSync": {"steps": [{}]}},
            "template": {"spec": {"syncPolicy": {"automated": automated}}}}))
    };
    let found = run("rolling-sync-disables-automated", added(set("RollingSync", json!({"selfHeal": true}))));
    assert!(
        found[0].message.contains("their automated policy (self-heal) is disabled, once the controller runs with"),
        "{}",
        found[0].message
    );
    assert!(run("rolling-sync-disables-automated", added(set("AllAtOnce", json!({})))).is_empty());
    assert!(run("rolling-sync-disables-automated", added(set("RollingSync", Value::Null))).is_empty());
}

#[test]
fn each_refusal_has_one_rule() {
    let claim = || object("PersistentVolumeClaim", "v1", "x");
    let config = || object("ConfigMap", "v1", "x");
    for (cause, object, rule) in [
        (Refused::Immutable, claim(), "immutable-field-changed"),
        (Refused::TooLargeToApply, config(), "last-applied-too-large"),
        (Refused::Invalid, config(), "schema-violation"),
        (Refused::ReplaceLosesFields, claim(), "replace-cannot-apply"),
        (Refused::ForceDeletes, claim(), "force-deletes-claim"),
        (Refused::ForceDeletes, config(), "apply-refused"),
        (Refused::Missing, config(), "apply-refused"),
        (Refused::Options, claim(), "apply-refused"),
    ] {
        let reason = Reason::Fails { message: "it is refused".into(), cause, fields: Vec::new() };
        let edited = annotated(object.clone(), "team", "x");
        let change = changed(object.clone(), edited, object, Action::Fail, reason);
        let found = Run { plans: vec![plan("a", vec![change])], ..Run::default() }.judge(&[
            "immutable-field-changed",
            "last-applied-too-large",
            "schema-violation",
            "replace-cannot-apply",
            "force-deletes-claim",
            "apply-refused",
            "hook-cannot-replace-live",
        ]);
        let found: Vec<_> = found.iter().map(|finding| (&*finding.rule, finding.severity)).collect();
        assert_eq!(found, [(rule, Severity::Error)], "{cause:?}");
    }
}

#[test]
fn namespace_adopted_speaks_of_namespaces_that_nobody_tracked_and_nothing_protects() {
    let namespace = || json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    let adopted = |target: Value, reason: Reason| changed(namespace(), target, namespace(), Action::Adopt, reason);
    let found = run("namespace-adopted", adopted(namespace(), Reason::Untracked));
    assert_eq!(
        found[0].message,
        "Namespace shop becomes part of `a`; when its manifest leaves Git later, it is deleted with everything in it"
    );
    let protected = annotated(namespace(), SYNC_OPTIONS, "Prune=false,Delete=false");
    assert!(run("namespace-adopted", adopted(protected, Reason::Untracked)).is_empty());
    assert!(run("namespace-adopted", adopted(namespace(), Reason::TrackedBy { application: "b".into() })).is_empty());
}

#[test]
fn root_prunes_itself_speaks_of_an_application_in_its_own_sync_only() {
    let found = run("root-prunes-itself", removed(application_object("a"), Action::Prune, gone(true)));
    assert_eq!(
        found[0].message,
        "Application argocd/a leaves its own source: its next sync deletes it, and what it manages stays without an Application"
    );
    assert!(run("root-prunes-itself", removed(application_object("b"), Action::Prune, gone(true))).is_empty());
    let elsewhere = removed(application_object("a"), Action::Prune, gone(true));
    assert!(run_with("root-prunes-itself", elsewhere, |plan| plan.server = "https://other.example.test".into()).is_empty());
}

#[test]
fn sync_still_running_warns_of_a_sync_that_needs_a_person() {
    let run = |kind: &'static str, change: Option<Change>| {
        let mut plan = plan("a", change.into_iter().collect());
        let message = "a sync has been running since yesterday".to_owned();
        plan.conditions = vec![Condition { kind, message, key: None, origin: plan.origin.clone() }];
        let found = Run { plans: vec![plan], ..Run::default() }.judge(&["sync-still-running"]);
        found.into_iter().map(|finding| (finding.severity, finding.introduced, finding.message)).collect::<Vec<_>>()
    };
    let says = || "`a`: a sync has been running since yesterday".to_owned();
    assert_eq!(run(SYNC_RUNNING, Some(added(claim()))), [(Severity::Info, true, says())]);
    assert_eq!(run(SYNC_NEEDS_APPROVAL, Some(added(claim()))), [(Severity::Warning, true, says())]);
    assert_eq!(run(SYNC_NEEDS_APPROVAL, None), [(Severity::Warning, false, says())]);
    assert!(run("SharedResourceWarning", Some(added(claim()))).is_empty());
}

#[test]
fn force_deletes_claim_tells_of_the_volume_behind_the_claim() {
    let mut live = claim();
    live["spec"]["volumeName"] = "pv-1".into();
    let reason = || Reason::Fails { message: "it is deleted".into(), cause: Refused::ForceDeletes, fields: Vec::new() };
    let found = |policy: &str| {
        let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1"},
            "spec": {"capacity": {"storage": "20Gi"}, "persistentVolumeReclaimPolicy": policy, "claimRef": {"namespace": "shop", "name": "data"}}});
        let change = changed(claim(), claim(), live.clone(), Action::Fail, reason());
        let run = Run { plans: vec![plan("a", vec![change])], live: snapshot(&[live.clone(), volume]), ..Run::default() };
        run.judge(&["force-deletes-claim"]).remove(0).message
    };
    assert_eq!(found("Delete"), "it is deleted; volume pv-1 (20Gi) has reclaim policy Delete, so the data goes with it");
    assert!(found("Retain").ends_with("until somebody clears its claimRef"));
    let run = Run { plans: vec![plan("a", vec![changed(claim(), claim(), claim(), Action::Fail, reason())])], ..Run::default() };
    assert_eq!(run.judge(&["force-deletes-claim"])[0].message, "it is deleted", "a claim without a volume has none to tell of");
}
