//! Plans both sides of the Applications that the change touches, and says what the change introduces.
//!
//! Takes what was discovered and live state; hands on [`Planned`].

mod assumed;
mod before;
mod beside;
mod candidate;
mod comparison;
mod elsewhere;
mod failures;
mod gone;
mod swept;
mod unseen;
mod waiting;
mod withdrawal;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use self::candidate::{Candidate, SideRender, candidates, custom_definitions, is_affected, previous_server};
use self::comparison::{Worlds, compare, compare_unchanged};
use self::failures::{duplicate_keys, failure, unstable_objects};
use self::gone::Ground;
use super::applications::Discovered;
use super::held::Held;
use super::options::{ApplicationFilter, Options};
use super::reach;
use super::registered::{self, Registered};
use super::sources::{Render, Sources};
use crate::argocd::names::GROUP;
use crate::argocd::{AppId, Application, Project};
use crate::finding::{Unjudged, bug};
use crate::inventory::{Delivery, Entry};
use crate::manifest::{Manifest, ResourceKey, Side};
use crate::plan::application::{self, Input};
use crate::plan::attempt::Revision;
use crate::plan::change::NOT_JUDGED;
use crate::plan::watch::{self, Watch};
use crate::plan::{AppChange, Basis, KIND_WITHDRAWN, SyncMode, SyncPlan, World};
use crate::rules::{DuplicateKey, RenderFailure, RenderedElsewhere, UnstableObject};
use crate::snapshot::{LiveState, SecretEdits};

pub(super) use assumed::{assumed, assumed_objects};
pub(super) use candidate::may_be_planned;

/// What planning found out.
#[derive(Default)]
pub(super) struct Planned {
    /// Plans, by Application id.
    pub(super) plans: Vec<SyncPlan>,
    /// Applications that the change touches but whose sources are not rendered: only their definitions can be judged.
    pub(super) unrendered: Vec<SyncPlan>,
    /// Applications of which nothing differs, and whose workloads are scaled by autoscalers that the change alters.
    pub(super) beside: Vec<SyncPlan>,
    /// What could not be looked at.
    pub(super) unjudged: Vec<Unjudged>,
    /// Sources that give no manifests.
    pub(super) failures: Vec<RenderFailure>,
    /// Keys that appear twice.
    pub(super) duplicate_keys: Vec<DuplicateKey>,
    /// Objects of which something is rendered differently each time.
    pub(super) unstable: Vec<UnstableObject>,
    /// Objects that an Application takes over from one that renders them on.
    pub(super) rendered_elsewhere: Vec<RenderedElsewhere>,
    /// Applications whose files the change touches, and of which nothing differs.
    pub(super) same: Vec<AppId>,
    /// What the syncs of parents do not get to.
    pub(super) held: Held,
    /// Cluster Secrets that the syncs change.
    pub(super) cluster_secrets: SecretEdits,
    /// Remarks for people.
    pub(super) notes: BTreeSet<String>,
}

