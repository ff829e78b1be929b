//! What an ApplicationSet generates at one side of the change.
//!
//! Takes a set and its [`Surroundings`] (the tree of that side, live state, what the controller was told); hands on an [`Expansion`]: Applications
//! with their parameters, or why there are none. Nothing is guessed: what needs the network is said to be unjudged.

mod clusters;
mod decisions;
mod fasttemplate;
mod generators;
mod git;
mod gotemplate;
mod params;
mod patch;
mod paths;
mod recover;
mod render;
mod selector;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

pub use self::clusters::{Cluster, Clusters};
pub use self::git::GitFiles;
pub use self::recover::like_live;

use self::generators::Generators;
use self::gotemplate::TemplateError;
use crate::argocd::ApplicationSet;
use crate::argocd::applicationset::Generator;
use crate::snapshot::LiveState;

/// The files of a repository at a revision, or why they are not known.
pub type Files<'a> = dyn Fn(&str, &str) -> Result<Arc<GitFiles>, String> + Sync + 'a;

/// What a set is expanded with.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The files of a repository at a revision, or why they are not known.
    pub files: &'a Files<'a>,
    /// The clusters that Argo CD knows.
    pub clusters: &'a Clusters,
    /// Live objects; `None` without a snapshot.
    pub live: Option<&'a LiveState>,
    /// Namespace of Argo CD.
    pub control_namespace: &'a str,
    /// Whether the controller matches files as doublestar does.
    pub doublestar: bool,
}

/// One Application that a set generates.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The Application object.
    pub object: Value,
    /// The parameters that it was rendered with.
    pub parameters: Value,
}

/// What a set generates.
#[derive(Clone, Debug, PartialEq)]
pub enum Expansion {
    /// These Applications, in order. Several of one name are among them as well.
    Applications(Vec<Generated>),
    /// Argo CD fails: it creates, updates and deletes nothing.
    Fails(String),
    /// presync cannot say.
    Unjudged {
        /// What: a generator or a template.
        what: String,
        /// Why.
        why: String,
    },
}

/// Why a generator or a template gives nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stop {
    Fails(String),
    Unjudged { what: String, why: String },
}

impl From<TemplateError> for Stop {
    fn from(error: TemplateError) -> Self {
        match error {
            TemplateError::Unjudged(why) => Self::Unjudged { what: "template".to_owned(), why },
            other => Self::Fails(other.to_string()),
        }
    }
}

impl Stop {
    fn fails(message: impl Into<String>) -> Self {
        Self::Fails(message.into())
    }
}

/// Generates the Applications of a set. What presync cannot say wins over what fails, for it may come first.
///
/// Source: Argo CD `applicationset/controllers/template/template.go:GenerateApplications`: the first error stops all.
pub fn expand(set: &ApplicationSet, surroundings: &Surroundings<'_>) -> Expansion {
    match Generators::new(set, surroundings).and_then(|generators| generators.applications()) {
        Ok(applications) => Expansion::Applications(applications),
        Err(Stop::Fails(message)) => Expansion::Fails(message),
        Err(Stop::Unjudged { what, why }) => Expansion::Unjudged { what, why },
    }
}

/// The names that more than one of the Applications has: Argo CD neither creates nor updates any of them, and deletes none.
///
/// Source: Argo CD `applicationset/controllers/applicationset_controller.go:validateGeneratedApplications`.
pub fn duplicate_names(applications: &[Generated]) -> Vec<&str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in applications.iter().filter_map(|generated| crate::manifest::metadata_str(&generated.object, "name")) {
        *counts.entry(name).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect()
}

/// Whether a set's git generators may read any of these paths. Placeholders in patterns stand for anything.
pub fn reads_any(set: &ApplicationSet, paths: &[std::sync::Arc<str>]) -> bool {
    let mut pending: Vec<&Generator> = set.spec.generators.iter().collect();
    while let Some(generator) = pending.pop() {
        pending.extend(generator.children());
        let Some(git) = &generator.git else { continue };
        let open = |pattern: &str| without_placeholders(pattern);
        let files = git.files.iter().filter(|item| !item.exclude).filter_map(|item| paths::FilePattern::new(&open(&item.path), false).ok());
        if files.into_iter().any(|pattern| paths.iter().any(|path| pattern.matches(path))) {
            return true;
        }
        let above =
            |path: &str| -> Vec<String> { path.match_indices('/').filter_map(|(at, _)| path.get(..at)).map(str::to_owned).collect() };
        let reads_directory = |path: &std::sync::Arc<str>| {
            let directories = above(path);
            let mut items = git.directories.iter().filter(|item| !item.exclude).map(|item| open(&item.path));
            items.any(|pattern| directories.iter().any(|directory| paths::directory_matches(&pattern, directory) == Some(true)))
        };
        if paths.iter().any(reads_directory) {
            return true;
        }
    }
    false
}

/// A pattern with `*` in place of what is filled in later.
fn without_placeholders(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, tail)) = rest.split_once("{{") {
        out.push_str(before);
        out.push('*');
        rest = tail.split_once("}}").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
