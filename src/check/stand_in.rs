//! Fills the gaps of a snapshot with what base renders, and says where that was done.
//!
//! Takes live state that may lack clusters, kinds or Applications; hands on live state in which assumed objects stand in for them. Without
//! this every object of a cluster that nobody captured would look as if it had to be created.

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;

use super::applications::Discovered;
use super::planning::{Planned, assumed_objects, may_be_planned};
use super::sources::Sources;
use crate::argocd::{AppId, Application};
use crate::finding::Unjudged;
use crate::manifest::Side;
use crate::plan::{Basis, SyncPlan, World};
use crate::snapshot::{AssumedObject, LiveState};

/// What of an Application is not in the snapshot.
enum Gap {
    /// Its cluster, or its own objects.
    Everything,
    /// Some kinds, as group and kind.
    Kinds(BTreeSet<(String, String)>),
}

/// Adds assumed objects where the snapshot has gaps.
pub(super) fn complete(live: LiveState, discovered: &Discovered, sources: &Sources<'_>, all: bool) -> LiveState {
    let changes = &sources.revisions.changes;
    let objects: Vec<AssumedObject> = {
        let world = World::new(&live, std::collections::BTreeMap::new(), &[]);
        let base = discovered.effective.iter().filter(|((side, _), _)| *side == Side::Base);
        let with_gaps: Vec<(&Arc<Application>, Gap)> = base
            .filter_map(|((_, id), application)| {
                let server = world.server(&application.spec.destination).ok()?;
                Some((application, gap(&live, &server, id)?))
            })
            .collect();
        let of_one = |(application, gap): (&Arc<Application>, Gap)| {
            let touched = sources.inputs(application, Side::Base).touched_by(changes);
            // What nothing plans need not be rendered.
            if !(all || may_be_planned(application, touched, discovered)) {
                return Vec::new();
            }
            let mut objects = assumed_objects(application, touched, sources, &world);
            if let Gap::Kinds(kinds) = gap {
                objects.retain(|object| kinds.contains(&(object.key.group.to_string(), object.key.kind.to_string())));
            }
            objects
        };
        with_gaps.into_par_iter().map(of_one).flatten().collect()
    };
    live.with_assumed(objects)
}

fn gap(live: &LiveState, server: &str, application: &AppId) -> Option<Gap> {
    if !live.covers(server) || live.unlisted_applications().contains(&application.to_string()) {
        return Some(Gap::Everything);
    }
    let unlisted = live.cluster_by_server(server).map(|cluster| &cluster.unlisted).filter(|unlisted| !unlisted.is_empty())?;
    Some(Gap::Kinds(unlisted.iter().map(|kind| (kind.group.clone(), kind.kind.clone())).collect()))
}

/// Marks the plans that rest on assumed objects, and names what could not be judged.
pub(super) fn mark(planned: &mut Planned, live: &LiveState) {
    if live.is_assumed() {
        return;
    }
    let mut unjudged = Vec::new();
    for plan in planned.plans.iter_mut().chain(&mut planned.unrendered).filter(|plan| !plan.server.is_empty()) {
        match gap(live, &plan.server, &plan.application.id) {
            None => {}
            Some(Gap::Everything) => {
                plan.basis = Basis::Assumed;
                let why = if live.covers(&plan.server) {
                    "the snapshot could not read all objects of this Application; what base renders stands in for them".to_owned()
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
