//! Why a text could not be read, in words for a person and with the place.
//!
//! Takes what a reader met, hands on [`ReadError`].

use super::super::span::line_column;

/// A text that Kubernetes would not read either (or that is over one of our limits).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct ReadError {
    /// What is wrong.
    pub kind: ReadErrorKind,
    /// Byte offset into the decoded text.
    pub offset: usize,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReadErrorKind {
    /// The text is not YAML.
    #[error("this is not valid YAML: {0}")]
    Yaml(String),
    /// The text is not JSON.
    #[error("this is not valid JSON: {0}")]
    Json(String),
    /// A file that may hold one JSON value holds more.
    #[error("a second JSON value starts here, but only one is allowed in a file")]
    SecondJsonValue,
    /// A line that starts with `---` and goes on with something other than a comment.
    #[error("nothing but a comment may follow the document separator `---`, but `{0}` does")]
    Separator(String),
    /// A character that YAML does not allow.
    #[error("the character U+{:04X} is not allowed in YAML", u32::from(*.0))]
    Character(char),
    /// An alias whose anchor is not defined before it.
    #[error("there is no anchor `{0}` before this alias")]
    UnknownAnchor(String),
    /// An alias inside the value of its own anchor.
    #[error("this alias stands inside the value of its own anchor")]
    RecursiveAnchor,
    /// The billion laughs guard of go-yaml (`decode.go:unmarshal`).
    #[error("aliases make up too much of this document (the \"excessive aliasing\" check of Kubernetes)")]
    ExcessiveAliasing,
    /// Aliases copy more than [`super::Limits::max_alias_bytes`].
    #[error("the aliases of this document expand to more than {limit} bytes")]
    AliasBytes {
        /// The limit in bytes.
        limit: usize,
    },
    /// Nested deeper than [`super::Limits::max_depth`].
    #[error("this is nested more than {limit} levels deep")]
    TooDeep {
        /// The limit in levels.
        limit: usize,
    },
    /// Longer than [`super::Limits::max_document_bytes`].
    #[error("this document is longer than {limit} bytes")]
    DocumentTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// More documents than [`super::Limits::max_documents`].
    #[error("there are more than {limit} documents in this stream")]
    TooManyDocuments {
        /// The limit.
        limit: usize,
    },
    /// A map key that is null, a number over 63 bits, a map or a list.
    #[error("{0} cannot be a key of a Kubernetes object")]
    Key(&'static str),
    /// `<<` with a value that is no map and no list of maps.
    #[error("the merge key `<<` needs a map or a list of maps")]
    Merge,
    /// A scalar that its tag does not allow.
    #[error("`{text}` cannot be read as {tag}")]
    Tag {
        /// The tag, in its short form `!!int`.
        tag: &'static str,
        /// The scalar.
        text: String,
    },
    /// Infinity or not-a-number, which JSON does not have, or a JSON number out of the range of a 64-bit float.
    #[error("`{0}` is not a number that a Kubernetes object can hold")]
    Number(String),
}

/// An error before its line and column are known.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) kind: ReadErrorKind,
    pub(crate) offset: usize,
}

impl Problem {
    pub(crate) fn new(kind: ReadErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }

    pub(crate) fn locate(self, text: &str) -> ReadError {
        let (line, column) = line_column(text, self.offset);
        ReadError { kind: self.kind, offset: self.offset, line, column }
    }
}
