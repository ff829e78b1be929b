//! The plan of an Application that goes: what its live finalizer deletes, in which order, what stays, and what holds the deletion up.
//!
//! Takes the live Application and live state; hands on a [`SyncPlan`] of the mode `deleted`. Git is asked for the hooks of the deletion only.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::application::{self, basis};
use super::change::{Action, AppChange, Change, Condition, Phase, SyncDecision, SyncMode, SyncPlan};
use super::dependents::{self, Deletion, Dependents};
use super::permission;
use super::reason::Reason;
use super::removal;
use super::world::World;
use crate::argocd::Application;
use crate::argocd::hook::{self, DeletionHook};
use crate::argocd::names::{GROUP, POST_DELETE_FINALIZER, PRE_DELETE_FINALIZER};
use crate::argocd::wave::wave;
use crate::manifest::{Manifest, Origin, ResourceKey, key::version_of};
use crate::snapshot::LiveObject;

/// What Git renders for an Application that goes, once the change is merged: its deletion hooks come from there.
#[derive(Clone, Copy, Debug)]
pub enum Rendered<'a> {
    /// Its manifests.
    Manifests(&'a [Arc<Manifest>]),
    /// Argo CD cannot generate manifests, and why.
    Broken(&'a str),
    /// presync does not know them.
    Unknown,
}

/// What is known about an Application that goes.
pub struct Input<'a> {
    /// The Application as it is live.
    pub application: &'a Arc<Application>,
    /// Its definition in the repository.
    pub origin: Option<Origin>,
    /// Why it goes, in a sentence.
    pub reason: String,
    /// Whether what deletes it is reached.
    pub reached: bool,
    /// What Git rendered for it before: CustomResourceDefinitions among it stay, for they carry no tracking.
    pub before: &'a [Arc<Manifest>],
    /// What Git renders for it when it goes.
    pub after: Rendered<'a>,
}

/// A live object, a hook, or both, and what happens to it.
struct Row {
    key: ResourceKey,
    action: Action,
    reason: Reason,
    phase: Phase,
    target: Option<Arc<Manifest>>,
    live: Option<Arc<LiveObject>>,
}

impl Row {
    fn of_live(live: &Arc<LiveObject>, action: Action, reason: Reason) -> Self {
        Self { key: live.key.clone(), action, reason, phase: Phase::Sync, target: None, live: Some(Arc::clone(live)) }
    }
}

/// What holds a deletion up, and what it holds up.
struct Hold {
    kind: &'static str,
    message: String,
    /// The first phase that is not reached.
    from: Phase,
}

/// Plans the deletion of an Application.
///
/// Source: Argo CD `controller/appcontroller.go:finalizeApplicationDeletion`; without a finalizer nothing of it is touched.
pub fn plan(input: &Input<'_>, world: &World<'_>) -> SyncPlan {
    let application = input.application;
    let (server, known) = match world.server(&application.spec.destination) {
        Ok(server) => (server, true),
        // The finalizers are dropped.
        Err(_) => (world.former_server(&application.spec.destination), false),
    };
    let cascades = application.cascades() && known;
    let live = live_rows(application, world, &server, cascades, known);
    let hooks = if known { hooks(input, world, &server) } else { Vec::new() };
    let holds = if known { holds(input, world, &server, &live) } else { Vec::new() };
    let rest = auto_created_namespace(application, world, &server).into_iter().chain(untracked_definitions(input.before, world, &server));
    let changes = Ordered { application, world, holds: &holds, reached: input.reached }.changes(live.into_iter().chain(hooks).chain(rest));
    let conditions = holds.into_iter().map(|hold| Condition {
        kind: hold.kind,
        message: hold.message,
        key: Some(own_key(application)),
        origin: input.origin.clone(),
    });
    SyncPlan {
        application: Arc::clone(application),
        origin: input.origin.clone(),
        server,
        change: AppChange::Removed,
        sync: SyncDecision { mode: SyncMode::Deleted, prune: false, self_heal: false, starts: true, reason: input.reason.clone() },
        changes,
        conditions: conditions.collect(),
        too_early: Vec::new(),
        basis: basis(world),
        affected: true,
    }
}

/// The key of the Application object itself.
pub fn own_key(application: &Application) -> ResourceKey {
    ResourceKey::new(GROUP, "Application", &application.id.namespace, &application.id.name)
}

