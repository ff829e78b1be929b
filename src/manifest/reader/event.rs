//! The common form in which YAML and JSON text reaches the tree builder and the span finder.
//!
//! A reader takes text and hands on nodes with their byte ranges; scalars are already resolved to their type.

use std::borrow::Cow;
use std::ops::Range;

use super::error::Problem;

/// One scalar with the type that Kubernetes gives it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar<'text> {
    Null,
    Bool(bool),
    Integer(i64),
    /// Over `i64::MAX`; as a value it becomes a float, as a key it is refused.
    Unsigned(u64),
    Float(f64),
    Text(Cow<'text, str>),
}

/// One step through a document. An anchor is a number over 0, unique in the document; 0 is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event<'text> {
    Scalar {
        value: Scalar<'text>,
        /// Whether this is `<<` in a form that merges when it stands as a key.
        merge: bool,
        anchor: usize,
    },
    MapStart {
        anchor: usize,
    },
    ListStart {
        anchor: usize,
    },
    /// End of the innermost map or list. `closed` tells whether the range is that of a closing bracket; block
    /// collections have none.
    End {
        closed: bool,
    },
    Alias {
        anchor: usize,
    },
}

/// An event and its byte range in the whole text.
pub(crate) type Spanned<'text> = (Event<'text>, Range<usize>);

/// A stream of events of one document. `None` comes after the end of the root node.
pub(crate) trait Events<'text> {
    fn next_event(&mut self) -> Result<Option<Spanned<'text>>, Problem>;
}

impl<'text, E: Events<'text>> Events<'text> for &mut E {
    fn next_event(&mut self) -> Result<Option<Spanned<'text>>, Problem> {
        (**self).next_event()
    }
}
