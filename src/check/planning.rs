//! Plans both sides of the Applications that the change touches, and says what the change introduces.
//!
//! Takes what was discovered and live state; hands on [`Planned`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use super::applications::Discovered;
use super::options::{ApplicationFilter, Options};
use super::reach;
use super::sets;
use super::sources::{Render, Sources};
use crate::argocd::names::{GROUP, LAST_APPLIED};
use crate::argocd::{AppId, Application, Project, hook};
use crate::finding::Unjudged;
use crate::inventory::Entry;
use crate::manifest::{Manifest, Origin, ResourceKey, Side};
use crate::plan::application::{self, Input};
use crate::plan::attempt::Revision;
use crate::plan::change::NOT_JUDGED;
use crate::plan::{Action, AppChange, Change, Dependent, SyncMode, SyncPlan, World, deletion, dependents};
use crate::render::{RenderError, Rendered};
use crate::rules::{DuplicateKey, FailurePlace, RenderFailure, UnstableObject};
use crate::snapshot::{AssumedObject, LiveState, Scope};

/// What planning found out.
#[derive(Default)]
pub(super) struct Planned {
    /// Plans, by Application id.
    pub(super) plans: Vec<SyncPlan>,
    /// Applications that the change touches but whose sources are not rendered: only their definitions can be judged.
    pub(super) unrendered: Vec<SyncPlan>,
    /// What could not be looked at.
    pub(super) unjudged: Vec<Unjudged>,
    /// Sources that give no manifests.
    pub(super) failures: Vec<RenderFailure>,
    /// Keys that appear twice.
    pub(super) duplicate_keys: Vec<DuplicateKey>,
    /// Objects of which something is rendered differently each time.
    pub(super) unstable: Vec<UnstableObject>,
    /// Remarks for people.
    pub(super) notes: BTreeSet<String>,
}

/// One Application with what both sides render.
struct Candidate<'a> {
    entry: &'a Entry,
    /// The change touches something that it reads.
    touched: bool,
    /// The revision that it follows instead, where the change touches only files that it would read otherwise.
    untracked: Option<String>,
    /// Changed files that it reads, where Argo CD will not look because of them.
    unnoticed: Vec<Arc<str>>,
    base: Option<SideRender>,
    head: Option<SideRender>,
}

/// An Application and its render at one side.
struct SideRender {
    application: Arc<Application>,
    render: Render,
}

impl SideRender {
    fn manifests(&self) -> &[Arc<Manifest>] {
        match &self.render {
            Render::Done(rendered) => &rendered.manifests,
            _ => &[],
        }
    }

    fn rendered(&self) -> Option<&Arc<Rendered>> {
        match &self.render {
            Render::Done(rendered) => Some(rendered),
            _ => None,
        }
    }
}

/// Plans the Applications that the change touches, or all of them.
pub(super) fn plan(
    discovered: &Discovered,
    sources: &Sources<'_>,
    live: &LiveState,
    options: &Options,
    wanted: &ApplicationFilter,
) -> Planned {
    let Options { all, now, .. } = *options;
    let candidates = candidates(discovered, sources, all);
    let (head_definitions, base_definitions) = (custom_definitions(&candidates, Side::Head), custom_definitions(&candidates, Side::Base));
    let projects: BTreeMap<String, Project> = discovered
        .projects
        .iter()
        .filter_map(|manifest| Project::read(&manifest.object))
        .map(|project| (project.name.clone(), project))
        .collect();
    let as_values = |manifests: &'_ [Arc<Manifest>]| manifests.iter().map(|manifest| Arc::clone(&manifest.object)).collect::<Vec<_>>();
    let (head_values, base_values) = (as_values(&head_definitions), as_values(&base_definitions));
    let head = World::new(live, projects, &head_values.iter().map(|value| &**value).collect::<Vec<_>>()).at(now);
    let base = World::new(live, BTreeMap::new(), &base_values.iter().map(|value| &**value).collect::<Vec<_>>()).at(now);
    let mut planned = Planned::default();
    let results: Vec<One> = candidates.par_iter().map(|candidate| plan_one(candidate, &head, &base, sources, all)).collect();
    let mut plans: BTreeMap<AppId, SyncPlan> = BTreeMap::new();
    for one in results {
        planned.unjudged.extend(one.unjudged);
        planned.failures.extend(one.failure);
        planned.duplicate_keys.extend(one.duplicate_keys);
        planned.notes.extend(one.notes);
        planned.unstable.extend(one.unstable);
        planned.unrendered.extend(one.unrendered);
        if let Some(plan) = one.plan {
            plans.insert(plan.application.id.clone(), plan);
        }
    }
    delete_closure(&mut plans, discovered, sources, &head, &base);
    let goes = |id: &AppId| plans.get(id).is_some_and(|plan| plan.sync.mode == SyncMode::Deleted);
    planned.failures.retain(|failure| !goes(&app_id(&failure.application)));
    planned.unjudged.retain(|unjudged| !unjudged.application.as_deref().is_some_and(|id| goes(&app_id(id))));
    planned.plans = plans.into_values().filter(|plan| wanted.takes(&plan.application.id)).collect();
    let shown = |application: &str| wanted.takes(&app_id(application));
    planned.unrendered.retain(|plan| wanted.takes(&plan.application.id));
    planned.failures.retain(|failure| shown(&failure.application));
    planned.duplicate_keys.retain(|duplicate| shown(&duplicate.application));
    planned.unstable.retain(|unstable| shown(&unstable.application));
    planned.unjudged.extend(discovered.unjudged.iter().cloned());
    planned.unjudged.retain(|unjudged| unjudged.application.as_deref().is_none_or(shown));
    planned.unjudged.sort();
    planned.unjudged.dedup();
    planned
}

