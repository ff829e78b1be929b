//! Everything that a kustomization reads, found without running anything.
//!
//! Takes a tree and the folder of a kustomization; hands on the [`Closure`]: files and folders, remote bases, and what lies outside.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::manifest::reader::{Limits as ReadLimits, read_stream};
use crate::render::Inputs;
use crate::repo::{Entry, Format, LinkTarget, Parser, Tree, clean_path};

/// The names of a kustomization's file.
///
/// Source: kustomize `api/konfig/general.go:RecognizedKustomizationFileNames`.
pub(super) const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Where files are read.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    /// The tree.
    pub(super) tree: &'a Tree,
    /// Parses each content once.
    pub(super) parser: &'a Parser,
}

/// A kustomization in the tree.
#[derive(Clone, Debug)]
pub(super) struct Kustomization {
    /// Its file.
    pub(super) file: Arc<str>,
    /// Its folder, clean.
    pub(super) folder: String,
    /// What the file says: a map.
    value: Arc<Value>,
}

impl Kustomization {
    /// What the file says.
    pub(super) fn fields(&self) -> Map<String, Value> {
        self.value.as_object().cloned().unwrap_or_default()
    }
}

/// What a kustomization reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Closure {
    /// Files and folders.
    pub(super) inputs: Inputs,
    /// The kustomizations in the order in which they are met; the first is the one that is built.
    pub(super) kustomizations: Vec<Kustomization>,
    /// Bases and files from elsewhere, and who names them.
    pub(super) remote: BTreeSet<(Arc<str>, String)>,
    /// Charts that are not in the tree, and who names them.
    pub(super) remote_charts: BTreeSet<(Arc<str>, String)>,
    /// Paths that leave the repository, and who names them.
    pub(super) outside: BTreeSet<(Arc<str>, String)>,
    /// What Secrets are made from, as it stands in kustomizations.
    secrets: Vec<String>,
    /// Whether Secrets are generated at all.
    makes_secrets: bool,
    /// A kustomization that uses Helm charts.
    pub(super) uses_helm: Option<Arc<str>>,
    /// Files that are used as patches.
    pub(super) patches: Vec<String>,
    visited: BTreeSet<String>,
}

/// The kustomization of a folder, where it has a file that can be read as a map.
fn kustomization_in(Files { tree, parser }: Files<'_>, folder: &str) -> Option<Kustomization> {
    let (named, entry) = FILE_NAMES.iter().map(|name| join(folder, name)).find_map(|path| Some((path.clone(), file_at(tree, &path)?)))?;
    let parsed = parser.parse(tree, &entry, Format::Stream).ok()?;
    // Like kustomize, which reads the first document alone.
    let first = parsed.objects.first().filter(|first| first.document == 0 && first.object.is_object())?;
    Some(Kustomization { file: named.into(), folder: folder.to_owned(), value: Arc::clone(first.object.shared()) })
}

fn file_at(tree: &Tree, path: &str) -> Option<Entry> {
    match tree.resolve_link(path) {
        Ok(LinkTarget::File(entry)) => Some(entry),
        _ => None,
    }
}

/// A path below a folder, as it is written.
pub(super) fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

impl Closure {
    /// The closure of a folder, and of components that are added to it.
    pub(super) fn of(files: Files<'_>, folder: &str, components: &[String], patches: &[String]) -> Self {
        let mut closure = Self::default();
        closure.visit(files, folder);
        let from: Arc<str> = join(folder, FILE_NAMES[0]).into();
        for component in components {
            closure.base(files, folder, component, &from);
        }
        for patch in patches {
            closure.patch(folder, patch, &from);
        }
        closure
    }

    /// The file that a message names, the longest one where it names several.
    pub(super) fn named_in(&self, message: &str) -> Option<Arc<str>> {
        let files = self.inputs.files().filter(|file| message.contains(&***file));
        let named = files.max_by_key(|file| file.len()).cloned();
        named.or_else(|| self.kustomizations.first().map(|top| Arc::clone(&top.file)))
    }

    /// A message without what Secrets are made from.
    pub(super) fn without_secrets(&self, message: &str) -> String {
        // What is wrong with an entry is said with the entry itself, which may come from a file.
        if let Some((before, _)) = message.split_once("loading KV pairs").filter(|_| self.makes_secrets) {
            return format!("{before}loading KV pairs: an entry is not right (it is not shown, since it may become a Secret)");
        }
        // A plugin's configuration is told whole, patches of Secrets and all.
        let message = match message.split_once("with config: `") {
            Some((before, rest)) => format!("{before}with its configuration{}", rest.rsplit_once('`').map_or("", |(_, after)| after)),
            None => message.to_owned(),
        };
        let worth_hiding = self.secrets.iter().filter(|secret| secret.trim().len() > 2);
        worth_hiding.fold(message, |message, secret| message.replace(secret.as_str(), "***"))
    }

