//! `prune-persistent-data`: a claim, a volume, or a StatefulSet that takes its claims along leaves Git and is deleted, or loses pods with
//! their claims.

use std::sync::Arc;

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{
    Fate as DataFate, View, Volume, app_name, claims_going, claims_of, enumerate, fate_of_claim, is_claim_template_owner, next_sync,
    prune_lets_go, takes_unknown_claims,
};
use crate::plan::{Action, Basis, Change, Reason, SyncMode, SyncPlan, Tie};
use crate::snapshot::LiveObject;

/// How many claims one message spells out.
const NAMED: usize = 5;

/// What happens to the data of a deleted object.
pub(super) struct Fate {
    /// The grade of the finding; `None` for the worst.
    pub(super) grade: Option<&'static str>,
    /// In words.
    pub(super) sentence: String,
}

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, change) in view.changes().filter(|(plan, change)| removes(plan, change)) {
        let Some(fate) = fate(view, plan, change) else { continue };
        let manual = plan.sync.mode == SyncMode::Manual;
        let grade = if manual { Some("manual") } else { fate.grade };
        let when = match (manual, change.reached) {
            (true, _) => format!("will be deleted by a manual sync of {} with prune", app_name(plan)),
            (false, true) => format!("will be deleted by {}", next_sync(plan)),
            (false, false) => format!("will be deleted by a later sync of {}, once nothing fails or waits before it", app_name(plan)),
        };
        let draft = Draft::of_change(plan, change, format!("{} {when}; {}", change.key.named(), fate.sentence)).grade(grade);
        let removed = change.base.as_ref().map(|base| &base.origin);
        findings.push(match removed {
            Some(origin) => draft.at(Some(origin), "", leaves(plan, change)),
            None => draft.at(plan.origin.as_ref(), "", "this Application no longer renders it"),
        });
    }
    findings.extend(view.changes().filter_map(|(plan, change)| scaled_down(view, plan, change)));
}

/// How the object leaves what the Application renders: its manifest goes, or is rendered into another namespace.
fn leaves(plan: &SyncPlan, change: &Change) -> String {
    let base = change.base.as_ref();
    let stays = |other: &&Change| {
        let same = base.zip(other.target.as_ref()).is_some_and(|(base, target)| base.origin.path == target.origin.path);
        same && other.key.namespace != change.key.namespace && other.key.in_namespace(&change.key.namespace) == change.key
    };
    match plan.changes.iter().find(stays) {
        Some(other) => format!("goes to namespace {} now", other.key.namespace),
        None => "leaves Git".to_owned(),
    }
}

/// Whether a sync deletes the object, or will once somebody asks for it. Objects that go with their Application are another rule's.
fn removes(plan: &SyncPlan, change: &Change) -> bool {
    match change.action {
        Action::Prune => plan.sync.mode != SyncMode::Deleted,
        Action::Leftover => change.reason == Reason::ManualSync,
        _ => false,
    }
}

/// What happens to the data when the live object of a change is deleted; `None` where it has none.
pub(super) fn fate(view: &View<'_>, plan: &SyncPlan, change: &Change) -> Option<Fate> {
    let key = &change.key;
    if key.is("", "PersistentVolumeClaim") {
        return Some(sentence_of_claim(view, plan, change.live.as_deref()?));
    }
    if key.is("", "PersistentVolume") {
        return Some(fate_of_volume(change.live_object()?));
    }
    if is_claim_template_owner(key) {
        return fate_of_statefulset(view, plan, change);
    }
    None
}

fn sentence_of_claim(view: &View<'_>, plan: &SyncPlan, claim: &LiveObject) -> Fate {
    match fate_of_claim(view, claim) {
        (DataFate::Empty, _) => Fate { grade: Some("unbound"), sentence: "it is not bound to a volume, so no data is lost".into() },
        (_, Some(volume)) => fate_by_policy(&volume, plan),
        (_, None) => Fate { grade: None, sentence: unknown_volume(plan) },
    }
}

fn fate_by_policy(volume: &Volume, plan: &SyncPlan) -> Fate {
    let named = volume.named();
    match volume.policy.as_deref() {
        Some("Retain") => Fate {
            grade: Some("retained"),
            sentence: format!(
                "volume {named} has reclaim policy Retain, so the data stays, but a new claim does not bind to it until somebody clears its claimRef"
            ),
        },
        Some(policy) => Fate {
            grade: None,
            sentence: format!(
                "volume {named} has reclaim policy {policy}, so the data goes with it and only a backup or a VolumeSnapshot brings it back"
            ),
        },
        None => {
            let why = if plan.basis == Basis::Assumed { "there is no snapshot" } else { "it is not in the snapshot" };
            Fate {
                grade: None,
                sentence: format!("the reclaim policy of its volume {named} is unknown, as {why}: expect the data to be lost"),
            }
        }
    }
}

