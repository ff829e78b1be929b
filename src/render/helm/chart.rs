//! What a chart says about itself: its name, and the charts that it depends on.
//!
//! Takes a tree and the path of a chart; hands on [`Chart`], and the directories that helm reads.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::manifest::reader::{self, Limits};
use crate::repo::{LinkTarget, Tree, clean_path};

/// Charts below each other through `file://`.
const MAX_DEPTH: usize = 20;

/// `Chart.yaml`, as far as it decides something here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chart {
    /// Its name.
    pub(super) name: String,
    /// Its version.
    pub(super) version: String,
    /// The charts that it needs; those of `requirements.yaml` for a chart of the first version.
    pub(super) dependencies: Vec<Dependency>,
}

/// One entry of `dependencies`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dependency {
    /// Name of the chart.
    pub(super) name: String,
    /// Wanted version or range.
    pub(super) version: String,
    /// Where it comes from; empty where it lies in `charts/`.
    pub(super) repository: String,
    /// The name that it gets here.
    pub(super) alias: String,
    /// Paths of the values that switch it on, with commas between.
    pub(super) condition: String,
    /// Names below the value `tags` that switch it on.
    pub(super) tags: Vec<String>,
}

impl Dependency {
    /// The name under which the parent knows the chart.
    pub(super) fn local_name(&self) -> &str {
        if self.alias.is_empty() { &self.name } else { &self.alias }
    }

    /// The directory of a `file://` dependency of the chart at `chart`; `None` where it is none or leaves the repository.
    pub(super) fn directory(&self, chart: &str) -> Option<String> {
        let path = self.repository.strip_prefix("file://")?;
        if path.starts_with('/') { None } else { clean_path(&format!("{chart}/{path}")) }
    }

    /// Whether it comes over the network.
    pub(super) fn is_remote(&self) -> bool {
        !self.repository.is_empty() && !self.repository.starts_with("file://")
    }
}

impl Chart {
    /// The chart at a path; `None` where there is none that can be read. Whatever is wrong with it, helm says it.
    pub(super) fn read(tree: &Tree, path: &str) -> Option<Self> {
        let value = yaml(tree, &join(path, "Chart.yaml"))?;
        let mut dependencies = dependencies(&value);
        if dependencies.is_empty() && text(&value, "apiVersion") == "v1" {
            dependencies = yaml(tree, &join(path, "requirements.yaml")).map(|value| self::dependencies(&value)).unwrap_or_default();
        }
        Some(Self { name: text(&value, "name"), version: text(&value, "version"), dependencies })
    }
}

fn dependencies(value: &Value) -> Vec<Dependency> {
    let list = value.get("dependencies").and_then(Value::as_array).into_iter().flatten();
    let read = list.map(|one| Dependency {
        name: text(one, "name"),
        version: text(one, "version"),
        repository: text(one, "repository"),
        alias: text(one, "alias"),
        condition: text(one, "condition"),
        tags: one.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
    });
    read.collect()
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn yaml(tree: &Tree, path: &str) -> Option<Value> {
    let Ok(LinkTarget::File(entry)) = tree.resolve_link(path) else { return None };
    let bytes = tree.read_entry(&entry).ok()?;
    reader::read_stream(&reader::decode(&bytes).text, &Limits::default()).documents.into_iter().next().map(|document| document.value)
}

/// The directories that make up a chart: its own, and those of `file://` dependencies at any depth. A dependency outside of the repository
/// is an error.
///
/// # Errors
/// The `repository` that leaves the repository.
pub(super) fn directories(tree: &Tree, path: &str) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    collect(tree, path, MAX_DEPTH, &mut found)?;
    Ok(found)
}

fn collect(tree: &Tree, path: &str, depth: usize, found: &mut BTreeSet<String>) -> Result<(), String> {
    if !found.insert(path.to_owned()) || depth == 0 {
        return Ok(());
    }
    for dependency in Chart::read(tree, path).map(|chart| chart.dependencies).unwrap_or_default() {
        if dependency.repository.starts_with("file://") {
            let directory = dependency.directory(path).ok_or(dependency.repository)?;
            collect(tree, &directory, depth - 1, found)?;
        }
    }
    Ok(())
}

/// Where the file behind a `# Source:` comment of helm's output is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplatePlace {
    /// A file of the tree.
    File(String),
    /// In a packed chart, or one that was fetched: the `Chart.yaml` that names it, and under which name.
    Inside(String, String),
}

/// The file that `source` means, a path that starts with the name of the chart at `path`, for example `web/charts/db/templates/claim.yaml`.
/// `None` where there is no such file.
pub(super) fn template_place(tree: &Tree, path: &str, source: &str) -> Option<TemplatePlace> {
    let (_, relative) = source.split_once('/')?;
    place_in(tree, path, relative, MAX_DEPTH)
}

fn place_in(tree: &Tree, chart: &str, relative: &str, depth: usize) -> Option<TemplatePlace> {
    let file = join(chart, relative);
    if tree.get(&file).is_some() || tree.resolve_link(&file).is_ok() {
        return Some(TemplatePlace::File(file));
    }
    let (name, rest) = relative.strip_prefix("charts/")?.split_once('/')?;
    let depth = depth.checked_sub(1)?;
    let manifest = Chart::read(tree, chart)?;
    let dependency = manifest.dependencies.iter().find(|dependency| dependency.local_name() == name);
    let real = dependency.map_or(name, |dependency| dependency.name.as_str());
    let local = dependency.and_then(|dependency| dependency.directory(chart));
    let candidates = vendored(tree, chart, real).into_iter().chain(local);
    let found = candidates.filter_map(|directory| place_in(tree, &directory, rest, depth)).next();
    found.or_else(|| Some(TemplatePlace::Inside(join(chart, "Chart.yaml"), name.to_owned())))
}

/// The directories below `charts/` whose chart has this name.
pub(super) fn vendored(tree: &Tree, chart: &str, name: &str) -> Vec<String> {
    vendored_charts(tree, chart).into_iter().filter(|(_, own)| own == name).map(|(directory, _)| directory).collect()
}

/// The directories below `charts/` with the names of their charts.
pub(super) fn vendored_charts(tree: &Tree, chart: &str) -> Vec<(String, String)> {
    let folder = join(chart, "charts");
    let prefix = folder.len() + 1;
    let mut names: Vec<&str> = tree.under(&folder).iter().filter_map(|entry| Some(entry.path.get(prefix..)?.split_once('/')?.0)).collect();
    names.dedup();
    let directories = names.into_iter().map(|directory| join(&folder, directory));
    directories
        .filter_map(|directory| Some((Chart::read(tree, &directory)?.name, directory)))
        .map(|(name, directory)| (directory, name))
        .collect()
}

/// A path below a directory.
pub(super) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_dependency_stays_inside_the_repository() {
        let at = |repository: &str| Dependency { repository: repository.into(), ..Dependency::default() };
        assert_eq!(at("file://../common").directory("charts/web").as_deref(), Some("charts/common"));
        assert_eq!(at("file://../../../etc").directory("charts/web"), None);
        assert_eq!(at("file:///etc").directory("charts/web"), None);
        assert_eq!(at("https://charts.example.test").directory("charts/web"), None);
        assert!(at("oci://registry.example.test/charts").is_remote() && at("@stable").is_remote());
        assert!(!at("").is_remote() && !at("file://../common").is_remote());
    }
}
