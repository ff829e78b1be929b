//! Where the objects of a build come from.
//!
//! Takes what kustomize notes about an object; hands on the file and document that define it, and the patches that change it.

use std::sync::Arc;

use serde_json::Value;

use super::closure::Closure;
use crate::manifest::reader::{self, Limits};
use crate::manifest::{Origin, RenderedFrom, Renderer, ResourceKey, Side, metadata_str};
use crate::render::request::Request;
use crate::repo::parsed::DocumentPlace;
use crate::repo::{Format, LinkTarget, ParsedFile, clean_path};

/// The annotation that kustomize writes with `buildMetadata: [originAnnotations]`.
const ANNOTATION: &str = "config.kubernetes.io/origin";

/// Finds places in the files of one build.
pub(super) struct Places<'a> {
    request: &'a Request<'a>,
    /// The kustomization that is built, and its place.
    top: Origin,
    patches: Vec<(ResourceKey, Origin)>,
}

/// What kustomize notes about an object.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Note {
    /// The file that holds the object, from the folder that is built.
    path: Option<String>,
    /// The file of the generator that makes the object.
    configured_in: Option<String>,
    /// Which generator.
    configured_by: String,
    /// The repository that it comes from, where that is another one.
    repository: Option<String>,
}

/// Takes the note off an object.
pub(super) fn take_note(object: &mut Value) -> Note {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return Note::default() };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return Note::default() };
    let note = annotations.remove(ANNOTATION);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    note.as_ref().and_then(Value::as_str).map(read_note).unwrap_or_default()
}

/// Reads the note of an object that keeps it.
pub(super) fn note_of(object: &Value) -> Note {
    crate::manifest::annotation(object, ANNOTATION).map(read_note).unwrap_or_default()
}

fn read_note(text: &str) -> Note {
    let Some(document) = reader::read_stream(text, &Limits::default()).documents.into_iter().next() else { return Note::default() };
    let text = |pointer: &str| document.value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Note {
        path: text("/path"),
        configured_in: text("/configuredIn"),
        configured_by: text("/configuredBy/kind").unwrap_or_default(),
        repository: text("/repo"),
    }
}

impl<'a> Places<'a> {
    /// Places in the files of a closure.
    pub(super) fn new(request: &'a Request<'a>, closure: &Closure) -> Self {
        let file = closure.kustomizations.first().map_or_else(|| Arc::from(request.path.as_str()), |first| Arc::clone(&first.file));
        let mut places = Self { request, top: whole(&file, request.side), patches: Vec::new() };
        if let Some(place) = places.parse(&file).and_then(|parsed| parsed.documents.first().cloned()) {
            places.top = at(&file, request.side, &place, String::new());
        }
        for path in &closure.patches {
            let Some(parsed) = places.parse(path) else { continue };
            let file: Arc<str> = path.as_str().into();
            for object in &parsed.objects {
                if let (Some(key), Some(place)) = (&object.key, parsed.documents.get(object.document)) {
                    places.patches.push((key.clone(), at(&file, request.side, place, object.within.clone())));
                }
            }
        }
        places
    }

    /// The patches, each with the object that it changes.
    pub(super) fn into_patches(self) -> Vec<(ResourceKey, Origin)> {
        self.patches
    }

    /// The kustomization that is built.
    pub(super) fn top(&self) -> &Origin {
        &self.top
    }

    /// Where an object of the output comes from.
    pub(super) fn of(&self, note: &Note, object: &Value, key: Option<&ResourceKey>) -> Origin {
        let (mut origin, original) = self.defined(note, object, key).unwrap_or_else(|| (self.top.clone(), None));
        let original = original.as_ref().or(key);
        let patches = self.patches.iter().filter(|(patched, _)| original.is_some_and(|key| is_same(patched, key)));
        let others = patches.map(|(_, origin)| origin.clone()).collect();
        origin.rendered = Some(Arc::new(RenderedFrom { renderer: Renderer::Kustomize, others }));
        origin
    }

