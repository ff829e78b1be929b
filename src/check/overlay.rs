//! Which file of a kustomization brings about what a finding says, where the file with the object is not touched by the change.
//!
//! Takes a place in a base that is as it was; hands on the patch or the entry of a kustomization that the change alters.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::sources::Sources;
use crate::argocd::{AppId, Application};
use crate::finding::{Finding, Place};
use crate::manifest::pointer::escape;
use crate::manifest::{Origin, Renderer, ResourceKey, Side};
use crate::render::Outline;
use crate::repo::clean_path;

/// Fields of a kustomization that bring objects in.
const BRING_IN: [&str; 3] = ["resources", "bases", "components"];

/// Finds causes, reading the kustomizations of each Application once.
pub(super) struct Overlays<'a> {
    sources: &'a Sources<'a>,
    effective: &'a BTreeMap<(Side, AppId), Arc<Application>>,
    known: BTreeMap<(Side, AppId), Arc<[Outline]>>,
}

/// An entry of a kustomization that one side has and the other has not.
#[derive(Clone, Debug, PartialEq)]
struct Difference {
    origin: Origin,
    folder: String,
    field: String,
    pointer: String,
    /// The entry, where it is a text.
    text: Option<String>,
}

impl<'a> Overlays<'a> {
    /// Nothing read yet.
    pub(super) fn new(sources: &'a Sources<'a>, effective: &'a BTreeMap<(Side, AppId), Arc<Application>>) -> Self {
        Self { sources, effective, known: BTreeMap::new() }
    }

    /// What the change alters in the kustomizations of the Applications, so that the object of a file that it leaves alone is another one or
    /// not there.
    pub(super) fn cause(&mut self, finding: &Finding, place: &Place, owners: &[AppId]) -> Option<Place> {
        let rendered = place.origin.rendered.as_deref().filter(|rendered| rendered.renderer == Renderer::Kustomize)?;
        let changes = &self.sources.revisions.changes;
        let at = |origin: &Origin, pointer: &str| {
            Some(Place { origin: origin.clone(), pointer: pointer.to_owned(), label: place.label.clone() })
        };
        if let Some(patch) = rendered.others.iter().find(|patch| changes.touches(&patch.path)) {
            return at(patch, "");
        }
        for application in owners {
            let [base, head] = [Side::Base, Side::Head].map(|side| self.outlines(application, side));
            let key = finding.resource.as_ref();
            let patches = head.iter().chain(base.iter()).flat_map(|outline| &outline.patches);
            let mut touched =
                patches.filter(|(patched, origin)| changes.touches(&origin.path) && key.is_some_and(|key| is_for(patched, key)));
            if let Some((_, patch)) = touched.next() {
                return at(patch, "");
            }
            let differences = differences(&base, &head);
            let chosen = chosen(&differences, &place.origin);
            if let Some((origin, pointer)) = chosen {
                return at(&origin, &pointer);
            }
        }
        None
    }

    fn outlines(&mut self, application: &AppId, side: Side) -> Arc<[Outline]> {
        let key = (side, application.clone());
        if let Some(known) = self.known.get(&key) {
            return Arc::clone(known);
        }
        let outlines: Arc<[Outline]> = match self.effective.get(&key) {
            Some(application) => self.sources.outlines(application, side).into(),
            None => Arc::from([]),
        };
        self.known.insert(key, Arc::clone(&outlines));
        outlines
    }
}

/// Whether a patch is for an object, whose name may have grown since.
fn is_for(patch: &ResourceKey, key: &ResourceKey) -> bool {
    patch.is(&key.group, &key.kind) && key.name.contains(&*patch.name)
}

/// What differs in the kustomizations of both sides. One that a side does not reach has no part in it: what leads there does.
fn differences(base: &[Outline], head: &[Outline]) -> Vec<Difference> {
    let of = |outlines: &'_ [Outline]| -> BTreeMap<Arc<str>, (Origin, String, Map<String, Value>)> {
        let all = outlines.iter().flat_map(|outline| &outline.kustomizations);
        all.map(|(origin, folder, fields)| (Arc::clone(&origin.path), (origin.clone(), folder.clone(), fields.clone()))).collect()
    };
    let (base, head) = (of(base), of(head));
    let mut found = Vec::new();
    for (path, before) in &base {
        let Some(after) = head.get(path).filter(|after| after.2 != before.2) else { continue };
        for (one, other) in [(before, after), (after, before)] {
            only_in(one, &other.2, &mut found);
        }
    }
    found
}

