//! Fills the gaps of a snapshot with what base renders, and says where that was done.
//!
//! Takes live state that may lack clusters, kinds or Applications; hands on live state in which assumed objects stand in for them. Without
//! this every object of a cluster that nobody captured would look as if it had to be created.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use super::applications::Discovered;
use super::planning::{Planned, assumed_objects, may_be_planned};
use super::sources::Sources;
use crate::argocd::{AppId, Application};
use crate::finding::Unjudged;
use crate::manifest::{ResourceKey, Side};
use crate::plan::{Basis, SyncPlan, World};
use crate::snapshot::{AssumedObject, LiveState};

/// What of an Application is not in the snapshot.
enum Gap {
    /// Its cluster, or its own objects.
    Everything,
    /// Some kinds, as group and kind.
    Kinds(BTreeSet<(String, String)>),
}

/// Objects that Argo CD counts as live and in sync, and that are not in the snapshot, by Application.
pub(super) type Missing = BTreeMap<AppId, BTreeSet<ResourceKey>>;

/// Adds assumed objects where the snapshot has gaps; hands on which single objects it lacks.
pub(super) fn complete(live: LiveState, discovered: &Discovered, sources: &Sources<'_>, all: bool) -> (LiveState, Missing) {
    let changes = &sources.revisions.changes;
    let (objects, missing): (Vec<AssumedObject>, Missing) = {
        let world = World::new(&live, BTreeMap::new(), &[]);
        let base = discovered.effective.iter().filter(|((side, _), _)| *side == Side::Base);
        let servers: Vec<(&AppId, &Arc<Application>, Arc<str>)> =
            base.filter_map(|((_, id), application)| Some((id, application, world.server(&application.spec.destination).ok()?))).collect();
        let missing: Missing = servers
            .iter()
            .map(|(id, _, server)| ((*id).clone(), missing_of(id, server, &live, discovered)))
            .filter(|(_, missing)| !missing.is_empty())
            .collect();
        let with_gaps: Vec<(&Arc<Application>, Option<Gap>)> = servers
            .iter()
            .map(|(id, application, server)| (*application, gap(&live, server, id)))
            .filter(|(application, gap)| gap.is_some() || missing.contains_key(&application.id))
            .collect();
        let of_one = |(application, gap): (&Arc<Application>, Option<Gap>)| {
            let touched = sources.inputs(application, Side::Base).touched_by(changes);
            // What nothing plans need not be rendered.
            if !(all || may_be_planned(application, discovered, sources)) {
                return Vec::new();
            }
            let mut objects = assumed_objects(application, touched, sources, &world);
            let kinds = match gap {
                Some(Gap::Everything) => return objects,
                Some(Gap::Kinds(kinds)) => kinds,
                None => BTreeSet::new(),
            };
            let missing = missing.get(&application.id);
            let is_gap = |key: &ResourceKey| {
                kinds.contains(&(key.group.to_string(), key.kind.to_string())) || missing.is_some_and(|missing| missing.contains(key))
            };
            objects.retain(|object| is_gap(&object.key));
            objects
        };
        (with_gaps.into_par_iter().map(of_one).flatten().collect(), missing)
    };
    (live.with_assumed(objects), missing)
}

/// The objects that the status of the live Application calls in sync, so that they were live, and that the snapshot lacks.
fn missing_of(id: &AppId, server: &str, live: &LiveState, discovered: &Discovered) -> BTreeSet<ResourceKey> {
    let Some((application, _)) = discovered.inventory.entries.get(id).and_then(|entry| entry.live.as_ref()) else { return BTreeSet::new() };
    let resources = application.object.pointer("/status/resources").and_then(Value::as_array).into_iter().flatten();
    let in_sync = resources.filter(|resource| {
        resource.get("status").and_then(Value::as_str) == Some("Synced") && resource.get("hook").and_then(Value::as_bool) != Some(true)
    });
    let keys = in_sync.map(|resource| {
        let text = |field: &str| resource.get(field).and_then(Value::as_str).unwrap_or_default();
        ResourceKey::new(text("group"), text("kind"), text("namespace"), text("name"))
    });
    keys.filter(|key| live.covers(server) && live.get(server, key).is_none()).collect()
}

fn gap(live: &LiveState, server: &str, application: &AppId) -> Option<Gap> {
    if !live.covers(server) || live.unlisted_applications().contains(&application.to_string()) {
        return Some(Gap::Everything);
    }
    let unlisted = live.cluster_by_server(server).map(|cluster| &cluster.unlisted).filter(|unlisted| !unlisted.is_empty())?;
    Some(Gap::Kinds(unlisted.iter().map(|kind| (kind.group.clone(), kind.kind.clone())).collect()))
}

/// Marks the plans that rest on assumed objects, and names what could not be judged.
pub(super) fn mark(planned: &mut Planned, live: &LiveState, missing: &Missing) {
    if live.is_assumed() {
        return;
    }
    let mut unjudged = Vec::new();
    for plan in planned.plans.iter_mut().chain(&mut planned.unrendered).filter(|plan| !plan.server.is_empty()) {
        let listed = plan.changes.iter().map(|change| &change.key).collect::<BTreeSet<_>>();
        let lacks = missing.get(&plan.application.id).into_iter().flatten().filter(|key| listed.contains(key));
        unjudged.extend(lacks.map(|key| Unjudged {
            application: Some(plan.application.id.to_string()),
            what: format!("live {}", key.named()),
            why: "the Application's status calls it in sync, and it is not in the snapshot; what base renders stands in for it".to_owned(),
        }));
        match gap(live, &plan.server, &plan.application.id) {
            None => {}
            Some(Gap::Everything) => {
                plan.basis = Basis::Assumed;
                let why = if live.covers(&plan.server) {
                    "the snapshot could not read all objects of this Application; what base renders stands in for them".to_owned()
                } else if plan.changes.is_empty() {
                    format!("no snapshot holds the cluster {}, so what happens there is not known", plan.server)
                } else {
                    format!("no snapshot holds the cluster {}; what base renders stands in for it", plan.server)
                };
                unjudged.push(Unjudged { application: Some(plan.application.id.to_string()), what: "live objects".to_owned(), why });
            }
            Some(Gap::Kinds(kinds)) => unjudged.extend(of_kinds(plan, &kinds)),
        }
    }
    planned.unjudged.extend(unjudged);
    planned.unjudged.sort();
    planned.unjudged.dedup();
}

/// One entry for each kind that the plan has something of.
fn of_kinds(plan: &SyncPlan, kinds: &BTreeSet<(String, String)>) -> Vec<Unjudged> {
    let named: BTreeSet<&str> = plan
        .changes
        .iter()
        .filter(|change| kinds.contains(&(change.key.group.to_string(), change.key.kind.to_string())))
        .map(|change| &*change.key.kind)
        .collect();
    let entry = |kind: &str| Unjudged {
        application: Some(plan.application.id.to_string()),
        what: format!("live objects of kind {kind}"),
        why: format!("the snapshot could not list them on {}; what base renders stands in for them", plan.server),
    };
    named.into_iter().map(entry).collect()
}