    /// The document that defines an object, and what the object is called there.
    fn defined(&self, note: &Note, object: &Value, key: Option<&ResourceKey>) -> Option<(Origin, Option<ResourceKey>)> {
        if note.repository.is_some() {
            return None;
        }
        let in_tree = |path: &str| clean_path(&format!("{}/{path}", self.request.path));
        if let Some(path) = note.path.as_deref().and_then(in_tree) {
            return self.in_file(&path, key?);
        }
        let path = note.configured_in.as_deref().and_then(in_tree)?;
        let parsed = self.parse(&path)?;
        let file: Arc<str> = path.into();
        let document = parsed.documents.first()?;
        let within = self.generator(&parsed, &note.configured_by, metadata_str(object, "name").unwrap_or_default());
        Some((at(&file, self.request.side, document, within.unwrap_or_default()), None))
    }

    /// The object of a file that an output object was made from: the same kind, and a name that the other one has grown out of.
    fn in_file(&self, path: &str, key: &ResourceKey) -> Option<(Origin, Option<ResourceKey>)> {
        let file: Arc<str> = path.into();
        let Some(parsed) = self.parse(path) else { return Some((whole(&file, self.request.side), None)) };
        let same_kind =
            || parsed.objects.iter().filter_map(|object| Some((object, object.key.as_ref().filter(|own| own.is(&key.group, &key.kind))?)));
        let rank = |own: &ResourceKey| (own.name.len(), own.namespace.is_empty() || own.namespace == key.namespace);
        let by_name = same_kind().filter(|(_, own)| key.name.contains(&*own.name)).max_by(|(_, a), (_, b)| rank(a).cmp(&rank(b)));
        let found = by_name.or_else(|| same_kind().next());
        match found.and_then(|(object, own)| Some((object, own, parsed.documents.get(object.document)?))) {
            Some((object, own, place)) => Some((at(&file, self.request.side, place, object.within.clone()), Some(own.clone()))),
            None => Some((whole(&file, self.request.side), None)),
        }
    }

    /// The entry of a kustomization that generates an object.
    fn generator(&self, parsed: &ParsedFile, kind: &str, name: &str) -> Option<String> {
        let (list, field) = match kind {
            "ConfigMapGenerator" => ("configMapGenerator", "name"),
            "SecretGenerator" => ("secretGenerator", "name"),
            "HelmChartInflationGenerator" => ("helmCharts", "releaseName"),
            _ => return None,
        };
        let entries = parsed.objects.first()?.object.get(list)?.as_array()?;
        let named = entries.iter().enumerate().filter_map(|(index, entry)| Some((index, entry.get(field).and_then(Value::as_str)?)));
        let best = named.filter(|(_, own)| name.contains(own)).max_by_key(|(_, own)| own.len());
        let index = best.map(|(index, _)| index).or((entries.len() == 1).then_some(0))?;
        Some(format!("/{list}/{index}"))
    }

    fn parse(&self, path: &str) -> Option<Arc<ParsedFile>> {
        let Ok(LinkTarget::File(entry)) = self.request.tree.resolve_link(path) else { return None };
        self.request.workshop.parser.parse(&self.request.tree, &entry, Format::Stream).ok()
    }
}

fn is_same(patch: &ResourceKey, key: &ResourceKey) -> bool {
    patch.is(&key.group, &key.kind) && patch.name == key.name
}

fn at(file: &Arc<str>, side: Side, place: &DocumentPlace, within: String) -> Origin {
    Origin { path: Arc::clone(file), side, document: place.range.clone(), line: place.line, within, rendered: None }
}

/// A file as a whole.
pub(super) fn whole(file: &Arc<str>, side: Side) -> Origin {
    Origin { path: Arc::clone(file), side, document: 0..0, line: 1, within: String::new(), rendered: None }
}