/// The entries of one kustomization that the same one at the other side has not.
fn only_in((origin, folder, fields): &(Origin, String, Map<String, Value>), other: &Map<String, Value>, found: &mut Vec<Difference>) {
    let mut note = |field: &str, pointer: String, value: &Value| {
        let (field, text) = (field.to_owned(), value.as_str().map(str::to_owned));
        found.push(Difference { origin: origin.clone(), folder: folder.clone(), field, pointer, text });
    };
    for (name, value) in fields {
        let there = other.get(name);
        if there == Some(value) {
            continue;
        }
        let pointer = format!("/{}", escape(name));
        match value {
            Value::Array(items) => {
                let known = there.and_then(Value::as_array);
                let new = items.iter().enumerate().filter(|(_, item)| !known.is_some_and(|known| known.contains(item)));
                new.for_each(|(index, item)| note(name, format!("{pointer}/{index}"), item));
            }
            value => note(name, pointer, value),
        }
    }
}

/// The difference to point at: the entry that brought the object in, else the only one, else the file that has them.
fn chosen(differences: &[Difference], origin: &Origin) -> Option<(Origin, String)> {
    let brings_in = |difference: &&Difference| {
        let leads = difference.text.as_ref().and_then(|text| clean_path(&format!("{}/{text}", difference.folder)));
        let is_above = |leads: String| leads == *origin.path || origin.path.starts_with(&format!("{leads}/"));
        difference.origin.side == origin.side && BRING_IN.contains(&difference.field.as_str()) && leads.is_some_and(is_above)
    };
    let first = differences.first()?;
    let one_place = |difference: &Difference| difference.origin.path == first.origin.path;
    if let Some(difference) = differences.iter().find(brings_in) {
        return Some((difference.origin.clone(), difference.pointer.clone()));
    }
    // An entry that is altered is one that goes and one that comes: the one that is there now is of interest.
    let now: Vec<&Difference> = differences.iter().filter(|difference| difference.origin.side == Side::Head).collect();
    match (now.as_slice(), differences) {
        ([one], _) if differences.iter().all(|other| other.field == one.field && one_place(other)) => {
            Some((one.origin.clone(), one.pointer.clone()))
        }
        (_, [one]) => Some((one.origin.clone(), one.pointer.clone())),
        _ => {
            let origin = now.first().map_or(&first.origin, |now| &now.origin);
            Some((origin.clone(), String::new()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outline(side: Side, files: &[(&str, Value)]) -> Vec<Outline> {
        let read = |(folder, fields): &(&str, Value)| {
            let path = format!("{folder}/kustomization.yaml").into();
            let origin = Origin { path, side, document: 0..0, line: 1, within: String::new(), rendered: None };
            (origin, (*folder).to_owned(), fields.as_object().unwrap().clone())
        };
        vec![Outline { kustomizations: files.iter().map(read).collect(), patches: Vec::new() }]
    }

    fn points_at(before: Value, after: Value, path: &str, side: Side) -> String {
        let differences = differences(&outline(Side::Base, &[("over", before)]), &outline(Side::Head, &[("over", after)]));
        let origin = Origin { path: path.into(), side, document: 0..0, line: 1, within: String::new(), rendered: None };
        let found = chosen(&differences, &origin);
        found.map_or("nothing".to_owned(), |(origin, pointer)| format!("{} {}", origin.side.as_str(), pointer))
    }

    #[test]
    fn the_entry_that_brought_the_object_in_is_pointed_at() {
        let before = json!({"resources": ["../base", "../data/claim.yaml"], "namePrefix": "a-"});
        let after = json!({"resources": ["../base"], "namePrefix": "b-"});
        assert_eq!(points_at(before, after, "data/claim.yaml", Side::Base), "base /resources/1");
    }

    #[test]
    fn an_only_difference_is_pointed_at_where_it_is_now() {
        assert_eq!(points_at(json!({"namePrefix": "a-"}), json!({"namePrefix": "b-"}), "base/a.yaml", Side::Base), "head /namePrefix");
        let patch = json!({"patches": [{"patch": "x"}]});
        assert_eq!(points_at(json!({}), patch.clone(), "base/a.yaml", Side::Base), "head /patches/0");
        assert_eq!(points_at(patch, json!({}), "base/a.yaml", Side::Head), "base /patches/0");
    }

    #[test]
    fn of_several_differences_the_file_is_pointed_at() {
        let found = points_at(json!({"namePrefix": "a-"}), json!({"namePrefix": "b-", "nameSuffix": "-c"}), "base/a.yaml", Side::Base);
        assert_eq!(found, "head ");
        assert_eq!(points_at(json!({}), json!({}), "base/a.yaml", Side::Base), "nothing");
    }
}