/// Every live object that the Application tracks. Copies that carry the tracking id of their model are among them: only the sync tells them
/// apart. An Application that manages itself leaves itself out.
///
/// Source: Argo CD `controller/appcontroller.go:getPermittedAppLiveObjects`.
fn live_rows(application: &Application, world: &World<'_>, server: &str, cascades: bool, known: bool) -> Vec<Row> {
    let settings = world.live.settings();
    let own = own_key(application);
    let options = &application.spec.sync_policy.sync_options;
    let tracked = world.live.tracked_by(server, &application.id.instance(&settings.namespace)).iter();
    let seen = tracked.filter(|live| live.key != own && !settings.filter.excludes(&live.key.group, &live.key.kind, server));
    seen.map(|live| {
        let (action, reason) = if !known {
            (Action::Orphan, Reason::DestinationUnknown)
        } else if !cascades {
            (Action::Orphan, Reason::NoFinalizer)
        } else if !world.sees(server, &live.key) {
            (Action::Orphan, Reason::OutsideNamespaces)
        } else if permission::live_object(application, world, server, live) {
            removal::of_deleted_application(live, options, settings.version())
        } else {
            (Action::Orphan, Reason::NotPermitted)
        };
        Row::of_live(live, action, reason)
    })
    .collect()
}

/// The hooks that run before and after, as far as the live Application has the finalizers for them. Without a snapshot the controller is taken
/// to have set them.
///
/// Source: Argo CD `controller/hook.go:executeHooks`.
fn hooks(input: &Input<'_>, world: &World<'_>, server: &str) -> Vec<Row> {
    let Rendered::Manifests(manifests) = input.after else { return Vec::new() };
    let targets = application::normalised(input.application, manifests, world, server).manifests;
    let phases = [
        (DeletionHook::PreDelete, Phase::PreDelete, PRE_DELETE_FINALIZER, world.live.settings().version().knows_pre_delete_hooks()),
        (DeletionHook::PostDelete, Phase::PostDelete, POST_DELETE_FINALIZER, true),
    ];
    let mut rows = Vec::new();
    for (kind, phase, finalizer, runs) in phases {
        if !runs || !(world.live.is_assumed() || has_finalizer(input.application, finalizer)) {
            continue;
        }
        for target in targets.iter().filter(|target| hook::deletion_hooks(&target.object).contains(&kind)) {
            let live = world.live.get(server, &target.key).cloned();
            let reason = Reason::DeletionHook;
            rows.push(Row { key: target.key.clone(), action: Action::Hook, reason, phase, target: Some(Arc::clone(target)), live });
        }
    }
    rows
}