    /// Reads the kustomization of a folder and what it names.
    fn visit(&mut self, files: Files<'_>, folder: &str) {
        if !self.visited.insert(folder.to_owned()) {
            return;
        }
        FILE_NAMES.iter().for_each(|name| self.inputs.file(&join(folder, name)));
        let Some(kustomization) = kustomization_in(files, folder) else { return };
        self.kustomizations.push(kustomization.clone());
        let Kustomization { file, value, .. } = kustomization;
        // Names of fields are matched without regard to case, as Go's JSON does.
        let get = |name: &str| value.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        let texts = |name: &str| strings(get(name));
        let items = |name: &str| get(name).and_then(Value::as_array).into_iter().flatten();
        for path in ["resources", "bases", "components"].iter().flat_map(|name| texts(name)) {
            self.base(files, folder, path, &file);
        }
        for path in ["crds", "configurations"].iter().flat_map(|name| texts(name)) {
            self.read(folder, path, &file);
        }
        for text in texts("patchesStrategicMerge") {
            self.patch(folder, text, &file);
        }
        for patch in ["patches", "patchesJson6902"].iter().flat_map(|name| items(name)) {
            if let Some(path) = field(patch, "path") {
                self.patch(folder, path, &file);
            }
        }
        for replacement in items("replacements") {
            if let Some(path) = field(replacement, "path") {
                self.read(folder, path, &file);
            }
        }
        if let Some(path) = get("openapi").and_then(|openapi| field(openapi, "path")) {
            self.read(folder, path, &file);
        }
        for generator in ["configMapGenerator", "secretGenerator"].iter().flat_map(|name| items(name)) {
            self.generator(folder, generator, &file);
        }
        for generator in items("secretGenerator") {
            self.makes_secrets = true;
            for literal in strings(generator.get("literals")) {
                self.secrets.extend(literal.split_once('=').map(|(_, value)| value.to_owned()).into_iter().chain([literal.to_owned()]));
            }
        }
        for text in ["generators", "transformers", "validators"].iter().flat_map(|name| texts(name)) {
            self.plugin(files, folder, text, &file);
        }
        let home = get("helmGlobals").and_then(|globals| field(globals, "chartHome"));
        let old_home = |chart: &Value| field(chart, "chartHome").map(str::to_owned);
        for chart in ["helmCharts", "helmChartInflationGenerator"].iter().flat_map(|name| items(name)) {
            let home = home.map(str::to_owned).or_else(|| old_home(chart)).unwrap_or_else(|| "charts".to_owned());
            self.chart(files, folder, &home, chart, &file);
        }
    }

    /// A resource, base or component: a file, a folder with a kustomization, or something from elsewhere.
    fn base(&mut self, files: Files<'_>, folder: &str, path: &str, named_in: &Arc<str>) {
        let Some(here) = self.inside(folder, path, named_in) else { return };
        match files.tree.resolve_link(&here) {
            Ok(LinkTarget::Directory(real)) => {
                // A link on the way is an input as well; paths are relative to where it leads.
                self.inputs.file(&here);
                self.visit(files, &real);
            }
            Ok(LinkTarget::File(_)) => self.inputs.file(&here),
            Err(_) if is_remote(path) => drop(self.remote.insert((Arc::clone(named_in), path.to_owned()))),
            Err(_) => {
                self.inputs.file(&here);
                FILE_NAMES.iter().for_each(|name| self.inputs.file(&join(&here, name)));
            }
        }
    }

    fn patch(&mut self, folder: &str, text: &str, named_in: &Arc<str>) {
        if !is_inline(text) && text.contains("://") {
            self.read(folder, text, named_in);
        } else if !is_inline(text)
            && let Some(path) = self.inside(folder, text, named_in)
        {
            self.inputs.file(&path);
            if !self.patches.contains(&path) {
                self.patches.push(path);
            }
        }
    }

    /// A file that is read; one from elsewhere where it is a URL.
    fn read(&mut self, folder: &str, path: &str, named_in: &Arc<str>) {
        if path.contains("://") && !is_on_this_machine(path) {
            self.remote.insert((Arc::clone(named_in), path.to_owned()));
        } else if let Some(path) = self.inside(folder, path, named_in) {
            self.inputs.file(&path);
        }
    }

    /// The sources of a generator of ConfigMaps or Secrets.
    fn generator(&mut self, folder: &str, generator: &Value, named_in: &Arc<str>) {
        for file in strings(generator.get("files")) {
            let path = file.split_once('=').map_or(file, |(_, path)| path);
            self.read(folder, path, named_in);
        }
        for path in strings(generator.get("envs")).chain(field(generator, "env")) {
            self.read(folder, path, named_in);
        }
    }

