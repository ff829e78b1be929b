//! Helm charts, rendered by the `helm` program with the arguments that Argo CD gives it.
//!
//! Takes a request; hands on the manifests in helm's order, each pointing at its template.

mod arguments;
mod chart;
mod dependencies;
mod files;
mod glob;
pub(super) mod message;
mod origin;
mod output;
mod run;
mod schema;
mod settings;
mod template;
pub(super) mod unstable;
mod values;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::environment::Environment;
use super::scratch::Copy;
use super::{Duplicate, Elsewhere, Inputs, RenderError, Rendered, Request, Stop, Tool, Unstable};
use crate::manifest::Origin;
use crate::repo::{ParsedFile, Tree};
use files::{Lookup, ValueFile};
use origin::Origins;
use run::Bench;
use settings::HelmSettings;
use unstable::Suspicion;

pub use values::{Deciding, Scope, SetAt, Values};

/// Helm as a tool.
pub(super) struct HelmTool {
    inputs: Inputs,
    elsewhere: Vec<Elsewhere>,
    parameters: String,
    plan: Result<Plan, Stop>,
}

/// What helm is asked for.
#[derive(Clone, Debug)]
struct Plan {
    settings: HelmSettings,
    value_files: Vec<ValueFile>,
    file_parameters: BTreeMap<String, ValueFile>,
}

impl HelmTool {
    /// The tool for one source. What is wrong with the source is told when it is rendered; its inputs are known all the same.
    pub(super) fn new(request: &Request<'_>) -> Self {
        let mut inputs = Inputs::default();
        inputs.folder(&request.path);
        let mut elsewhere = Vec::new();
        let plan = Self::plan(request, &mut inputs, &mut elsewhere);
        let parameters = plan.as_ref().map(|plan| plan.parameters(request)).unwrap_or_default();
        Self { inputs, elsewhere, parameters, plan }
    }

    fn plan(request: &Request<'_>, inputs: &mut Inputs, elsewhere: &mut Vec<Elsewhere>) -> Result<Plan, Stop> {
        let settings = HelmSettings::read(request.source.helm.as_ref())?;
        let directories = chart::directories(&request.tree, &request.path).map_err(|repository| {
            RenderError::new(
                "render-failed",
                format!("the chart {} depends on {repository}, which is outside of the repository", shown(request)),
                "Keep the charts of file:// dependencies inside the repository.",
            )
        })?;
        directories.iter().for_each(|directory| inputs.folder(directory));
        let environment = Environment::of(request);
        let substitute = |text: &str| environment.substitute(text);
        let schemes = value_file_schemes(request);
        let lookup = Lookup {
            tree: &request.tree,
            path: &request.path,
            references: request.references,
            multi_source: request.is_multi_source,
            schemes: &schemes,
            substitute: &substitute,
        };
        let paths = settings.file_parameters.iter().map(|parameter| parameter.path.as_str());
        for noted in lookup.noted(&mut settings.value_files.iter().map(String::as_str).chain(paths)) {
            if is_same(&noted.tree, &request.tree) {
                inputs.extend(&noted.inputs);
            } else {
                elsewhere.push(noted);
            }
        }
        let value_files = lookup.value_files(&settings.value_files, settings.ignore_missing_value_files)?;
        let mut file_parameters = BTreeMap::new();
        for parameter in &settings.file_parameters {
            file_parameters.insert(parameter.name.clone(), lookup.place(&parameter.path)?);
        }
        Ok(Plan { settings, value_files, file_parameters })
    }
}

impl Tool for HelmTool {
    fn inputs(&self) -> Inputs {
        self.inputs.clone()
    }

    fn elsewhere(&self) -> &[Elsewhere] {
        &self.elsewhere
    }

    fn parameters(&self) -> Option<String> {
        self.plan.is_ok().then(|| self.parameters.clone())
    }

