//! What a rule says: a finding with its severity, its place and what to do about it.
//!
//! Findings are plain data. Places are symbolic (a document and a JSON pointer); `check` turns them into lines once, for those that are reported.

pub mod bug;
mod fix;
mod selector;

use std::ops::Range;
use std::sync::Arc;

use crate::manifest::{Origin, ResourceKey, Side};

pub use bug::{Bug, Bugs};
pub use fix::{Fix, Judged, Operation, Step};
pub use selector::{Patterns, Selector, Subject};

/// How bad it is. `error`: data or service is lost, or the sync fails; `warning`: will surprise somebody; `info`: worth knowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Will surprise somebody.
    Warning,
    /// Data or service is lost, or the sync fails.
    Error,
}

impl Severity {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A place in the repository, before it is turned into lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file and document.
    pub origin: Origin,
    /// JSON pointer from the object, for example `/spec/replicas`; empty for the object as a whole.
    pub pointer: String,
    /// What stands there, as a short label.
    pub label: String,
}

/// A place turned into lines and columns, both from 1; columns count characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Path from the repository root.
    pub path: Arc<str>,
    /// The side of the change.
    pub side: Side,
    /// First line.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// Last line.
    pub end_line: u32,
    /// Column after the last character.
    pub end_column: u32,
    /// The same span in bytes of the decoded text.
    pub span: Range<usize>,
    /// What stands there.
    pub label: String,
}

/// What a rule says about one thing.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Rule id.
    pub rule: Arc<str>,
    /// How bad it is.
    pub severity: Severity,
    /// What will happen, when, to what.
    pub message: String,
    /// What to do.
    pub help: String,
    /// The Application, `namespace/name`.
    pub application: Option<String>,
    /// The object.
    pub resource: Option<ResourceKey>,
    /// Where to look, best place first; the first is primary.
    pub places: Vec<Place>,
    /// `places` in lines, filled in by `check`; empty where nothing in the repository can be pointed at.
    pub locations: Vec<Location>,
    /// Whether the change under review brings it about.
    pub introduced: bool,
    /// Whether live state was assumed.
    pub assumed: bool,
    /// What tells this finding from others of the same rule on the same object, for example a field; part of the fingerprint.
    pub discriminator: String,
    /// Whether there is a safe edit that nothing stands in the way of.
    pub fixable: bool,
    /// The safe edit.
    pub fix: Option<Fix>,
    /// Why it does not count, if it was suppressed.
    pub suppressed: Option<Suppression>,
}

impl Finding {
    /// A finding's stable name: the same rule on the same thing has the same fingerprint in every run.
    pub fn fingerprint(&self) -> String {
        let resource = self.resource.as_ref().map(ToString::to_string).unwrap_or_default();
        let text = [&*self.rule, self.application.as_deref().unwrap_or_default(), &resource, &self.discriminator].join("\0");
        blake3::hash(text.as_bytes()).to_hex().as_str().get(..32).unwrap_or_default().to_owned()
    }
}

/// Why a finding does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// `config`, `comment` or `baseline`.
    pub by: &'static str,
    /// The reason that was given.
    pub reason: String,
    /// Last day on which it holds, `YYYY-MM-DD`.
    pub expires: Option<String>,
}

/// Something presync could not look at. It is a result like any other and is shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unjudged {
    /// The Application, `namespace/name`, where it is about one.
    pub application: Option<String>,
    /// What was not looked at.
    pub what: String,
    /// Why not.
    pub why: String,
}
