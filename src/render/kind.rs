//! Which tool renders a source.
//!
//! Takes a source and a tree; hands on a [`SourceKind`].

use crate::argocd::Source;
use crate::repo::Tree;

/// The tool of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// More than one tool is configured.
    Conflict,
}

impl SourceKind {
    /// What the tool is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Directory => "plain directory",
            Self::Kustomize => "kustomize",
            Self::Helm => "Helm chart",
            Self::Chart => "Helm repository chart",
            Self::Plugin => "config management plugin",
            Self::Conflict => "several tools",
        }
    }
}

/// The tool of a source whose (clean) path is in this tree.
///
/// Source: Argo CD `reposerver/repository/repository.go:GetAppSourceType` and `util/app/discovery/discovery.go:Discover`.
pub fn of(source: &Source, tree: &Tree, path: &str) -> SourceKind {
    if !source.chart.is_empty() {
        return SourceKind::Chart;
    }
    let explicit = [
        (source.kustomize.is_some(), SourceKind::Kustomize),
        (source.helm.is_some(), SourceKind::Helm),
        (source.directory.is_some(), SourceKind::Directory),
        (source.plugin.is_some(), SourceKind::Plugin),
    ];
    let mut chosen = explicit.iter().filter(|(set, _)| *set).map(|(_, kind)| *kind);
    match (chosen.next(), chosen.next()) {
        (Some(kind), None) => return kind,
        (Some(_), Some(_)) => return SourceKind::Conflict,
        (None, _) => {}
    }
    // A later file overwrites an earlier one, in byte order.
    let prefix = if path.is_empty() { 0 } else { path.len() + 1 };
    let names = tree.under(path).iter().filter_map(|entry| entry.path.get(prefix..)).filter(|name| !name.contains('/'));
    names.fold(SourceKind::Directory, |kind, name| match name {
        "kustomization.yaml" | "kustomization.yml" | "Kustomization" => SourceKind::Kustomize,
        name if name.ends_with("Chart.yaml") => SourceKind::Helm,
        _ => kind,
    })
}
