//! What becomes of data when objects are deleted: of the claims and volumes among them, and of those that go along or stay behind.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::{View, Volume, enumerate, is_claim_template_owner, named_with_data_first, plural, volume_of};
use crate::argocd::Propagation;
use crate::manifest::ResourceKey;
use crate::plan::{Action, Basis, Change, Dependent, SyncPlan, Tie};
use crate::snapshot::LiveObject;

/// How many names one message spells out.
const NAMED: usize = 8;

/// What becomes of the data of a claim or a volume that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) enum Fate {
    /// Its volume goes.
    Lost,
    /// Live state does not show what its volume does.
    Unknown,
    /// Its volume is Retain.
    Kept,
    /// There is none.
    Empty,
}

impl Fate {
    /// Whether the data is to be given up.
    pub(in crate::rules) fn is_loss(self) -> bool {
        matches!(self, Self::Lost | Self::Unknown)
    }
}

/// What becomes of the data of a live claim when the claim goes, and the volume behind it.
pub(in crate::rules) fn fate_of_claim(view: &View<'_>, claim: &LiveObject) -> (Fate, Option<Volume>) {
    if claim.object().pointer("/status/phase").and_then(Value::as_str) == Some("Pending") {
        return (Fate::Empty, None);
    }
    let volume = volume_of(view, claim);
    let fate = match volume.as_ref().and_then(|volume| volume.policy.as_deref()) {
        None => Fate::Unknown,
        Some("Retain") => Fate::Kept,
        Some(_) => Fate::Lost,
    };
    (fate, volume)
}

/// The live claims that a deleted StatefulSet takes along.
pub(in crate::rules) fn claims_going(view: &View<'_>, change: &Change) -> Vec<Arc<LiveObject>> {
    let Some(set) = &change.live else { return Vec::new() };
    // With whenDeleted, the StatefulSet's controller makes itself their owner.
    let claims = change.cascade.iter().filter(|dependent| dependent.key.is("", "PersistentVolumeClaim") && dependent.depth == 1);
    claims.filter_map(|dependent| view.facts.live.get(&set.cluster, &dependent.key)).cloned().collect()
}

/// What the deletion of these objects takes along without naming it, and what becomes of data; empty, or sentences that follow another one.
pub(in crate::rules) fn consequences(view: &View<'_>, deleted: &[(&SyncPlan, &Change)]) -> String {
    also(deleted) + &data_behind(view, deleted)
}

/// What becomes of the data behind these objects when they are deleted; empty, or sentences that follow another one.
pub(in crate::rules) fn data_behind(view: &View<'_>, deleted: &[(&SyncPlan, &Change)]) -> String {
    let mut data = Data::default();
    deleted.iter().for_each(|(plan, change)| data.add(view, plan, change));
    let mut text = String::new();
    if !data.lost.is_empty() {
        let cascades = deleted.iter().any(|(_, change)| change.action == Action::Delete);
        let whatever = if cascades { ", whatever Prune=false says" } else { "" };
        text.push_str(&format!("; data goes with them{whatever} ({})", enumerate(&data.lost, NAMED)));
    }
    if !data.kept.is_empty() {
        text.push_str(&format!("; reclaim policy Retain keeps the data of {}", enumerate(&data.kept, NAMED)));
    }
    data.left.retain(|(place, _)| !data.seen.contains(place));
    let left: Vec<String> = data.left.into_iter().map(|(_, key)| key.named()).collect();
    if !left.is_empty() {
        text.push_str(&format!("; StatefulSets leave {} behind ({})", plural(left.len(), "claim"), enumerate(&left, NAMED)));
    }
    text
}

/// Where data is, as messages name it, by what becomes of it.
#[derive(Default)]
struct Data {
    lost: Vec<String>,
    kept: Vec<String>,
    /// Claims that a StatefulSet leaves behind, with their places.
    left: Vec<((Arc<str>, ResourceKey), ResourceKey)>,
    /// What was looked at, by cluster.
    seen: BTreeSet<(Arc<str>, ResourceKey)>,
    /// Volumes that were named with their claims.
    volumes: BTreeSet<Arc<str>>,
}

impl Data {
    fn add(&mut self, view: &View<'_>, plan: &SyncPlan, change: &Change) {
        let Some(live) = &change.live else { return };
        let here = change.cascade.iter().filter(|dependent| dependent.cluster.is_none());
        let below = here.filter_map(|dependent| view.facts.live.get(&live.cluster, &dependent.key));
        // Claims before volumes, which are named with them.
        let (volumes, others): (Vec<_>, Vec<_>) =
            std::iter::once(live).chain(below).partition(|object| object.key.is("", "PersistentVolume"));
        for object in others.into_iter().chain(volumes) {
            if self.seen.insert((Arc::clone(&object.cluster), object.key.clone())) {
                self.look_at(view, object);
            }
        }
        let claims = change.stays.iter().filter(|dependent| dependent.key.is("", "PersistentVolumeClaim"));
        self.left.extend(claims.map(|claim| ((Arc::clone(&live.cluster), claim.key.clone()), claim.key.clone())));
        if takes_unknown_claims(plan, change) {
            self.lost.push(format!("the claims of {}", change.key.named()));
        }
    }

