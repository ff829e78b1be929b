//! Applications that go: pruned by their parent, deleted with it, or swept away by something else that is deleted, through all levels.
//!
//! Takes the plans of one side; puts the plans of deletions in their place, and hangs what they delete below what deletes them.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use super::super::applications::Discovered;
use super::super::sets;
use super::super::sources::{Render, Sources};
use crate::argocd::names::{GROUP, IN_CLUSTER_SERVER, POST_DELETE_FINALIZER, PRE_DELETE_FINALIZER};
use crate::argocd::{AppId, Application};
use crate::finding::Unjudged;
use crate::inventory::Entry;
use crate::manifest::{ResourceKey, Side};
use crate::plan::{Action, Change, Dependent, SyncMode, SyncPlan, Tie, World, deletion};

/// An Application that goes.
pub(super) struct Leaving {
    pub(super) id: AppId,
    /// Why, in a sentence.
    pub(super) reason: String,
    /// Whether what deletes it is reached.
    pub(super) reached: bool,
    /// Whether it goes even where another parent has it in Git: an owner takes what it owns along, a parent's prune gives way.
    certain: bool,
    /// Whether its set drops it: then cluster Secrets have changed before.
    dropped: bool,
}

/// One side of the change.
pub(super) struct Ground<'a> {
    pub(super) side: Side,
    pub(super) discovered: &'a Discovered,
    pub(super) sources: &'a Sources<'a>,
    /// Projects and settings as they are while the deletion runs.
    pub(super) world: &'a World<'a>,
    /// The world with the clusters that are registered when generators have gone through them.
    pub(super) once_registered: &'a World<'a>,
}

/// Follows deletions from the plans of one side through all levels; returns what could not be looked at.
pub(super) fn follow(plans: &mut BTreeMap<AppId, SyncPlan>, ground: &Ground<'_>) -> Vec<Unjudged> {
    let mut unjudged = Vec::new();
    let mut pending: VecDeque<Leaving> = plans.values().flat_map(|plan| leaving(plan, ground)).collect();
    if ground.side == Side::Head {
        let dropped = sets::no_longer_generated(&ground.discovered.inventory, ground.world.live.is_assumed());
        pending.extend(dropped.into_iter().map(|(id, reason)| Leaving { id, reason, reached: true, certain: true, dropped: true }));
    }
    let mut held: Vec<Leaving> = Vec::new();
    let mut done: BTreeSet<AppId> = BTreeSet::new();
    loop {
        while let Some(gone) = pending.pop_front() {
            if done.contains(&gone.id) {
                continue;
            }
            if !gone.certain && other_parent(&gone.id, ground).is_some_and(|parent| !done.contains(parent)) {
                held.push(gone);
                continue;
            }
            let Some(application) = in_cluster(&gone.id, ground) else { continue };
            let mut plan = plan_deletion(&application, &gone, ground, &mut unjudged);
            if let Some(own) = plans.get(&gone.id).and_then(deletes_itself) {
                plan.changes.insert(0, own);
                for (index, change) in plan.changes.iter_mut().enumerate() {
                    change.order = index + 1;
                }
            }
            pending.extend(leaving(&plan, ground));
            done.insert(gone.id.clone());
            plans.insert(gone.id, plan);
        }
        // Who is held by another parent stays, unless that parent has gone meanwhile.
        let (free, still_held): (Vec<Leaving>, Vec<Leaving>) =
            held.into_iter().partition(|gone| other_parent(&gone.id, ground).is_none_or(|parent| done.contains(parent)));
        held = still_held;
        if free.is_empty() {
            break;
        }
        pending = free.into();
    }
    super::swept::mark(plans);
    // What would go once somebody approves it is told below what waits, and planned nowhere.
    held.extend(plans.values().flat_map(|plan| going_by(plan, ground, &awaits_approval)));
    let races = races(held, &done, ground);
    hang_below(plans, &races, ground);
    unjudged
}

/// What would go with Applications that another parent has in Git, if the one that prunes them is faster.
fn races(held: Vec<Leaving>, done: &BTreeSet<AppId>, ground: &Ground<'_>) -> BTreeMap<AppId, SyncPlan> {
    let mut pending: VecDeque<Leaving> = held.into();
    let mut races: BTreeMap<AppId, SyncPlan> = BTreeMap::new();
    while let Some(gone) = pending.pop_front() {
        if done.contains(&gone.id) || races.contains_key(&gone.id) {
            continue;
        }
        let Some(application) = in_cluster(&gone.id, ground) else { continue };
        // What cannot be looked at is told where it is planned for itself.
        let plan = plan_deletion(&application, &gone, ground, &mut Vec::new());
        pending.extend(leaving(&plan, ground));
        races.insert(gone.id, plan);
    }
    races
}

/// The parent that renders the Application at this side: who syncs first decides, and it stays in Git.
fn other_parent<'a>(id: &AppId, ground: &'a Ground<'_>) -> Option<&'a AppId> {
    let entry = ground.discovered.inventory.entries.get(id)?;
    let definition = if ground.side == Side::Head { &entry.head } else { &entry.base };
    definition.as_ref()?.parent.as_ref()
}

