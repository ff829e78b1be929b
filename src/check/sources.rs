//! Renders Applications at one side of the change, each source once.
//!
//! Takes Applications; hands on their manifests, or why there are none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::revisions::Revisions;
use crate::argocd::names::SKIP_FILE_RENDERING;
use crate::argocd::{Application, Source};
use crate::inventory::scan::Mentions;
use crate::manifest::{Manifest, Side};
use crate::render::{RenderError, Rendered, SourceKind, directory, kind};
use crate::repo::{Follows, MergeTarget, Parser, RepoUrl, clean_path, revision_follows};

/// What rendering an Application at one side gives.
#[derive(Clone, Debug)]
pub(super) enum Render {
    /// Its manifests.
    Done(Arc<Rendered>),
    /// Argo CD could not generate manifests.
    Failed(Arc<RenderError>),
    /// The source follows another branch or is pinned: the change does not reach it.
    NotTracked(String),
    /// presync does not render this: what, and why.
    Unjudged(String, String),
}

/// Renders sources, and remembers what it rendered.
pub(super) struct Sources<'a> {
    /// The two sides.
    pub(super) revisions: &'a Revisions,
    /// Which contents mention Argo CD.
    pub(super) mentions: Mentions,
    /// Parses files, each content once.
    pub(super) parser: Parser,
    cache: Mutex<HashMap<(Side, String), Render>>,
    broken_links: [Option<String>; 2],
}

impl<'a> Sources<'a> {
    /// Nothing rendered yet.
    pub(super) fn new(revisions: &'a Revisions) -> Self {
        let broken = |side: Side| {
            let links = revisions.tree(side).out_of_bounds_links().ok()?;
            links.first().map(|link| format!("{} points to {}", link.path, link.target))
        };
        Self {
            revisions,
            mentions: Mentions::default(),
            parser: Parser::new(SKIP_FILE_RENDERING),
            cache: Mutex::default(),
            broken_links: [broken(Side::Base), broken(Side::Head)],
        }
    }

    /// Whether a source is in this repository.
    pub(super) fn is_here(&self, source: &Source) -> bool {
        source.chart.is_empty()
            && (self.revisions.urls.is_empty() || RepoUrl::parse(&source.repo_url).is_some_and(|url| self.revisions.urls.contains(&url)))
    }

    /// Whether a change of the base branch reaches a source, and else what it follows.
    fn follows(&self, source: &Source) -> Result<(), String> {
        let revisions = self.revisions;
        let merge = MergeTarget {
            base_branch: &revisions.base_branch,
            head_branch: revisions.head_branch.as_deref(),
            default_branch: revisions.default_branch.as_deref(),
            branches: &revisions.branches,
            tags: &revisions.tags,
        };
        match revision_follows(&source.target_revision, "", &merge) {
            Follows::BaseBranch | Follows::HeadBranch | Follows::UnknownDefaultBranch => Ok(()),
            Follows::OtherBranch(_) | Follows::Pinned(_) | Follows::Unresolved(_) => Err(source.target_revision.clone()),
        }
    }

    /// The clean paths of an Application's sources in this repository.
    pub(super) fn paths(&self, application: &Application) -> Vec<String> {
        let here = application.spec.sources().iter().filter(|source| self.is_here(source));
        here.filter_map(|source| clean_path(&source.path)).collect()
    }

    /// What an Application renders at one side; nothing where it cannot be rendered.
    pub(super) fn rendered(&self, application: &Application, side: Side) -> Vec<Arc<Manifest>> {
        match self.render(application, side) {
            Render::Done(rendered) => rendered.manifests.clone(),
            _ => Vec::new(),
        }
    }

