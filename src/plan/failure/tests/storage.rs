//! Claims, volumes and what the cluster knows about their classes.

use super::*;

fn claim(size: &str) -> Value {
    object(
        "v1",
        "PersistentVolumeClaim",
        json!({"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": size}}}}),
    )
}

fn bound(size: &str, capacity: &str) -> Value {
    let status = json!({"phase": "Bound", "capacity": {"storage": capacity}});
    let finalizers = json!(["kubernetes.io/pvc-protection"]);
    let added = [
        ("/spec/volumeName", json!("pv-1")),
        ("/spec/volumeMode", json!("Filesystem")),
        ("/status", status),
        ("/metadata/finalizers", finalizers),
    ];
    applied(&claim(size), &added)
}

fn classes(grows: bool) -> Context<'static> {
    Context { storage_classes: BTreeMap::from([("fast".to_owned(), grows)]), ..Context::default() }
}

#[test]
fn a_claim_cannot_shrink() {
    let failure = refused(&claim("50Gi"), &bound("100Gi", "100Gi"), CLIENT);
    assert_eq!(failure.kind, FailureKind::ClaimShrinks);
    assert_eq!(failure.message, "PersistentVolumeClaim shop/x cannot shrink from 100Gi to 50Gi: the sync will fail at this object");
    passes(&claim("102400Mi"), &bound("100Gi", "100Gi"), &[CLIENT, SERVER]);
    // The volume never grew beyond 20Gi: the request may come back, but not below that.
    passes(&claim("50Gi"), &bound("100Gi", "20Gi"), &[CLIENT, SERVER]);
}

#[test]
fn a_claim_grows_only_if_its_class_allows_it() {
    let live = bound("100Gi", "100Gi");
    assert_eq!(foresee_apply(&claim("200Gi"), &live, CLIENT, &classes(true)), Outcome::Update);
    assert_eq!(foresee_apply(&claim("200Gi"), &live, CLIENT, &Context::default()), Outcome::Update);
    for apply in [CLIENT, SERVER, FORCE] {
        let Outcome::Fail(failure) = foresee_apply(&claim("200Gi"), &live, apply, &classes(false)) else { panic!("{apply:?}") };
        assert_eq!(failure.kind, FailureKind::ClaimCannotGrow);
        assert!(failure.message.contains("StorageClass fast does not allow expansion"), "{}", failure.message);
    }
    let mut pending = live.clone();
    pending["status"] = json!({"phase": "Pending"});
    assert_eq!(refused(&claim("200Gi"), &pending, CLIENT).kind, FailureKind::ClaimCannotGrow);
}

#[test]
fn a_claim_keeps_its_class_modes_and_volume() {
    let live = bound("1Gi", "1Gi");
    refused(&with(&claim("1Gi"), "/spec/storageClassName", json!("slow")), &live, CLIENT);
    refused(&without(&claim("1Gi"), "/spec", "storageClassName"), &live, CLIENT);
    refused(&with(&claim("1Gi"), "/spec/accessModes", json!(["ReadWriteMany"])), &live, CLIENT);
    refused(&with(&claim("1Gi"), "/spec/volumeMode", json!("Block")), &live, CLIENT);
    passes(&with(&claim("1Gi"), "/spec/volumeMode", json!("Filesystem")), &live, &[CLIENT, SERVER]);
    passes(&with(&claim("1Gi"), "/metadata/labels", json!({"a": "b"})), &live, &[CLIENT, SERVER]);
    let unclassed = without(&claim("1Gi"), "/spec", "storageClassName");
    let defaulted = applied(&unclassed, &[("/spec/storageClassName", json!("fast"))]);
    passes(&unclassed, &defaulted, &[CLIENT]);
    passes(&claim("1Gi"), &defaulted, &[CLIENT, SERVER]);
}

#[test]
fn replacing_a_bound_claim_fails_without_any_change_unless_git_names_the_volume() {
    let live = bound("1Gi", "1Gi");
    assert_eq!(refused(&claim("1Gi"), &live, REPLACE).kind, FailureKind::ReplaceLosesVolumeName);
    passes(&with(&claim("1Gi"), "/spec/volumeName", json!("pv-1")), &live, &[REPLACE]);
    assert_eq!(outcome(&claim("1Gi"), &live, FORCE_REPLACE), Outcome::Recreate);
}

#[test]
fn force_deletes_a_claim_whose_change_is_refused() {
    let failure = refused(&claim("50Gi"), &bound("100Gi", "100Gi"), FORCE);
    assert_eq!(failure.kind, FailureKind::ForceDeletes { cause: Box::new(FailureKind::ClaimShrinks) });
    assert_eq!(failure.certainty, Certainty::Measured);
    passes(&claim("100Gi"), &bound("100Gi", "100Gi"), &[FORCE]);
}

#[test]
fn a_volume_keeps_its_source_and_may_change_its_reclaim_policy() {
    let base = object(
        "v1",
        "PersistentVolume",
        json!({"spec": {"csi": {"driver": "d", "volumeHandle": "a"}, "persistentVolumeReclaimPolicy": "Delete"}}),
    );
    let live = applied(&base, &[("/spec/volumeMode", json!("Filesystem")), ("/spec/claimRef", json!({"name": "x"}))]);
    passes(&with(&base, "/spec/persistentVolumeReclaimPolicy", json!("Retain")), &live, &[CLIENT, SERVER]);
    refused(&with(&base, "/spec/csi/volumeHandle", json!("b")), &live, CLIENT);
}

#[test]
fn without_a_cluster_what_leaves_git_counts_as_removed() {
    let context = Context { assumed_live: true, ..Context::default() };
    let target = without(&claim("1Gi"), "/spec", "storageClassName");
    for apply in [CLIENT, SERVER] {
        assert!(matches!(foresee_apply(&target, &claim("1Gi"), apply, &context), Outcome::Fail(_)), "{apply:?}");
        assert_eq!(foresee_apply(&claim("1Gi"), &claim("1Gi"), apply, &context), Outcome::Update);
    }
}

#[test]
fn storage_classes_are_read_with_their_default() {
    let mut class = object("storage.k8s.io/v1", "StorageClass", json!({"provisioner": "a", "allowVolumeExpansion": true}));
    class["metadata"]["annotations"] = json!({"storageclass.kubernetes.io/is-default-class": "true"});
    let context = Context::from_objects([&class]);
    assert_eq!(context.storage_classes, BTreeMap::from([("x".to_owned(), true)]));
    assert_eq!(context.default_storage_class.as_deref(), Some("x"));
}
