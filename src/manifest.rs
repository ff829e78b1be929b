//! Kubernetes objects as text: read YAML and JSON the way Kubernetes does, say what an object is called and where it stands.
//!
//! Takes text; hands on [`Manifest`]s (object and [`Origin`]), [`ResourceKey`]s and, on demand, spans.

pub mod base64;
mod content;
pub mod key;
pub mod label;
mod metadata;
pub mod origin;
pub mod pointer;
pub mod reader;
pub mod span;

pub use content::{Content, has_plain_metadata, heading_of};
pub use key::ResourceKey;
pub use metadata::{NonString, annotation, label, metadata_str, non_string};
pub use origin::{Manifest, Origin, RenderedFrom, Renderer, Side};
pub use pointer::Pointer;
