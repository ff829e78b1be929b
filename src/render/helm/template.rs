//! Which values a template reads, and where: for the whole of an object, or for one of its fields.
//!
//! Takes the texts of a chart's templates; hands on [`Reads`]. Nothing is evaluated: what cannot be told from the text alone is left out.

mod action;
mod layout;
mod pipeline;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use action::{Action, Word};
use layout::Field;
use pipeline::{Reading, Subject};

/// The names that lead to a value, outermost first.
pub(in crate::render) type ValuePath = Vec<String>;

/// What decides about an object or a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::render) struct Reads {
    /// Where the field stands, in bytes of the text; `None` where that is not certain.
    pub(in crate::render) field: Option<Range<usize>>,
    /// The one value that the field is, and no other.
    pub(in crate::render) own: Option<ValuePath>,
    /// All values that the field, or the place where it would stand, depends on.
    pub(in crate::render) all: BTreeSet<ValuePath>,
    /// Those of them of which the object is made out of one entry.
    pub(in crate::render) loops: BTreeSet<ValuePath>,
}

/// A template that was read.
pub(in crate::render) struct Template<'t> {
    text: &'t str,
    readings: Vec<(Range<usize>, Reading)>,
    /// Parts that are rendered or not, or once for each entry, and what decides that.
    blocks: Vec<(Range<usize>, Reading)>,
    definitions: Vec<(String, Range<usize>)>,
}

/// What each named template of a chart reads, others that it includes among it.
#[derive(Debug, Default)]
pub(in crate::render) struct Helpers(BTreeMap<String, BTreeSet<ValuePath>>);

/// A part of a template that is not closed yet.
struct Open {
    /// Where the branch that is read begins.
    start: usize,
    /// What decides whether the branch is rendered.
    reading: Reading,
    /// What the dot means behind the part.
    before: Subject,
    variables: usize,
    definition: Option<String>,
}

impl<'t> Template<'t> {
    /// Reads a text.
    pub(in crate::render) fn read(text: &'t str) -> Self {
        let mut template = Self { text, readings: Vec::new(), blocks: Vec::new(), definitions: Vec::new() };
        let mut open: Vec<Open> = Vec::new();
        let mut dot = Subject::root();
        let mut variables: Vec<(String, Subject)> = Vec::new();
        for Action { span, words } in action::actions(text) {
            let keyword = match words.first() {
                Some(Word::Plain(word)) => word.as_str(),
                _ => "",
            };
            let rest = words.get(1..).unwrap_or_default();
            match keyword {
                "if" | "with" | "range" => {
                    let mut reading = pipeline::reading(rest, &dot, &variables);
                    if keyword == "range" {
                        reading.loops.clone_from(&reading.paths);
                    }
                    let subject = pipeline::subject(rest, &dot, &variables);
                    let part = Open { start: span.end, reading, before: dot.clone(), variables: variables.len(), definition: None };
                    if keyword == "range" {
                        variables.extend(pipeline::assigned(rest).map(|name| (name, subject.clone().one_of())));
                        dot = subject.one_of();
                    } else {
                        variables.extend(pipeline::assigned(rest).map(|name| (name, subject.clone())));
                        if keyword == "with" {
                            dot = subject;
                        }
                    }
                    open.push(part);
                }
                "define" | "block" => {
                    let name = rest.iter().find_map(|word| match word {
                        Word::Text(name) => Some(name.clone()),
                        _ => None,
                    });
                    let (before, variables) = (std::mem::replace(&mut dot, Subject::root()), variables.len());
                    open.push(Open { start: span.end, reading: Reading::default(), before, variables, definition: name });
                }
                "else" => {
                    let Some(part) = open.last_mut() else { continue };
                    let branch = part.start..span.start;
                    part.start = span.end;
                    let decides = part.reading.clone();
                    let further = pipeline::reading(rest.get(1..).unwrap_or_default(), &part.before, &variables);
                    part.reading.extend(&further);
                    dot = part.before.clone();
                    template.blocks.push((branch, decides));
                }
                "end" => {
                    let Some(part) = open.pop() else { continue };
                    dot = part.before;
                    variables.truncate(part.variables);
                    match part.definition {
                        Some(name) => template.definitions.push((name, part.start..span.start)),
                        None => template.blocks.push((part.start..span.start, part.reading)),
                    }
                }
                _ => {
                    let assigned: Vec<String> = pipeline::assigned(&words).collect();
                    if assigned.is_empty() {
                        template.readings.push((span, pipeline::reading(&words, &dot, &variables)));
                    } else {
                        let subject = pipeline::subject(&words, &dot, &variables);
                        variables.extend(assigned.into_iter().map(|name| (name, subject.clone())));
                    }
                }
            }
        }
        template
    }

