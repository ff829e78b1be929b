//! Finds the files that hold Argo CD objects.
//!
//! Takes a tree; hands on [`Candidate`]s: complete Applications, and ApplicationSets and AppProjects. Patches, chart templates and
//! fragments are no candidates.

use std::collections::BTreeSet;
use std::sync::Arc;

use memchr::memmem;
use rayon::prelude::*;
use serde_json::Value;

use crate::argocd::Application;
use crate::argocd::names::GROUP;
use crate::manifest::reader::{self, Limits};
use crate::manifest::{Manifest, Origin, Side};
use crate::repo::{Entry, EntryKind, Format, Parser, Tree};

/// Words of which a file with an Application, an ApplicationSet or an AppProject holds one.
const KINDS: [&str; 2] = ["Application", "AppProject"];

/// Names of kustomizations.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The chart that makes Applications out of values, in which the API group need not stand.
pub const APPLICATION_CHART: &str = "argocd-apps";

/// What a file candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CandidateKind {
    /// A complete Application.
    Application,
    /// What names itself an Application, and lacks something that one must have: a mistake, or a piece of something else.
    Incomplete,
    /// An ApplicationSet.
    ApplicationSet,
    /// An AppProject.
    Project,
}

/// An Argo CD object in a file.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What it is.
    pub kind: CandidateKind,
    /// The object as it stands.
    pub manifest: Arc<Manifest>,
}

/// The Argo CD objects of a tree, in the order of paths and documents. The parser marks files that mention Argo CD's API group.
pub fn scan(tree: &Tree, side: Side, parser: &Parser) -> Vec<Candidate> {
    let files: Vec<&Entry> = tree
        .entries()
        .par_iter()
        .filter(|entry| matches!(entry.kind, EntryKind::File | EntryKind::Executable) && is_manifest_name(&entry.path))
        .filter(|entry| parser.is_marked(tree, entry))
        .collect();
    let patches = patch_files(tree);
    let mut candidates: Vec<Candidate> = files
        .into_par_iter()
        .filter(|entry| !patches.contains(&*entry.path) && !is_chart_template(tree, &entry.path))
        .flat_map_iter(|entry| candidates_of(tree, entry, side, parser))
        .collect();
    candidates.sort_by(|a, b| {
        let place = |candidate: &Candidate| (Arc::clone(&candidate.manifest.origin.path), candidate.manifest.origin.document.start);
        place(a).cmp(&place(b))
    });
    candidates
}

/// The files of a tree out of which a renderer may make Argo CD objects, sorted: manifests, templates and programs that mention Argo CD, and
/// charts that depend on the one that makes Applications.
pub fn mentioning(tree: &Tree, parser: &Parser) -> Vec<Arc<str>> {
    let is_text = |path: &str| is_manifest_name(path) || [".tpl", ".jsonnet", ".libsonnet", ".txt"].iter().any(|end| path.ends_with(end));
    let depends = |entry: &Entry| {
        let is_chart = ["Chart.yaml", "requirements.yaml"].iter().any(|name| entry.path.ends_with(name));
        is_chart && tree.read_entry(entry).is_ok_and(|bytes| memmem::find(&bytes, APPLICATION_CHART.as_bytes()).is_some())
    };
    let files = tree.entries().par_iter().filter(|entry| matches!(entry.kind, EntryKind::File | EntryKind::Executable));
    let found = files.filter(|entry| is_text(&entry.path) && (parser.is_marked(tree, entry) || depends(entry)));
    found.map(|entry| Arc::clone(&entry.path)).collect()
}

/// A file that says that it holds Argo CD objects, and that cannot be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its path.
    pub path: Arc<str>,
    /// Line at which reading stopped.
    pub line: u32,
    /// Why.
    pub why: String,
}

/// The wanted files of a tree that hold Argo CD objects and are broken: what stands behind the fault is not in [`scan`]'s answer.
pub fn unreadable(tree: &Tree, parser: &Parser, wanted: impl Fn(&str) -> bool + Sync) -> Vec<Unreadable> {
    let broken: Vec<Unreadable> = tree
        .entries()
        .par_iter()
        .filter(|entry| matches!(entry.kind, EntryKind::File | EntryKind::Executable) && is_manifest_name(&entry.path))
        .filter(|entry| wanted(&entry.path) && parser.is_marked(tree, entry) && !is_chart_template(tree, &entry.path))
        .filter_map(|entry| {
            let error = parser.parse(tree, entry, format_of(&entry.path)).ok()?.error.clone()?;
            let bytes = tree.read_entry(entry).ok()?;
            let text = reader::decode(&bytes).text;
            let names_kind = KINDS.iter().any(|kind| text.contains(kind));
            names_kind.then(|| Unreadable { path: Arc::clone(&entry.path), line: error.line, why: error.kind.to_string() })
        })
        .collect();
    if broken.is_empty() {
        return broken;
    }
    let patches = patch_files(tree);
    broken.into_iter().filter(|file| !patches.contains(&*file.path)).collect()
}