/// The Application as it is in the cluster, or as base has it.
fn in_cluster(id: &AppId, ground: &Ground<'_>) -> Option<Arc<Application>> {
    let entry = ground.discovered.inventory.entries.get(id);
    let live = entry.and_then(|entry| entry.live.as_ref().map(|(live, _)| Arc::clone(live)));
    live.or_else(|| ground.discovered.effective.get(&(Side::Base, id.clone())).cloned())
}

fn plan_deletion(application: &Arc<Application>, gone: &Leaving, ground: &Ground<'_>, unjudged: &mut Vec<Unjudged>) -> SyncPlan {
    let entry = ground.discovered.inventory.entries.get(&gone.id);
    let before = ground.sources.rendered(application, Side::Base);
    let after = ground.sources.render(application, ground.side);
    let after = match &after {
        Render::Done(rendered) => deletion::Rendered::Manifests(&rendered.manifests),
        Render::Failed(error) => deletion::Rendered::Broken(&error.message),
        Render::NotTracked(_) | Render::Unjudged(..) => {
            let has_hooks =
                |finalizer: &String| finalizer.starts_with(PRE_DELETE_FINALIZER) || finalizer.starts_with(POST_DELETE_FINALIZER);
            if application.finalizers.iter().any(has_hooks) {
                unjudged.push(Unjudged {
                    application: Some(gone.id.to_string()),
                    what: "hooks of its deletion".to_owned(),
                    why: "its source is not rendered here".to_owned(),
                });
            }
            deletion::Rendered::Unknown
        }
    };
    let input = deletion::Input {
        application,
        origin: entry
            .and_then(Entry::definition)
            .map(|definition| definition.manifest.origin.clone())
            .filter(|origin| !origin.path.is_empty()),
        reason: gone.reason.clone(),
        reached: gone.reached,
        before: &before,
        after,
    };
    deletion::plan(&input, if gone.dropped { ground.once_registered } else { ground.world })
}

/// The prune of the Application itself by its own sync.
fn deletes_itself(plan: &SyncPlan) -> Option<Change> {
    let own = deletion::own_key(&plan.application);
    plan.changes.iter().find(|change| change.action.deletes() && change.key == own).cloned()
}

/// The Applications that a plan deletes. Only objects of the cluster that Argo CD runs in are Applications of its own.
fn leaving(plan: &SyncPlan, ground: &Ground<'_>) -> Vec<Leaving> {
    going_by(plan, ground, &|_, change| change.action.deletes())
}

/// Whether a sync that prunes deletes the object as soon as a person approves that.
fn awaits_approval(plan: &SyncPlan, change: &Change) -> bool {
    change.action == Action::Confirm && plan.sync.prune
}

/// The Applications that go with the changes of a plan that are meant.
fn going_by(plan: &SyncPlan, ground: &Ground<'_>, meant: &dyn Fn(&SyncPlan, &Change) -> bool) -> Vec<Leaving> {
    if &*plan.server != IN_CLUSTER_SERVER {
        return Vec::new();
    }
    let parent = &plan.application.id;
    let mut found = Vec::new();
    for change in plan.changes.iter().filter(|change| meant(plan, change)) {
        let reason = match change.action {
            Action::Prune if plan.sync.mode == SyncMode::Blocked => {
                format!("Application {parent} prunes it as soon as its sync window lets it")
            }
            Action::Prune => format!("Application {parent} prunes it"),
            _ => format!("it goes with Application {parent}"),
        };
        let along = format!("it goes with {}, which Application {parent} deletes", change.key.named());
        if change.key.is(GROUP, "ApplicationSet") {
            let gone = with_their_set(&change.key, plan, ground).into_iter();
            found.extend(gone.map(|(id, reason)| Leaving { id, reason, reached: change.reached, certain: true, dropped: false }));
            continue;
        }
        let swept = change.cascade.iter().map(|dependent| (&dependent.key, &along, true));
        for (key, reason, certain) in std::iter::once((&change.key, &reason, false)).chain(swept) {
            found.extend(application_id(key).map(|id| Leaving {
                id,
                reason: reason.clone(),
                reached: change.reached,
                certain,
                dropped: false,
            }));
        }
    }
    found
}

/// The Applications that go with an ApplicationSet that a plan deletes, with the reason.
fn with_their_set(key: &ResourceKey, plan: &SyncPlan, ground: &Ground<'_>) -> Vec<(AppId, String)> {
    let application = &plan.application;
    let propagation = match plan.sync.mode {
        SyncMode::Deleted => application.propagation(),
        _ => application.spec.sync_policy.sync_options.prune_propagation(),
    };
    sets::with_their_set(key, &ground.discovered.inventory, ground.world.live.is_assumed(), propagation)
}

fn application_id(key: &ResourceKey) -> Option<AppId> {
    key.is(GROUP, "Application").then(|| AppId::new(&key.namespace, &key.name))
}

