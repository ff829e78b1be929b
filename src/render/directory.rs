//! Plain directory sources, as Argo CD's repo-server reads them.
//!
//! Takes a source, a tree and a path; hands on the objects of the selected files in order.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem;
use serde_json::Value;

use super::jsonnet::Evaluation;
use super::output::non_string_metadata;
use super::{Duplicate, Inputs, RenderError, Rendered, Request, Stop, Tool};
use crate::argocd::application::Directory;
use crate::argocd::names::SKIP_FILE_RENDERING;
use crate::argocd::pattern::Pattern;
use crate::manifest::origin::{RenderedFrom, Renderer};
use crate::manifest::{Manifest, Origin, ResourceKey, Side, reader};
use crate::repo::{Entry, EntryKind, Format, LinkError, LinkTarget, ParsedFile, Parser, RepoError, Tree, TreeNote};

/// Combined size of the files of one source, in bytes, from which Argo CD gives up (`reposerver.max.combined.directory.manifests.size`).
pub const MAX_COMBINED_BYTES: u64 = 10_000_000;

/// Which files of a directory source are read.
#[derive(Debug)]
pub struct Selection {
    recurse: bool,
    any_extension: bool,
    include: Option<Pattern>,
    exclude: Option<Pattern>,
}

impl Selection {
    /// The selection of a source's directory settings.
    pub fn new(settings: Option<&Directory>) -> Self {
        let pattern = |text: &str| (!text.is_empty()).then(|| Pattern::new(text));
        Self {
            recurse: settings.is_some_and(|settings| settings.recurse),
            any_extension: settings.is_some_and(|settings| settings.disable_extension_filter),
            include: settings.and_then(|settings| pattern(&settings.include)),
            exclude: settings.and_then(|settings| pattern(&settings.exclude)),
        }
    }

    /// Whether a file at this path, relative to the source's path, is read. A glob that does not compile never matches.
    ///
    /// Source: Argo CD `reposerver/repository/repository.go:getPotentiallyValidManifestFile`.
    pub fn takes(&self, relative: &str) -> bool {
        let name = relative.rsplit('/').next().unwrap_or(relative);
        (self.recurse || !relative.contains('/'))
            && (self.any_extension || [".yaml", ".yml", ".json", ".jsonnet"].iter().any(|extension| name.ends_with(extension)))
            && !self.exclude.as_ref().is_some_and(|pattern| pattern.matches(relative))
            && self.include.as_ref().is_none_or(|pattern| pattern.matches(relative))
    }
}

/// What a selection is made from: `recurse`, `disableExtensionFilter`, `include`, `exclude`.
type Wanted = (bool, bool, String, String);

/// Selections that were made: globs take long to compile, and many Applications have the same.
#[derive(Default)]
pub struct Selections(Mutex<HashMap<Wanted, Arc<Selection>>>);

impl Selections {
    /// The selection of a source's directory settings.
    pub fn of(&self, settings: Option<&Directory>) -> Arc<Selection> {
        let key = settings.map_or((false, false, String::new(), String::new()), |settings| {
            (settings.recurse, settings.disable_extension_filter, settings.include.clone(), settings.exclude.clone())
        });
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(made.entry(key).or_insert_with(|| Arc::new(Selection::new(settings))))
    }
}

/// Plain directories as a tool.
pub(super) struct DirectoryTool {
    inputs: Inputs,
    selection: Arc<Selection>,
    jsonnet: Option<Evaluation>,
}

impl DirectoryTool {
    /// The tool for one source.
    ///
    /// # Errors
    /// When jsonnet files cannot be evaluated as the source asks for.
    pub(super) fn new(request: &Request<'_>) -> Result<Self, Stop> {
        let settings = request.source.directory.as_ref();
        let selection = request.workshop.selections.of(settings);
        all_files_are_here(request, &selection)?;
        let mut inputs = Inputs::default();
        inputs.folder(&request.path);
        let programs = jsonnet_programs(request, &selection)?;
        if programs.is_empty() {
            return Ok(Self { inputs, selection, jsonnet: None });
        }
        let of_jsonnet = settings.map(|directory| directory.jsonnet.clone()).unwrap_or_default();
        let programs: Vec<&str> = programs.iter().map(|path| &**path).collect();
        let evaluation = Evaluation::new(request, &of_jsonnet, &programs)?;
        inputs.extend(evaluation.inputs());
        Ok(Self { inputs, selection, jsonnet: Some(evaluation) })
    }
}

