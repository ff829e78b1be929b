//! What makes rendering fail, and keys that appear twice, as rules read them.
//!
//! Takes what rendering gives; hands on [`RenderFailure`]s and [`DuplicateKey`]s.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::argocd::Application;
use crate::manifest::{Origin, ResourceKey};
use crate::plan::{Change, SyncPlan, World};
use crate::render::{RenderError, Rendered};
use crate::rules::{DuplicateKey, FailurePlace, RenderFailure, UnstableObject};
use crate::snapshot::Scope;

pub(super) fn failure(id: &str, application: &Application, error: &RenderError, introduced: bool, world: &World<'_>) -> RenderFailure {
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

pub(super) fn duplicate_keys(application: &str, head: &Rendered, base: Option<&Arc<Rendered>>, plan: &SyncPlan) -> Vec<DuplicateKey> {
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
pub(super) fn unstable_objects(application: &str, rendered: &Rendered, plan: &SyncPlan) -> Vec<UnstableObject> {
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
