//! From events to a value, by the rules of go-yaml v2 (`decode.go`) and the JSON that Kubernetes makes of the result.
//!
//! Takes the events of one document, hands on the value. Does not recurse; depth and the size of aliases are bounded.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::Limits;
use super::error::{Problem, ReadErrorKind};
use super::event::{Event, Events, Scalar};
use super::scalar::key_text;

/// What a node adds to the size of a document besides its text, in bytes.
const NODE_BYTES: usize = 32;

/// One document.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) value: Value,
    /// Byte offset of the first node.
    pub(crate) start: usize,
    /// Whether some map has a key twice.
    pub(crate) duplicate_keys: bool,
}

/// Builds the document; `None` when it has no node at all.
pub(crate) fn build<'text>(events: &mut impl Events<'text>, limits: &Limits) -> Result<Option<Built>, Problem> {
    let mut builder = Builder {
        limits,
        open: Vec::new(),
        anchors: Vec::new(),
        // go-yaml counts the document itself as a node.
        size: Size { nodes: 1, bytes: 0 },
        alias_nodes: 0,
        alias_bytes: 0,
        duplicate_keys: false,
        root: None,
    };
    let mut start = None;
    while let Some((event, range)) = events.next_event()? {
        start.get_or_insert(range.start);
        builder.take(event).map_err(|kind| Problem::new(kind, range.start))?;
    }
    let root = builder.root.take().zip(start);
    Ok(root.map(|(value, start)| Built { value, start, duplicate_keys: builder.duplicate_keys }))
}

/// How many nodes a part of the document has once its aliases are expanded, and about how many bytes they take.
#[derive(Debug, Clone, Copy)]
struct Size {
    nodes: usize,
    bytes: usize,
}

/// The value that an anchor stands for.
enum Anchored<'text> {
    /// Not defined in this document.
    Unknown,
    /// Its collection has not ended yet.
    Open,
    /// A scalar, kept with its type because it may be used as a key.
    Scalar(Scalar<'text>),
    /// A map or list.
    Tree { value: Value, size: Size, height: usize },
}

struct OpenCollection {
    content: Content,
    anchor: usize,
    /// The size of the document when this collection began.
    before: Size,
    /// Levels of the deepest value inside.
    height: usize,
}

enum Content {
    List(Vec<Value>),
    Map(OpenMap),
}

#[derive(Default)]
struct OpenMap {
    entries: Map<String, Value>,
    next: Next,
    /// Keys that so far only came out of `<<`; setting them again is no duplicate.
    merged: BTreeSet<String>,
}

/// What the next node inside a map is.
#[derive(Default)]
enum Next {
    #[default]
    Key,
    Value(String),
    MergeValue,
}

struct Builder<'text, 'limits> {
    limits: &'limits Limits,
    open: Vec<OpenCollection>,
    /// By anchor number.
    anchors: Vec<Anchored<'text>>,
    size: Size,
    alias_nodes: usize,
    alias_bytes: usize,
    duplicate_keys: bool,
    root: Option<Value>,
}

