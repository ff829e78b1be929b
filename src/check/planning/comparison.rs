//! What the other side tells about a plan: what the change introduces, what was due before, where removed objects stood.
//!
//! Takes the plans of both sides of one Application; completes the one of head.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::candidate::{Candidate, SideRender};
use crate::argocd::hook;
use crate::argocd::names::LAST_APPLIED;
use crate::manifest::{Manifest, ResourceKey, annotation};
use crate::plan::change::{HOOK_LEFT, UNTRACKED_LEFT};
use crate::plan::{Action, AppChange, Change, Condition, Phase, Reason, SyncMode, SyncPlan, World, application, permission};
use crate::rules::UnstableObject;

/// Both worlds of a comparison.
#[derive(Clone, Copy)]
pub(super) struct Worlds<'a> {
    pub(super) base: &'a World<'a>,
    pub(super) head: &'a World<'a>,
    /// Head with the projects as they are live, where an Application renders its own.
    pub(super) before_own: Option<&'a World<'a>>,
    /// Head with the projects that parents bring in which a person syncs.
    pub(super) later: Option<&'a World<'a>>,
}

/// Adds to the plan of head what base tells.
pub(super) fn compare(
    plan: &mut SyncPlan,
    base_plan: Option<&SyncPlan>,
    candidate: Option<&Candidate<'_>>,
    worlds: Worlds<'_>,
    unstable: &[UnstableObject],
) {
    let id = plan.application.id.to_string();
    let base_targets = candidate.map(|candidate| base_targets(candidate, worlds.base)).unwrap_or_default();
    let before: HashMap<(&ResourceKey, Option<&Arc<str>>), &Change> =
        base_plan.into_iter().flat_map(|plan| &plan.changes).map(|change| ((&change.key, change.cluster.as_ref()), change)).collect();
    let starts = runs_by_itself(plan) && !base_plan.is_some_and(runs_by_itself);
    let moves = base_plan.is_some_and(|base| base.server != plan.server);
    // What Git said before is not known where base could not be rendered.
    let base_fails = candidate.and_then(|candidate| candidate.base.as_ref()).is_some_and(|base| base.rendered().is_none());
    for change in &mut plan.changes {
        change.base = base_targets.get(&change.key).cloned();
        let before = before.get(&(&change.key, change.cluster.as_ref()));
        change.introduced = match before {
            Some(same) => {
                let now_reached = change.reached && !same.reached;
                same.action != change.action
                    || !same_target(same, change, &id, unstable)
                    || now_reached
                    || (starts && has_effect(change.action))
            }
            None => true,
        };
        // What goes already goes whatever Git says.
        let is_going = change.live_object().and_then(|live| live.pointer("/metadata/deletionTimestamp")).is_some();
        change.introduced &= !(change.action.deletes() && is_going);
        // What the Application's settings kept so far was due at no time.
        let was_kept = before.is_some_and(|before| before.action == Action::Retain || before.reason == Reason::PruneOff);
        // On another cluster nothing was due before.
        change.earlier = !moves && !base_fails && !was_kept && has_effect(change.action) && is_earlier(change);
    }
    if let Some(base_plan) = base_plan {
        if [&*plan, base_plan].iter().all(|plan| plan.sync.mode == SyncMode::Deleted) {
            plan.change = AppChange::Unchanged;
        }
        let hidden = no_longer_seen(plan, base_plan, worlds.head);
        plan.changes.extend(hidden);
        if base_plan.server == plan.server {
            let left = left_behind(plan, &base_targets, candidate.and_then(|candidate| candidate.head.as_ref()), worlds.head);
            plan.conditions.extend(left);
        }
    }
}

/// Objects that leave Git, are live, and are no part of the Application for Argo CD: hooks, and what carries no tracking.
///
/// Source: Argo CD `controller/state.go:CompareAppState` and `gitops-engine/pkg/sync/sync_context.go:getSyncTasks`.
fn left_behind(
    plan: &SyncPlan,
    base_targets: &HashMap<ResourceKey, Arc<Manifest>>,
    head: Option<&SideRender>,
    world: &World<'_>,
) -> Vec<Condition> {
    if world.live.is_assumed() || !matches!(plan.sync.mode, SyncMode::Automated | SyncMode::Manual | SyncMode::Blocked) {
        return Vec::new();
    }
    let seen: HashSet<&ResourceKey> = plan.changes.iter().map(|change| &change.key).collect();
    // A hook that no sync runs is in no plan, and in Git all the same.
    let head_targets = head.map(|head| targets(head, world)).unwrap_or_default();
    let is_gone = |key: &ResourceKey| {
        !seen.contains(key) && !head_targets.contains_key(key) && !key.is("apiextensions.k8s.io", "CustomResourceDefinition")
    };
    let mut gone: Vec<(&ResourceKey, &Arc<Manifest>)> = base_targets.iter().filter(|(key, _)| is_gone(key)).collect();
    gone.sort_by_key(|(key, _)| *key);
    let remarks = gone.into_iter().filter_map(|(key, manifest)| {
        let live = world.live.get(&plan.server, key)?;
        let named = key.named();
        let (kind, message) = if hook::is_hook(&manifest.object) && hook::is_hook(live.object()) {
            (HOOK_LEFT, format!("hook {named} leaves Git; hooks are never pruned, so its last copy stays until somebody deletes it"))
        } else if !hook::is_hook(&manifest.object) && !live.is_owned() && world.live.is_tracked(live).is_none() {
            (UNTRACKED_LEFT, format!("{named} leaves Git, but the live object is not tracked, so that it stays"))
        } else {
            return None;
        };
        Some(Condition { kind, message, key: Some(key.clone()), origin: Some(manifest.origin.clone()) })
    });
    remarks.collect()
}

