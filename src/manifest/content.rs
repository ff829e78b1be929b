//! The content of an object, which is read from its text only when somebody looks at it: of most objects of a large repository nobody wants
//! more than the key.
//!
//! Takes a value, or the place of its JSON text; hands on [`Content`], which stands for the value wherever one is wanted.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

/// The content of an object.
#[derive(Clone)]
pub struct Content(State);

#[derive(Clone)]
enum State {
    Read(Arc<Value>),
    Text(Arc<Text>),
}

/// A value that may not have been read yet.
struct Text {
    /// The text that many objects share.
    arena: Arc<Vec<u8>>,
    /// Where the heading of the object is in it.
    heading: Range<usize>,
    /// Where the whole object is.
    whole: Range<usize>,
    is_plain: bool,
    heading_value: OnceLock<Value>,
    value: OnceLock<Arc<Value>>,
}

impl Content {
    /// What is to be read from two texts: the heading ([`heading_of`]) and the whole object. Both must be JSON; of anything else the
    /// content is null. Whether its metadata is plain has to be known.
    pub fn of_text(arena: Arc<Vec<u8>>, heading: Range<usize>, whole: Range<usize>, is_plain: bool) -> Self {
        let text = Text { arena, heading, whole, is_plain, heading_value: OnceLock::new(), value: OnceLock::new() };
        Self(State::Text(Arc::new(text)))
    }

    /// The content itself.
    pub fn shared(&self) -> &Arc<Value> {
        match &self.0 {
            State::Read(value) => value,
            State::Text(text) => text.value.get_or_init(|| Arc::new(text.read(&text.whole))),
        }
    }

    /// At least `apiVersion`, `kind` and `metadata` of the object, without reading all of it.
    pub fn heading(&self) -> &Value {
        match &self.0 {
            State::Read(value) => value,
            State::Text(text) => match text.value.get() {
                Some(value) => value,
                None => text.heading_value.get_or_init(|| text.read(&text.heading)),
            },
        }
    }

    /// The text of the heading, where nothing was read yet.
    pub fn unread_heading(&self) -> Option<&[u8]> {
        match &self.0 {
            State::Text(text) if text.value.get().is_none() => text.arena.get(text.heading.clone()),
            _ => None,
        }
    }

    /// Whether its `metadata` is [plain](has_plain_metadata).
    pub fn is_plain(&self) -> bool {
        match &self.0 {
            State::Read(value) => has_plain_metadata(value),
            State::Text(text) => text.is_plain,
        }
    }

    /// Changes the content; others keep what they have.
    pub fn edit<T>(&mut self, edit: impl FnOnce(&mut Value) -> T) -> T {
        let mut value = match std::mem::replace(&mut self.0, State::Read(Arc::default())) {
            State::Read(value) => value,
            State::Text(text) => Arc::clone(Self(State::Text(text)).shared()),
        };
        let result = edit(Arc::make_mut(&mut value));
        self.0 = State::Read(value);
        result
    }
}

impl Text {
    fn read(&self, range: &Range<usize>) -> Value {
        serde_json::from_slice(self.arena.get(range.clone()).unwrap_or_default()).unwrap_or_default()
    }
}

/// What an object says of itself before it says what it is made of: `apiVersion`, `kind` and `metadata`.
pub fn heading_of(object: &Value) -> Value {
    let fields = ["apiVersion", "kind", "metadata"].into_iter();
    fields.filter_map(|field| Some((field.to_owned(), object.get(field)?.clone()))).collect()
}

/// Whether an object's `metadata` is a name, and perhaps a namespace and labels, all of them texts: such an object is no hook, has no options and
/// no owners.
pub fn has_plain_metadata(object: &Value) -> bool {
    let Some(Value::Object(metadata)) = object.get("metadata") else { return false };
    let is_named = metadata.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    is_named
        && metadata.iter().all(|(field, value)| match (field.as_str(), value) {
            ("name" | "namespace", Value::String(_)) => true,
            ("labels", Value::Object(labels)) => labels.values().all(Value::is_string),
            _ => false,
        })
}

impl Deref for Content {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.shared()
    }
}

impl From<Value> for Content {
    fn from(value: Value) -> Self {
        Arc::new(value).into()
    }
}

impl From<Arc<Value>> for Content {
    fn from(value: Arc<Value>) -> Self {
        Self(State::Read(value))
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        let same = match (&self.0, &other.0) {
            (State::Read(one), State::Read(other)) => Arc::ptr_eq(one, other),
            (State::Text(one), State::Text(other)) => {
                Arc::ptr_eq(one, other) || one.arena.get(one.whole.clone()) == other.arena.get(other.whole.clone())
            }
            _ => false,
        };
        same || **self == **other
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"b": "c"}}, "data": {"d": "e"}})
    }

    fn unread(object: &Value) -> Content {
        let (heading, whole) = (heading_of(object).to_string(), object.to_string());
        let (first, all) = (heading.len(), heading.len() + whole.len());
        Content::of_text(Arc::new((heading + &whole).into_bytes()), 0..first, first..all, has_plain_metadata(object))
    }

    #[test]
    fn what_was_not_read_yet_is_the_same_object() {
        let content = unread(&object());
        assert_eq!(content.heading(), &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"b": "c"}}}));
        assert_eq!((content == unread(&object()), content == object().into()), (true, true));
        assert_eq!(*content, object());
        assert_eq!(content.heading(), &object(), "what was read serves as heading as well");
        assert_ne!(content, json!({"kind": "ConfigMap"}).into());
    }

    #[test]
    fn only_a_name_a_namespace_and_labels_are_plain() {
        assert!(unread(&object()).is_plain() && Content::from(object()).is_plain());
        for metadata in [
            json!({}),
            json!({"name": ""}),
            json!({"generateName": "a-"}),
            json!({"name": "a", "annotations": {}}),
            json!({"name": "a", "labels": {"b": 1}}),
            json!({"name": "a", "ownerReferences": []}),
            json!("a"),
        ] {
            assert!(!has_plain_metadata(&json!({"kind": "ConfigMap", "metadata": metadata})), "{metadata}");
        }
        assert!(!has_plain_metadata(&json!({"kind": "ConfigMap"})));
    }

    #[test]
    fn writing_into_one_leaves_its_copies_alone() {
        let content = unread(&object());
        let mut copy = content.clone();
        copy.edit(|value| value["data"]["d"] = json!("other"));
        assert_eq!((content["data"]["d"].as_str(), copy["data"]["d"].as_str()), (Some("e"), Some("other")));
    }

    #[test]
    fn a_list_and_a_plain_value_have_an_empty_heading() {
        assert_eq!(heading_of(&json!(["a"])), json!({}));
        assert_eq!(heading_of(&Value::Null), json!({}));
    }
}
