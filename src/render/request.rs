//! What a renderer is asked for, and what it answers.
//!
//! [`Workshop`] is what all renders of a run share, [`Request`] one source of one Application at one side, [`Rendered`] the manifests.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::cache::Cache;
use super::charts::Charts;
use super::directory::Selections;
use super::jsonnet::Imports;
use super::program::{Limits, MissingProgram, Programs, Versions};
use super::scratch::{Scratch, ScratchError};
use crate::argocd::names::{GROUP, SKIP_FILE_RENDERING};
use crate::argocd::{Application, Settings, Source};
use crate::manifest::{Manifest, Origin, ResourceKey, Side};
use crate::repo::{Kept, Parser, Tree};

/// What all renders of a run share.
pub struct Workshop {
    /// Parses files, each content once.
    pub parser: Parser,
    /// What jsonnet files import, each content read once.
    pub imports: Imports,
    /// Which files plain directories read, each glob compiled once.
    pub selections: Selections,
    /// Temporary folders.
    pub scratch: Scratch,
    /// Charts that are fetched.
    pub charts: Charts,
    /// The programs that render.
    pub programs: Programs,
    /// Their versions.
    pub versions: Versions,
    /// Commands of config management plugins, each a program and its arguments, by the plugin's name.
    pub plugins: BTreeMap<String, Vec<String>>,
    /// How much a program may take.
    pub limits: Limits,
    /// Results of earlier runs.
    pub cache: Option<Cache>,
    /// Whether the network must not be used.
    pub offline: bool,
    /// Argo CD's settings.
    pub settings: Settings,
    /// Whether anything told the settings; else they are those of a fresh installation.
    pub settings_known: bool,
}

impl Workshop {
    /// Nothing rendered yet; no programs, and no network.
    pub fn new(settings: Settings) -> Self {
        Self {
            parser: Parser::new(SKIP_FILE_RENDERING, GROUP, Kept::default()),
            imports: Imports::default(),
            selections: Selections::default(),
            scratch: Scratch::default(),
            charts: Charts::default(),
            programs: Programs::default(),
            versions: Versions::default(),
            plugins: BTreeMap::new(),
            limits: Limits::default(),
            cache: None,
            offline: true,
            settings,
            settings_known: false,
        }
    }
}

/// Whose source is rendered. All of it may show in the manifests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The Application's own name.
    pub name: Arc<str>,
    /// The name that its objects are tracked under.
    pub instance: String,
    /// Its project.
    pub project: String,
    /// `spec.destination.namespace`.
    pub destination_namespace: String,
}

impl Identity {
    /// The identity of an Application.
    pub fn of(application: &Application, settings: &Settings) -> Self {
        Self {
            name: Arc::clone(&application.id.name),
            instance: application.id.instance(&settings.namespace),
            project: application.spec.project.clone(),
            destination_namespace: application.spec.destination.namespace.clone(),
        }
    }
}

/// What the destination cluster is able to do, as far as the snapshot says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capabilities {
    /// Kubernetes' version as the cluster states it; empty where it is not known.
    pub kube_version: String,
    /// `group/version` and `group/version/Kind` of everything it serves, sorted; empty where it is not known.
    pub api_versions: Vec<String>,
}

impl Capabilities {
    /// Kubernetes' version as renderers are told it, that of the source first; empty where none is known.
    ///
    /// Source: Argo CD `reposerver/repository/repository.go:parseKubeVersion`.
    pub fn kube_version(&self, of_source: Option<&str>) -> String {
        let text = of_source.filter(|text| !text.is_empty()).unwrap_or(&self.kube_version);
        let numbers = text.trim().trim_start_matches('v');
        numbers.split(|character: char| !character.is_ascii_digit() && character != '.').next().unwrap_or_default().to_owned()
    }
}

/// A source that another one names as `$name/…`.
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    /// The source with `ref`.
    pub source: &'a Source,
    /// The files of its repository at the revision that it follows, or why they are not here.
    pub tree: Result<Tree, String>,
    /// Whether these are the files that the change alters.
    pub is_compared: bool,
}

/// One source of one Application at one side.
#[derive(Clone)]
pub struct Request<'a> {
    /// What all renders share.
    pub workshop: &'a Workshop,
    /// Whose source it is.
    pub identity: &'a Identity,
    /// The source as the Application has it; [`Job::new`](super::Job::new) merges override files in before a tool sees it.
    pub source: Cow<'a, Source>,
    /// Whether the Application uses `sources`.
    pub is_multi_source: bool,
    /// The files of the source's repository.
    pub tree: Tree,
    /// The side of the change.
    pub side: Side,
    /// The source's path in the tree, clean; it is a directory.
    pub path: String,
    /// The commit that the source is at, for the build environment.
    pub revision: String,
    /// The sources with a `ref`, by that name.
    pub references: &'a BTreeMap<String, Reference<'a>>,
    /// What the destination cluster is able to do.
    pub capabilities: &'a Capabilities,
}

/// What a source renders to.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// The objects, in Argo CD's order.
    pub manifests: Vec<Arc<Manifest>>,
    /// Keys that appear twice in one mapping of a file that was read.
    pub duplicate_keys: Vec<Duplicate>,
    /// What Argo CD only warns about.
    pub warnings: Vec<String>,
    /// What was taken for granted because nothing says it.
    pub assumptions: Vec<String>,
    /// Whether more than the inputs, the parameters and the programs decided the result, so that a later run may not use it.
    pub is_transient: bool,
    /// What comes out differently each time.
    pub unstable: Vec<Unstable>,
}

