//! What is wrong with a configuration, pointed at.
//!
//! Takes the reader's error; hands on one with the place and what was probably meant.

use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};

/// What stands between a message and its help while both go through the reader as one text.
pub(super) const HELP: &str = "\u{1f}";

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum ConfigError {
    /// It has a mistake.
    #[error("{message}")]
    Mistake {
        /// What is wrong, with the file and the line.
        message: String,
        /// The text.
        #[source_code]
        text: Arc<NamedSource<String>>,
        /// Where the mistake is.
        #[label("here")]
        place: Option<SourceSpan>,
        /// What to do.
        #[help]
        help: Option<String>,
    },
    /// It cannot be read.
    #[error("the configuration {file} cannot be read: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        reason: String,
        /// What to do.
        #[help]
        help: Option<String>,
    },
}

impl ConfigError {
    /// A mistake at a place that is known.
    pub fn at(file: &str, text: &str, place: Option<Range<usize>>, said: &str, help: Option<String>) -> Self {
        let line = place.as_ref().map(|place| {
            let before = text.get(..place.start).unwrap_or(text);
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            format!(":{}:{column}", before.matches('\n').count() + 1)
        });
        Self::Mistake {
            message: format!("{file}{}: {said}", line.unwrap_or_default()),
            text: Arc::new(NamedSource::new(file, text.to_owned())),
            place: place.map(SourceSpan::from),
            help,
        }
    }

    /// What the reader of YAML says.
    pub(super) fn of_reader(file: &str, text: &str, error: &serde_yaml::Error) -> Self {
        let said = error.to_string();
        // The reader appends the place to what it says.
        let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(before, _)| before);
        let (said, help) = match said.split_once(HELP) {
            Some((said, help)) => (said.to_owned(), Some(help.to_owned())),
            None => understood(said),
        };
        let start = error.location().map(|location| location.index().min(text.len()));
        Self::at(file, text, start.map(|start| start..start + word(text, start)), &said, help)
    }
}

/// Length of the key or word that starts here.
fn word(text: &str, start: usize) -> usize {
    let ends = |character: char| character.is_whitespace() || matches!(character, ':' | ',' | ']' | '}');
    text.get(start..).map_or(0, |rest| rest.find(ends).unwrap_or(rest.len()))
}

/// Keys and words that there are not, with the nearest one.
fn understood(said: &str) -> (String, Option<String>) {
    let unknown = |what: &str| {
        let (before, rest) = said.split_once(what)?;
        let mut names = rest.split('`').skip(1).step_by(2);
        let name = names.next()?;
        let known: Vec<&str> = names.collect();
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("Did you mean `{near}`?"),
            None => format!("There are: {}.", known.join(", ")),
        };
        Some((before.to_owned(), name.to_owned(), Some(help)))
    };
    if let Some((before, name, help)) = unknown("unknown field ") {
        return (format!("{before}there is no setting `{name}`"), help);
    }
    if let Some((before, name, help)) = unknown("unknown variant ") {
        return (format!("{before}`{name}` is not possible here"), help);
    }
    if let Some((before, rest)) = said.split_once("missing field `") {
        return (format!("{before}`{}` is missing", rest.trim_end_matches('`')), None);
    }
    (said.to_owned(), None)
}

/// The name that differs in at most two letters.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let distances = known.into_iter().map(|known| (strsim::levenshtein(name, known), known));
    distances.filter(|(distance, _)| *distance <= 2).min().map(|(_, known)| known)
}
