//! Live state where there is no snapshot.
//!
//! Takes what was discovered; hands on [`LiveState`] in which the base revision's manifests stand in for live objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use super::super::applications::Discovered;
use super::super::sources::{Render, Sources};
use super::candidate::may_be_planned;
use crate::argocd::names::LAST_APPLIED;
use crate::argocd::{Application, hook};
use crate::manifest::{Content, Manifest, Side};
use crate::plan::{World, application};
use crate::snapshot::{AssumedObject, LiveState};

/// Live state where there is no snapshot: what base renders stands in for it. Charts of Applications that nothing plans are not fetched.
pub(in crate::check) fn assumed(discovered: &Discovered, sources: &Sources<'_>, all: bool) -> LiveState {
    let mut nothing = LiveState::default();
    nothing.know_clusters(&sources.clusters);
    let applications: Vec<&Arc<Application>> =
        discovered.effective.iter().filter(|((side, _), _)| *side == Side::Base).map(|(_, application)| application).collect();
    let changes = &sources.revisions.changes;
    let is_wanted = |application: &&Arc<Application>| {
        let is_fetched = application.spec.sources().iter().any(|source| !source.chart.is_empty());
        !is_fetched || all || may_be_planned(application, discovered, sources)
    };
    let applications: Vec<&Arc<Application>> = applications.into_par_iter().filter(is_wanted).collect();
    // Where an object is depends on what its kind is defined to be.
    let definitions: Vec<Arc<Manifest>> = applications
        .par_iter()
        .flat_map_iter(|application| {
            let rendered = sources.rendered(application, Side::Base);
            rendered.into_iter().filter(|manifest| manifest.key.is("apiextensions.k8s.io", "CustomResourceDefinition"))
        })
        .collect();
    let definitions: Vec<&Value> = definitions.iter().map(|manifest| &*manifest.object).collect();
    let world = World::new(&nothing, BTreeMap::new(), &definitions);
    let objects: Vec<Vec<AssumedObject>> = applications
        .into_par_iter()
        .map(|application| {
            let touched = sources.inputs(application, Side::Base).touched_by(changes);
            assumed_objects(application, touched, sources, &world)
        })
        .collect();
    let mut live = LiveState::assumed(objects.into_iter().flatten());
    live.know_clusters(&sources.clusters);
    live
}

/// What an Application has in the cluster; the objects themselves are made when somebody looks at them. What was applied is only noted
/// where the change touches its files.
pub(in crate::check) fn assumed_objects(
    application: &Application,
    touched: bool,
    sources: &Sources<'_>,
    world: &World<'_>,
) -> Vec<AssumedObject> {
    let Render::Done(rendered) = sources.render(application, Side::Base) else { return Vec::new() };
    let Ok(server) = world.server(&application.spec.destination) else { return Vec::new() };
    let settings = world.live.settings();
    let tracking = Arc::new(settings.tracking.clone());
    let instance: Arc<str> = application.id.instance(&settings.namespace).into();
    let placements = application::placements(application, &rendered.manifests, world, &server);
    let is_applied = |object: &Content| {
        let no_hook = |heading: &Value| !hook::is_hook(heading) && !hook::is_skipped(heading);
        object.is_plain() || no_hook(object.heading())
    };
    let applied = placements.into_iter().filter(|(manifest, _)| is_applied(&manifest.object));
    applied
        .map(|(manifest, placement)| {
            let tracked = !placement.key.is("apiextensions.k8s.io", "CustomResourceDefinition");
            let (tracking, named, key) = (Arc::clone(&tracking), Arc::clone(&instance), placement.key.clone());
            let (rendered, source) = (manifest.object.clone(), manifest.object.clone());
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
