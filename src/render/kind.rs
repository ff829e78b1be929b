//! Which tool renders a source.
//!
//! Takes a source and a tree; hands on a [`SourceKind`].

use crate::argocd::{Settings, Source};
use crate::repo::Tree;

/// The tool of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// Plain YAML and JSON files.
    Directory,
    /// Kustomize.
    Kustomize,
    /// A Helm chart in the repository.
    Helm,
    /// A chart of a Helm repository.
    Chart,
    /// A config management plugin.
    Plugin,
    /// More than one tool is configured: their names.
    Conflict(String),
}

impl SourceKind {
    /// What the tool is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Directory => "plain directory",
            Self::Kustomize => "kustomize",
            Self::Helm => "Helm chart",
            Self::Chart => "Helm repository chart",
            Self::Plugin => "config management plugin",
            Self::Conflict(_) => "several tools",
        }
    }
}

/// The tool of a source whose (clean) path is in this tree, override files merged in.
///
/// Source: Argo CD `reposerver/repository/repository.go:GetAppSourceType` and `util/app/discovery/discovery.go:Discover`.
pub fn of(source: &Source, tree: &Tree, path: &str, settings: &Settings) -> SourceKind {
    if !source.chart.is_empty() {
        return SourceKind::Chart;
    }
    let explicit = [
        (source.kustomize.is_some(), "Kustomize", SourceKind::Kustomize),
        (source.helm.is_some(), "Helm", SourceKind::Helm),
        (source.directory.is_some(), "Directory", SourceKind::Directory),
        (source.plugin.is_some(), "Plugin", SourceKind::Plugin),
    ];
    let chosen: Vec<_> = explicit.into_iter().filter(|(set, ..)| *set).map(|(_, name, kind)| (name, kind)).collect();
    match chosen.as_slice() {
        [] => {}
        [(_, kind)] => return enabled(kind.clone(), settings),
        several => return SourceKind::Conflict(several.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",")),
    }
    // A later file overwrites an earlier one, in byte order.
    let prefix = if path.is_empty() { 0 } else { path.len() + 1 };
    let names = tree.under(path).iter().filter_map(|entry| entry.path.get(prefix..)).filter(|name| !name.contains('/'));
    let found = names.fold(SourceKind::Directory, |kind, name| match name {
        "kustomization.yaml" | "kustomization.yml" | "Kustomization" => SourceKind::Kustomize,
        name if name.ends_with("Chart.yaml") => SourceKind::Helm,
        _ => kind,
    });
    enabled(found, settings)
}

/// A tool that is switched off in `argocd-cm` makes way for plain directories.
///
/// Source: Argo CD `util/settings/settings.go:GetEnabledSourceTypes`.
fn enabled(kind: SourceKind, settings: &Settings) -> SourceKind {
    let key = match kind {
        SourceKind::Kustomize => "kustomize.enable",
        SourceKind::Helm => "helm.enable",
        other => return other,
    };
    if settings.entry(key) == Some("false") { SourceKind::Directory } else { kind }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::render::fixture::{Setup, source, tree};
    use serde_json::json;

    fn kind_of(files: &[&str], settings: serde_json::Value, entries: &[(&str, &str)]) -> SourceKind {
        let files: Vec<(&str, &str)> = files.iter().map(|path| (*path, "a: b")).collect();
        let setup = Setup::new("a").with_entries(entries);
        of(&source(settings), &tree(&files, &[]), "app", &setup.workshop.settings)
    }

    #[test]
    fn s10_01_the_files_of_the_folder_itself_choose_the_tool() {
        for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
            assert_eq!(kind_of(&[&format!("app/{name}")], json!({}), &[]), SourceKind::Kustomize);
        }
        assert_eq!(kind_of(&["app/Chart.yaml"], json!({}), &[]), SourceKind::Helm);
        assert_eq!(kind_of(&["app/MyChart.yaml"], json!({}), &[]), SourceKind::Helm);
        assert_eq!(kind_of(&["app/a.yaml", "app/sub/Chart.yaml", "Chart.yaml"], json!({}), &[]), SourceKind::Directory);
    }

    #[test]
    fn s10_02_a_tool_that_is_switched_off_makes_way_for_directories() {
        let off = [("kustomize.enable", "false"), ("helm.enable", "false")];
        assert_eq!(kind_of(&["app/kustomization.yaml"], json!({}), &off), SourceKind::Directory);
        assert_eq!(kind_of(&["app/Chart.yaml"], json!({}), &off), SourceKind::Directory);
        assert_eq!(kind_of(&["app/a.yaml"], json!({"kustomize": {"namePrefix": "a-"}}), &off), SourceKind::Directory);
    }

    #[test]
    fn s10_03_a_kustomization_beside_a_chart_wins_and_two_configured_tools_conflict() {
        assert_eq!(kind_of(&["app/Chart.yaml", "app/kustomization.yaml"], json!({}), &[]), SourceKind::Kustomize);
        let both = json!({"helm": {"releaseName": "r"}, "kustomize": {"namePrefix": "a-"}});
        assert_eq!(kind_of(&["app/a.yaml"], both, &[]), SourceKind::Conflict("Kustomize,Helm".to_owned()));
        assert_eq!(kind_of(&["app/Chart.yaml"], json!({"directory": {"recurse": true}}), &[]), SourceKind::Directory);
    }
}
