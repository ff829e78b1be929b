//! From events to steps that know what is a key and where a whole map or list stands.
//!
//! Takes the events of one document, hands on steps for those who look for places instead of values.

use std::collections::BTreeMap;
use std::ops::Range;

use super::event::{Event, Events};
use super::scalar::key_text;

/// One step through a document that has been read without error before.
#[derive(Debug)]
pub(crate) enum Step {
    /// A key of the innermost map, as Kubernetes writes it.
    Key { name: String, range: Range<usize> },
    /// The merge key `<<` of the innermost map.
    MergeKey { range: Range<usize> },
    /// A scalar or an alias that is a value.
    Value { range: Range<usize> },
    /// A map or list begins.
    Open { is_map: bool },
    /// The innermost map or list ends; this is the range of all of it.
    Close { range: Range<usize> },
}

struct Collection {
    start: usize,
    is_map: bool,
    expects_key: bool,
}

/// Turns events into steps.
pub(crate) struct Walk<E> {
    events: E,
    open: Vec<Collection>,
    /// The names of anchored scalars, which may be used as keys by alias.
    names: BTreeMap<usize, String>,
    /// Byte offset behind the last piece of content.
    last_end: usize,
}

impl<'text, E: Events<'text>> Walk<E> {
    pub(crate) fn new(events: E) -> Self {
        Self { events, open: Vec::new(), names: BTreeMap::new(), last_end: 0 }
    }

    /// The next step. `None` at the end and where the text cannot be read further.
    pub(crate) fn next_step(&mut self) -> Option<Step> {
        let (event, range) = self.events.next_event().ok()??;
        Some(match event {
            Event::Scalar { value, merge, anchor } => {
                let name = if anchor != 0 || self.expects_key() { key_text(value).ok() } else { None };
                if let Some(name) = name.as_ref().filter(|_| anchor != 0) {
                    self.names.insert(anchor, name.clone());
                }
                self.leaf(range, name, merge)?
            }
            Event::Alias { anchor } => {
                let name = self.names.get(&anchor).cloned();
                self.leaf(range, name, false)?
            }
            Event::MapStart { .. } => self.begin(range, true),
            Event::ListStart { .. } => self.begin(range, false),
            Event::End { closed } => {
                let collection = self.open.pop()?;
                if closed {
                    self.last_end = range.end;
                }
                self.value_done();
                Step::Close { range: collection.start..self.last_end.max(collection.start) }
            }
        })
    }

    fn expects_key(&self) -> bool {
        self.open.last().is_some_and(|collection| collection.expects_key)
    }

    fn leaf(&mut self, range: Range<usize>, name: Option<String>, merge: bool) -> Option<Step> {
        self.last_end = range.end;
        if !self.expects_key() {
            self.value_done();
            return Some(Step::Value { range });
        }
        if let Some(map) = self.open.last_mut() {
            map.expects_key = false;
        }
        Some(if merge { Step::MergeKey { range } } else { Step::Key { name: name?, range } })
    }

    fn begin(&mut self, range: Range<usize>, is_map: bool) -> Step {
        self.open.push(Collection { start: range.start, is_map, expects_key: is_map });
        self.last_end = range.end;
        Step::Open { is_map }
    }

    fn value_done(&mut self) {
        if let Some(outer) = self.open.last_mut() {
            outer.expects_key = outer.is_map;
        }
    }
}
