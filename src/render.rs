//! One Application source and a tree → target manifests, with the files that were read.
//!
//! Takes a [`Source`] and a [`Tree`]; hands on [`Rendered`]. Knows nothing of live state.

pub mod directory;
pub mod kind;

use std::sync::Arc;

use crate::manifest::{Manifest, Origin, ResourceKey, Side};

pub use kind::SourceKind;

/// What a source renders to.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// The objects, in Argo CD's order.
    pub manifests: Vec<Arc<Manifest>>,
    /// Keys that appear twice in one mapping of a file that was read.
    pub duplicate_keys: Vec<Duplicate>,
    /// What Argo CD only warns about.
    pub warnings: Vec<String>,
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

impl RenderError {
    pub(crate) fn new(rule: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into(), rule, place: None, object: None }
    }

    fn at(mut self, path: &Arc<str>, side: Side, line: u32, column: u32) -> Self {
        self.place = Some((Arc::clone(path), side, line, column));
        self
    }

    fn inside(mut self, origin: Origin, pointer: String, key: ResourceKey) -> Self {
        self.object = Some(Box::new((origin, pointer, key)));
        self
    }
}