impl Tool for DirectoryTool {
    fn inputs(&self) -> Inputs {
        self.inputs.clone()
    }

    fn parameters(&self) -> Option<String> {
        self.jsonnet.as_ref().map(|jsonnet| format!("directory {:?} {}", self.selection, jsonnet.parameters()))
    }

    fn render(&self, request: &Request<'_>) -> Result<Rendered, Stop> {
        let evaluated = self.jsonnet.as_ref().map_or(Ok(BTreeMap::new()), |jsonnet| jsonnet.run(request))?;
        let mut rendered = render(&self.selection, &request.tree, &request.path, request.side, &request.workshop.parser, &evaluated)?;
        rendered.assumptions.extend(self.jsonnet.as_ref().and_then(Evaluation::assumption));
        Ok(rendered)
    }
}

/// Whether presync sees all files that Argo CD reads: it fetches submodules, and takes a file whatever its name is encoded in.
///
/// Source: Argo CD `util/git/client.go:Checkout` (submodules), `reposerver/repository/repository.go:getPotentiallyValidManifests`.
fn all_files_are_here(request: &Request<'_>, selection: &Selection) -> Result<(), Stop> {
    let mut below = relative_entries(&request.tree, &request.path);
    if let Some((_, entry)) = below.find(|(_, entry)| selection.recurse && entry.kind == EntryKind::Submodule) {
        return Err(Stop::in_submodule(&entry.path));
    }
    let prefix = if request.path.is_empty() { String::new() } else { format!("{}/", request.path) };
    for note in request.tree.notes() {
        let (path, why) = match note {
            TreeNote::PathNotUtf8 { path } => (path, "its name is not UTF-8; Argo CD reads it, and presync cannot".to_owned()),
            TreeNote::Unreadable { path, reason } => (path, format!("it cannot be read: {reason}")),
        };
        if path.strip_prefix(&prefix).is_some_and(|relative| selection.takes(relative)) {
            return Err(Stop::unjudged(format!("the file {path}"), why));
        }
    }
    Ok(())
}

/// The files that are evaluated, in order.
///
/// Source: Argo CD `reposerver/repository/repository.go:findManifests`, `util/settings/settings.go:GetEnabledSourceTypes`.
fn jsonnet_programs(request: &Request<'_>, selection: &Selection) -> Result<Vec<Arc<str>>, Stop> {
    if !has_jsonnet(selection, &request.tree, &request.path)
        || request.workshop.settings.entry("jsonnet.enable").is_some_and(|on| on != "true")
    {
        return Ok(Vec::new());
    }
    let mut programs = Vec::new();
    for file in select(selection, &request.tree, &request.path, request.side, &mut Vec::new())? {
        if file.path.ends_with(".jsonnet") {
            let bytes = request.tree.read_entry(&file.entry).map_err(|error| unreadable(file.path, &error))?;
            if memmem::find(&bytes, SKIP_FILE_RENDERING.as_bytes()).is_none() {
                programs.push(Arc::clone(file.path));
            }
        }
    }
    Ok(programs)
}

fn unreadable(path: &str, error: &RepoError) -> RenderError {
    RenderError::new("render-failed", format!("{path} cannot be read: {error}"), "Make the file's contents available in this clone.")
}

/// A selected file: where it is named, and the entry whose contents count (another one behind a symlink).
struct Selected<'t> {
    path: &'t Arc<str>,
    entry: Entry,
}

