//! JSON as `kubectl get -o json` prints it, item by item.
//!
//! Takes a file's bytes; hands on batches, made on all cores. Items without anything to redact are copied without their layout;
//! the others are parsed.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr2, memmem};
use rayon::prelude::*;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Batch, CLUSTER_ANNOTATION, Item, is_list, may_hold_secrets, name_kind};
use crate::snapshot::peek::{Checked, Fields, Peek, Record, Word};

/// Why an object of a valid list is left out.
const UNREADABLE: &str = "an object cannot be read: it is nested too deeply or holds an impossible number or text";
/// How many items one thread takes at a time.
const CHUNK: usize = 1024;

/// The objects of a file, where all of it is JSON values that start with `{`; `None` for anything else, also for broken JSON, whose
/// mistake the reader of manifests names.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<Batch>> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let mut batches = Vec::new();
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Fields<Document<'_>>>();
    let mut start = 0;
    while let Some(value) = values.next() {
        let document = value.ok()?.0;
        let range = start..values.byte_offset();
        start = range.end;
        match document.items.filter(|_| is_list(&document.kind)) {
            Some(items) => {
                batches.par_extend(items.par_chunks(CHUNK).map(|items| {
                    items.iter().fold(Batch::default(), |batch, item| batch.with(item, &document.kind, &document.api_version))
                }))
            }
            None => {
                let raw: &RawValue = serde_json::from_slice(bytes.get(range)?).ok()?;
                batches.push(Batch::default().with(raw, "", ""));
            }
        }
    }
    Some(batches)
}

impl Batch {
    fn with(mut self, item: &RawValue, list_kind: &str, api_version: &str) -> Self {
        self.push_raw(item, list_kind, api_version);
        self
    }

    fn push_raw(&mut self, item: &RawValue, list_kind: &str, api_version: &str) {
        let text = item.get().as_bytes();
        let is_typed_list = list_kind.len() > "List".len();
        let needs_parse = is_typed_list || may_hold_secrets(text) || memmem::find(text, CLUSTER_ANNOTATION.as_bytes()).is_some();
        if needs_parse {
            match serde_json::from_slice::<Value>(text) {
                Ok(mut object) => {
                    name_kind(&mut object, list_kind, api_version);
                    self.push(object);
                }
                Err(_) => self.left_out.push(UNREADABLE.to_owned()),
            }
            return;
        }
        match Peek::text(text).map_or_else(|_| Some(UNREADABLE.to_owned()), |peek| peek.why_nameless()) {
            Some(why) => self.left_out.push(why),
            None => {
                let start = self.text.len();
                compact(text, &mut self.text);
                self.items.push(Item { range: start..self.text.len(), cluster: None, limit: None });
            }
        }
    }
}

/// Copies valid JSON without the white space between its tokens.
fn compact(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some(position) = text.iter().position(|byte| *byte == b'"') {
        let (between, string) = text.split_at(position);
        out.extend(between.iter().filter(|byte| !byte.is_ascii_whitespace()));
        let mut end = 1;
        while let Some(step) = string.get(end..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            end += step + 1;
            if string.get(end - 1) == Some(&b'"') {
                break;
            }
            end += 1;
        }
        let (string, rest) = string.split_at(end.min(string.len()));
        out.extend_from_slice(string);
        text = rest;
    }
    out.extend(text.iter().filter(|byte| !byte.is_ascii_whitespace()));
}

/// A JSON value of the file, with the items of a list unread.
#[derive(Default)]
struct Document<'a> {
    api_version: Cow<'a, str>,
    kind: Cow<'a, str>,
    items: Option<Vec<&'a RawValue>>,
}

impl<'a> Record<'a> for Document<'a> {
    fn field<A: MapAccess<'a>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "apiVersion" => self.api_version = map.next_value::<Word<'a>>()?.0,
            "kind" => self.kind = map.next_value::<Word<'a>>()?.0,
            "items" => self.items = map.next_value::<Items<'a>>()?.0,
            _ => map.next_value::<Checked>().map(drop)?,
        }
        Ok(())
    }
}

/// The items of a list; `None` for anything but a list.
struct Items<'a>(Option<Vec<&'a RawValue>>);

impl<'de> Deserialize<'de> for Items<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemsVisitor)
    }
}

struct ItemsVisitor;

impl<'de> Visitor<'de> for ItemsVisitor {
    type Value = Items<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a map")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<&'de RawValue>()? {
            items.push(item);
        }
        Ok(Items(Some(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Items(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn objects(text: &str) -> (Vec<Value>, Vec<String>) {
        let batches = read(text.as_bytes()).unwrap();
        let parse = |batch: &Batch, item: &Item| serde_json::from_slice(&batch.text[item.range.clone()]).unwrap();
        let values = batches.iter().flat_map(|batch| batch.items.iter().map(move |item| parse(batch, item))).collect();
        (values, batches.into_iter().flat_map(|batch| batch.left_out).collect())
    }

    #[test]
    fn lists_and_single_objects_may_follow_each_other() {
        let pod = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"a": "x \"y\" \\ \t", "b": [1, 2]}});
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [pod("a"), pod("b")], "metadata": {"resourceVersion": ""}});
        let text = format!("{list:#}\n{:#}{}", pod("c"), json!({"kind": "List", "items": []}));
        assert_eq!(objects(&text), (vec![pod("a"), pod("b"), pod("c")], vec![]));
    }

    #[test]
    fn items_of_typed_lists_get_their_kind_before_they_are_redacted() {
        let text = r#"{"kind": "SecretList", "apiVersion": "v1", "items": [{"metadata": {"name": "s"}, "data": {"a": "canary"}}]}"#;
        let (values, _) = objects(text);
        assert_eq!((values[0]["kind"].as_str(), values[0]["data"]["a"].as_str()), (Some("Secret"), Some("presync:redacted")));
    }

    #[test]
    fn what_cannot_be_kept_is_said_without_its_content() {
        let text =
            r#"{"kind": "List", "items": [{"kind": "Pod", "a": "canary"}, 3, {"kind": "Pod", "metadata": {"name": "p"}, "a": 1e999}]}"#;
        let (values, left_out) = objects(text);
        assert_eq!((values.len(), left_out.len()), (0, 3));
        assert!(!left_out.concat().contains("canary"));
    }

    #[test]
    fn only_whole_json_is_taken() {
        for text in ["a: b", "", "{a: b}", r#"{"kind": "List", "items": [{"#, "{} x"] {
            assert!(read(text.as_bytes()).is_none(), "{text}");
        }
    }
}