impl<'text> Builder<'text, '_> {
    fn take(&mut self, event: Event<'text>) -> Result<(), ReadErrorKind> {
        match event {
            Event::Scalar { value, merge, anchor } => self.scalar(value, merge, anchor),
            Event::MapStart { anchor } => self.start(Content::Map(OpenMap::default()), anchor),
            Event::ListStart { anchor } => self.start(Content::List(Vec::new()), anchor),
            Event::End { .. } => self.end(),
            Event::Alias { anchor } => self.alias(anchor),
        }
    }

    fn next_in_map(&mut self) -> Option<&mut Next> {
        match &mut self.open.last_mut()?.content {
            Content::Map(map) => Some(&mut map.next),
            Content::List(_) => None,
        }
    }

    fn expects_key(&mut self) -> bool {
        matches!(self.next_in_map(), Some(Next::Key))
    }

    fn set_anchor(&mut self, anchor: usize, value: Anchored<'text>) {
        if anchor == 0 {
            return;
        }
        if self.anchors.len() <= anchor {
            self.anchors.resize_with(anchor + 1, || Anchored::Unknown);
        }
        if let Some(slot) = self.anchors.get_mut(anchor) {
            *slot = value;
        }
    }

    fn scalar(&mut self, value: Scalar<'text>, merge: bool, anchor: usize) -> Result<(), ReadErrorKind> {
        self.count_scalar(&value);
        if anchor != 0 {
            self.set_anchor(anchor, Anchored::Scalar(value.clone()));
        }
        if !self.expects_key() {
            return self.put(to_value(value)?, 0);
        }
        let next = if merge { Next::MergeValue } else { Next::Value(key_text(value)?) };
        if let Some(slot) = self.next_in_map() {
            *slot = next;
        }
        Ok(())
    }

    fn count_scalar(&mut self, value: &Scalar<'_>) {
        self.size.nodes += 1;
        self.size.bytes += NODE_BYTES + if let Scalar::Text(text) = value { text.len() } else { 0 };
    }

    fn start(&mut self, content: Content, anchor: usize) -> Result<(), ReadErrorKind> {
        if self.expects_key() {
            return Err(ReadErrorKind::Key(match content {
                Content::List(_) => "a list",
                Content::Map(_) => "a map",
            }));
        }
        self.check_depth(1)?;
        self.set_anchor(anchor, Anchored::Open);
        self.open.push(OpenCollection { content, anchor, before: self.size, height: 0 });
        self.size.nodes += 1;
        self.size.bytes += NODE_BYTES;
        Ok(())
    }

    /// Whether a value of `height` levels fits here.
    fn check_depth(&self, height: usize) -> Result<(), ReadErrorKind> {
        let limit = self.limits.max_depth;
        if self.open.len() + height > limit { Err(ReadErrorKind::TooDeep { limit }) } else { Ok(()) }
    }

    fn end(&mut self) -> Result<(), ReadErrorKind> {
        let Some(OpenCollection { content, anchor, before, height }) = self.open.pop() else {
            return Ok(());
        };
        let value = match content {
            Content::List(items) => Value::Array(items),
            Content::Map(map) => Value::Object(map.entries),
        };
        let height = height + 1;
        if anchor != 0 {
            let size = Size { nodes: self.size.nodes - before.nodes, bytes: self.size.bytes.saturating_sub(before.bytes) };
            self.count_alias_bytes(size.bytes)?;
            self.set_anchor(anchor, Anchored::Tree { value: value.clone(), size, height });
        }
        self.put(value, height)
    }

    fn count_alias_bytes(&mut self, bytes: usize) -> Result<(), ReadErrorKind> {
        self.alias_bytes = self.alias_bytes.saturating_add(bytes);
        let limit = self.limits.max_alias_bytes;
        if self.alias_bytes > limit { Err(ReadErrorKind::AliasBytes { limit }) } else { Ok(()) }
    }

    fn alias(&mut self, anchor: usize) -> Result<(), ReadErrorKind> {
        let (size, height) = match self.anchors.get(anchor) {
            None | Some(Anchored::Unknown) => {
                return Err(ReadErrorKind::UnknownAnchor(anchor.to_string()));
            }
            Some(Anchored::Open) => return Err(ReadErrorKind::RecursiveAnchor),
            Some(Anchored::Scalar(Scalar::Text(text))) => (Size { nodes: 1, bytes: NODE_BYTES + text.len() }, 0),
            Some(Anchored::Scalar(_)) => (Size { nodes: 1, bytes: NODE_BYTES }, 0),
            Some(Anchored::Tree { size, height, .. }) => (*size, *height),
        };
        self.size.nodes = self.size.nodes.saturating_add(1).saturating_add(size.nodes);
        self.size.bytes = self.size.bytes.saturating_add(size.bytes);
        self.alias_nodes = self.alias_nodes.saturating_add(size.nodes);
        if excessive_aliasing(self.alias_nodes, self.size.nodes) {
            return Err(ReadErrorKind::ExcessiveAliasing);
        }
        self.count_alias_bytes(size.bytes)?;
        self.check_depth(height)?;

        let key = self.expects_key();
        let merging = matches!(self.next_in_map(), Some(Next::MergeValue));
        match self.anchors.get(anchor) {
            Some(Anchored::Scalar(value)) if key => {
                let text = key_text(value.clone())?;
                if let Some(slot) = self.next_in_map() {
                    *slot = Next::Value(text);
                }
                Ok(())
            }
            Some(Anchored::Scalar(value)) => {
                let value = to_value(value.clone())?;
                self.put(value, 0)
            }
            Some(Anchored::Tree { .. }) if key => Err(ReadErrorKind::Key("a map or a list")),
            // A list of maps is only allowed as it stands, not behind an alias (`decode.go:merge`).
            Some(Anchored::Tree { value: Value::Array(_), .. }) if merging => Err(ReadErrorKind::Merge),
            Some(Anchored::Tree { value, .. }) => {
                let value = value.clone();
                self.put(value, height)
            }
            _ => Err(ReadErrorKind::UnknownAnchor(anchor.to_string())),
        }
    }

    /// Puts a complete value of `height` levels where the document stands.
    fn put(&mut self, value: Value, height: usize) -> Result<(), ReadErrorKind> {
        let Some(collection) = self.open.last_mut() else {
            self.root = Some(value);
            return Ok(());
        };
        collection.height = collection.height.max(height);
        match &mut collection.content {
            Content::List(items) => items.push(value),
            Content::Map(map) => match std::mem::take(&mut map.next) {
                Next::Value(key) => {
                    let from_merge = !map.merged.is_empty() && map.merged.remove(&key);
                    self.duplicate_keys |= map.entries.insert(key, value).is_some() && !from_merge;
                }
                Next::MergeValue => merge(map, value)?,
                Next::Key => return Err(ReadErrorKind::Key("a map or a list")),
            },
        }
        Ok(())
    }
}