/// Plans the Applications that the change touches, or all of them.
pub(super) fn plan(
    discovered: &Discovered,
    sources: &Sources<'_>,
    live: &LiveState,
    registered: &Registered,
    options: &Options,
    wanted: &ApplicationFilter,
) -> Planned {
    let Options { all, now, .. } = *options;
    let candidates = candidates(discovered, sources, all);
    let after = registered.live.as_ref().unwrap_or(live);
    let (head_definitions, base_definitions) = (custom_definitions(&candidates, Side::Head), custom_definitions(&candidates, Side::Base));
    let projects = by_name(&discovered.projects);
    let as_values =
        |manifests: &'_ [Arc<Manifest>]| manifests.iter().map(|manifest| Arc::clone(manifest.object.shared())).collect::<Vec<_>>();
    let (head_values, base_values) = (as_values(&head_definitions), as_values(&base_definitions));
    let later: BTreeMap<String, Project> = by_name(&discovered.later_projects);
    let later = (!later.is_empty()).then(|| later.into_iter().chain(projects.clone()).collect());
    let at_head = |projects| {
        World::new(after, projects, &head_values.iter().map(|value| &**value).collect::<Vec<_>>()).at(now).with_former_clusters(live)
    };
    let later = later.map(at_head);
    let head = at_head(projects.clone());
    // What is live says more about the projects before the change than Git does.
    let before = if live.is_assumed() { by_name(&discovered.base_projects) } else { BTreeMap::new() };
    let base = World::new(live, before, &base_values.iter().map(|value| &**value).collect::<Vec<_>>()).at(now);
    // A project that an Application renders itself is not there yet when the Application is compared.
    let manages_itself = candidates.iter().any(|candidate| renders_its_project(candidate, live));
    let before_own = manages_itself.then(|| at_head(BTreeMap::new()));
    let ignored = candidates.iter().any(|candidate| head.watches(&candidate.entry.id.namespace) == Watch::No);
    let watch_may_change = ignored && sources.revisions.change_mentions(watch::APPLICATIONS.parameter);
    let head = head.with_watch_changing(watch_may_change);
    let before_own = before_own.map(|world| world.with_watch_changing(watch_may_change));
    let worlds = Worlds { base: &base, head: &head, before_own: before_own.as_ref(), later: later.as_ref() };
    let mut planned = Planned::default();
    let same = candidates.iter().filter(|candidate| candidate.touched && !is_affected(candidate) && candidate.head.is_some());
    planned.same = same.map(|candidate| candidate.entry.id.clone()).filter(|id| wanted.takes(id)).collect();
    planned.unjudged.extend(wanted.idle(discovered.inventory.entries.keys()));
    let results: Vec<One> = candidates.par_iter().map(|candidate| plan_caught(candidate, worlds, discovered, sources, all)).collect();
    let mut plans: BTreeMap<AppId, SyncPlan> = BTreeMap::new();
    let mut before: BTreeMap<AppId, SyncPlan> = BTreeMap::new();
    for one in results {
        planned.unjudged.extend(one.unjudged);
        planned.failures.extend(one.failure);
        planned.duplicate_keys.extend(one.duplicate_keys);
        planned.notes.extend(one.notes);
        planned.unstable.extend(one.unstable);
        planned.unrendered.extend(one.unrendered);
        before.extend(one.base_plan.map(|plan| (plan.application.id.clone(), plan)));
        plans.extend(one.plan.map(|plan| (plan.application.id.clone(), plan)));
    }
    let mut users: Vec<Candidate<'_>> = Vec::new();
    for (automated, withdrawn) in withdrawal::of(&plans, &before).into_iter().filter(|(_, withdrawn)| !withdrawn.losses().is_empty()) {
        let entries = withdrawal::users(&withdrawn, discovered, sources, &head);
        let then = at_head(projects.clone()).with_watch_changing(watch_may_change).with_withdrawn(withdrawn.clone());
        let then = Worlds { head: &then, before_own: None, later: None, ..worlds };
        for candidate in candidate::of_entries(entries, discovered, sources, true) {
            let hit = plan_caught(&candidate, then, discovered, sources, true).plan.filter(|plan| withdrawal::hits(plan, &withdrawn));
            let Some(hit) = hit else { continue };
            let id = &candidate.entry.id;
            let so_far = plans.remove(id).or_else(|| {
                let unchanged = plan_caught(&candidate, worlds, discovered, sources, true).plan?;
                before.insert(id.clone(), unchanged.clone());
                Some(unchanged)
            });
            let mut plan = match so_far {
                Some(mut plan) if !automated => {
                    plan.conditions.extend(hit.conditions.into_iter().filter(|condition| condition.kind == KIND_WITHDRAWN));
                    plan
                }
                _ => hit,
            };
            plan.affected = true;
            plans.insert(id.clone(), plan);
            users.push(candidate);
        }
    }
    // While Applications are deleted, projects are still as they are live.
    let once_registered = registered.live.as_ref().map(|after| World::new(after, BTreeMap::new(), &[]).at(now).with_former_clusters(live));
    let ground = |side: Side| {
        let once_registered = once_registered.as_ref().filter(|_| side == Side::Head);
        Ground { side, discovered, sources, world: &base, once_registered: once_registered.unwrap_or(&base) }
    };
    waiting::with_parents(&mut plans, &discovered.inventory);
    gone::follow(&mut before, &ground(Side::Base));
    let unknown_hooks = gone::follow(&mut plans, &ground(Side::Head));
    let by_id: BTreeMap<&AppId, &Candidate<'_>> =
        candidates.iter().chain(&users).map(|candidate| (&candidate.entry.id, candidate)).collect();
    for (id, plan) in plans.iter_mut().filter(|(_, plan)| plan.affected) {
        compare(plan, before.get(id), by_id.get(id).copied(), worlds, &planned.unstable);
    }
    let scaled = beside::scaled(&plans, discovered, live);
    planned.beside = candidate::of_entries(scaled, discovered, sources, true)
        .par_iter()
        .filter_map(|candidate| plan_caught(candidate, worlds, discovered, sources, true).plan)
        .filter(|plan| wanted.takes(&plan.application.id))
        .collect();
    planned.rendered_elsewhere = elsewhere::rendered_elsewhere(&plans, discovered, sources, &head);
    let goes = |id: &AppId| plans.get(id).is_some_and(|plan| plan.sync.mode == SyncMode::Deleted);
    planned.failures.retain(|failure| !goes(&app_id(&failure.application)));
    planned.unjudged.retain(|unjudged| !unjudged.application.as_deref().is_some_and(|id| goes(&app_id(id))));
    planned.unjudged.extend(unknown_hooks);
    planned.cluster_secrets = registered::edits(plans.values(), live);
    planned.held = Held::by(plans.values(), &discovered.inventory);
    planned.plans = plans.into_values().filter(|plan| wanted.takes(&plan.application.id)).collect();
    let shown = |application: &str| wanted.takes(&app_id(application));
    planned.unrendered.retain(|plan| wanted.takes(&plan.application.id));
    planned.failures.retain(|failure| shown(&failure.application));
    planned.duplicate_keys.retain(|duplicate| shown(&duplicate.application));
    planned.unstable.retain(|unstable| shown(&unstable.application));
    planned.rendered_elsewhere.retain(|object| shown(&object.application));
    planned.unjudged.extend(discovered.unjudged.iter().cloned());
    planned.unjudged.retain(|unjudged| unjudged.application.as_deref().is_none_or(shown));
    planned.unjudged.sort();
    planned.unjudged.dedup();
    planned
}

