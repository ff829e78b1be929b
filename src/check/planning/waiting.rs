//! Definitions that the merge alone does not bring into the cluster: what would come out differently once they are applied, and what cannot be
//! said.
//!
//! Takes a candidate and its plan; hands on remarks.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::applications::Discovered;
use super::super::sources::{Render, Sources};
use super::candidate::{Candidate, previous_server};
use super::comparison::base_targets;
use super::revision;
use crate::argocd::{AppId, Application};
use crate::finding::Unjudged;
use crate::inventory::{Delivery, Entry, Inventory};
use crate::manifest::{ResourceKey, Side};
use crate::plan::application::{self, Input};
use crate::plan::watch;
use crate::plan::{Action, Change, Condition, ONCE_APPLIED, SyncMode, SyncPlan, World};

/// Differences that one remark names.
const MAX_NAMED: usize = 6;

/// The remark on a namespace of which the snapshot does not tell whether Argo CD looks at the Applications in it.
pub(super) fn may_be_ignored(namespace: &str) -> String {
    let parameter = watch::APPLICATIONS.parameter;
    format!(
        "assuming that Argo CD looks at Applications in namespace {namespace}, which the snapshot does not show ({parameter} of argocd-cmd-params-cm); else nothing of them happens"
    )
}

/// What the next sync would do differently if the definition were applied; `None` where nothing would.
pub(super) fn once_applied(
    candidate: &Candidate<'_>,
    plan: &SyncPlan,
    discovered: &Discovered,
    sources: &Sources<'_>,
    world: &World<'_>,
) -> Option<Condition> {
    let entry = candidate.entry;
    let application = discovered.once_applied.get(&entry.id)?;
    let who = match entry.delivery()? {
        Delivery::ParentSync => format!("somebody syncs `{}`", entry.parent()?.name),
        Delivery::ByHand => "somebody applies its file".to_owned(),
        Delivery::Unknown { parent, .. } => format!("`{}`, or somebody by hand, applies its file", parent.name),
        Delivery::HeldBack { parent, .. } => format!("the sync of `{}` gets to it", parent.name),
        Delivery::Merge => return None,
    };
    let Render::Done(rendered) = sources.render(application, Side::Head) else { return None };
    let server = |destination| world.server(destination).ok();
    let (now, then) = (server(&plan.application.spec.destination), server(&application.spec.destination));
    let input = Input {
        application: application.clone(),
        origin: plan.origin.clone(),
        rendered: &rendered.manifests,
        rendered_at_base: candidate.base.as_ref().map(super::candidate::SideRender::manifests).unwrap_or_default(),
        previous_server: if now == then { previous_server(candidate, world) } else { now },
        revision: revision(application, sources),
    };
    let then = application::plan(&input, world);
    let different = differences(plan, &then);
    if different.is_empty() {
        return None;
    }
    let (count, shown) = (different.len(), different.get(..MAX_NAMED).unwrap_or(&different).join(", "));
    let more = if count > MAX_NAMED { format!(" and {} more", count - MAX_NAMED) } else { String::new() };
    let message = format!("once {who}, other things happen: {shown}{more}");
    // What it is about is what would be lost.
    let stays = |key: &ResourceKey| !plan.changes.iter().any(|change| change.key == *key && change.action.deletes());
    let key = then.changes.iter().find(|change| change.action.deletes() && stays(&change.key)).map(|change| change.key.clone());
    Some(Condition { kind: ONCE_APPLIED, message, key, origin: plan.origin.clone() })
}

/// What a sync would delete that starts before the edited definition is in the cluster, and that the plan does not delete: a parent's sync and
/// this Application's own start at the same time. A sync that has started goes on with what it was started with.
///
/// Source: Argo CD `controller/appcontroller.go:processRequestedAppOperation` (the operation and the spec are those of its start).
pub(super) fn too_early(candidate: &Candidate<'_>, plan: &SyncPlan, sources: &Sources<'_>, world: &World<'_>) -> Vec<Change> {
    let entry = candidate.entry;
    let is_applied_by_argocd = entry.parent().is_some() || entry.head.as_ref().is_some_and(|head| head.generated.is_some());
    let so_far = match &entry.live {
        Some((live, _)) => Some(live),
        None if world.live.is_assumed() => candidate.base.as_ref().map(|base| &base.application),
        None => None,
    };
    let spec = |application: &Application| application.object.get("spec").cloned();
    let Some(so_far) = so_far
        .filter(|so_far| is_applied_by_argocd && entry.delivery() == Some(&Delivery::Merge) && spec(so_far) != spec(&plan.application))
    else {
        return Vec::new();
    };
    let Render::Done(rendered) = sources.render(so_far, Side::Head) else { return Vec::new() };
    let input = Input {
        application: Arc::clone(so_far),
        origin: plan.origin.clone(),
        rendered: &rendered.manifests,
        rendered_at_base: candidate.base.as_ref().map(super::candidate::SideRender::manifests).unwrap_or_default(),
        previous_server: None,
        revision: revision(so_far, sources),
    };
    let early = application::plan(&input, world);
    if early.sync.mode != SyncMode::Automated {
        return Vec::new();
    }
    let same = |one: &Change, other: &Change| one.key == other.key && one.cluster == other.cluster;
    let is_deleted = |early: &Change| plan.changes.iter().any(|change| change.action.deletes() && same(change, early));
    let before = base_targets(candidate, world);
    let mut found = Vec::new();
    for change in early.changes.into_iter().filter(|change| change.action.deletes() && !is_deleted(change)) {
        let Some(base) = before.get(&change.key).cloned() else { continue };
        found.push(Change { base: Some(base), introduced: true, ..change });
    }
    found
}