/// Sets the keys of `<<` at once, so they win over keys before it and lose against keys behind it; of a list, the first map
/// wins (`decode.go:merge`).
fn merge(map: &mut OpenMap, value: Value) -> Result<(), ReadErrorKind> {
    let sources = match value {
        Value::Array(sources) => sources,
        source => vec![source],
    };
    for source in sources.into_iter().rev() {
        let Value::Object(source) = source else {
            return Err(ReadErrorKind::Merge);
        };
        for (key, value) in source {
            if map.entries.insert(key.clone(), value).is_none() {
                map.merged.insert(key);
            }
        }
    }
    Ok(())
}

/// go-yaml's guard against billion laughs (`decode.go:allowedAliasRatio`): small documents may come from aliases to 99 %,
/// large ones to 10 %.
fn excessive_aliasing(alias_nodes: usize, nodes: usize) -> bool {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    let total = nodes as f64;
    let allowed = 0.99 - 0.89 * ((total - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
    alias_nodes > 100 && nodes > 1000 && alias_nodes as f64 / total > allowed
}

fn to_value(scalar: Scalar<'_>) -> Result<Value, ReadErrorKind> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Integer(value) => Value::Number(value.into()),
        Scalar::Unsigned(value) => float(value as f64)?,
        Scalar::Float(value) => float(value)?,
        Scalar::Text(text) => Value::String(text.into_owned()),
    })
}

/// Kubernetes writes floats as JSON and reads them back, so one that is written without a fraction becomes an integer.
fn float(value: f64) -> Result<Value, ReadErrorKind> {
    if value.fract() == 0.0 && value.abs() < 1e19
        // Rust writes the same shortest digits as Go does below 1e21.
        && let Ok(integer) = value.to_string().parse::<i64>()
    {
        return Ok(Value::Number(integer.into()));
    }
    Number::from_f64(value).map(Value::Number).ok_or_else(|| ReadErrorKind::Number(value.to_string()))
}
