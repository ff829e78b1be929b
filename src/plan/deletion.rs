//! The plan of an Application that goes: what its live finalizer deletes, in which order, and what stays.
//!
//! Takes the live Application and live state; hands on a [`SyncPlan`] of the mode `deleted`. Git is not asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::application::basis;
use super::change::{Action, AppChange, Change, Phase, SyncDecision, SyncMode, SyncPlan};
use super::dependents;
use super::pairing;
use super::permission;
use super::reason::Reason;
use super::removal;
use super::world::World;
use crate::argocd::Application;
use crate::argocd::wave::wave;
use crate::manifest::{Manifest, Origin, ResourceKey, key::version_of};
use crate::snapshot::LiveObject;

/// A live object and what happens to it.
type Row = (Arc<LiveObject>, Action, Reason);

/// Plans the deletion of an Application. `rendered` is what Git rendered for it: of that, CustomResourceDefinitions stay, for they carry no
/// tracking.
///
/// Source: Argo CD `controller/appcontroller.go:finalizeApplicationDeletion`; without a finalizer nothing of it is touched.
pub fn plan(
    application: &Arc<Application>,
    origin: Option<Origin>,
    reason: String,
    rendered: &[Arc<Manifest>],
    world: &World<'_>,
) -> SyncPlan {
    let settings = world.live.settings();
    let server = world.server(&application.spec.destination).unwrap_or_default();
    let instance = application.id.instance(&settings.namespace);
    let options = &application.spec.sync_policy.sync_options;
    let cascades = application.cascades();
    let own = ResourceKey::new(crate::argocd::names::GROUP, "Application", &application.id.namespace, &application.id.name);
    let mut rows: Vec<Row> = Vec::new();
    for live in world.live.tracked_by(&server, &instance) {
        let copied = !pairing::is_self_referenced(live, settings.tracking.method);
        if live.key == own || copied || settings.filter.excludes(&live.key.group, &live.key.kind, &server) {
            continue;
        }
        let (action, reason) = if !cascades {
            (Action::Orphan, Reason::NoFinalizer)
        } else if permission::live_object(application, world, &server, live) {
            removal::of_deleted_application(live, options, settings.version())
        } else {
            (Action::Orphan, Reason::NotPermitted)
        };
        rows.push((Arc::clone(live), action, reason));
    }
    rows.extend(auto_created_namespace(application, world, &server).map(|live| (live, Action::Orphan, Reason::AutoCreatedNamespace)));
    rows.extend(untracked_definitions(rendered, world, &server).map(|live| (live, Action::Orphan, Reason::CrdUntracked)));
    let waits = cascades && rows.iter().any(|(live, ..)| removal::deletion_needs_approval(live.object(), options, settings.version()));
    let changes = ordered(rows, world, waits);
    SyncPlan {
        application: Arc::clone(application),
        origin,
        server,
        change: AppChange::Removed,
        sync: SyncDecision { mode: SyncMode::Deleted, prune: false, self_heal: false, starts: true, reason },
        changes,
        conditions: Vec::new(),
        basis: basis(world),
        affected: true,
    }
}

/// The destination namespace, where the Application had it made: it carries no tracking and stays.
fn auto_created_namespace(application: &Application, world: &World<'_>, server: &str) -> Option<Arc<LiveObject>> {
    if !application.spec.sync_policy.sync_options.has("CreateNamespace=true") {
        return None;
    }
    let key = ResourceKey::new("", "Namespace", "", &application.spec.destination.namespace);
    world.live.get(server, &key).filter(|live| world.live.is_tracked(live).is_none()).map(Arc::clone)
}

/// CustomResourceDefinitions that the Application rendered and that are live without tracking.
fn untracked_definitions<'a>(
    rendered: &'a [Arc<Manifest>],
    world: &'a World<'_>,
    server: &'a str,
) -> impl Iterator<Item = Arc<LiveObject>> {
    let definitions = rendered.iter().filter(|manifest| manifest.key.is("apiextensions.k8s.io", "CustomResourceDefinition"));
    definitions.filter_map(move |manifest| {
        let live = world.live.get(server, &manifest.key.in_namespace(""))?;
        world.live.is_tracked(live).is_none().then(|| Arc::clone(live))
    })
}

/// Highest wave first; what stays comes last. What waits for a person is not reached.
fn ordered(rows: Vec<Row>, world: &World<'_>, waits: bool) -> Vec<Change> {
    let mut by_wave: BTreeMap<(bool, i64), Vec<Row>> = BTreeMap::new();
    for row in rows {
        by_wave.entry((row.1 != Action::Delete, -wave(row.0.object()))).or_default().push(row);
    }
    let mut changes = Vec::new();
    for ((_, mirrored), mut group) in by_wave {
        group.sort_by(|a, b| a.0.key.cmp(&b.0.key));
        for (live, action, reason) in group {
            let cascade = if action == Action::Delete { dependents::of(&live, world.live) } else { Vec::new() };
            changes.push(Change {
                key: live.key.clone(),
                version: version_of(live.object()).into(),
                action,
                reason,
                phase: Phase::Sync,
                wave: -mirrored,
                order: changes.len() + 1,
                introduced: true,
                reached: !(waits && action == Action::Delete),
                target: None,
                live: Some(live),
                base: None,
                diff: Vec::new(),
                cascade,
                cluster: None,
            });
        }
    }
    changes
}