/// Whether the Application has a finalizer of this name, with or without a suffix.
fn has_finalizer(application: &Application, name: &str) -> bool {
    application.finalizers.iter().any(|one| one.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// What keeps the controller from finishing.
fn holds(input: &Input<'_>, world: &World<'_>, server: &str, live: &[Row]) -> Vec<Hold> {
    let application = input.application;
    let (before, after) = (has_finalizer(application, PRE_DELETE_FINALIZER), has_finalizer(application, POST_DELETE_FINALIZER));
    if !(application.cascades() || before || after) {
        return Vec::new();
    }
    let mut holds = Vec::new();
    if application.is_skipped() {
        let message = "the annotation skip-reconcile makes the controller ignore the Application, so its deletion hangs until it goes";
        holds.push(Hold { kind: "DeletionHangs", message: message.to_owned(), from: Phase::PreDelete });
    }
    if world.project_is_missing(&application.spec.project) {
        let message = format!("the Application's project {} does not exist, so its deletion hangs", application.spec.project);
        holds.push(Hold { kind: "DeletionHangs", message, from: Phase::PreDelete });
    }
    if let Rendered::Broken(why) = input.after
        && (before || after)
    {
        let (from, which) = if before { (Phase::PreDelete, "PreDelete") } else { (Phase::PostDelete, "PostDelete") };
        let message = format!("the deletion hangs before its {which} hooks, which Argo CD renders from Git once more: {why}");
        holds.push(Hold { kind: "DeletionHangs", message, from });
    }
    let base = application::normalised(application, input.before, world, server).manifests;
    let base: BTreeMap<&ResourceKey, &Arc<Manifest>> = base.iter().map(|manifest| (&manifest.key, manifest)).collect();
    let options = &application.spec.sync_policy.sync_options;
    let asks = |row: &&Row| {
        let asks = |object| removal::deletion_needs_approval(object, options, world.live.settings().version());
        row.action == Action::Delete
            && (row.live.as_ref().is_some_and(|live| asks(live.object())) || base.get(&row.key).is_some_and(|base| asks(&base.object)))
    };
    if let Some(row) = live.iter().find(asks) {
        let message = format!("the deletion waits for a person's approval because of {}", row.key.named());
        holds.push(Hold { kind: "DeletionWaits", message, from: Phase::Sync });
    }
    holds
}

/// The destination namespace, where the Application had it made: it carries no tracking and stays.
fn auto_created_namespace(application: &Application, world: &World<'_>, server: &str) -> Option<Row> {
    if !application.spec.sync_policy.sync_options.has("CreateNamespace=true") {
        return None;
    }
    let key = ResourceKey::new("", "Namespace", "", &application.spec.destination.namespace);
    let live = world.live.get(server, &key).filter(|live| world.live.is_tracked(live).is_none())?;
    Some(Row::of_live(live, Action::Orphan, Reason::AutoCreatedNamespace))
}

/// CustomResourceDefinitions that the Application rendered and that are live without tracking.
fn untracked_definitions(rendered: &[Arc<Manifest>], world: &World<'_>, server: &str) -> Vec<Row> {
    let definitions = rendered.iter().filter(|manifest| manifest.key.is("apiextensions.k8s.io", "CustomResourceDefinition"));
    definitions
        .filter_map(|manifest| {
            let live = world.live.get(server, &manifest.key.in_namespace(""))?;
            world.live.is_tracked(live).is_none().then(|| Row::of_live(live, Action::Orphan, Reason::CrdUntracked))
        })
        .collect()
}

/// Puts rows into order.
struct Ordered<'a> {
    application: &'a Application,
    world: &'a World<'a>,
    holds: &'a [Hold],
    reached: bool,
}

impl Ordered<'_> {
    /// Hooks before, then what is deleted, highest wave first, then hooks after; what stays comes last.
    fn changes(&self, rows: impl Iterator<Item = Row>) -> Vec<Change> {
        let rows: Vec<Row> = rows.collect();
        let going: HashSet<ResourceKey> = rows.iter().filter(|row| row.action == Action::Delete).map(|row| row.key.clone()).collect();
        let mut by_step: BTreeMap<(bool, Phase, i64), Vec<Row>> = BTreeMap::new();
        for row in rows {
            let object = row.live.as_ref().map(|live| live.object()).or(row.target.as_ref().map(|target| &*target.object));
            let stays = !matches!(row.action, Action::Delete | Action::Hook);
            let wave = if row.action == Action::Hook { 0 } else { object.map_or(0, wave) };
            by_step.entry((stays, row.phase, wave.saturating_neg())).or_default().push(row);
        }
        let mut changes = Vec::new();
        for ((_, _, mirrored), mut group) in by_step {
            group.sort_by(|a, b| a.key.cmp(&b.key));
            for row in group {
                let order = changes.len() + 1;
                changes.push(self.change(row, mirrored.saturating_neg(), order, &going));
            }
        }
        changes
    }

    fn change(&self, row: Row, wave: i64, order: usize, going: &HashSet<ResourceKey>) -> Change {
        let happens = matches!(row.action, Action::Delete | Action::Hook);
        let hangs = match (&row.live, row.action) {
            (Some(live), Action::Delete) => self.what_hangs_on(live, going),
            _ => Dependents::default(),
        };
        let object = row.live.as_ref().map(|live| live.object()).or(row.target.as_ref().map(|target| &*target.object));
        Change {
            version: object.map(version_of).unwrap_or_default().into(),
            key: row.key,
            action: row.action,
            reason: row.reason,
            phase: row.phase,
            wave,
            order,
            introduced: true,
            earlier: false,
            reached: !happens || (self.reached && self.holds.iter().all(|hold| row.phase < hold.from)),
            target: row.target,
            live: row.live,
            base: None,
            diff: Vec::new(),
            cascade: hangs.go,
            stays: hangs.stay,
            cluster: None,
        }
    }

    fn what_hangs_on(&self, live: &Arc<LiveObject>, going: &HashSet<ResourceKey>) -> Dependents {
        let settings = self.world.live.settings();
        let instance = self.application.id.instance(&settings.namespace);
        let options = &self.application.spec.sync_policy.sync_options;
        // The controller looks for objects again until none is left.
        let follows = |freed: &LiveObject| {
            self.world.live.is_tracked(freed) == Some(&*instance)
                && permission::live_object(self.application, self.world, &live.cluster, freed)
                && removal::of_deleted_application(freed, options, settings.version()).0 == Action::Delete
        };
        dependents::of(live, self.world.live, Deletion { going, orphans: false, follows: &follows })
    }
}

#[cfg(test)]
mod tests;