    fn programs<'r>(&self, request: &Request<'r>) -> Vec<(&'r Path, &'static [&'static str])> {
        request.workshop.programs.helm().map(|path| (path, &["version"] as &[&str])).into_iter().collect()
    }

    fn values(&self, request: &Request<'_>) -> Option<Values> {
        self.plan.as_ref().ok().map(|plan| Values::of(request, plan))
    }

    fn render(&self, request: &Request<'_>) -> Result<Rendered, Stop> {
        let plan = self.plan.as_ref().map_err(Stop::clone)?;
        let bench = Bench::new(request, &self.inputs, plan)?;
        let started = Instant::now();
        let (text, built) = bench.template()?;
        let mut rendered = read(request, plan, &text)?;
        rendered.is_transient = built.is_some() && dependencies::may_change(request);
        rendered.assumptions.extend(
            bench
                .unchecked
                .iter()
                .map(|address| format!("the values of {} are not checked against its schema, which refers to {address}", shown(request))),
        );
        rendered.unstable = unstable_fields(&bench, built.as_ref(), &text, started);
        rendered.is_transient |= !rendered.unstable.is_empty();
        Ok(rendered)
    }
}

/// What comes out differently each time: where the chart is suspected of it, it is rendered again.
fn unstable_fields(bench: &Bench<'_>, built: Option<&Copy>, text: &str, started: Instant) -> Vec<Unstable> {
    let suspicion = Suspicion::of(&bench.request.tree, bench.inputs);
    if suspicion.is_none() {
        return Vec::new();
    }
    let first = ParsedFile::of_output(text.as_bytes());
    let Some(west) = bench.once_more(built, -12) else { return Vec::new() };
    let west = ParsedFile::of_output(west.as_bytes());
    if !suspicion.time {
        return unstable::between(&first, &west);
    }
    // A time in seconds shows after a second, a date a day away.
    std::thread::sleep(Duration::from_millis(1050).saturating_sub(started.elapsed()));
    let Some(east) = bench.once_more(built, 14) else { return Vec::new() };
    let east = ParsedFile::of_output(east.as_bytes());
    let found = unstable::between(&first, &east);
    let as_rendered = |one: &Unstable| first.objects.iter().any(|object| object.key.as_ref() == Some(&one.key));
    let further =
        unstable::between(&west, &east).into_iter().filter(|one| as_rendered(one) && !found.iter().any(|known| known.key == one.key));
    let further: Vec<Unstable> = further.collect();
    found.into_iter().chain(further).collect()
}

impl Plan {
    /// All that decides the result besides the files of the source's own tree.
    fn parameters(&self, request: &Request<'_>) -> String {
        let elsewhere: Vec<_> = self.elsewhere(request).into_iter().map(|(name, tree, inputs)| (name, inputs.digest(tree))).collect();
        let environment = Environment::of(request);
        let values: Vec<String> = self.settings.parameters.iter().map(|parameter| environment.substitute(&parameter.value)).collect();
        let identity = (&request.identity.name, &request.identity.destination_namespace);
        let files = (&self.value_files, &self.file_parameters, elsewhere);
        format!("helm {:?}", (identity, &self.settings, values, files, request.capabilities))
    }