/// AppProjects by name.
fn by_name(projects: &[Arc<Manifest>]) -> BTreeMap<String, Project> {
    let read = projects.iter().filter_map(|manifest| Project::read(&manifest.object));
    read.map(|project| (project.name.clone(), project)).collect()
}

/// Whether the edit of its project makes a difference to what the next sync of an Application does.
fn project_matters(candidate: &Candidate<'_>, base: &World<'_>, head: &World<'_>) -> bool {
    let (true, Some(side)) = (candidate.project_changes, candidate.head.as_ref().filter(|side| side.rendered().is_some())) else {
        return false;
    };
    let (before, after) = (plan_base(side, base), plan_base(side, head));
    let actions = |plan: &SyncPlan| plan.changes.iter().map(|change| (change.key.clone(), change.action)).collect::<Vec<_>>();
    let remarks = |plan: &SyncPlan| plan.conditions.iter().map(|remark| (remark.kind, remark.message.clone())).collect::<Vec<_>>();
    before.sync.mode != after.sync.mode || actions(&before) != actions(&after) || remarks(&before) != remarks(&after)
}

/// The id behind `namespace/name`.
fn app_id(text: &str) -> AppId {
    let (namespace, name) = text.split_once('/').unwrap_or(("", text));
    AppId::new(namespace, name)
}

/// What planning one Application gives.
#[derive(Default)]
struct One {
    plan: Option<SyncPlan>,
    /// What would happen without the change.
    base_plan: Option<SyncPlan>,
    unrendered: Option<SyncPlan>,
    unjudged: Vec<Unjudged>,
    failure: Option<RenderFailure>,
    duplicate_keys: Vec<DuplicateKey>,
    notes: Vec<String>,
    unstable: Vec<UnstableObject>,
}

/// Plans one Application; a bug that it brings to light leaves the others as they are.
fn plan_caught(candidate: &Candidate<'_>, worlds: Worlds<'_>, discovered: &Discovered, sources: &Sources<'_>, all: bool) -> One {
    let id = candidate.entry.id.to_string();
    let planned = bug::caught(|| format!("the plan of {id}"), || plan_one(candidate, worlds, discovered, sources, all));
    planned.unwrap_or_else(|bug| {
        let unjudged = Unjudged { application: Some(id), what: "the plan".to_owned(), why: bug.to_string() };
        sources.bugs.note(bug);
        One { unjudged: vec![unjudged], ..One::default() }
    })
}