    /// The configuration of a generator, transformer or validator. It may read what lies beside it.
    fn plugin(&mut self, files: Files<'_>, folder: &str, text: &str, named_in: &Arc<str>) {
        if is_inline(text) {
            self.inputs.folder(folder);
            self.configuration(files, folder, text, named_in);
            return;
        }
        self.base(files, folder, text, named_in);
        let here = self.inside(folder, text, named_in).and_then(|path| file_at(files.tree, &path));
        if let Some(configuration) = here.and_then(|entry| files.tree.read_entry(&entry).ok()) {
            self.configuration(files, folder, &String::from_utf8_lossy(&configuration), named_in);
        }
        if let Some(path) = self.inside(folder, text, named_in) {
            self.inputs.folder(if files.tree.is_dir(&path) { &path } else { path.rsplit_once('/').map_or("", |(parent, _)| parent) });
            self.inputs.folder(folder);
        }
    }

    /// What the configuration of a plugin makes kustomize read besides: charts, and files by their addresses.
    fn configuration(&mut self, files: Files<'_>, folder: &str, text: &str, named_in: &Arc<str>) {
        for document in read_stream(text, &ReadLimits::default()).documents {
            let value = document.value;
            if field(&value, "kind") == Some("HelmChartInflationGenerator") {
                let home = field(&value, "chartHome").unwrap_or("charts").to_owned();
                self.chart(files, folder, &home, &value, named_in);
                continue;
            }
            let mut stack = vec![&value];
            while let Some(value) = stack.pop() {
                if let Some(address) = field(value, "path").filter(|path| path.contains("://")) {
                    self.read(folder, address, named_in);
                }
                match value {
                    Value::Object(fields) => stack.extend(fields.values()),
                    Value::Array(items) => stack.extend(items),
                    _ => {}
                }
            }
        }
    }

    /// A Helm chart: from the tree if it is there.
    ///
    /// Source: kustomize `plugin/builtin/helmchartinflationgenerator/HelmChartInflationGenerator.go:absChartHome`.
    fn chart(&mut self, files: Files<'_>, folder: &str, home: &str, chart: &Value, named_in: &Arc<str>) {
        self.uses_helm.get_or_insert_with(|| Arc::clone(named_in));
        let name = field(chart, "name").or_else(|| field(chart, "chartName")).unwrap_or_default();
        let version = field(chart, "version").or_else(|| field(chart, "chartVersion"));
        let repository = field(chart, "repo").or_else(|| field(chart, "chartRepoUrl"));
        let with_version = version.filter(|_| repository.is_some()).map(|version| format!("{home}/{name}-{version}"));
        let mut is_here = false;
        for path in with_version.into_iter().chain([format!("{home}/{name}")]) {
            if let Some(path) = self.inside(folder, &path, named_in) {
                is_here |= files.tree.is_dir(&path);
                self.inputs.folder(&path);
            }
        }
        if !is_here && let Some(repository) = repository {
            let named = format!("{name} {} of {repository}", version.unwrap_or("(newest)"));
            self.remote_charts.insert((Arc::clone(named_in), named));
        }
        let old = field(chart, "values");
        for path in strings(chart.get("additionalValuesFiles")).chain(field(chart, "valuesFile")).chain(old) {
            self.read(folder, path, named_in);
        }
    }

    /// The clean path of what a kustomization names; noted where it leaves the repository.
    fn inside(&mut self, folder: &str, path: &str, named_in: &Arc<str>) -> Option<String> {
        if is_on_this_machine(path) {
            self.outside.insert((Arc::clone(named_in), path.to_owned()));
            return None;
        }
        let here = clean_path(&join(folder, path));
        if here.is_none() && !is_remote(path) {
            self.outside.insert((Arc::clone(named_in), path.to_owned()));
        }
        here.or_else(|| is_remote(path).then(|| path.to_owned()))
    }
}

/// A string field of a map.
fn field<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn strings(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Whether a text is a document of its own and no path.
fn is_inline(text: &str) -> bool {
    text.contains('\n') || text.trim_start().starts_with('{')
}

/// Whether a path names something on the machine that builds, and not in the repository; Git would clone it from there.
fn is_on_this_machine(path: &str) -> bool {
    let address = path.strip_prefix("git::").unwrap_or(path);
    address.starts_with('/') || address.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

/// Whether something that is not in the tree is an address of another repository or of a file.
///
/// Source: kustomize `api/internal/git/repospec.go:NewRepoSpecFromURL`.
fn is_remote(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    let is_host =
        first.contains('.') && !first.starts_with('.') && path.contains('/') && !first.ends_with(".yaml") && !first.ends_with(".yml");
    path.contains("://")
        || path.starts_with("git@")
        || path.starts_with("git::")
        || path.starts_with("gh:")
        || path.contains("?ref=")
        || is_host
}