fn format_of(path: &str) -> Format {
    if path.ends_with(".json") { Format::Json } else { Format::Stream }
}

fn is_manifest_name(path: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|extension| path.ends_with(extension))
}

fn candidates_of(tree: &Tree, entry: &Entry, side: Side, parser: &Parser) -> Vec<Candidate> {
    let Ok(parsed) = parser.parse(tree, entry, format_of(&entry.path)) else { return Vec::new() };
    let objects = parsed.objects.iter().filter_map(|object| {
        let kind = kind_of(&object.object)?;
        let place = parsed.documents.get(object.document)?;
        let origin = Origin {
            path: Arc::clone(&entry.path),
            side,
            document: place.range.clone(),
            line: place.line,
            within: object.within.clone(),
            rendered: None,
        };
        let manifest = Manifest { key: object.key.clone()?, object: object.object.clone(), origin };
        Some(Candidate { kind, manifest: Arc::new(manifest) })
    });
    objects.collect()
}

fn kind_of(object: &Value) -> Option<CandidateKind> {
    if Application::is_application(object) {
        if Application::is_complete(object) {
            return Some(CandidateKind::Application);
        }
        let is_named = object.pointer("/metadata/name").is_some_and(Value::is_string);
        return (is_named && object.get("$patch").is_none()).then_some(CandidateKind::Incomplete);
    }
    if crate::manifest::key::group_of(object) != GROUP || object.get("$patch").is_some() {
        return None;
    }
    match object.get("kind").and_then(Value::as_str)? {
        "ApplicationSet" => object.pointer("/spec/generators").map(|_| CandidateKind::ApplicationSet),
        "AppProject" => object.get("spec").map(|_| CandidateKind::Project),
        _ => None,
    }
}

/// Whether a file is a template of a Helm chart.
fn is_chart_template(tree: &Tree, path: &str) -> bool {
    let mut start = 0;
    while let Some(found) = path.get(start..).and_then(|rest| rest.find("templates/")) {
        let at = start + found;
        let chart = path.get(..at).unwrap_or_default();
        if (chart.is_empty() || chart.ends_with('/')) && tree.get(&format!("{chart}Chart.yaml")).is_some() {
            return true;
        }
        start = at + "templates/".len();
    }
    false
}

/// Whether a kustomization stands in the folder of a file: what lies there may be raw material.
pub fn is_beside_kustomization(tree: &Tree, path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    KUSTOMIZATIONS.iter().any(|name| tree.get(&format!("{folder}{name}")).is_some())
}

/// Files that a kustomization names as patches.
fn patch_files(tree: &Tree) -> BTreeSet<String> {
    let kustomizations: Vec<&Entry> = tree
        .entries()
        .iter()
        .filter(|entry| {
            let name = entry.path.rsplit('/').next().unwrap_or_default();
            KUSTOMIZATIONS.contains(&name) && entry.kind != EntryKind::Submodule
        })
        .collect();
    kustomizations.into_par_iter().flat_map_iter(|entry| patches_of(tree, entry)).collect()
}

fn patches_of(tree: &Tree, entry: &Entry) -> Vec<String> {
    let Ok(bytes) = tree.read_entry(entry) else { return Vec::new() };
    let directory = entry.path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let resolve = |relative: &str| crate::repo::clean_path(&format!("{directory}/{relative}"));
    let mut paths = Vec::new();
    for document in reader::read_stream(&reader::decode(&bytes).text, &Limits::default()).documents {
        let list = |field: &str| document.value.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
        for patch in list("patchesStrategicMerge") {
            paths.extend(patch.as_str().filter(|text| !text.contains('\n')).and_then(resolve));
        }
        for patch in ["patches", "patchesJson6902"].into_iter().flat_map(list) {
            paths.extend(patch.get("path").and_then(Value::as_str).and_then(resolve));
        }
    }
    paths
}
