//! The values that a chart is rendered with, layer over layer, and the place that sets each.
//!
//! Takes a request; hands on [`Values`]. Nothing is rendered: this is for telling people which line decides.

mod layer;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::Value;

use super::chart::{self, Chart};
use super::files::ValueFile;
use super::template::{Helpers, Reads, Template, ValuePath};
use super::{Plan, is_fetched, is_same};
use crate::manifest::reader::{self, Limits};
use crate::manifest::{Origin, Pointer, Side};
use crate::render::{Request, overrides};
use crate::repo::{LinkTarget, Tree};
use layer::{Layer, Look, merge};

/// Charts below each other.
const MAX_DEPTH: usize = 20;

/// The values of one chart source at one side.
pub struct Values {
    tree: Tree,
    chart: String,
    side: Side,
    label: Option<String>,
    /// What the source and its value files say, those that win last.
    layers: Vec<Layer>,
    /// Override files, those that win last.
    overrides: Vec<(Origin, Value)>,
    /// The named templates, read when they are first needed.
    helpers: OnceLock<Helpers>,
}

/// A chart of the source, as its parents know it.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Under which names its values stand among those of the source.
    prefix: ValuePath,
    /// Its own defaults and those of its parents, those that win last.
    defaults: Vec<Layer>,
    /// The values of its parents that switch it on.
    conditions: BTreeSet<ValuePath>,
}

/// Where a value is set.
#[derive(Clone, Debug, PartialEq)]
pub enum SetAt {
    /// In a file of the repository that is compared, at this pointer.
    File(Origin, String),
    /// In the source itself, at this pointer.
    Source(String),
    /// In the text `helm.values` of the source, at this pointer in it.
    Text(String),
    /// In a file that is not in the repository, or not at this revision.
    Elsewhere,
}

/// What decides about an object or a field, in names of the source's values.
#[derive(Clone, Debug, Default)]
pub struct Deciding {
    /// Bytes of the line that writes the field, where that is certain.
    pub field: Option<std::ops::Range<usize>>,
    /// The value that the field is.
    pub own: Option<ValuePath>,
    /// All that it depends on.
    pub all: BTreeSet<ValuePath>,
    /// Those of them of which the object is made out of one entry.
    pub loops: BTreeSet<ValuePath>,
}

impl Values {
    /// The values of a source.
    pub(super) fn of(request: &Request<'_>, plan: &Plan) -> Self {
        let here = |tree: &Tree, path: &str, is_compared: bool| {
            let origin = Origin { path: path.into(), side: request.side, document: 0..0, line: 1, within: String::new(), rendered: None };
            let place = if is_compared { SetAt::File(origin, String::new()) } else { SetAt::Elsewhere };
            Some(Layer::of_values(yaml(tree, path)?, place))
        };
        let mut layers = Vec::new();
        for file in &plan.value_files {
            layers.extend(match file {
                ValueFile::Own(path) => here(&request.tree, path, !is_fetched(request)),
                ValueFile::Referenced(name, path) => request.references.get(name).and_then(|reference| {
                    let tree = reference.tree.as_ref().ok()?;
                    here(tree, path, reference.is_compared || (!is_fetched(request) && is_same(tree, &request.tree)))
                }),
                ValueFile::Remote(_) => None,
            });
        }
        let settings = &plan.settings;
        match &settings.values_object {
            Some(object) if !object.is_null() => {
                layers.push(Layer::of_values(object.clone(), SetAt::Source("/helm/valuesObject".to_owned())))
            }
            _ => layers.extend(parsed(&settings.values).map(|values| Layer::of_values(values, SetAt::Text(String::new())))),
        }
        for forced in [false, true] {
            let numbered = settings.parameters.iter().enumerate().filter(|(_, parameter)| parameter.force_string == forced);
            layers.extend(numbered.map(|(index, parameter)| {
                let place = SetAt::Source(format!("/helm/parameters/{index}/value"));
                Layer::of_parameter(&parameter.name, &parameter.value, forced, place)
            }));
        }
        layers.extend(settings.file_parameters.iter().enumerate().map(|(index, parameter)| {
            Layer::of_parameter(&parameter.name, &parameter.path, true, SetAt::Source(format!("/helm/fileParameters/{index}/path")))
        }));
        Self {
            tree: request.tree.clone(),
            chart: request.path.clone(),
            side: request.side,
            label: is_fetched(request).then(|| format!("{}-{}/", request.source.chart, request.revision)),
            layers,
            overrides: overrides::read(request),
            helpers: OnceLock::new(),
        }
    }