fn unknown_volume(plan: &SyncPlan) -> String {
    match plan.basis {
        Basis::Live => "its volume is not in the snapshot, so its reclaim policy is unknown: expect the data to be lost".into(),
        Basis::Assumed => "without a snapshot the reclaim policy of its volume is unknown: expect the data to be lost".into(),
    }
}

fn fate_of_volume(volume: &Value) -> Fate {
    let policy = volume.pointer("/spec/persistentVolumeReclaimPolicy").and_then(Value::as_str).unwrap_or("Retain");
    match policy {
        "Retain" => Fate {
            grade: Some("retained"),
            sentence: "its reclaim policy is Retain, so the data stays in the storage, but nothing in the cluster points at it any more"
                .into(),
        },
        policy => {
            Fate { grade: None, sentence: format!("its reclaim policy is {policy}, so the data is deleted as soon as no claim uses it") }
        }
    }
}

/// Claims from templates stay by themselves; they go with their set only if it says so, or if the Application tracks them.
fn fate_of_statefulset(view: &View<'_>, plan: &SyncPlan, change: &Change) -> Option<Fate> {
    let set = change.live.as_deref()?;
    let takes = set.object().pointer("/spec/persistentVolumeClaimRetentionPolicy/whenDeleted").and_then(Value::as_str) == Some("Delete");
    let claims = match change.action {
        Action::Prune => claims_going(view, change),
        // A prune on request would do the same.
        _ if takes && !prune_lets_go(plan) => claims_of(view, set),
        _ => Vec::new(),
    };
    let is_freed = change.cascade.iter().any(|dependent| dependent.tie == Tie::FreedClaim);
    let why = match (takes, is_freed) {
        (true, _) => "persistentVolumeClaimRetentionPolicy.whenDeleted is Delete, so its claims go with it",
        (false, true) => "its claims carry the mark of the Application, which deletes them as soon as the set is gone",
        (false, false) => "it owns its claims, so they go with it",
    };
    if claims.is_empty() {
        return takes_unknown_claims(plan, change).then(|| Fate { grade: None, sentence: format!("{why}, and their data too") });
    }
    Some(fate_of_claims(view, &claims, why))
}

/// What happens to the data of claims that go.
fn fate_of_claims(view: &View<'_>, claims: &[Arc<LiveObject>], why: &str) -> Fate {
    let fates: Vec<(DataFate, String)> = claims
        .iter()
        .map(|claim| {
            let (fate, volume) = fate_of_claim(view, claim);
            let on = volume.map(|volume| format!(" on {}", volume.named())).unwrap_or_default();
            (fate, format!("{}{on}", claim.key.name))
        })
        .collect();
    let of = |wanted: &dyn Fn(DataFate) -> bool| -> Vec<&str> {
        fates.iter().filter(|(fate, _)| wanted(*fate)).map(|(_, named)| named.as_str()).collect()
    };
    let (lost, kept) = (of(&DataFate::is_loss), of(&|fate| fate == DataFate::Kept));
    let all = || enumerate(&of(&|_| true), NAMED);
    match (lost.is_empty(), kept.is_empty()) {
        (false, true) => Fate { grade: None, sentence: format!("{why} ({}): their data is lost", all()) },
        (false, false) => {
            let (lost, kept) = (enumerate(&lost, NAMED), enumerate(&kept, NAMED));
            let sentence = format!("{why}: the data of {lost} is lost; reclaim policy Retain keeps that of {kept}, unbound");
            Fate { grade: None, sentence }
        }
        (true, false) => {
            Fate { grade: Some("retained"), sentence: format!("{why} ({}): their volumes are Retain, so the data stays unbound", all()) }
        }
        (true, true) => {
            Fate { grade: Some("unbound"), sentence: format!("{why} ({}); none is bound to a volume, so no data is lost", all()) }
        }
    }
}