    fn look_at(&mut self, view: &View<'_>, object: &LiveObject) {
        let named = object.key.named();
        let fate = if object.key.is("", "PersistentVolumeClaim") {
            let (fate, volume) = fate_of_claim(view, object);
            self.volumes.extend(volume.iter().map(|volume| volume.name.as_str().into()));
            let on = volume.as_ref().map(|volume| format!(" on {}", volume.named())).unwrap_or_default();
            let policy = match volume.and_then(|volume| volume.policy) {
                None => ", reclaim policy unknown".to_owned(),
                Some(policy) if fate == Fate::Lost => format!(", reclaim policy {policy}"),
                Some(_) => String::new(),
            };
            (fate, format!("{named}{on}{policy}"))
        } else if object.key.is("", "PersistentVolume") && !self.volumes.contains(&object.key.name) {
            let policy = object.object().pointer("/spec/persistentVolumeReclaimPolicy").and_then(Value::as_str);
            (if policy.is_none_or(|policy| policy == "Retain") { Fate::Kept } else { Fate::Lost }, named)
        } else {
            return;
        };
        match fate {
            (Fate::Lost | Fate::Unknown, named) => self.lost.push(named),
            (Fate::Kept, named) => self.kept.push(named),
            (Fate::Empty, _) => {}
        }
    }
}

/// Whether a StatefulSet that is deleted takes claims along that only live state would show.
pub(in crate::rules) fn takes_unknown_claims(plan: &SyncPlan, change: &Change) -> bool {
    let field = |pointer: &str| change.live_object().and_then(|live| live.pointer(pointer));
    plan.basis == Basis::Assumed
        && is_claim_template_owner(&change.key)
        && !(change.action != Action::Delete && prune_lets_go(plan))
        && field("/spec/persistentVolumeClaimRetentionPolicy/whenDeleted").and_then(Value::as_str) == Some("Delete")
        && field("/spec/volumeClaimTemplates").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

/// Whether a prune lets go what the object owns.
pub(in crate::rules) fn prune_lets_go(plan: &SyncPlan) -> bool {
    plan.application.spec.sync_policy.sync_options.prune_propagation() == Propagation::Orphan
}

/// Objects that go with their namespace, or their kind, although no Application that goes tracks them.
fn also(deleted: &[(&SyncPlan, &Change)]) -> String {
    let place = |change: &Change, key: &ResourceKey| change.live.as_ref().map(|live| (Arc::clone(&live.cluster), key.clone()));
    let mut seen: BTreeSet<_> = deleted.iter().filter_map(|(_, change)| place(change, &change.key)).collect();
    let mut along: Vec<&ResourceKey> = Vec::new();
    for (_, change) in deleted {
        let swept = change
            .cascade
            .iter()
            .filter(|dependent| dependent.cluster.is_none() && matches!(dependent.tie, Tie::InNamespace | Tie::OfKind));
        for dependent in swept.filter(|dependent| !is_made_by_kubernetes(dependent)) {
            if place(change, &dependent.key).is_some_and(|place| seen.insert(place)) {
                along.push(&dependent.key);
            }
        }
    }
    let unseen = deleted.iter().filter(|(plan, change)| plan.basis == Basis::Assumed && change.key.is("", "Namespace"));
    let unseen: Vec<String> = unseen.map(|(_, change)| change.key.named()).collect();
    if !unseen.is_empty() {
        return format!("; everything else in {} goes along, also what no Application tracks", enumerate(&unseen, NAMED));
    }
    match along.len() {
        0 => String::new(),
        count => {
            let go = if count == 1 { "goes" } else { "go" };
            format!("; {count} more {go} along with them: {}", named_with_data_first(&along, NAMED))
        }
    }
}

/// Objects that every namespace has by itself.
pub(in crate::rules) fn is_made_by_kubernetes(dependent: &Dependent) -> bool {
    matches!((&*dependent.key.kind, &*dependent.key.name), ("ConfigMap", "kube-root-ca.crt") | ("ServiceAccount", "default"))
        || matches!(&*dependent.key.kind, "Event" | "Endpoints" | "EndpointSlice" | "Lease")
}