    /// The path in the chart's files that an object's origin means.
    pub fn file<'o>(&self, origin: &'o Origin) -> Option<&'o str> {
        match &self.label {
            Some(label) => origin.path.strip_prefix(label.as_str()),
            None => Some(&origin.path),
        }
    }

    /// The files of the chart.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The chart that a template belongs to. Where the source has that chart under several names, that of which the object's name speaks;
    /// `None` where it is not certain.
    pub fn scope(&self, file: &str, object: &str) -> Option<Scope> {
        let mut found = Vec::new();
        self.collect(&self.chart, Scope::default(), file, MAX_DEPTH, &mut found);
        if found.len() > 1 {
            found.retain(|scope| scope.prefix.last().is_some_and(|name| object.contains(name.as_str())));
        }
        let mut found = found.into_iter();
        found.next().filter(|_| found.next().is_none())
    }

    fn collect(&self, directory: &str, mut scope: Scope, file: &str, depth: usize, found: &mut Vec<Scope>) {
        let defaults = chart::join(directory, "values.yaml");
        if let Some(values) = yaml(&self.tree, &defaults) {
            let origin = Origin { path: defaults.into(), side: self.side, document: 0..0, line: 1, within: String::new(), rendered: None };
            let place = if self.label.is_none() { SetAt::File(origin, String::new()) } else { SetAt::Elsewhere };
            scope.defaults.insert(0, Layer::of_values(values, place).under(&scope.prefix));
        }
        let below = if directory.is_empty() { Some(file) } else { file.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/')) };
        if below.is_some_and(|rest| rest.starts_with("templates/") || rest == "Chart.yaml") {
            found.push(scope.clone());
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        let declared = Chart::read(&self.tree, directory).map(|chart| chart.dependencies).unwrap_or_default();
        for (folder, name) in chart::vendored_charts(&self.tree, directory) {
            if !declared.iter().any(|dependency| dependency.name == name) {
                let mut inner = scope.clone();
                inner.prefix.push(name);
                self.collect(&folder, inner, file, depth, found);
            }
        }
        for dependency in &declared {
            let mut inner = scope.clone();
            let conditions = dependency.condition.split(',').map(str::trim).filter(|condition| !condition.is_empty());
            let named =
                |condition: &str| scope.prefix.iter().cloned().chain(condition.split('.').map(str::to_owned)).collect::<ValuePath>();
            inner.conditions.extend(conditions.map(named));
            inner.conditions.extend(dependency.tags.iter().map(|tag| vec!["tags".to_owned(), tag.clone()]));
            inner.prefix.push(dependency.local_name().to_owned());
            let folders = chart::vendored(&self.tree, directory, &dependency.name).into_iter().chain(dependency.directory(directory));
            if let Some(folder) = folders.into_iter().next() {
                self.collect(&folder, inner, file, depth, found);
            }
        }
    }

    /// What decides about the object at an origin, or about a field of it.
    pub fn deciding(&self, origin: &Origin, scope: &Scope, pointer: &str) -> Option<Deciding> {
        let text = self.text(self.file(origin)?)?;
        let template = Template::read(&text);
        let helpers = self.helpers.get_or_init(|| {
            let texts = self.texts_with_helpers();
            let templates: Vec<Template<'_>> = texts.iter().map(|text| Template::read(text)).collect();
            Helpers::of(templates.iter())
        });
        let tokens = Pointer::parse(pointer).ok()?;
        let of_field = || template.of_field(&origin.document, tokens.tokens(), helpers);
        let begins = || text.split_inclusive('\n').take(usize::try_from(origin.line).unwrap_or(1).saturating_sub(1)).map(str::len).sum();
        let reads = if tokens.is_root() { None } else { of_field() };
        let Reads { field, own, all, loops } = reads.unwrap_or_else(|| template.of_object(begins(), &origin.document, helpers));
        let absolute = |path: ValuePath| self.absolute(scope, path);
        let mut all: BTreeSet<ValuePath> = all.into_iter().map(absolute).collect();
        all.extend(scope.conditions.iter().cloned());
        Some(Deciding { field, own: own.map(absolute), all, loops: loops.into_iter().map(absolute).collect() })
    }

    /// The name of a chart's value among those of the source. `global` is shared, unless only the chart itself sets it.
    fn absolute(&self, scope: &Scope, path: ValuePath) -> ValuePath {
        if path.first().is_some_and(|first| first == "global") && self.set_at(scope, &path).is_some() {
            return path;
        }
        scope.prefix.iter().cloned().chain(path).collect()
    }

    /// What a value is.
    pub fn value(&self, scope: &Scope, path: &[String]) -> Option<Value> {
        let mut found: Option<Value> = None;
        for layer in scope.defaults.iter().chain(&self.layers) {
            match layer.look(path) {
                Look::Absent => {}
                Look::Cut(_) | Look::Found(Value::Null) => found = None,
                Look::Found(value) => match &mut found {
                    Some(below) => merge(below, value),
                    None => found = Some(value.clone()),
                },
            }
        }
        found
    }

    /// Where a value is set: the last place that says something about it.
    pub fn set_at(&self, scope: &Scope, path: &[String]) -> Option<SetAt> {
        let layers = || scope.defaults.iter().chain(&self.layers).rev();
        let decides = layers().find(|layer| !matches!(layer.look(path), Look::Absent))?;
        Some(self.place(decides, path))
    }

    /// Whether a place sets a value to this.
    pub fn sets(&self, scope: &Scope, path: &[String], place: &SetAt, value: Option<&Value>) -> bool {
        scope.defaults.iter().chain(&self.layers).any(|layer| {
            let is_it = matches!(layer.look(path), Look::Found(found) if Some(found) == value);
            is_it && same_place(&self.place(layer, path), place)
        })
    }

    fn place(&self, layer: &Layer, path: &[String]) -> SetAt {
        match layer.place(path) {
            SetAt::Source(pointer) => {
                let overridden = self.overrides.iter().rev().find(|(_, settings)| settings.pointer(&pointer).is_some());
                overridden.map(|(origin, _)| SetAt::File(origin.clone(), pointer.clone())).unwrap_or(SetAt::Source(pointer))
            }
            place => place,
        }
    }

    /// The texts of all templates of the chart and of those beside and below it: any of them may define what others include.
    fn texts_with_helpers(&self) -> Vec<String> {
        let directories = chart::directories(&self.tree, &self.chart).unwrap_or_default();
        let files = directories.iter().flat_map(|directory| self.tree.under(directory));
        let templates = files.filter(|entry| entry.path.contains("templates/")).filter_map(|entry| self.text(&entry.path));
        templates.filter(|text| text.contains("define")).collect()
    }

    fn text(&self, path: &str) -> Option<String> {
        let Ok(LinkTarget::File(entry)) = self.tree.resolve_link(path) else { return None };
        Some(reader::decode(&self.tree.read_entry(&entry).ok()?).text.into_owned())
    }
}

/// Whether two places are the same but for the side.
fn same_place(one: &SetAt, other: &SetAt) -> bool {
    match (one, other) {
        (SetAt::File(one, pointer), SetAt::File(other, same)) => one.path == other.path && pointer == same,
        _ => one == other,
    }
}

fn yaml(tree: &Tree, path: &str) -> Option<Value> {
    let Ok(LinkTarget::File(entry)) = tree.resolve_link(path) else { return None };
    parsed(&reader::decode(&tree.read_entry(&entry).ok()?).text)
}

fn parsed(text: &str) -> Option<Value> {
    let document = reader::read_stream(text, &Limits::default()).documents.into_iter().next()?;
    document.value.is_object().then_some(document.value)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