/// The same for an Application of which nothing differs: nothing is introduced, and every target stood in Git before.
pub(super) fn compare_unchanged(plan: &mut SyncPlan) {
    for change in &mut plan.changes {
        change.base = change.target.clone();
    }
}

/// Whether the plan happens without a person.
fn runs_by_itself(plan: &SyncPlan) -> bool {
    plan.sync.mode == SyncMode::Deleted || (plan.sync.mode == SyncMode::Automated && plan.sync.starts)
}

/// Whether the action changes something in the cluster.
fn has_effect(action: Action) -> bool {
    matches!(action, Action::Create | Action::Update | Action::Adopt | Action::Replace | Action::Recreate | Action::Prune)
}

/// Whether Git said the same before, and no sync has brought it to the cluster.
fn is_earlier(change: &Change) -> bool {
    let same = match (&change.base, &change.target) {
        (Some(base), Some(target)) => base.object == target.object,
        (None, None) => true,
        _ => false,
    };
    if !same || matches!(change.reason, Reason::IgnoredButWritten | Reason::Reapplied { .. } | Reason::ReplaceErases { .. }) {
        return false;
    }
    match (change.action, change.live_object(), change.target_object()) {
        (Action::Update | Action::Replace | Action::Recreate, Some(live), Some(target)) => match was_applied(live, target) {
            Some(applied) => !applied,
            // Server-side apply: what Argo CD wrote itself and Git wants otherwise.
            None => change.diff.iter().any(|field| {
                field.owner.as_ref().is_some_and(|owner| matches!(owner.as_str(), "argocd-controller" | "argocd-application-controller"))
            }),
        },
        _ => true,
    }
}

/// Whether the annotation of the last client-side apply holds this very target: then the difference was made in the cluster. `None` where
/// there is no such annotation.
fn was_applied(live: &Value, target: &Value) -> Option<bool> {
    let mut applied = annotation(live, LAST_APPLIED).and_then(|text| serde_json::from_str::<Value>(text).ok())?;
    let mut target = target.clone();
    // kubectl fills in the namespace, and leaves empty annotations.
    for object in [&mut applied, &mut target] {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("namespace");
            if metadata.get("annotations").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
                metadata.remove("annotations");
            }
        }
    }
    Some(applied == target)
}

/// Whether two changes apply the same; what comes out differently each time does not count.
fn same_target(before: &Change, after: &Change, application: &str, unstable: &[UnstableObject]) -> bool {
    match (&before.target, &after.target) {
        (Some(before), Some(after)) => {
            let is_it = |unstable: &&UnstableObject| unstable.application == application && unstable.key == after.key;
            before.object == after.object
                || unstable.iter().find(is_it).is_some_and(|unstable| {
                    let without = |object: &Value| {
                        let mut object = object.clone();
                        for pointer in &unstable.pointers {
                            object.pointer_mut(pointer).map(Value::take);
                        }
                        object
                    };
                    without(&before.object) == without(&after.object)
                })
        }
        (None, None) => true,
        _ => false,
    }
}

/// Objects of the Application that its project permitted before and no longer does: Argo CD does not see them any more.
///
/// Source: Argo CD `pkg/apis/application/v1alpha1/app_project_types.go:IsLiveResourcePermitted`.
fn no_longer_seen(plan: &SyncPlan, base_plan: &SyncPlan, head: &World<'_>) -> Vec<Change> {
    if !matches!(plan.sync.mode, SyncMode::Automated | SyncMode::Manual | SyncMode::Blocked) || plan.server != base_plan.server {
        return Vec::new();
    }
    let seen: HashSet<&ResourceKey> = plan.changes.iter().map(|change| &change.key).collect();
    let instance = plan.application.id.instance(&head.live.settings().namespace);
    let hidden = base_plan.changes.iter().filter(|change| {
        let live = change.live.as_ref();
        !seen.contains(&change.key)
            && change.cluster.is_none()
            && live.is_some_and(|live| {
                head.live.is_tracked(live) == Some(&*instance) && !permission::live_object(&plan.application, head, &plan.server, live)
            })
    });
    hidden
        .enumerate()
        .map(|(index, change)| Change {
            action: Action::Orphan,
            reason: Reason::NotPermitted,
            phase: Phase::Sync,
            wave: 0,
            order: plan.changes.len() + index + 1,
            introduced: true,
            earlier: false,
            reached: true,
            base: change.target.clone(),
            target: None,
            diff: Vec::new(),
            cascade: Vec::new(),
            stays: Vec::new(),
            ..change.clone()
        })
        .collect()
}

/// What base rendered, under the keys that it had in the cluster.
pub(super) fn base_targets(candidate: &Candidate<'_>, world: &World<'_>) -> HashMap<ResourceKey, Arc<Manifest>> {
    candidate.base.as_ref().map(|base| targets(base, world)).unwrap_or_default()
}

/// What a side rendered, under the keys that it has in the cluster.
fn targets(side: &SideRender, world: &World<'_>) -> HashMap<ResourceKey, Arc<Manifest>> {
    let Some(_) = side.rendered() else { return HashMap::new() };
    let server = world.server(&side.application.spec.destination).unwrap_or_default();
    let targets = application::normalised(&side.application, side.manifests(), world, &server);
    targets.manifests.into_iter().map(|manifest| (manifest.key.clone(), manifest)).collect()
}