fn plan_one(candidate: &Candidate<'_>, worlds: Worlds<'_>, discovered: &Discovered, sources: &Sources<'_>, all: bool) -> One {
    let base_world = worlds.base;
    let own = worlds.before_own.filter(|world| renders_its_project(candidate, world.live));
    let entry = candidate.entry;
    // A new Application comes with the projects that the same sync of its parent applies.
    let later = worlds.later.filter(|_| entry.live.is_none() && entry.delivery() == Some(&Delivery::ParentSync));
    let head_world = own.or(later).unwrap_or(worlds.head);
    let live = head_world.live;
    let Some(head) = &candidate.head else { return One::default() };
    let affected = is_affected(candidate) || project_matters(candidate, base_world, head_world);
    if !affected && !all && !is_hidden(candidate) {
        return One::default();
    }
    let id = entry.id.to_string();
    let broken = waiting::broken(entry);
    if broken.is_some() && !waiting::stays_as_live(entry) {
        return One { unjudged: broken.into_iter().collect(), ..One::default() };
    }
    // A file that nothing applies is not in the cluster.
    if entry.live.is_none() && !live.is_assumed() && entry.delivery() == Some(&Delivery::ByHand) {
        return One { unjudged: vec![waiting::not_deployed(entry)], ..One::default() };
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
    let mut one = One { unjudged: waiting::unknown_delivery(entry).into_iter().chain(broken).collect(), ..One::default() };
    let render = reach::followed(&head.render, candidate.base.as_ref().map(|base| &*base.application), &head.application);
    let is_known = affected && matches!(&*render, Render::Done(_));
    let unknown = if is_known { before::unknown(candidate, discovered, sources, live) } else { None };
    let mut plan = match unknown.as_ref().unwrap_or(&render) {
        Render::Done(rendered) => {
            let mut plan = application::plan(&input, head_world);
            one.notes.extend(rendered.assumptions.iter().map(|assumption| format!("{id}: {assumption}")));
            one.unstable = unstable_objects(&id, rendered, &plan);
            plan.conditions.extend(candidate.untracked.as_deref().map(|revision| reach::untracked(&input, revision)));
            plan.conditions.extend(sources.follows_the_change(&input.application).map(|branch| reach::already(&input, branch)));
            plan.conditions.extend(reach::unnoticed(&candidate.unnoticed, &input));
            plan.conditions.extend(waiting::once_applied(candidate, &plan, discovered, sources, head_world));
            plan.too_early = waiting::too_early(candidate, &plan, sources, head_world);
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
        compare_unchanged(&mut plan);
        (plan.change, plan.affected) = (app_change(entry), is_hidden(candidate));
        if plan.affected && !all {
            // Nothing of it is shown; rules tell why the change has no effect.
            one.unrendered = Some(SyncPlan { changes: Vec::new(), ..plan });
            return one;
        }
        // Both sides are one; what it deletes was due before.
        let deletes_applications = plan.changes.iter().any(|change| change.action.deletes() && change.key.is(GROUP, "Application"));
        one.base_plan = (plan.affected || deletes_applications).then(|| plan.clone());
    } else {
        (plan.change, plan.affected) = (app_change(entry), affected);
        one.base_plan = candidate.base.as_ref().filter(|base| base.rendered().is_some()).map(|base| plan_base(base, base_world));
    }
    if entry.live.is_none() && !live.is_assumed() && matches!(entry.delivery(), Some(Delivery::Unknown { .. })) {
        plan.basis = Basis::Assumed;
    }
    if head_world.watches(&entry.id.namespace) == Watch::Unknown {
        one.notes.push(waiting::may_be_ignored(&entry.id.namespace));
        if entry.live.is_none() {
            plan.basis = Basis::Assumed;
        }
    }
    waiting::for_parent(&mut plan, entry, live.is_assumed());
    one.unjudged.extend(not_judged(&mut plan));
    one.unjudged.extend(unseen::kinds(candidate, &plan.server, live));
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

/// Whether an Application renders the project that it is in.
///
/// Source: Argo CD `controller/state.go:CompareAppState`, which is handed the project as it is in the cluster.
fn renders_its_project(candidate: &Candidate<'_>, live: &LiveState) -> bool {
    let Some(head) = &candidate.head else { return false };
    let spec = &head.application.spec;
    let namespace = |manifest: &Manifest| {
        if manifest.key.namespace.is_empty() { spec.destination.namespace.clone() } else { manifest.key.namespace.to_string() }
    };
    head.manifests().iter().any(|manifest| {
        manifest.key.is(GROUP, "AppProject") && *manifest.key.name == *spec.project && namespace(manifest) == live.settings().namespace
    })
}

/// What would happen without the change.
fn plan_base(base: &SideRender, world: &World<'_>) -> SyncPlan {
    let input = Input {
        application: Arc::clone(&base.application),
        origin: None,
        rendered: base.manifests(),
        // The same slice: base is its own base.
        rendered_at_base: base.manifests(),
        previous_server: None,
        revision: Revision::New,
    };
    application::plan(&input, world)
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
