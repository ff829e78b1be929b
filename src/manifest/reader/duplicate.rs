//! Finds the keys that stand twice in one map.
//!
//! Takes the steps through a document of which the builder said that it has some, hands on where they stand.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::pointer::Pointer;
use super::event::Events;
use super::walk::{Step, Walk};

/// How many are reported for one document.
const MAX_REPORTED: usize = 100;

/// A key that stands more than once in the same map. Kubernetes reads the last one and says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKey {
    /// Where the key stands, the key included.
    pub pointer: Pointer,
    /// Byte range of the later key in the decoded text.
    pub span: Range<usize>,
    /// Byte range of the first key of that name in the decoded text.
    pub first: Range<usize>,
}

enum Collection {
    Map { first: BTreeMap<String, Range<usize>>, key: String },
    List { position: usize },
}

/// The first hundred duplicate keys, in the order of the text.
pub(crate) fn duplicate_keys<'text>(events: impl Events<'text>) -> Vec<DuplicateKey> {
    let mut found = Vec::new();
    let mut open: Vec<Collection> = Vec::new();
    let mut walk = Walk::new(events);
    while let Some(step) = walk.next_step() {
        match step {
            Step::Open { is_map: true } => open.push(Collection::Map { first: BTreeMap::new(), key: String::new() }),
            Step::Open { is_map: false } => open.push(Collection::List { position: 0 }),
            Step::Key { name, range } => {
                let Some(Collection::Map { first, key }) = open.last_mut() else {
                    continue;
                };
                key.clone_from(&name);
                let Some(earlier) = first.get(&name).cloned() else {
                    first.insert(name, range);
                    continue;
                };
                found.push(DuplicateKey { pointer: pointer(&open), span: range, first: earlier });
                if found.len() == MAX_REPORTED {
                    break;
                }
            }
            Step::MergeKey { .. } => {
                if let Some(Collection::Map { key, .. }) = open.last_mut() {
                    "<<".clone_into(key);
                }
            }
            Step::Value { .. } => advance(&mut open),
            Step::Close { .. } => {
                open.pop();
                advance(&mut open);
            }
        }
    }
    found
}

fn advance(open: &mut [Collection]) {
    if let Some(Collection::List { position }) = open.last_mut() {
        *position += 1;
    }
}

fn pointer(open: &[Collection]) -> Pointer {
    open.iter()
        .map(|collection| match collection {
            Collection::Map { key, .. } => key.clone(),
            Collection::List { position } => position.to_string(),
        })
        .collect()
}