    /// The files of every reference whose tree is not the source's own.
    fn elsewhere<'r>(&self, request: &'r Request<'_>) -> Vec<(&'r str, &'r Tree, Inputs)> {
        let mut found = Vec::new();
        for (name, reference) in request.references {
            let Ok(tree) = &reference.tree else { continue };
            let mut inputs = Inputs::default();
            let files = self.value_files.iter().chain(self.file_parameters.values());
            files.filter_map(|file| file.path_in(name)).for_each(|path| inputs.file(path));
            if !is_same(tree, &request.tree) && inputs != Inputs::default() {
                found.push((name.as_str(), tree, inputs.through_links(tree)));
            }
        }
        found
    }

    /// The value files of the repository that is compared, those that win first.
    fn deciding_files(&self, request: &Request<'_>) -> Vec<Origin> {
        let fetched = is_fetched(request);
        let is_here = |name: &String| {
            request.references.get(name).is_some_and(|reference| {
                let is_own = reference.tree.as_ref().is_ok_and(|tree| is_same(tree, &request.tree));
                is_own || (fetched && reference.is_compared)
            })
        };
        let named = self.value_files.iter().rev().filter_map(|file| match file {
            ValueFile::Own(path) if !fetched => Some(path.clone()),
            ValueFile::Referenced(name, path) if is_here(name) => Some(path.clone()),
            _ => None,
        });
        let defaults = Some(chart::join(&request.path, "values.yaml")).filter(|path| !fetched && request.tree.get(path).is_some());
        let origin =
            |path: String| Origin { path: path.into(), side: request.side, document: 0..0, line: 1, within: String::new(), rendered: None };
        named.chain(defaults).map(origin).collect()
    }
}

/// Whether two trees show the same files.
fn is_same(one: &Tree, other: &Tree) -> bool {
    one.revision() == other.revision()
}

const MEND: &str = "Run `helm template` on the chart with the same values and mend what it says.";

/// Reads what helm wrote.
fn read(request: &Request<'_>, plan: &Plan, text: &str) -> Result<Rendered, Stop> {
    let (tree, path) = (&request.tree, request.path.as_str());
    let label = is_fetched(request).then(|| format!("{}-{}", request.source.chart, request.revision));
    let mut origins = Origins::new(tree, path, label, request.side, plan.deciding_files(request));
    let sources = output::Sources::new(text, &|source| chart::template_place(tree, path, source).is_some());
    let file = ParsedFile::of_output(text.as_bytes());
    if let Some(error) = &file.error {
        let origin = origins.of(sources.around(text, file.documents.last().map_or(0, |place| place.range.end)), &Value::Null);
        let message = format!("what helm renders from {} is no YAML: {}", origin.path, error.kind);
        let error = RenderError::new("render-failed", message, MEND);
        return Err(if is_fetched(request) { error } else { error.at(&origin.path, origin.side, 1, 1) }.into());
    }
    let mut rendered = Rendered {
        manifests: super::output::manifests("helm", &file, |object, place| origins.of(sources.before(place.range.end), &object.object))?,
        ..Rendered::default()
    };
    for place in file.documents.iter().filter(|place| !place.duplicate_keys.is_empty()) {
        let origin = origins.of(sources.before(place.range.end), &Value::Null);
        let duplicates = place.duplicate_keys.iter().map(|pointer| Duplicate { origin: origin.clone(), pointer: pointer.clone() });
        rendered.duplicate_keys.extend(duplicates);
    }
    Ok(rendered)
}

/// The URL schemes that value files may have.
///
/// Source: Argo CD `util/settings/settings.go:GetHelmSettings` (`helm.valuesFileSchemes`).
fn value_file_schemes(request: &Request<'_>) -> Vec<String> {
    match request.workshop.settings.entries.get("helm.valuesFileSchemes") {
        Some(list) => list.split(',').map(|scheme| scheme.trim().to_owned()).filter(|scheme| !scheme.is_empty()).collect(),
        None => vec!["https".to_owned(), "http".to_owned()],
    }
}

/// The version of the chart at the root of a tree.
pub(super) fn chart_version(tree: &Tree) -> Option<String> {
    chart::Chart::read(tree, "").map(|chart| chart.version).filter(|version| !version.is_empty())
}

/// Whether the chart comes from a Helm repository and not from Git.
fn is_fetched(request: &Request<'_>) -> bool {
    !request.source.chart.is_empty()
}

/// What the chart of a request is called in messages.
fn shown(request: &Request<'_>) -> String {
    match (is_fetched(request), request.path.as_str()) {
        (true, _) => format!("{} {}", request.source.chart, request.revision),
        (false, "") => "at the repository root".to_owned(),
        (false, path) => path.to_owned(),
    }
}
