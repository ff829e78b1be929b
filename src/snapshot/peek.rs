//! A quick look into an object: the few fields that the indexes need, borrowed from its text.
//!
//! Takes JSON text or a parsed object; hands on a [`Peek`]. A look at text checks the whole text as strictly as a full parse would,
//! so that a later parse cannot fail. Fields of an unexpected type count as absent, and of a repeated field the last one counts.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// What the indexes need of an object.
#[derive(Debug, Default)]
pub(super) struct Peek<'a> {
    pub(super) api_version: Cow<'a, str>,
    pub(super) kind: Cow<'a, str>,
    pub(super) kind_of_secret: Cow<'a, str>,
    pub(super) metadata: Metadata<'a>,
}

/// What the indexes need of `metadata`.
#[derive(Debug, Default)]
pub(super) struct Metadata<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) namespace: Cow<'a, str>,
    pub(super) uid: Cow<'a, str>,
    pub(super) labels: Pairs<'a>,
    pub(super) annotations: Pairs<'a>,
    pub(super) owners: List<PeekOwner<'a>>,
}

/// One entry of `ownerReferences`.
#[derive(Debug, Default)]
pub(super) struct PeekOwner<'a> {
    pub(super) api_version: Cow<'a, str>,
    pub(super) kind: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
    pub(super) uid: Cow<'a, str>,
    pub(super) controller: bool,
}

/// The string entries of a map.
#[derive(Debug, Default)]
pub(super) struct Pairs<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl Pairs<'_> {
    /// The value of an entry.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }
}

impl<'a> Peek<'a> {
    /// Looks into JSON text.
    pub(super) fn text(text: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice::<Fields<Self>>(text).map(|fields| fields.0)
    }

    /// Looks into a parsed object.
    pub(super) fn value(value: &'a Value) -> Self {
        Fields::deserialize(value).map(|fields: Fields<Self>| fields.0).unwrap_or_default()
    }
}

impl Peek<'_> {
    /// Why the object cannot be kept: it does not say what it is.
    pub(super) fn why_nameless(&self) -> Option<String> {
        let missing = match (self.kind.is_empty(), self.metadata.name.is_empty()) {
            (false, false) => return None,
            (true, _) => "kind",
            (false, true) => "metadata.name",
        };
        let known = [&self.api_version, &self.kind, &self.metadata.namespace, &self.metadata.name];
        let known: Vec<&str> = known.into_iter().map(|text| &**text).filter(|text| !text.is_empty()).collect();
        Some(format!("an object without {missing} was left out ({})", known.join(" ")))
    }
}

impl<'a> Record<'a> for Peek<'a> {
    fn field<A: MapAccess<'a>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "apiVersion" => self.api_version = map.next_value::<Word<'a>>()?.0,
            "kind" => self.kind = map.next_value::<Word<'a>>()?.0,
            "type" => self.kind_of_secret = map.next_value::<Word<'a>>()?.0,
            "metadata" => self.metadata = map.next_value::<Fields<Metadata<'a>>>()?.0,
            _ => map.next_value::<Checked>().map(drop)?,
        }
        Ok(())
    }
}

impl<'a> Record<'a> for Metadata<'a> {
    fn field<A: MapAccess<'a>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "name" => self.name = map.next_value::<Word<'a>>()?.0,
            "namespace" => self.namespace = map.next_value::<Word<'a>>()?.0,
            "uid" => self.uid = map.next_value::<Word<'a>>()?.0,
            "labels" => self.labels = map.next_value::<Fields<Pairs<'a>>>()?.0,
            "annotations" => self.annotations = map.next_value::<Fields<Pairs<'a>>>()?.0,
            "ownerReferences" => self.owners = map.next_value()?,
            _ => map.next_value::<Checked>().map(drop)?,
        }
        Ok(())
    }
}

impl<'a> Record<'a> for PeekOwner<'a> {
    fn field<A: MapAccess<'a>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "apiVersion" => self.api_version = map.next_value::<Word<'a>>()?.0,
            "kind" => self.kind = map.next_value::<Word<'a>>()?.0,
            "name" => self.name = map.next_value::<Word<'a>>()?.0,
            "uid" => self.uid = map.next_value::<Word<'a>>()?.0,
            "controller" => self.controller = map.next_value::<Flag>()?.0,
            _ => map.next_value::<Checked>().map(drop)?,
        }
        Ok(())
    }
}

impl<'a> Record<'a> for Pairs<'a> {
    fn field<A: MapAccess<'a>>(&mut self, _: &str, _: &mut A) -> Result<(), A::Error> {
        Err(A::Error::custom("entries of a map are taken with their names"))
    }

    fn entry<A: MapAccess<'a>>(&mut self, name: Cow<'a, str>, map: &mut A) -> Result<(), A::Error> {
        let value = map.next_value::<Word<'a>>()?.0;
        self.0.push((name, value));
        Ok(())
    }
}

/// Something that is filled field by field from a map.
pub(super) trait Record<'de>: Default {
    /// Takes the value of a field.
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error>;

    /// Takes the value of a field whose name is kept.
    fn entry<A: MapAccess<'de>>(&mut self, name: Cow<'de, str>, map: &mut A) -> Result<(), A::Error> {
        self.field(&name, map)
    }
}

/// Reads a [`Record`] from a map; anything else gives an empty one.
#[derive(Debug)]
pub(super) struct Fields<T>(pub(super) T);