/// Renders a directory source, whose jsonnet files have been evaluated to these JSON texts.
///
/// # Errors
/// When Argo CD could not generate manifests from it.
///
/// Source: Argo CD `reposerver/repository/repository.go:findManifests`.
pub fn render(
    selection: &Selection,
    tree: &Tree,
    path: &str,
    side: Side,
    parser: &Parser,
    evaluated: &BTreeMap<String, String>,
) -> Result<Rendered, Stop> {
    let mut rendered = Rendered::default();
    let mut combined = 0_u64;
    for file in select(selection, tree, path, side, &mut rendered.warnings)? {
        if file.path.ends_with(".jsonnet") {
            if let Some(json) = evaluated.get(&**file.path) {
                add_evaluated(json, file.path, side, &mut rendered)?;
            }
            continue;
        }
        let format = if file.path.ends_with(".json") { Format::Json } else { Format::Stream };
        let parsed = parser.parse(tree, &file.entry, format).map_err(|error| unreadable(file.path, &error))?;
        if parsed.skipped {
            continue;
        }
        combined = combined.saturating_add(parsed.bytes);
        if combined > MAX_COMBINED_BYTES {
            return Err(RenderError::new(
                "render-failed",
                format!("the files of {} are larger together than Argo CD's limit of 10 MB", shown(path)),
                "Split the Application, or raise reposerver.max.combined.directory.manifests.size.",
            )
            .at(file.path, side, 1, 1)
            .into());
        }
        add(&parsed, file.path, side, format, &mut rendered)?;
    }
    Ok(rendered)
}

/// Whether a directory source would evaluate jsonnet files.
pub fn has_jsonnet(selection: &Selection, tree: &Tree, path: &str) -> bool {
    relative_entries(tree, path).any(|(relative, _)| relative.ends_with(".jsonnet") && selection.takes(relative))
}

/// The entries under a path with their paths relative to it.
pub fn relative_entries<'t>(tree: &'t Tree, path: &str) -> impl Iterator<Item = (&'t str, &'t Entry)> + use<'t> {
    let prefix = if path.is_empty() { 0 } else { path.len() + 1 };
    tree.under(path).iter().filter_map(move |entry| Some((entry.path.get(prefix..)?, entry)))
}

fn select<'t>(
    selection: &Selection,
    tree: &'t Tree,
    path: &str,
    side: Side,
    warnings: &mut Vec<String>,
) -> Result<Vec<Selected<'t>>, Stop> {
    let mut files = Vec::new();
    for (relative, entry) in relative_entries(tree, path).filter(|(relative, _)| selection.takes(relative)) {
        match entry.kind {
            EntryKind::File | EntryKind::Executable => files.push(Selected { path: &entry.path, entry: entry.clone() }),
            // A folder, whatever it is called.
            EntryKind::Submodule => {}
            EntryKind::Symlink => match tree.resolve_link(&entry.path) {
                Ok(LinkTarget::File(target)) => files.push(Selected { path: &entry.path, entry: target }),
                Ok(LinkTarget::Directory(_)) => {
                    warnings.push(format!("{relative} is a link to a directory, which Argo CD does not follow"))
                }
                Err(LinkError::Dangling { .. }) => warnings.push(format!("{relative} is a link to nowhere, which Argo CD skips")),
                Err(LinkError::Submodule { submodule, .. }) => {
                    return Err(Stop::in_submodule(&submodule));
                }
                Err(error) => {
                    let help = "Replace the link by a file inside the repository.";
                    return Err(RenderError::new("render-failed", format!("{}: {error}", entry.path), help)
                        .at(&entry.path, side, 1, 1)
                        .into());
                }
            },
        }
    }
    Ok(files)
}