/// Hangs what the deletion of an Application deletes below every place where the Application itself is deleted.
fn hang_below(plans: &mut BTreeMap<AppId, SyncPlan>, races: &BTreeMap<AppId, SyncPlan>, ground: &Ground<'_>) {
    let gone = plans.iter().filter(|(_, plan)| plan.sync.mode == SyncMode::Deleted).chain(races);
    let deleted: BTreeMap<AppId, Vec<(Dependent, Vec<Dependent>)>> = gone.map(|(id, plan)| (id.clone(), objects_of(plan))).collect();
    for plan in plans.values_mut().filter(|plan| &*plan.server == IN_CLUSTER_SERVER) {
        let owned: BTreeMap<ResourceKey, Vec<(AppId, String)>> = plan
            .changes
            .iter()
            .filter(|change| change.action.deletes() || awaits_approval(plan, change))
            .filter(|change| change.key.is(GROUP, "ApplicationSet"))
            .map(|change| (change.key.clone(), with_their_set(&change.key, plan, ground)))
            .collect();
        let prunes = plan.sync.prune;
        let goes = |change: &Change| change.action.deletes() || (change.action == Action::Confirm && prunes);
        for change in plan.changes.iter_mut().filter(|change| goes(change)) {
            // The policy of a set decides which of the Applications that it owns go.
            if let Some(owned) = owned.get(&change.key) {
                let key = |id: &AppId| ResourceKey::new(GROUP, "Application", &id.namespace, &id.name);
                let goes = |key: &ResourceKey| owned.iter().any(|(id, _)| application_id(key).as_ref() == Some(id));
                change.stays.retain(|dependent| !goes(&dependent.key));
                change.cascade = owned.iter().map(|(id, _)| Dependent::direct(key(id), Tie::Owned, None)).collect();
            }
            let named = change.cascade.iter().map(|dependent| dependent.key.clone()).chain([change.key.clone()]).collect();
            let mut tree = Tree { deleted: &deleted, seen: BTreeSet::new(), named, found: Vec::new() };
            if let Some(id) = application_id(&change.key) {
                tree.hang(&id, 1);
                change.cascade.extend(tree.found);
            } else if change.cascade.iter().any(|dependent| application_id(&dependent.key).is_some()) {
                for dependent in std::mem::take(&mut change.cascade) {
                    let (id, depth) = (application_id(&dependent.key), dependent.depth);
                    tree.found.push(dependent);
                    if let Some(id) = id {
                        tree.hang(&id, depth + 1);
                    }
                }
                change.cascade = tree.found;
            }
        }
    }
}

/// What an Application's deletion deletes, each object with what hangs on it.
fn objects_of(plan: &SyncPlan) -> Vec<(Dependent, Vec<Dependent>)> {
    let cluster = (&*plan.server != IN_CLUSTER_SERVER).then(|| cluster_label(plan));
    let own = deletion::own_key(&plan.application);
    let deleted = plan.changes.iter().filter(|change| change.action == Action::Delete && change.key != own);
    deleted
        .map(|change| {
            let application = Some(plan.application.id.to_string());
            let object = Dependent { cluster: cluster.clone(), ..Dependent::direct(change.key.clone(), Tie::Tracked, application) };
            let below = change.cascade.iter().map(|dependent| Dependent { cluster: cluster.clone(), ..dependent.clone() });
            (object, below.collect())
        })
        .collect()
}

/// What the cluster of an Application that goes is called.
fn cluster_label(plan: &SyncPlan) -> Arc<str> {
    let name = &plan.application.spec.destination.name;
    if name.is_empty() { Arc::clone(&plan.server) } else { name.as_str().into() }
}

struct Tree<'a> {
    deleted: &'a BTreeMap<AppId, Vec<(Dependent, Vec<Dependent>)>>,
    seen: BTreeSet<AppId>,
    /// What stands in the tree by itself.
    named: HashSet<ResourceKey>,
    found: Vec<Dependent>,
}

impl Tree<'_> {
    /// Adds what goes with an Application, from this level on; an Application that was there before is not followed again.
    fn hang(&mut self, top: &AppId, level: usize) {
        self.seen.insert(top.clone());
        let of = |id: &AppId| self.deleted.get(id).map(Vec::as_slice).unwrap_or_default().iter();
        let mut open = vec![(of(top), level)];
        while let Some((objects, level)) = open.last_mut() {
            let level = *level;
            let Some((object, below)) = objects.next() else {
                open.pop();
                continue;
            };
            if object.cluster.is_some() || self.named.insert(object.key.clone()) {
                self.found.push(Dependent { depth: level, ..object.clone() });
                for dependent in below {
                    if dependent.cluster.is_some() || self.named.insert(dependent.key.clone()) {
                        self.found.push(Dependent { depth: level + dependent.depth, ..dependent.clone() });
                    }
                }
            }
            if let Some(child) = application_id(&object.key).filter(|child| self.seen.insert(child.clone())) {
                open.push((of(&child), level + 1));
            }
        }
    }
}
