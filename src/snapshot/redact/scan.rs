//! A look through an object's text for values that [`super::values`] would take out, without building its tree.
//!
//! Takes JSON text; says whether anything in it has the shape of a named secret value, wherever it stands. It may say so too often.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::values::{has_password_in_url, is_sensitive};
use crate::snapshot::peek::Word;

/// Whether a named secret value may be in the text. Text that is no JSON counts as if one were.
pub(super) fn finds_named_secret(text: &[u8]) -> bool {
    serde_json::from_slice::<Found<'_>>(text).map_or(true, |found| found.secret)
}

/// What a value holds: whether a secret is in it, and its text where it is one.
struct Found<'a> {
    secret: bool,
    text: Cow<'a, str>,
}

impl Found<'_> {
    fn nothing<E>() -> Result<Self, E> {
        Ok(Self { secret: false, text: Cow::Borrowed("") })
    }
}

impl<'de> Deserialize<'de> for Found<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FoundVisitor)
    }
}

struct FoundVisitor;

impl<'de> Visitor<'de> for FoundVisitor {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Found::nothing()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Found::nothing()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Found::nothing()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Found::nothing()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Found::nothing()
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Found { secret: has_password_in_url(text), text: Cow::Borrowed(text) })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Found { secret: has_password_in_url(text), text: Cow::Owned(text.to_owned()) })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut secret = false;
        while let Some(found) = seq.next_element::<Found<'de>>()? {
            secret |= found.secret;
        }
        Ok(Found { secret, text: Cow::Borrowed("") })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut secret, mut has_value, mut names) = (false, false, Vec::new());
        while let Some(key) = map.next_key::<Word<'de>>()? {
            let found: Found<'de> = map.next_value()?;
            secret |= found.secret;
            match &*key.0 {
                "name" => names.push(found.text),
                "value" | "string" | "array" | "map" => has_value = true,
                _ => {}
            }
        }
        secret |= has_value && names.iter().any(|name| is_sensitive(name));
        Ok(Found { secret, text: Cow::Borrowed("") })
    }
}