    /// What decides about the object that begins at a place: whether it is there, and what it is called.
    pub(in crate::render) fn of_object(&self, begins: usize, document: &Range<usize>, helpers: &Helpers) -> Reads {
        let mut all = Reading::default();
        self.around(begins, &mut all);
        for name in ["name", "namespace"] {
            let pointer = ["metadata".to_owned(), name.to_owned()];
            for field in layout::fields(self.text, document, &pointer).iter().filter(|field| field.rest == 0) {
                self.inside(&field.region, &mut all);
            }
        }
        Reads { loops: all.loops.clone(), all: helpers.resolved(all), ..Reads::default() }
    }

    /// What decides about a field of the object in a part of the text. `None` where the text does not show the field.
    pub(in crate::render) fn of_field(&self, document: &Range<usize>, pointer: &[String], helpers: &Helpers) -> Option<Reads> {
        let fields = layout::fields(self.text, document, pointer);
        let mut all = Reading::default();
        for field in &fields {
            self.around(field.region.start, &mut all);
            self.inside(&field.region, &mut all);
        }
        let only = match fields.as_slice() {
            [] => return None,
            [one] => Some(one),
            _ => None,
        };
        let own = only.and_then(|field| self.own(field, pointer));
        let field = only.filter(|field| field.rest == 0).map(|field| field.line.clone());
        Some(Reads { field, own, loops: all.loops.clone(), all: helpers.resolved(all) })
    }

    /// The one value that a field is.
    fn own(&self, field: &Field, pointer: &[String]) -> Option<ValuePath> {
        let mut inside = self.readings.iter().filter(|(span, _)| span.start >= field.region.start && span.end <= field.region.end);
        let (_, reading) = inside.next().filter(|_| inside.next().is_none())?;
        let mut paths = reading.paths.iter();
        let path = paths.next().filter(|_| paths.next().is_none() && reading.includes.is_empty())?;
        let below = pointer.get(pointer.len() - field.rest..)?;
        Some(path.iter().chain(below).cloned().collect())
    }

    fn around(&self, place: usize, all: &mut Reading) {
        self.blocks.iter().filter(|(range, _)| range.contains(&place)).for_each(|(_, reading)| all.extend(reading));
    }

    fn inside(&self, region: &Range<usize>, all: &mut Reading) {
        let within = |(range, _): &&(Range<usize>, Reading)| range.start >= region.start && range.end <= region.end;
        self.readings.iter().chain(&self.blocks).filter(within).for_each(|(_, reading)| all.extend(reading));
    }
}

impl Helpers {
    /// The named templates of these texts.
    pub(in crate::render) fn of<'t>(templates: impl Iterator<Item = &'t Template<'t>>) -> Self {
        let mut read: BTreeMap<String, Reading> = BTreeMap::new();
        for template in templates {
            for (name, range) in &template.definitions {
                template.inside(range, read.entry(name.clone()).or_default());
            }
        }
        let of = |name: &String| {
            let (mut seen, mut next) = (BTreeSet::from([name]), vec![name]);
            let mut paths = BTreeSet::new();
            while let Some(reading) = next.pop().and_then(|name| read.get(name)) {
                paths.extend(reading.paths.iter().cloned());
                next.extend(reading.includes.iter().filter(|name| read.contains_key(*name) && seen.insert(name)));
            }
            (name.clone(), paths)
        };
        Self(read.keys().map(of).collect())
    }

    fn resolved(&self, reading: Reading) -> BTreeSet<ValuePath> {
        let of_helpers = reading.includes.iter().filter_map(|name| self.0.get(name)).flatten().cloned();
        of_helpers.chain(reading.paths.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests;
