//! What a run is asked to do, ready to use.

use std::collections::BTreeSet;
use std::path::PathBuf;

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::CheckError;
use crate::argocd::AppId;
use crate::finding::Unjudged;
use crate::render::Programs;
use crate::snapshot::Access;

/// What would be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// The working tree.
    Worktree,
    /// The index.
    Index,
    /// A revision.
    Revision(String),
}

/// What a run is asked to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// A directory in the repository.
    pub repo: PathBuf,
    /// What is deployed now; `None` takes the pull request's base in CI, else `HEAD`.
    pub base: Option<String>,
    /// What would be merged.
    pub head: Head,
    /// Snapshot files or folders.
    pub snapshots: Vec<String>,
    /// Age in seconds from which a snapshot counts as stale; `None` takes the configuration's, else a day.
    pub max_snapshot_age: Option<i64>,
    /// Further URLs under which Applications know this repository.
    pub repo_urls: Vec<String>,
    /// Only Applications that match one of these globs.
    pub applications: Vec<String>,
    /// When the merge happens: decides over sync windows and the age of snapshots.
    pub now: jiff::Timestamp,
    /// Every Application, and findings that were there before.
    pub all: bool,
    /// Use no network.
    pub offline: bool,
    /// The programs that render.
    pub programs: Programs,
    /// The configuration; `None` takes `.presync.yaml` of the repository.
    pub config: Option<PathBuf>,
    /// Folder in which later runs find what this one has read and rendered; `None` keeps nothing.
    pub cache: Option<PathBuf>,
}

/// Which Applications are looked at.
pub(super) struct ApplicationFilter {
    patterns: Vec<String>,
    globs: Option<GlobSet>,
}

impl ApplicationFilter {
    /// Whether an Application is looked at; patterns match its name or `namespace/name`.
    pub(super) fn takes(&self, id: &AppId) -> bool {
        self.globs.as_ref().is_none_or(|globs| globs.is_match(&*id.name) || globs.is_match(id.to_string()))
    }

    /// Patterns that match none of these Applications: they may be misspelt.
    pub(super) fn idle<'i>(&self, ids: impl Iterator<Item = &'i AppId>) -> Vec<Unjudged> {
        let Some(globs) = &self.globs else { return Vec::new() };
        let used: BTreeSet<usize> = ids.flat_map(|id| [globs.matches(&*id.name), globs.matches(id.to_string())]).flatten().collect();
        let idle = self.patterns.iter().enumerate().filter(|(index, _)| !used.contains(index));
        let why = "it matches no Application that presync found".to_owned();
        idle.map(|(_, pattern)| Unjudged { application: None, what: format!("--app {pattern}"), why: why.clone() }).collect()
    }
}

impl Options {
    /// How snapshots at URLs are reached.
    pub(super) fn access(&self) -> Access {
        Access { offline: self.offline, cache: self.cache.clone() }
    }

    pub(super) fn application_filter(&self) -> Result<ApplicationFilter, CheckError> {
        if self.applications.is_empty() {
            return Ok(ApplicationFilter { patterns: Vec::new(), globs: None });
        }
        let mut builder = GlobSetBuilder::new();
        for pattern in &self.applications {
            let invalid = |error: globset::Error| CheckError::AppPattern { pattern: pattern.clone(), reason: error.kind().to_string() };
            builder.add(Glob::new(pattern).map_err(invalid)?);
        }
        let invalid =
            |error: globset::Error| CheckError::AppPattern { pattern: self.applications.join(" "), reason: error.kind().to_string() };
        Ok(ApplicationFilter { patterns: self.applications.clone(), globs: Some(builder.build().map_err(invalid)?) })
    }
}