/// The id behind `namespace/name`.
fn app_id(text: &str) -> AppId {
    let (namespace, name) = text.split_once('/').unwrap_or(("", text));
    AppId::new(namespace, name)
}

/// The Applications that the change may touch, rendered at both sides.
fn candidates<'a>(discovered: &'a Discovered, sources: &Sources<'_>, all: bool) -> Vec<Candidate<'a>> {
    let changes = &sources.revisions.changes;
    let side = |entry: &Entry, side: Side| discovered.effective.get(&(side, entry.id.clone())).cloned();
    let entries: Vec<&Entry> = discovered.inventory.entries.values().collect();
    entries
        .into_par_iter()
        .filter_map(|entry| {
            let (base, head) = (side(entry, Side::Base), side(entry, Side::Head));
            let reads_changed = |application: &Option<Arc<Application>>, side: Side| {
                application.as_ref().is_some_and(|application| sources.inputs(application, side).touched_by(changes))
            };
            let paths = head.as_deref().and_then(reach::generate_paths);
            let is_covered = paths.as_ref().is_some_and(|paths| changes.touched().iter().any(|file| paths.covers(file)));
            let touched = is_covered || reads_changed(&head, Side::Head) || reads_changed(&base, Side::Base);
            let untracked = head.as_ref().and_then(|head| sources.untracked(head));
            let differs = match (&base, &head) {
                (Some(base), Some(head)) => base.object != head.object,
                _ => true,
            };
            if !(all || touched || untracked.is_some() || differs || entry.definition_changes()) {
                return None;
            }
            let render = |application: Option<Arc<Application>>, side: Side| {
                application.map(|application| SideRender { render: sources.render(&application, side), application })
            };
            let unnoticed = match &head {
                Some(head) if paths.is_some() && !is_covered && !differs => {
                    sources.inputs(head, Side::Head).changed(changes).into_iter().cloned().collect()
                }
                _ => Vec::new(),
            };
            Some(Candidate { entry, touched, untracked, unnoticed, base: render(base, Side::Base), head: render(head, Side::Head) })
        })
        .collect()
}

