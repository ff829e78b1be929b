//! An object together with the place it was read from.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::ResourceKey;

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
}

/// A Kubernetes object and where it comes from.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The object's identity (after namespaces were filled in, where that has happened).
    pub key: ResourceKey,
    /// The object.
    pub object: Arc<Value>,
    /// Where it was read.
    pub origin: Origin,
}