impl Rendered {
    /// The same, as files of the other side that have the same contents would give it.
    #[must_use]
    pub fn at_side(&self, side: Side) -> Self {
        let moved = |origin: &Origin| Origin { side, ..origin.clone() };
        let manifests = self.manifests.iter().map(|manifest| {
            let Manifest { key, object, origin } = &**manifest;
            Arc::new(Manifest { key: key.clone(), object: object.clone(), origin: moved(origin) })
        });
        let duplicates = self.duplicate_keys.iter();
        Self {
            manifests: manifests.collect(),
            duplicate_keys: duplicates.map(|key| Duplicate { origin: moved(&key.origin), pointer: key.pointer.clone() }).collect(),
            warnings: self.warnings.clone(),
            assumptions: self.assumptions.clone(),
            is_transient: self.is_transient,
            unstable: self.unstable.clone(),
        }
    }

    /// Adds what a further source of the same Application gives.
    pub fn append(&mut self, other: &Self) {
        self.manifests.extend(other.manifests.iter().cloned());
        self.duplicate_keys.extend(other.duplicate_keys.iter().cloned());
        self.warnings.extend(other.warnings.iter().cloned());
        self.assumptions.extend(other.assumptions.iter().cloned());
        self.is_transient |= other.is_transient;
        self.unstable.extend(other.unstable.iter().cloned());
    }
}

/// An object of which something comes out differently each time the source is rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unstable {
    /// The object as it is rendered.
    pub key: ResourceKey,
    /// JSON pointers of the fields; one empty pointer where the object is not there each time.
    pub pointers: Vec<String>,
}

/// A key that appears twice in one mapping.
#[derive(Clone, Debug)]
pub struct Duplicate {
    /// The document.
    pub origin: Origin,
    /// JSON pointer from the document.
    pub pointer: String,
}

/// Why a source gives no manifests.
#[derive(Clone, Debug)]
pub enum Stop {
    /// Argo CD could not generate manifests either.
    Failed(Arc<RenderError>),
    /// presync cannot tell: what, and why.
    Unjudged {
        /// What was not rendered.
        what: String,
        /// Why.
        why: String,
    },
}

impl Stop {
    /// What presync cannot render.
    pub fn unjudged(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Unjudged { what: what.into(), why: why.into() }
    }

    /// Files that Argo CD fetches and presync does not have.
    pub fn in_submodule(submodule: &str) -> Self {
        let why = "it is a Git submodule: Argo CD fetches its files, and presync does not have them";
        Self::unjudged(format!("the files of {submodule}"), why)
    }

    /// A program that is not there.
    pub fn missing(what: impl Into<String>, program: MissingProgram) -> Self {
        Self::unjudged(what, program.to_string())
    }

    /// The same at the other side.
    #[must_use]
    pub fn at_side(&self, side: Side) -> Self {
        match self {
            Self::Failed(error) => Self::Failed(Arc::new(error.at_side(side))),
            Self::Unjudged { .. } => self.clone(),
        }
    }

    /// Files that cannot be laid out for a program.
    pub fn scratch(what: impl Into<String>, error: &ScratchError) -> Self {
        Self::unjudged(what, error.to_string())
    }
}

impl From<RenderError> for Stop {
    fn from(error: RenderError) -> Self {
        Self::Failed(Arc::new(error))
    }
}

/// Why Argo CD could not generate manifests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RenderError {
    /// What went wrong, in a sentence.
    pub message: String,
    /// What to do.
    pub help: String,
    /// The rule that reports it.
    pub rule: &'static str,
    /// File, line and column, where it is about one.
    pub place: Option<(Arc<str>, Side, u32, u32)>,
    /// The object and field, where it is about one.
    pub object: Option<Box<(Origin, String, ResourceKey)>>,
}

/// Characters of a message; of a longer one the start and the end are kept, for programs repeat themselves.
const MAX_MESSAGE: usize = 900;

fn shortened(message: String) -> String {
    let count = message.chars().count();
    if count <= MAX_MESSAGE {
        return message;
    }
    let start: String = message.chars().take(MAX_MESSAGE / 2).collect();
    let end: String = message.chars().skip(count - MAX_MESSAGE / 2).collect();
    format!("{start} … {end}")
}

impl RenderError {
    /// An error that a rule reports.
    pub fn new(rule: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: shortened(message.into()), help: help.into(), rule, place: None, object: None }
    }

    /// The same error about a place in a file.
    #[must_use]
    pub fn at(mut self, path: &Arc<str>, side: Side, line: u32, column: u32) -> Self {
        self.place = Some((Arc::clone(path), side, line, column));
        self
    }

    /// The same error at the other side.
    fn at_side(&self, side: Side) -> Self {
        let mut moved = self.clone();
        moved.place = moved.place.map(|(path, _, line, column)| (path, side, line, column));
        if let Some(object) = &mut moved.object {
            object.0.side = side;
        }
        moved
    }

    /// The same error about a field of an object.
    #[must_use]
    pub fn inside(mut self, origin: Origin, pointer: String, key: ResourceKey) -> Self {
        self.object = Some(Box::new((origin, pointer, key)));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_goes_on_and_on_keeps_its_start_and_its_end() {
        let long = RenderError::new("render-failed", format!("first {}last", "é again ".repeat(500)), "");
        assert!(long.message.starts_with("first é") && long.message.ends_with(" last"), "{}", long.message);
        assert!(long.message.chars().count() < 1000);
        assert_eq!(RenderError::new("render-failed", "short", "").message, "short");
    }
}