/// CustomResourceDefinitions that a side renders.
fn custom_definitions(candidates: &[Candidate<'_>], side: Side) -> Vec<Arc<Manifest>> {
    let of_side = candidates.iter().filter_map(|candidate| match side {
        Side::Base => candidate.base.as_ref(),
        Side::Head => candidate.head.as_ref(),
    });
    of_side
        .flat_map(SideRender::manifests)
        .filter(|manifest| manifest.key.is("apiextensions.k8s.io", "CustomResourceDefinition"))
        .map(Arc::clone)
        .collect()
}

/// What planning one Application gives.
#[derive(Default)]
struct One {
    plan: Option<SyncPlan>,
    unrendered: Option<SyncPlan>,
    unjudged: Vec<Unjudged>,
    failure: Option<RenderFailure>,
    duplicate_keys: Vec<DuplicateKey>,
    notes: Vec<String>,
    unstable: Vec<UnstableObject>,
}

fn plan_one(candidate: &Candidate<'_>, head_world: &World<'_>, base_world: &World<'_>, sources: &Sources<'_>, all: bool) -> One {
    let (entry, live) = (candidate.entry, head_world.live);
    let Some(head) = &candidate.head else { return One::default() };
    let affected = is_affected(candidate);
    if !affected && !all && !is_hidden(candidate) {
        return One::default();
    }
    let id = entry.id.to_string();
    // A file that nothing applied yet, and that the change does not touch, is not in the cluster.
    let deployed =
        entry.live.is_some() || live.is_assumed() || entry.parent().is_some() || entry.generated().is_some() || entry.base.is_none();
    if !deployed {
        let why = "the snapshot has no such Application and no parent renders it".to_owned();
        return One { unjudged: vec![Unjudged { application: Some(id), what: "Application in a file".to_owned(), why }], ..One::default() };
    }
    let origin = entry.definition().map(|definition| definition.manifest.origin.clone()).filter(|origin| !origin.path.is_empty());
    // Where nothing differs, the two sides are one.
    let rendered_at_base = if affected { candidate.base.as_ref().map(SideRender::manifests).unwrap_or_default() } else { head.manifests() };
    let input = Input {
        application: Arc::clone(&head.application),
        origin,
        rendered: head.manifests(),
        rendered_at_base,
        previous_server: previous_server(candidate, head_world),
        revision: revision(&head.application, sources),
    };
    let mut one = One::default();
    let mut plan = match &head.render {
        Render::Done(rendered) => {
            let mut plan = application::plan(&input, head_world);
            one.notes.extend(rendered.assumptions.iter().map(|assumption| format!("{id}: {assumption}")));
            one.unstable = unstable_objects(&id, rendered, &plan);
            plan.conditions.extend(candidate.untracked.as_deref().map(|revision| reach::untracked(&input, revision)));
            plan.conditions.extend(reach::unnoticed(&candidate.unnoticed, &input));
            one.duplicate_keys = duplicate_keys(&id, rendered, candidate.base.as_ref().and_then(SideRender::rendered), &plan);
            plan
        }
        Render::Failed(error) => {
            let introduced =
                !matches!(&candidate.base, Some(SideRender { render: Render::Failed(before), .. }) if before.message == error.message);
            one.failure = Some(failure(&id, &head.application, error, introduced, head_world));
            let server = head_world.server(&head.application.spec.destination).unwrap_or_default();
            application::stopped(&input, server, head_world, SyncMode::Error, error.message.clone(), Vec::new())
        }
        Render::NotTracked(revision) => reach::not_tracked(&input, head_world, revision),
        Render::Unjudged(what, why) => {
            one.unjudged.push(Unjudged { application: Some(id), what: what.clone(), why: why.clone() });
            let mode = planned_mode(&input.application, live);
            let server = head_world.server(&input.application.spec.destination).unwrap_or_default();
            let mut plan = application::stopped(&input, server, head_world, mode, why.clone(), Vec::new());
            (plan.change, plan.affected) = (app_change(entry), affected);
            one.unrendered = Some(plan);
            return one;
        }
    };
    if !affected {
        finish_unchanged(&mut plan, head_world);
        plan.change = app_change(entry);
        plan.affected = is_hidden(candidate);
        if plan.affected && !all {
            // Nothing of it is shown; rules tell why the change has no effect.
            one.unrendered = Some(SyncPlan { changes: Vec::new(), ..plan });
        } else {
            one.unjudged.extend(not_judged(&mut plan));
            one.plan = Some(plan);
        }
        return one;
    }
    let base_plan = candidate.base.as_ref().filter(|base| base.rendered().is_some()).map(|base| {
        let input = Input {
            application: Arc::clone(&base.application),
            origin: None,
            rendered: base.manifests(),
            // The same slice: base is its own base.
            rendered_at_base: base.manifests(),
            previous_server: None,
            revision: Revision::New,
        };
        application::plan(&input, base_world)
    });
    finish(&mut plan, base_plan.as_ref(), candidate, base_world, &one.unstable);
    plan.change = app_change(entry);
    plan.affected = affected;
    one.unjudged.extend(not_judged(&mut plan));
    one.plan = Some(plan);
    one
}

/// Takes the remarks on what presync did not look at out of a plan.
fn not_judged(plan: &mut SyncPlan) -> Vec<Unjudged> {
    let application = plan.application.id.to_string();
    let remarks = plan.conditions.extract_if(.., |condition| condition.kind == NOT_JUDGED);
    let named = |key: Option<ResourceKey>| {
        key.map_or_else(|| "ignoreDifferences".to_owned(), |key| format!("ignoreDifferences of {}", key.named()))
    };
    remarks.map(|remark| Unjudged { application: Some(application.clone()), what: named(remark.key), why: remark.message }).collect()
}

/// Whether anything of the Application differs between the sides.
fn is_affected(candidate: &Candidate<'_>) -> bool {
    let (Some(base), Some(head)) = (&candidate.base, &candidate.head) else { return true };
    if candidate.entry.definition_changes() || base.application.object != head.application.object || candidate.untracked.is_some() {
        return true;
    }
    match (&base.render, &head.render) {
        (Render::Done(base), Render::Done(head)) => {
            base.manifests.len() != head.manifests.len()
                || base.manifests.iter().zip(&head.manifests).any(|(before, after)| before.object != after.object)
                || base.duplicate_keys.len() != head.duplicate_keys.len()
        }
        // What it renders to is not known.
        _ => candidate.touched,
    }
}

/// Whether the change touches what is rendered, and nothing comes of it because the source in effect is not that of the file: a parameter
/// that was set on the live Application wins over the value that the change edits.
fn is_hidden(candidate: &Candidate<'_>) -> bool {
    let in_file = candidate.entry.head.as_ref().map(|definition| definition.application.spec.sources());
    let in_effect = candidate.head.as_ref().map(|head| head.application.spec.sources());
    candidate.touched && candidate.entry.live.is_some() && in_file.is_some() && in_file != in_effect
}

fn app_change(entry: &Entry) -> AppChange {
    match (&entry.base, &entry.head) {
        (None, Some(_)) => AppChange::Added,
        (Some(_), None) => AppChange::Removed,
        _ if entry.definition_changes() => AppChange::Modified,
        _ => AppChange::Unchanged,
    }
}

/// The cluster that the Application is on so far, where that is another one.
fn previous_server(candidate: &Candidate<'_>, world: &World<'_>) -> Option<Arc<str>> {
    let head = world.server(&candidate.head.as_ref()?.application.spec.destination).ok()?;
    let before = match &candidate.entry.live {
        Some((live, _)) => &live.spec.destination,
        None => &candidate.base.as_ref()?.application.spec.destination,
    };
    world.server(before).ok().filter(|before| *before != head)
}

/// How an Application is synced where nothing more is known.
pub(super) fn planned_mode(application: &Application, live: &LiveState) -> SyncMode {
    if application.automated_in(live.settings().version()).is_some() { SyncMode::Automated } else { SyncMode::Manual }
}

/// Whether the head is the commit that the Application's last sync was to.
fn revision(application: &Application, sources: &Sources<'_>) -> Revision {
    let result = application.object.pointer("/status/operationState/syncResult").unwrap_or(&Value::Null);
    let several = result.get("revisions").and_then(Value::as_array).into_iter().flatten();
    let mut synced = several.chain(result.get("revision")).filter_map(Value::as_str);
    if synced.any(|revision| revision == sources.revisions.head_name) { Revision::Synced } else { Revision::New }
}

fn failure(id: &str, application: &Application, error: &RenderError, introduced: bool, world: &World<'_>) -> RenderFailure {
    let destination = &application.spec.destination;
    let server = world.server(destination).unwrap_or_default();
    let placed = |key: &ResourceKey| match world.scope(&server, &key.group, &key.kind) {
        Some(Scope::Cluster) => key.in_namespace(""),
        _ if key.namespace.is_empty() => key.in_namespace(&destination.namespace),
        _ => key.clone(),
    };
    RenderFailure {
        application: id.to_owned(),
        message: error.message.clone(),
        help: error.help.clone(),
        rule: error.rule,
        place: error.place.as_ref().map(|(path, side, line, column)| FailurePlace {
            path: Arc::clone(path),
            side: *side,
            line: *line,
            column: *column,
        }),
        object: error.object.as_deref().map(|(origin, pointer, key)| (origin.clone(), pointer.clone(), placed(key))),
        introduced,
    }
}

fn duplicate_keys(application: &str, head: &Rendered, base: Option<&Arc<Rendered>>, plan: &SyncPlan) -> Vec<DuplicateKey> {
    let before: BTreeSet<(&str, &str)> = base
        .iter()
        .flat_map(|rendered| &rendered.duplicate_keys)
        .map(|duplicate| (&*duplicate.origin.path, duplicate.pointer.as_str()))
        .collect();
    let resource = |origin: &Origin| {
        let in_document = plan.changes.iter().filter(|change| {
            change.target.as_ref().is_some_and(|target| target.origin.path == origin.path && target.origin.document == origin.document)
        });
        in_document.map(|change| change.key.clone()).next()
    };
    let found = head.duplicate_keys.iter().map(|duplicate| DuplicateKey {
        application: application.to_owned(),
        resource: resource(&duplicate.origin),
        introduced: !before.contains(&(&*duplicate.origin.path, duplicate.pointer.as_str())),
        origin: duplicate.origin.clone(),
        pointer: duplicate.pointer.clone(),
    });
    found.collect()
}

/// The changed objects of a plan of which something is rendered differently each time.
fn unstable_objects(application: &str, rendered: &Rendered, plan: &SyncPlan) -> Vec<UnstableObject> {
    let of_change = |change: &Change| {
        let is_it = |key: &ResourceKey| {
            change.key.is(&key.group, &key.kind)
                && change.key.name == key.name
                && (change.key.namespace == key.namespace || key.namespace.is_empty() || change.key.namespace.is_empty())
        };
        let unstable = rendered.unstable.iter().find(|unstable| is_it(&unstable.key))?;
        Some(UnstableObject { application: application.to_owned(), key: change.key.clone(), pointers: unstable.pointers.clone() })
    };
    plan.changes.iter().filter(|change| change.target.is_some()).filter_map(of_change).collect()
}

/// Adds to a plan what the other side tells: what is introduced, where removed objects stood, and what goes along with them.
fn finish(plan: &mut SyncPlan, base_plan: Option<&SyncPlan>, candidate: &Candidate<'_>, world: &World<'_>, unstable: &[UnstableObject]) {
    let base_targets = base_targets(candidate, world);
    let before: HashMap<(&ResourceKey, Option<&Arc<str>>), &Change> =
        base_plan.into_iter().flat_map(|plan| &plan.changes).map(|change| ((&change.key, change.cluster.as_ref()), change)).collect();
    for change in &mut plan.changes {
        change.base = base_targets.get(&change.key).cloned();
        change.introduced = match before.get(&(&change.key, change.cluster.as_ref())) {
            Some(same) => same.action != change.action || !same_target(same, change, unstable),
            None => true,
        };
        change.cascade = cascade(change, world);
    }
}

/// The same for an Application of which nothing differs: nothing is introduced, and every target stood in Git before.
fn finish_unchanged(plan: &mut SyncPlan, world: &World<'_>) {
    for change in &mut plan.changes {
        change.base = change.target.clone();
        change.cascade = cascade(change, world);
    }
}

/// What goes along with a pruned object.
fn cascade(change: &Change, world: &World<'_>) -> Vec<Dependent> {
    match &change.live {
        Some(live) if change.action == Action::Prune => dependents::of(live, world.live),
        _ => Vec::new(),
    }
}

/// Whether two changes apply the same; what comes out differently each time does not count.
fn same_target(before: &Change, after: &Change, unstable: &[UnstableObject]) -> bool {
    match (&before.target, &after.target) {
        (Some(before), Some(after)) => {
            before.object == after.object
                || unstable.iter().find(|unstable| unstable.key == after.key).is_some_and(|unstable| {
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

/// What base rendered, under the keys that it had in the cluster.
fn base_targets(candidate: &Candidate<'_>, world: &World<'_>) -> HashMap<ResourceKey, Arc<Manifest>> {
    let Some(base) = candidate.base.as_ref().filter(|base| base.rendered().is_some()) else { return HashMap::new() };
    let input = Input {
        application: Arc::clone(&base.application),
        origin: None,
        rendered: &[],
        rendered_at_base: &[],
        previous_server: None,
        revision: Revision::New,
    };
    let server = world.server(&base.application.spec.destination).unwrap_or_default();
    let targets = application::normalised(&input, base.manifests(), world, &server);
    targets.manifests.into_iter().map(|manifest| (manifest.key.clone(), manifest)).collect()
}

/// Applications that go because a sync prunes them or because their parent goes, through all levels.
fn delete_closure(
    plans: &mut BTreeMap<AppId, SyncPlan>,
    discovered: &Discovered,
    sources: &Sources<'_>,
    head: &World<'_>,
    base: &World<'_>,
) {
    let assumed = base.live.is_assumed();
    let mut pending: Vec<(AppId, String)> = plans.values().flat_map(|plan| deleted_children(plan, discovered, assumed)).collect();
    pending.extend(sets::no_longer_generated(&discovered.inventory, assumed));
    let mut done: BTreeSet<AppId> = BTreeSet::new();
    while let Some((id, reason)) = pending.pop() {
        if !done.insert(id.clone()) {
            continue;
        }
        let entry = discovered.inventory.entries.get(&id);
        if entry.and_then(|entry| entry.head.as_ref()?.parent.as_ref()).is_some_and(|parent| !done.contains(parent)) {
            // Another parent renders it: who syncs first decides, and it stays in Git.
            continue;
        }
        let before = entry.and_then(|entry| entry.live.as_ref().map(|(live, _)| Arc::clone(live)));
        let Some(application) = before.or_else(|| discovered.effective.get(&(Side::Base, id.clone())).cloned()) else { continue };
        let origin: Option<Origin> = entry.and_then(Entry::definition).map(|definition| definition.manifest.origin.clone());
        let world = if entry.is_some_and(|entry| entry.base.is_some()) { base } else { head };
        let untracked = sources.rendered(&application, Side::Base);
        let plan = deletion::plan(&application, origin, reason, &untracked, world);
        pending.extend(deleted_children(&plan, discovered, assumed));
        plans.insert(id, plan);
    }
}

/// The Applications that a plan deletes, with the reason.
fn deleted_children(plan: &SyncPlan, discovered: &Discovered, assumed: bool) -> Vec<(AppId, String)> {
    let parent = &plan.application.id;
    let mut found = Vec::new();
    for change in plan.changes.iter().filter(|change| change.action.deletes()) {
        let reason = match change.action {
            Action::Prune => format!("Application {parent} prunes it"),
            _ => format!("it goes with Application {parent}"),
        };
        if change.key.is(GROUP, "Application") {
            found.push((AppId::new(&change.key.namespace, &change.key.name), reason));
        }
        found.extend(sets::with_their_set(&change.key, &discovered.inventory, assumed));
    }
    found
}

/// Live state where there is no snapshot: what base renders stands in for it.
pub(super) fn assumed(discovered: &Discovered, sources: &Sources<'_>) -> LiveState {
    let nothing = LiveState::default();
    let world = World::new(&nothing, BTreeMap::new(), &[]);
    let applications: Vec<&Arc<Application>> =
        discovered.effective.iter().filter(|((side, _), _)| *side == Side::Base).map(|(_, application)| application).collect();
    let changes = &sources.revisions.changes;
    let objects: Vec<Vec<AssumedObject>> = applications
        .into_par_iter()
        .map(|application| {
            let touched = sources.inputs(application, Side::Base).touched_by(changes);
            assumed_objects(application, touched, sources, &world)
        })
        .collect();
    LiveState::assumed(objects.into_iter().flatten())
}

/// What an Application has in the cluster; the objects themselves are made when somebody looks at them. What was applied is only noted
/// where the change touches its files.
pub(super) fn assumed_objects(application: &Application, touched: bool, sources: &Sources<'_>, world: &World<'_>) -> Vec<AssumedObject> {
    let Render::Done(rendered) = sources.render(application, Side::Base) else { return Vec::new() };
    let Ok(server) = world.server(&application.spec.destination) else { return Vec::new() };
    let settings = world.live.settings();
    let tracking = Arc::new(settings.tracking.clone());
    let instance: Arc<str> = application.id.instance(&settings.namespace).into();
    let placements = application::placements(application, &rendered.manifests, world, &server);
    let applied = placements.into_iter().filter(|(manifest, _)| !hook::is_hook(&manifest.object) && !hook::is_skipped(&manifest.object));
    applied
        .map(|(manifest, placement)| {
            let tracked = !placement.key.is("apiextensions.k8s.io", "CustomResourceDefinition");
            let (tracking, named, key) = (Arc::clone(&tracking), Arc::clone(&instance), placement.key.clone());
            let (rendered, source) = (Arc::clone(&manifest.object), Arc::clone(&manifest.object));
            let applied = move || {
                let object = placement.apply(&source, &tracking, &named);
                if touched { as_applied(object) } else { object }
            };
            AssumedObject {
                key,
                cluster: Arc::clone(&server),
                rendered,
                applied: Arc::new(applied),
                instance: tracked.then(|| Arc::clone(&instance)),
            }
        })
        .collect()
}

/// The object as a client-side apply would have left it, so that fields that leave Git are noticed.
fn as_applied(mut object: Value) -> Value {
    let text = object.to_string();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Default::default()));
        if annotations.is_null() {
            *annotations = Value::Object(Default::default());
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(LAST_APPLIED.to_owned(), Value::String(text));
        }
    }
    object
}
