//! Sources that others of the same Application name as `$ref`, and what is read behind revisions that the change does not reach.
//!
//! Takes the sources of an Application; hands on the files behind each name, and why Argo CD refuses them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Sources;
use crate::argocd::{Application, Source};
use crate::manifest::Side;
use crate::render::{Identity, Inputs, Reference, RenderError};
use crate::repo::RepoUrl;

impl Sources<'_> {
    /// The sources of an Application that others may name as `$ref`.
    ///
    /// Source: Argo CD `util/argo/argo.go:GetRefSources`.
    pub(super) fn references<'s>(&self, application: &Application, sources: &'s [Source], side: Side) -> BTreeMap<String, Reference<'s>> {
        let named = sources.iter().filter(|source| application.spec.is_multi_source() && !source.reference.is_empty());
        let found = named.map(|source| {
            let tree = if self.is_here(source) {
                let files = self.files(source, side).map(|(tree, _)| tree);
                files.map_err(|revision| format!("this clone does not have the revision {revision}"))
            } else {
                Err(format!("{} is not this repository; say --repo-url if it is", crate::repo::without_password(&source.repo_url)))
            };
            (source.reference.clone(), Reference { source, tree, is_compared: self.is_here(source) && self.pin(source).is_none() })
        });
        found.collect()
    }

    /// That a source takes value files out of another revision of its own repository, or out of two revisions of one repository.
    ///
    /// Source: Argo CD `reposerver/repository/repository.go:runManifestGenAsync`.
    pub(super) fn refused_reference(
        &self,
        source: &Source,
        side: Side,
        references: &BTreeMap<String, Reference<'_>>,
    ) -> Option<RenderError> {
        let used = used_references(source);
        let used: Vec<(&String, &Reference<'_>)> = references.iter().filter(|(name, _)| used.contains(&name.as_str())).collect();
        let refused = |message: String| {
            let help = "Let both follow the same revision, or keep the value files in a repository of their own.";
            Some(RenderError::new("render-failed", message, help))
        };
        for (index, (name, reference)) in used.iter().enumerate() {
            let repository = RepoUrl::parse(&reference.source.repo_url)?;
            let revision = &reference.source.target_revision;
            let is_same = |other: &Source| RepoUrl::parse(&other.repo_url).as_ref() == Some(&repository);
            let before = used.iter().take(index).find(|(_, other)| is_same(other.source) && other.source.target_revision != *revision);
            if let Some((other, _)) = before {
                return refused(format!("${name} and ${other} name different revisions of one repository, which Argo CD refuses"));
            }
            let commits = (self.commit(reference.source, side), self.commit(source, side));
            if let (Some(referenced), Some(own)) = commits
                && is_same(source)
                && referenced != own
            {
                return refused(format!(
                    "${name} names the revision {revision} of the repository that the source itself reads at another one, which Argo CD refuses"
                ));
            }
        }
        None
    }

    /// The commit of a source in this repository at one side.
    fn commit(&self, source: &Source, side: Side) -> Option<String> {
        if !self.is_here(source) {
            return None;
        }
        match (self.pin(source), side) {
            (Some(_), _) => self.files(source, side).ok().map(|(_, commit)| commit),
            (None, Side::Base) => Some(self.revisions.base_name.clone()),
            (None, Side::Head) => Some(self.revisions.head_name.clone()),
        }
    }

    /// The revision of a source that the change does not reach although it touches what is read of that source.
    pub(in crate::check) fn untracked(&self, application: &Application) -> Option<String> {
        let sources = self.sources_of(application);
        let pinned: Vec<usize> = sources
            .iter()
            .enumerate()
            .filter(|(_, source)| self.is_here(source) && self.pin(source).is_some())
            .map(|(index, _)| index)
            .collect();
        let follow = |indices: &[usize]| {
            let mut followed = sources.to_vec();
            for (_, source) in followed.iter_mut().enumerate().filter(|(index, _)| indices.contains(index)) {
                source.target_revision.clone_from(&self.revisions.base_branch);
            }
            [Side::Base, Side::Head].iter().any(|side| self.reads_more(application, &followed, *side))
        };
        // One that follows alone may be refused, where the other names files of the same repository.
        let touched = pinned.iter().find(|index| follow(&[**index])).or_else(|| pinned.first().filter(|_| follow(&pinned)));
        touched.and_then(|index| sources.get(*index)).map(|source| source.target_revision.clone())
    }

    /// Whether these sources would read a changed file that those in effect do not.
    fn reads_more(&self, application: &Application, followed: &[Source], side: Side) -> bool {
        let identity = Identity::of(application, &self.workshop.settings);
        let references = self.references(application, followed, side);
        let mut inputs = Inputs::default();
        // A chart from elsewhere may read value files of this repository.
        for source in followed.iter().filter(|source| !source.chart.is_empty() || (self.is_here(source) && self.pin(source).is_none())) {
            inputs.extend(&self.inputs_of(application, source, side, &identity, &references));
        }
        let changes = &self.revisions.changes;
        let read = self.inputs(application, side);
        let read = read.changed(changes);
        inputs.changed(changes).iter().any(|path| !read.contains(path))
    }
}

/// The names of `$ref` in the value files and file parameters of a source.
fn used_references(source: &Source) -> Vec<&str> {
    let Some(helm) = &source.helm else { return Vec::new() };
    let files = helm.get("valueFiles").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let parameters = helm.get("fileParameters").and_then(Value::as_array).into_iter().flatten();
    let paths = parameters.filter_map(|parameter| parameter.get("path")?.as_str());
    files.chain(paths).filter_map(|path| path.strip_prefix('$')?.split_once('/')).map(|(name, _)| name).collect()
}