/// Reads a list of [`Record`]s; anything else gives an empty one.
#[derive(Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Reads a string; anything else is empty.
#[derive(Debug)]
pub(super) struct Word<'a>(pub(super) Cow<'a, str>);

/// Reads a boolean; anything else is false.
#[derive(Debug)]
pub(super) struct Flag(pub(super) bool);

/// Reads anything and keeps nothing, as strictly as a full parse.
#[derive(Debug)]
pub(super) struct Checked;

/// Writes a `Deserialize` that accepts any value: the methods given, and a default for all other types.
macro_rules! accept_any {
    ([$($generics:tt)*] $name:ty, $visitor:expr) => {
        impl<$($generics)*> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($visitor)
            }
        }
    };
}

macro_rules! ignored_scalars {
    ($default:expr; $($method:ident: $type:ty),*) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok($default)
        }
        $(fn $method<E: Error>(self, _: $type) -> Result<Self::Value, E> {
            Ok($default)
        })*
    };
}

macro_rules! drained_sequence {
    ($default:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<Checked>()?.is_some() {}
            Ok($default)
        }
    };
}

macro_rules! drained_map {
    ($default:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<Checked, Checked>()?.is_some() {}
            Ok($default)
        }
    };
}

struct FieldsVisitor<T>(PhantomData<T>);
accept_any!(['de, T: Record<'de>] Fields<T>, FieldsVisitor(PhantomData));

impl<'de, T: Record<'de>> Visitor<'de> for FieldsVisitor<T> {
    type Value = Fields<T>;
    ignored_scalars!(Fields(T::default()); visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
    drained_sequence!(Fields(T::default()));

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut record = T::default();
        while let Some(name) = map.next_key::<Word<'de>>()? {
            record.entry(name.0, &mut map)?;
        }
        Ok(Fields(record))
    }
}

struct ListVisitor<T>(PhantomData<T>);
accept_any!(['de, T: Record<'de>] List<T>, ListVisitor(PhantomData));

impl<'de, T: Record<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;
    ignored_scalars!(List(Vec::new()); visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
    drained_map!(List(Vec::new()));

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(fields) = seq.next_element::<Fields<T>>()? {
            list.push(fields.0);
        }
        Ok(List(list))
    }
}

struct WordVisitor;
accept_any!(['de] Word<'de>, WordVisitor);

impl<'de> Visitor<'de> for WordVisitor {
    type Value = Word<'de>;
    ignored_scalars!(Word(Cow::Borrowed("")); visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
    drained_sequence!(Word(Cow::Borrowed("")));
    drained_map!(Word(Cow::Borrowed("")));

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Word(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Word(Cow::Owned(text.to_owned())))
    }
}

struct FlagVisitor;
accept_any!(['de] Flag, FlagVisitor);

impl<'de> Visitor<'de> for FlagVisitor {
    type Value = Flag;
    ignored_scalars!(Flag(false); visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
    drained_sequence!(Flag(false));
    drained_map!(Flag(false));

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Flag(value))
    }
}

struct CheckedVisitor;
accept_any!(['de] Checked, CheckedVisitor);

impl<'de> Visitor<'de> for CheckedVisitor {
    type Value = Checked;
    ignored_scalars!(Checked; visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
    drained_sequence!(Checked);
    drained_map!(Checked);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn name_of(text: &str) -> String {
        Peek::text(text.as_bytes()).unwrap().metadata.name.into_owned()
    }

    #[test]
    fn fields_of_an_unexpected_type_count_as_absent_and_the_last_of_repeated_ones_counts() {
        assert_eq!(name_of(r#"{"metadata": {"name": 3}}"#), "");
        assert_eq!(name_of(r#"{"metadata": []}"#), "");
        assert_eq!(name_of(r#"{"metadata": {"name": "a", "name": "b"}}"#), "b");
        assert_eq!(name_of(r#"{"metadata": {"name": "a"}, "metadata": {}}"#), "");
        let peek = Peek::text(br#"{"metadata": {"labels": {"a": "1", "b": null, "a": "2"}}}"#).unwrap();
        assert_eq!((peek.metadata.labels.get("a"), peek.metadata.labels.get("c")), (Some("2"), None));
    }

    #[test]
    fn escaped_strings_are_read() {
        assert_eq!(name_of(r#"{"metadata": {"name": "\u0061b"}}"#), "ab");
    }

    #[test]
    fn a_parsed_object_gives_the_same_as_its_text() {
        let object =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "ownerReferences": [{"kind": "Job", "controller": true}]}});
        let peek = Peek::value(&object);
        assert_eq!((&*peek.kind, &*peek.metadata.name), ("Pod", "p"));
        assert!(peek.metadata.owners.0[0].controller && peek.metadata.owners.0[0].kind == "Job");
    }

    #[test]
    fn what_a_full_parse_refuses_is_refused() {
        let deep = format!(r#"{{"spec": {}1{}}}"#, "[".repeat(200), "]".repeat(200));
        let texts: [&[u8]; 5] = [br#"{"spec": 1e999}"#, br#"{"spec": "\ud800"}"#, b"{\"spec\": \"\xff\"}", deep.as_bytes(), b"{} {}"];
        for text in texts {
            assert!(serde_json::from_slice::<Value>(text).is_err());
            assert!(Peek::text(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }
}