fn add(parsed: &ParsedFile, path: &Arc<str>, side: Side, format: Format, rendered: &mut Rendered) -> Result<(), RenderError> {
    let exclude = "Mend the file, or leave it out with `directory.exclude` or the comment `+argocd:skip-file-rendering`.";
    let mut decoded = 0;
    for object in &parsed.objects {
        let place = parsed.documents.get(object.document);
        let line = place.map_or(1, |place| place.line);
        let origin = Origin {
            path: Arc::clone(path),
            side,
            document: place.map_or(0..0, |place| place.range.clone()),
            line,
            within: object.within.clone(),
            rendered: None,
        };
        let Some(key) = &object.key else {
            let lacks = match &*object.object {
                Value::Object(_) => "has no kind",
                Value::Array(_) => "is a list and no object",
                Value::Null => "is null and no object",
                _ => "is a plain value and no object",
            };
            if !object.within.is_empty() {
                let message = format!("an item of the list in {path} {lacks}, so Argo CD generates no manifests at all");
                return Err(RenderError::new("render-failed", message, exclude).at(path, side, line, 1));
            }
            if format == Format::Json {
                let message = format!("{path} {lacks}, so Argo CD cannot read the Application's manifests");
                return Err(RenderError::new("render-failed", message, exclude).at(path, side, 1, 1));
            }
            if decoded > 0 || parsed.looks_like_manifest {
                let message = format!("a document of {path} {lacks}, so Argo CD generates no manifests at all");
                return Err(RenderError::new("render-failed", message, exclude).at(path, side, line, 1));
            }
            return Ok(());
        };
        decoded += 1;
        if let Some(error) = non_string_metadata(&object.object, key, &origin) {
            return Err(error);
        }
        rendered.manifests.push(Arc::new(Manifest { key: key.clone(), object: object.object.clone(), origin }));
    }
    if let Some(error) = &parsed.error {
        let hard = format == Format::Json || decoded > 0 || parsed.looks_like_manifest;
        if hard {
            let message = format!("{path} cannot be read: {}", error.kind);
            return Err(RenderError::new("render-failed", message, exclude).at(path, side, error.line, error.column));
        }
        rendered.warnings.push(format!("{path} is no manifest and is left out: {}", error.kind));
        return Ok(());
    }
    for place in parsed.documents.iter().filter(|_| decoded > 0) {
        for pointer in &place.duplicate_keys {
            let origin = Origin {
                path: Arc::clone(path),
                side,
                document: place.range.clone(),
                line: place.line,
                within: String::new(),
                rendered: None,
            };
            rendered.duplicate_keys.push(Duplicate { origin, pointer: pointer.clone() });
        }
    }
    Ok(())
}

/// Adds what a jsonnet file evaluates to: one object, or an array of objects, in which nulls are passed over.
///
/// Source: Argo CD `reposerver/repository/repository.go:findManifests`.
fn add_evaluated(json: &str, path: &Arc<str>, side: Side, rendered: &mut Rendered) -> Result<(), RenderError> {
    let failed = |what: String| {
        let help = "Let the file give an object with kind, or an array of such objects; name a library `.libsonnet`, or leave it out with `directory.exclude`.";
        let message = format!("{path} {what}, so Argo CD generates no manifests at all");
        Err(RenderError::new("render-failed", message, help).at(path, side, 1, 1))
    };
    let made_by = Arc::new(RenderedFrom { renderer: Renderer::Jsonnet, others: Vec::new() });
    let values = match reader::read_json(json) {
        Ok(Value::Array(values)) => values,
        Ok(value) => vec![value],
        Err(error) => return failed(format!("evaluates to something that cannot be read: {}", error.kind)),
    };
    for value in values.into_iter().filter(|value| !value.is_null()) {
        if ResourceKey::of(&value).is_none() {
            return failed("evaluates to something else than objects with a kind".to_owned());
        }
        for object in ParsedFile::of_output(value.to_string().as_bytes()).objects {
            let Some(key) = object.key else {
                return failed("evaluates to a list of something else than objects with a kind".to_owned());
            };
            let rendered_from = Some(Arc::clone(&made_by));
            let origin = Origin { path: Arc::clone(path), side, document: 0..0, line: 1, within: object.within, rendered: rendered_from };
            if let Some(error) = non_string_metadata(&object.object, &key, &origin) {
                return Err(error);
            }
            rendered.manifests.push(Arc::new(Manifest { key, object: object.object, origin }));
        }
    }
    Ok(())
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "the repository root" } else { path }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