/// What one plan does and the other does not, each in words.
fn differences(now: &SyncPlan, then: &SyncPlan) -> Vec<String> {
    fn by_key(plan: &SyncPlan) -> BTreeMap<(&ResourceKey, Option<&str>), Action> {
        let all = plan.changes.iter().map(|change| ((&change.key, change.cluster.as_deref()), change.action));
        all.filter(|(_, action)| *action != Action::None).collect()
    }
    let (before, after) = (by_key(now), by_key(then));
    let mut found = Vec::new();
    if now.sync.mode != then.sync.mode {
        found.push(format!("the sync is {} instead of {}", then.sync.mode.as_str(), now.sync.mode.as_str()));
    }
    // What is deleted stands first, so that it is not among what is only counted.
    let (deleted, others): (Vec<_>, Vec<_>) = after.iter().partition(|(_, action)| action.deletes());
    for ((key, cluster), action) in deleted.into_iter().chain(others) {
        match before.get(&(*key, *cluster)) {
            Some(same) if same == action => {}
            Some(other) => found.push(format!("{} {} instead of {}", action.as_str(), key.named(), other.as_str())),
            None => found.push(format!("{} {}", action.as_str(), key.named())),
        }
    }
    let no_more = before.iter().filter(|(key, _)| !after.contains_key(*key));
    found.extend(no_more.map(|((key, _), action)| format!("no {} of {}", action.as_str(), key.named())));
    found
}

/// That it is not known whether the edit of a definition reaches the cluster.
pub(super) fn unknown_delivery(entry: &Entry) -> Option<Unjudged> {
    let Delivery::Unknown { parent, why } = entry.delivery()? else { return None };
    let definition = entry.head.as_ref().filter(|_| entry.definition_changes())?;
    let planned = if entry.live.is_some() { "it is planned as it is live" } else { "it is planned as its file says" };
    Some(Unjudged {
        application: Some(entry.id.to_string()),
        what: format!("definition in {}", definition.manifest.origin.place()),
        why: format!("whether Application {parent} applies it is not known ({why}); {planned}"),
    })
}

/// Why an Application that only a file has is not planned.
pub(super) fn not_deployed(entry: &Entry) -> Unjudged {
    let place = entry.definition().map(|definition| definition.manifest.origin.place());
    let why = match entry.base {
        None => {
            "no Application renders it and the snapshot does not have it: the merge does not create it, and nothing happens until somebody applies the file"
        }
        Some(_) => "the snapshot has no such Application and no parent renders it",
    };
    let what = place.map_or_else(|| "Application in a file".to_owned(), |place| format!("Application in {place}"));
    Unjudged { application: Some(entry.id.to_string()), what, why: why.to_owned() }
}

/// What is wrong with a definition that cannot be read.
pub(super) fn broken(entry: &Entry) -> Option<Unjudged> {
    let broken = entry.head.as_ref()?.broken.as_ref()?;
    let what_follows = match stays_as_live(entry) {
        true => "the merge does not apply it, and the Application is planned as it is live",
        false => "the Application is not removed by this, but what Argo CD makes of it is not planned",
    };
    Some(Unjudged {
        application: Some(entry.id.to_string()),
        what: format!("definition in {}", broken.place),
        why: format!("{}; {what_follows}", broken.why),
    })
}

/// Whether the live Application decides whatever its definition says.
pub(super) fn stays_as_live(entry: &Entry) -> bool {
    entry.live.is_some() && matches!(entry.delivery(), Some(Delivery::ByHand | Delivery::ParentSync | Delivery::HeldBack { .. }))
}

/// An Application whose definition a parent brings in only when a sync window lets it waits with that parent.
pub(super) fn with_parents(plans: &mut BTreeMap<AppId, SyncPlan>, inventory: &Inventory) {
    let blocked = plans.iter().filter(|(_, plan)| plan.sync.mode == SyncMode::Blocked);
    let mut waiting: BTreeMap<AppId, String> = blocked.map(|(id, plan)| (id.clone(), plan.sync.reason.clone())).collect();
    let mut fresh: Vec<AppId> = waiting.keys().cloned().collect();
    while let Some(parent) = fresh.pop() {
        let Some(why) = waiting.get(&parent).cloned() else { continue };
        for entry in inventory.entries.values().filter(|entry| entry.parent() == Some(&parent)) {
            let spec = |application: &Application| application.object.get("spec").cloned();
            let live = entry.live.as_ref().and_then(|(live, _)| spec(live));
            let is_new = entry.effective.as_deref().and_then(spec) != live;
            let Some(plan) = plans.get_mut(&entry.id).filter(|_| is_new && !waiting.contains_key(&entry.id)) else { continue };
            if plan.sync.mode == SyncMode::Automated {
                plan.sync.reason = format!("`{}` brings in its definition: {why}", parent.name);
                plan.sync.mode = SyncMode::Blocked;
                waiting.insert(entry.id.clone(), why.clone());
                fresh.push(entry.id.clone());
            }
        }
    }
}

/// A new Application of a parent that does not sync by itself is there only after somebody has synced that parent.
pub(super) fn for_parent(plan: &mut SyncPlan, entry: &Entry, assumed: bool) {
    let is_there = entry.live.is_some() || (assumed && entry.base.is_some());
    if is_there || entry.delivery() != Some(&Delivery::ParentSync) {
        return;
    }
    let Some(parent) = entry.parent() else { return };
    plan.sync.reason = format!("`{}` renders it, and the merge alone starts no sync that creates it: somebody has to", parent.name);
    (plan.sync.mode, plan.sync.starts) = (SyncMode::Manual, false);
}
