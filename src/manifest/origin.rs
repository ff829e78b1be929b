//! An object together with the place it was read from.

use std::ops::Range;
use std::sync::Arc;

use super::{Content, ResourceKey};

/// Which side of the change a text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// What is deployed now.
    Base,
    /// What would be merged.
    Head,
}

impl Side {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Head => "head",
        }
    }
}

/// Where an object stands: a file at one side of the change, the document in it, and the place inside a `List`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Path from the repository root, with `/`.
    pub path: Arc<str>,
    /// The side whose text is meant.
    pub side: Side,
    /// Bytes of the document in the decoded text of the file.
    pub document: Range<usize>,
    /// Line of the document's first content, from 1.
    pub line: u32,
    /// JSON pointer from the document to the object: empty, or `/items/3` for an element of a `List`.
    pub within: String,
    /// How a renderer made the object out of the file; `None` where it stands in the file as it is.
    pub rendered: Option<Arc<RenderedFrom>>,
}

impl Origin {
    /// Whether the file is not in the repository: a template of a chart that was fetched.
    pub fn is_elsewhere(&self) -> bool {
        self.rendered.as_ref().is_some_and(|rendered| rendered.renderer == Renderer::Chart)
    }

    /// File and line, as messages name them.
    pub fn place(&self) -> String {
        format!("{}:{}", self.path, self.line)
    }
}

/// What makes manifests out of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renderer {
    /// Kustomize: the file holds the object before it was changed, or the kustomization that generates it.
    Kustomize,
    /// Helm: the file is a template, whose text need not be YAML.
    Helm,
    /// Helm, out of a chart that is not in the repository: the path names the template behind the chart's name and version.
    Chart,
    /// Jsonnet: the file is a program.
    Jsonnet,
    /// A config management plugin: the file is the folder's own.
    Plugin,
}

/// How a renderer made an object out of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedFrom {
    /// What made it.
    pub renderer: Renderer,
    /// Further places that decide what the object is, most specific first: patches, values.
    pub others: Vec<Origin>,
}

impl RenderedFrom {
    /// Whether the file is a text in which fields cannot be looked up as in YAML.
    pub fn is_program(&self) -> bool {
        matches!(self.renderer, Renderer::Helm | Renderer::Chart | Renderer::Jsonnet | Renderer::Plugin)
    }
}

/// A Kubernetes object and where it comes from.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The object's identity (after namespaces were filled in, where that has happened).
    pub key: ResourceKey,
    /// The object.
    pub object: Content,
    /// Where it was read.
    pub origin: Origin,
}