    /// Renders an Application at one side; every distinct source is rendered once.
    pub(super) fn render(&self, application: &Application, side: Side) -> Render {
        let key = (side, format!("{:?} {:?}", application.spec.sources(), application.spec.source_hydrator.is_some()));
        if let Some(known) = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let render = self.render_anew(application, side);
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).insert(key, render.clone());
        render
    }

    fn render_anew(&self, application: &Application, side: Side) -> Render {
        if application.spec.source_hydrator.is_some() {
            let why = "presync does not render hydrated sources yet";
            return Render::Unjudged("sourceHydrator".to_owned(), why.to_owned());
        }
        let sources = application.spec.sources();
        if let Some(pinned) = sources.iter().find_map(|source| if self.is_here(source) { self.follows(source).err() } else { None }) {
            return Render::NotTracked(pinned);
        }
        let multi = application.spec.is_multi_source();
        let mut all = Rendered::default();
        for source in sources {
            if multi && source.path.is_empty() && source.chart.is_empty() {
                continue;
            }
            match self.render_source(source, side) {
                Render::Done(rendered) if sources.len() == 1 => return Render::Done(rendered),
                Render::Done(rendered) => {
                    all.manifests.extend(rendered.manifests.iter().cloned());
                    all.duplicate_keys.extend(rendered.duplicate_keys.iter().cloned());
                    all.warnings.extend(rendered.warnings.iter().cloned());
                }
                other => return other,
            }
        }
        Render::Done(Arc::new(all))
    }

    fn render_source(&self, source: &Source, side: Side) -> Render {
        if !source.chart.is_empty() {
            let why = "presync does not fetch charts from Helm repositories yet";
            return Render::Unjudged(
                format!("chart {} of {}", source.chart, crate::repo::without_password(&source.repo_url)),
                why.to_owned(),
            );
        }
        if !self.is_here(source) {
            let why = "it is not in this repository; say --repo-url if it is";
            return Render::Unjudged(format!("source {}", crate::repo::without_password(&source.repo_url)), why.to_owned());
        }
        let tree = self.revisions.tree(side);
        let broken = match side {
            Side::Base => &self.broken_links[0],
            Side::Head => &self.broken_links[1],
        };
        if let Some(broken) = broken {
            let message = format!(
                "the repository has a symbolic link that leaves it ({broken}): Argo CD refuses every Application of the repository"
            );
            return Render::Failed(Arc::new(RenderError::new("render-failed", message, "Remove the link.")));
        }
        let Some(path) = clean_path(&source.path).filter(|_| !source.path.starts_with('/')) else {
            let message = format!("the source path {} is not inside the repository", source.path);
            return Render::Failed(Arc::new(RenderError::new(
                "source-path-missing",
                message,
                "Use a path relative to the repository root.",
            )));
        };
        if self.revisions.urls.is_empty() && ![Side::Base, Side::Head].iter().any(|side| self.revisions.tree(*side).is_dir(&path)) {
            let why = "this repository has no remote to compare with and no such folder; say --repo-url";
            return Render::Unjudged(format!("source {}", crate::repo::without_password(&source.repo_url)), why.to_owned());
        }
        if !tree.is_dir(&path) {
            return Render::Failed(Arc::new(missing(source, &path, tree.get(&path).is_some())));
        }
        match kind::of(source, tree, &path) {
            SourceKind::Directory => self.render_directory(source, side, &path),
            SourceKind::Conflict => {
                let message = "the source configures more than one tool, which Argo CD refuses";
                Render::Failed(Arc::new(RenderError::new("render-failed", message, "Keep one of helm, kustomize, directory and plugin.")))
            }
            SourceKind::Plugin => {
                let why = "config management plugins are never run";
                Render::Unjudged(format!("plugin source {path}"), why.to_owned())
            }
            other => Render::Unjudged(format!("{} {path}", other.name()), format!("presync does not render {} sources yet", other.name())),
        }
    }

    fn render_directory(&self, source: &Source, side: Side, path: &str) -> Render {
        let tree = self.revisions.tree(side);
        let settings = source.directory.as_ref();
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        if tree.get(&format!("{prefix}.argocd-source.yaml")).is_some() {
            let why = "presync does not apply override files yet";
            return Render::Unjudged(format!("{prefix}.argocd-source.yaml"), why.to_owned());
        }
        if directory::has_jsonnet(settings, tree, path) {
            let why = "presync does not evaluate jsonnet yet";
            return Render::Unjudged(format!("jsonnet files in {path}"), why.to_owned());
        }
        match directory::render(settings, tree, path, side, &self.parser) {
            Ok(rendered) => Render::Done(Arc::new(rendered)),
            Err(error) => Render::Failed(Arc::new(error)),
        }
    }
}

fn missing(source: &Source, path: &str, is_file: bool) -> RenderError {
    let what = if is_file { "is a file, not a directory" } else { "does not exist" };
    RenderError::new(
        "source-path-missing",
        format!(
            "the source path {} {what}: Argo CD cannot generate manifests, syncing stops, and nothing is pruned",
            if path.is_empty() { &source.path } else { path }
        ),
        "Point spec.source.path at the folder, or remove the Application as well.",
    )
}