/// A StatefulSet that gets fewer replicas and takes the claims of the pods along that go.
///
/// Source: Kubernetes `persistentVolumeClaimRetentionPolicy.whenScaled`.
fn scaled_down(view: &View<'_>, plan: &SyncPlan, change: &Change) -> Option<Draft> {
    let runs = plan.sync.starts || plan.sync.mode == SyncMode::Manual;
    if !runs || !is_claim_template_owner(&change.key) || !matches!(change.action, Action::Update | Action::Adopt | Action::Replace) {
        return None;
    }
    let (live, target) = (change.live.as_deref()?, change.target_object()?);
    let count = |value: &Option<Value>| value.as_ref().and_then(Value::as_u64);
    let replicas = change.diff.iter().find(|field| field.path == "/spec/replicas")?;
    let (before, after) = (count(&replicas.live)?, count(&replicas.target)?);
    let policy =
        |object: &Value| object.pointer("/spec/persistentVolumeClaimRetentionPolicy/whenScaled").and_then(Value::as_str).map(str::to_owned);
    if after >= before || policy(target).or_else(|| policy(live.object())).as_deref() != Some("Delete") {
        return None;
    }
    let start = target.pointer("/spec/ordinals/start").and_then(Value::as_u64).unwrap_or(0);
    let ordinal = |claim: &LiveObject| claim.key.name.rsplit_once('-').and_then(|(_, text)| text.parse::<u64>().ok());
    let goes = |claim: &LiveObject| ordinal(claim).is_some_and(|ordinal| ordinal >= start + after);
    let claims: Vec<Arc<LiveObject>> = claims_of(view, live).into_iter().filter(|claim| goes(claim)).collect();
    if claims.is_empty() {
        return None;
    }
    let why = "persistentVolumeClaimRetentionPolicy.whenScaled is Delete, so the claims of the pods that go are deleted";
    let fate = fate_of_claims(view, &claims, why);
    let manual = plan.sync.mode == SyncMode::Manual;
    let message = format!("{} is scaled from {before} to {after} by {}; {}", change.key.named(), next_sync(plan), fate.sentence);
    let help = "Set whenScaled to Retain first, in a change of its own that is synced, or take a backup of these claims before.";
    let draft = Draft::of_change(plan, change, message).grade(if manual { Some("manual") } else { fate.grade }).help(help);
    Some(draft.at(change.target.as_ref().map(|target| &target.origin), "/spec/replicas", "fewer replicas"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Severity;
    use crate::manifest::ResourceKey;
    use crate::plan::{Dependent, FieldChange};
    use serde_json::json;

    fn claim() -> serde_json::Value {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "orders-data", "namespace": "shop"},
            "spec": {"volumeName": "pv-1001"}, "status": {"phase": "Bound"}})
    }

    fn volume(policy: &str) -> serde_json::Value {
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1001"},
            "spec": {"capacity": {"storage": "20Gi"}, "persistentVolumeReclaimPolicy": policy,
                "claimRef": {"namespace": "shop", "name": "orders-data"}}})
    }

    fn run(live: &[serde_json::Value], change: Change, build: impl FnOnce(&mut SyncPlan)) -> Vec<crate::finding::Finding> {
        let mut plan = plan("orders", vec![change]);
        build(&mut plan);
        Run { plans: vec![plan], live: snapshot(live), ..Run::default() }.judge(&["prune-persistent-data"])
    }

    #[test]
    fn a_pruned_claim_is_an_error_that_names_volume_size_and_policy_and_points_at_the_removed_text() {
        let found = run(&[claim(), volume("Delete")], removed(claim(), Action::Prune, Reason::RemovedFromGit { automated: true }), |_| ());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!(
            found[0].message,
            "PersistentVolumeClaim shop/orders-data will be deleted by the next automatic sync of `orders`; volume pv-1001 (20Gi) has reclaim \
             policy Delete, so the data goes with it and only a backup or a VolumeSnapshot brings it back"
        );
        assert_eq!(found[0].places[0].origin.side, crate::manifest::Side::Base);
        assert!(found[0].introduced);
    }

    #[test]
    fn a_claim_that_the_sync_does_not_get_to_is_not_deleted_by_the_next_one() {
        let prune = removed(claim(), Action::Prune, Reason::RemovedFromGit { automated: true });
        let found = run(&[claim(), volume("Delete")], Change { reached: false, ..prune }, |_| ());
        assert!(found[0].message.contains("by a later sync of `orders`, once nothing fails or waits before it"), "{}", found[0].message);
    }

    #[test]
    fn a_retained_volume_makes_it_a_warning() {
        let found = run(&[claim(), volume("Retain")], removed(claim(), Action::Prune, Reason::RemovedFromGit { automated: true }), |_| ());
        assert_eq!(found[0].severity, Severity::Warning);
        assert!(found[0].message.contains("the data stays"), "{}", found[0].message);
    }

    #[test]
    fn an_unknown_policy_stays_an_error_and_says_so() {
        let found = run(&[claim()], removed(claim(), Action::Prune, Reason::RemovedFromGit { automated: true }), |_| ());
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].message.contains("is unknown, as it is not in the snapshot"), "{}", found[0].message);
    }

    #[test]
    fn a_manual_sync_makes_it_a_remark_about_what_prune_would_do() {
        let found = run(&[claim(), volume("Delete")], removed(claim(), Action::Leftover, Reason::ManualSync), |plan| {
            plan.sync.mode = SyncMode::Manual
        });
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].message.contains("a manual sync of `orders` with prune"), "{}", found[0].message);
    }

    #[test]
    fn claims_that_stay_or_wait_for_approval_and_other_kinds_are_fine() {
        let stays = [
            (Action::Retain, Reason::PruneFalse { on_application: false }),
            (Action::Leftover, Reason::PruneOff),
            (Action::Leftover, Reason::PruneFalse { on_application: true }),
            (Action::Confirm, Reason::PruneConfirm { on_application: false }),
            (Action::Orphan, Reason::NoFinalizer),
        ];
        for (action, reason) in stays {
            assert!(run(&[claim(), volume("Delete")], removed(claim(), action, reason), |_| ()).is_empty(), "{action:?}");
        }
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}});
        assert!(
            run(std::slice::from_ref(&map), removed(map.clone(), Action::Prune, Reason::RemovedFromGit { automated: true }), |_| ())
                .is_empty()
        );
    }

    #[test]
    fn a_claim_that_goes_with_its_application_is_left_to_the_rule_about_that() {
        let found =
            run(&[claim(), volume("Delete")], removed(claim(), Action::Delete, Reason::Cascade), |plan| plan.sync.mode = SyncMode::Deleted);
        assert!(found.is_empty());
    }

    fn set(when_deleted: &str) -> serde_json::Value {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop"},
            "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}], "persistentVolumeClaimRetentionPolicy": {"whenDeleted": when_deleted}}})
    }

    #[test]
    fn a_statefulset_counts_only_if_it_takes_its_claims_along() {
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-db-0", "namespace": "shop"}});
        let other = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-db-x", "namespace": "shop"}});
        let prune = |set| removed(set, Action::Prune, Reason::RemovedFromGit { automated: true });
        let goes = Dependent::direct(ResourceKey::of(&claim).unwrap(), Tie::Claim, None);
        let found = run(&[set("Delete"), claim.clone(), other.clone()], Change { cascade: vec![goes], ..prune(set("Delete")) }, |_| ());
        assert!(found[0].message.contains("(data-db-0)"), "{}", found[0].message);
        assert!(run(&[set("Retain"), claim.clone()], prune(set("Retain")), |_| ()).is_empty());
        let tie = Dependent::direct(ResourceKey::new("", "PersistentVolumeClaim", "shop", "data-db-0"), Tie::FreedClaim, None);
        let found = run(&[set("Retain"), claim], Change { cascade: vec![tie], ..prune(set("Retain")) }, |_| ());
        assert!(found[0].message.contains("carry the mark of the Application"), "{}", found[0].message);
    }

    #[test]
    fn a_statefulset_that_is_scaled_down_takes_the_claims_of_its_last_pods_along_if_it_says_so() {
        let claim = |index: usize| json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": format!("data-db-{index}"), "namespace": "shop"}});
        let set = |replicas: u64, when_scaled: &str| {
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop"},
                "spec": {"replicas": replicas, "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
                    "persistentVolumeClaimRetentionPolicy": {"whenScaled": when_scaled}}})
        };
        let scale = |from: u64, to: u64, when: &str| {
            let mut change = changed(set(from, when), set(to, when), set(from, when), Action::Update, Reason::Differs { fields: 1 });
            change.diff = vec![FieldChange {
                path: "/spec/replicas".into(),
                live: Some(json!(from)),
                target: Some(json!(to)),
                owner: None,
                owner_time: None,
            }];
            run(&[set(from, when), claim(0), claim(1), claim(2)], change, |plan| plan.sync.starts = true)
        };
        let found = scale(3, 1, "Delete");
        assert!(
            found[0].message.contains("is scaled from 3 to 1") && found[0].message.contains("(data-db-1 and data-db-2)"),
            "{}",
            found[0].message
        );
        assert!(scale(3, 1, "Retain").is_empty());
        assert!(scale(1, 3, "Delete").is_empty());
    }
}
