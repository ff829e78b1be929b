//! Which values a pipeline reads.
//!
//! Takes the words of an action, what the dot means and the variables; hands on [`Reading`], and as what the result may be taken.

use std::collections::BTreeSet;

use super::ValuePath;
use super::action::Word;

/// Values that are read, directly or by a named template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) paths: BTreeSet<ValuePath>,
    /// Those of them of which a loop takes one entry after the other.
    pub(super) loops: BTreeSet<ValuePath>,
    /// Named templates that are given the whole of the chart's data.
    pub(super) includes: BTreeSet<String>,
}

impl Reading {
    pub(super) fn extend(&mut self, other: &Self) {
        self.paths.extend(other.paths.iter().cloned());
        self.loops.extend(other.loops.iter().cloned());
        self.includes.extend(other.includes.iter().cloned());
    }
}

/// What the dot or a variable stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The whole of the data that a chart is given.
    Root,
    /// Exactly this value.
    Value(ValuePath),
    /// Something made out of these values.
    From(BTreeSet<ValuePath>),
}

impl Subject {
    pub(super) fn root() -> Self {
        Self::Root
    }

    /// One entry of it, whichever.
    pub(super) fn one_of(self) -> Self {
        match self {
            Self::Value(path) => Self::From(BTreeSet::from([path])),
            other => other,
        }
    }

    /// What a field below it reads.
    fn below(&self, names: &[&str]) -> BTreeSet<ValuePath> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<ValuePath>();
        match self {
            Self::Root => match names.split_first() {
                Some((&"Values", rest)) => BTreeSet::from([owned(rest)]),
                _ => BTreeSet::new(),
            },
            Self::Value(path) => BTreeSet::from([path.iter().cloned().chain(owned(names)).collect()]),
            Self::From(paths) => paths.clone(),
        }
    }
}

/// The names of the variables that a pipeline sets.
pub(super) fn assigned(words: &[Word]) -> impl Iterator<Item = String> {
    let behind = words.iter().position(|word| *word == Word::Assign).unwrap_or(0);
    words.iter().take(behind).filter_map(|word| match word {
        Word::Plain(name) if name.starts_with('$') => Some(name.clone()),
        _ => None,
    })
}

/// What a pipeline reads.
pub(super) fn reading(words: &[Word], dot: &Subject, variables: &[(String, Subject)]) -> Reading {
    let words = value_of(words);
    let mut reading = Reading::default();
    for (index, word) in words.iter().enumerate() {
        let Word::Plain(word) = word else { continue };
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        let arguments = words.get(index + 1..).unwrap_or_default();
        if matches!(word.as_str(), "include" | "template") {
            let whole =
                matches!(arguments.get(1), Some(Word::Plain(argument)) if argument == "$" || (argument == "." && *dot == Subject::Root));
            if let (Some(Word::Text(name)), true) = (arguments.first(), whole) {
                reading.includes.insert(name.clone());
            }
            continue;
        }
        let Some(paths) = paths(word, dot, variables) else { continue };
        // `index .Values "a" "b"` and its like.
        let keys = match before {
            Some(Word::Plain(function)) if function == "index" => usize::MAX,
            Some(Word::Plain(function)) if matches!(function.as_str(), "get" | "hasKey") => 1,
            _ => 0,
        };
        let keys: Vec<&String> = arguments.iter().take(keys).map_while(text).collect();
        let extended = paths.into_iter().map(|path| path.into_iter().chain(keys.iter().map(|key| (*key).clone())).collect::<ValuePath>());
        reading.paths.extend(extended.filter(|path| !path.is_empty()));
    }
    reading
}

/// As what the result of a pipeline may be taken.
pub(super) fn subject(words: &[Word], dot: &Subject, variables: &[(String, Subject)]) -> Subject {
    if let [Word::Plain(word)] = value_of(words)
        && let Some((subject, names)) = taken_apart(word, dot, variables)
    {
        return match (subject, names.as_slice()) {
            (Subject::Root, []) => Subject::Root,
            (subject @ (Subject::Root | Subject::Value(_)), names) => match subject.below(names).pop_first() {
                Some(path) => Subject::Value(path),
                None => Subject::From(BTreeSet::new()),
            },
            (Subject::From(paths), _) => Subject::From(paths.clone()),
        };
    }
    Subject::From(reading(words, dot, variables).paths)
}

/// The words behind an assignment.
fn value_of(words: &[Word]) -> &[Word] {
    let behind = words.iter().position(|word| *word == Word::Assign).map_or(0, |at| at + 1);
    words.get(behind..).unwrap_or_default()
}

fn text(word: &Word) -> Option<&String> {
    match word {
        Word::Text(text) => Some(text),
        _ => None,
    }
}

fn paths(word: &str, dot: &Subject, variables: &[(String, Subject)]) -> Option<BTreeSet<ValuePath>> {
    let (subject, names) = taken_apart(word, dot, variables)?;
    Some(subject.below(&names))
}

/// The subject that a field starts at, and the names behind it; `None` for a word that is no field.
fn taken_apart<'a>(word: &'a str, dot: &'a Subject, variables: &'a [(String, Subject)]) -> Option<(&'a Subject, Vec<&'a str>)> {
    let names = |text: &'a str| text.split('.').filter(|name| !name.is_empty()).collect();
    if let Some(rest) = word.strip_prefix('.') {
        return Some((dot, names(rest)));
    }
    let (name, rest) = word.split_once('.').unwrap_or((word, ""));
    if name == "$" {
        return Some((&Subject::Root, names(rest)));
    }
    let known = variables.iter().rev().find(|(known, _)| known == name);
    known.map(|(_, subject)| (subject, names(rest)))
}
