//! Finds where a field stands in the text, on demand.
//!
//! Takes the text, the range of one document in it and a pointer; hands on byte ranges. One pass over that document, no tree.

use std::ops::Range;

use super::pointer::{Pointer, list_position};
use super::reader::event::Events;
use super::reader::json::{GO_MAX_DEPTH, JsonEvents};
use super::reader::stream::with_line_breaks;
use super::reader::walk::{Step, Walk};
use super::reader::yaml::YamlEvents;

/// Where a field stands: byte ranges in the whole decoded text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSpan {
    /// The key, quotes included; `None` for a list item and for the whole document.
    pub key: Option<Range<usize>>,
    /// The value without anchor and tag. A block map or list starts at its first entry and ends behind its last; a block
    /// scalar starts at its `|` or `>`. A value that comes from an alias is the alias. A value that is not written
    /// (`key:`) is an empty range.
    pub value: Range<usize>,
}

/// Where the field at `pointer` stands. Of a key that stands twice it is the last, which is the one that Kubernetes reads.
/// `None` when the document has no such field, or has it only through an alias or a merge key.
pub fn locate(text: &str, document: Range<usize>, pointer: &Pointer) -> Option<FieldSpan> {
    search(text, document, pointer).found.pop().flatten()
}

/// Where the field at `pointer` stands, or else the deepest part of the document on the way to it: the alias or the merge
/// key that brings the field in, or the map that lacks it. `None` only for a document without content.
pub fn locate_nearest(text: &str, document: Range<usize>, pointer: &Pointer) -> Option<FieldSpan> {
    let Search { found, merges, .. } = search(text, document, pointer);
    let complete = found.last().is_some_and(Option::is_some);
    let (deepest, merge) = found.into_iter().zip(merges).take_while(|(found, _)| found.is_some()).last()?;
    if complete { deepest } else { merge.or(deepest) }
}

/// Line and column of a byte offset, both counted from 1, the column in characters.
pub fn line_column(text: &str, offset: usize) -> (u32, u32) {
    let before = text.get(..text.floor_char_boundary(offset)).unwrap_or(text);
    let line_start = memchr::memrchr(b'\n', before.as_bytes()).map_or(0, |at| at + 1);
    let lines = memchr::memchr_iter(b'\n', before.as_bytes()).count();
    let column = before.get(line_start..).unwrap_or_default().chars().count();
    (one_based(lines), one_based(column))
}

fn one_based(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1)
}

fn search(text: &str, document: Range<usize>, pointer: &Pointer) -> Search {
    let part = text.get(document.clone()).unwrap_or_default();
    if part.trim_start().starts_with(['{', '[']) {
        let mut events = JsonEvents::new(text, document.clone());
        let search = Search::run(&mut events, pointer);
        if events.is_complete() {
            return search;
        }
    }
    let text = with_line_breaks(text, &document);
    Search::run(&mut YamlEvents::new(&text, document, GO_MAX_DEPTH), pointer)
}

/// What is known of each place on the way to a pointer; position 0 is the whole document.
struct Search {
    found: Vec<Option<FieldSpan>>,
    /// The last `<<` of the map at that place.
    merges: Vec<Option<FieldSpan>>,
    open: Vec<Level>,
}

/// An open map or list.
struct Level {
    /// Its own key and how many tokens of the pointer lead to it, when it lies on the way.
    node: Node,
    /// Of a list: how many items are complete.
    position: usize,
    key: Option<Key>,
}

#[derive(Clone)]
struct Node {
    key: Option<Range<usize>>,
    depth: Option<usize>,
}

enum Key {
    Name { range: Range<usize>, on_the_way: bool },
    Merge(Range<usize>),
}

impl Search {
    fn run<'text>(events: &mut impl Events<'text>, pointer: &Pointer) -> Self {
        let tokens = pointer.tokens();
        let places = tokens.len() + 1;
        let mut search = Self { found: vec![None; places], merges: vec![None; places], open: Vec::new() };
        let mut walk = Walk::new(events);
        while let Some(step) = walk.next_step() {
            match step {
                Step::Key { name, range } => {
                    if let Some(map) = search.open.last_mut() {
                        let on_the_way = map.node.depth.and_then(|depth| tokens.get(depth)) == Some(&name);
                        map.key = Some(Key::Name { range, on_the_way });
                    }
                }
                Step::MergeKey { range } => {
                    if let Some(map) = search.open.last_mut() {
                        map.key = Some(Key::Merge(range));
                    }
                }
                Step::Value { range } => {
                    let node = search.node_here(tokens);
                    search.begin(&node);
                    search.complete(node, range);
                }
                Step::Open { .. } => {
                    let node = search.node_here(tokens);
                    search.begin(&node);
                    search.open.push(Level { node, position: 0, key: None });
                }
                Step::Close { range } => {
                    if let Some(level) = search.open.pop() {
                        search.complete(level.node, range);
                    }
                }
            }
        }
        search
    }

    /// The node that begins where the walk stands.
    fn node_here(&self, tokens: &[String]) -> Node {
        let Some(outer) = self.open.last() else {
            return Node { key: None, depth: Some(0) };
        };
        let (key, on_the_way) = match &outer.key {
            Some(Key::Name { range, on_the_way }) => (Some(range.clone()), *on_the_way),
            Some(Key::Merge(_)) => (None, false),
            None => {
                let wanted = outer.node.depth.and_then(|depth| list_position(tokens.get(depth)?));
                (None, wanted == Some(outer.position))
            }
        };
        let depth = outer.node.depth.filter(|_| on_the_way).map(|depth| depth + 1);
        Node { key, depth }
    }

    /// A later node takes the place of an earlier one of the same name, and of all that was inside that one.
    fn begin(&mut self, node: &Node) {
        let Some(depth) = node.depth else { return };
        self.found.iter_mut().skip(depth).for_each(|found| *found = None);
        self.merges.iter_mut().skip(depth).for_each(|merge| *merge = None);
    }

    fn complete(&mut self, node: Node, value: Range<usize>) {
        if let Some(found) = node.depth.and_then(|depth| self.found.get_mut(depth)) {
            *found = Some(FieldSpan { key: node.key, value: value.clone() });
        }
        let Some(outer) = self.open.last_mut() else {
            return;
        };
        outer.position += 1;
        if let Some(Key::Merge(range)) = &outer.key
            && let Some(merge) = outer.node.depth.and_then(|depth| self.merges.get_mut(depth))
        {
            *merge = Some(FieldSpan { key: Some(range.clone()), value });
        }
    }
}

#[cfg(test)]
mod tests;
