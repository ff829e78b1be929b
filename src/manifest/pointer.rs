//! The name of a place inside a document: an RFC 6901 JSON pointer, kept as unescaped tokens.
//!
//! Takes `/spec/containers/0/image` or tokens, hands on the value at that place or the text again.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// A JSON pointer (RFC 6901). The empty pointer names the whole document.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer {
    tokens: Vec<String>,
}

/// Text that is no JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PointerError {
    /// A pointer that is not empty starts with a slash.
    #[error("a JSON pointer starts with `/`, but this one is `{0}`")]
    NoLeadingSlash(String),
    /// `~` is only allowed as `~0` (a tilde) or `~1` (a slash).
    #[error("`~` must be written `~0` in a JSON pointer, but this one is `{0}`")]
    BadEscape(String),
}

impl Pointer {
    /// The pointer to the whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// Reads the text form, for example `/metadata/annotations/example.com~1name`.
    ///
    /// # Errors
    /// When the text is not empty and does not start with `/`, or holds a `~` that is not `~0` or `~1`.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        if text.is_empty() {
            return Ok(Self::root());
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(PointerError::NoLeadingSlash(text.to_owned()));
        };
        let tokens = rest
            .split('/')
            .map(|token| unescape(token).ok_or_else(|| PointerError::BadEscape(text.to_owned())))
            .collect::<Result<_, _>>()?;
        Ok(Self { tokens })
    }

    /// The unescaped tokens, outermost first.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Whether this pointer names the whole document.
    pub fn is_root(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Steps into a map key or a list position; `token` is not escaped.
    pub fn push(&mut self, token: impl Into<String>) {
        self.tokens.push(token.into());
    }

    /// Steps out once and hands back the token that was left.
    pub fn pop(&mut self) -> Option<String> {
        self.tokens.pop()
    }

    /// A new pointer one step deeper; `token` is not escaped.
    #[must_use]
    pub fn join(&self, token: impl Into<String>) -> Self {
        let mut deeper = self.clone();
        deeper.push(token);
        deeper
    }

    /// The pointer one step out, `None` at the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, outer) = self.tokens.split_last()?;
        Some(Self { tokens: outer.to_vec() })
    }

    /// The value at this place, if there is one.
    pub fn get<'value>(&self, root: &'value Value) -> Option<&'value Value> {
        self.tokens.iter().try_fold(root, |value, token| match value {
            Value::Object(map) => map.get(token),
            Value::Array(list) => list.get(list_position(token)?),
            _ => None,
        })
    }
}

/// The list position that a token means: digits without a leading zero (RFC 6901 §4).
pub(crate) fn list_position(token: &str) -> Option<usize> {
    let canonical = token == "0" || !token.starts_with('0');
    if canonical && token.bytes().all(|byte| byte.is_ascii_digit()) { token.parse().ok() } else { None }
}

/// A key as it stands in the text of a pointer.
pub fn escape(token: &str) -> Cow<'_, str> {
    if token.contains(['~', '/']) { Cow::Owned(token.replace('~', "~0").replace('/', "~1")) } else { Cow::Borrowed(token) }
}

fn unescape(token: &str) -> Option<String> {
    let mut plain = String::with_capacity(token.len());
    let mut characters = token.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '~' => match characters.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain)
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for token in &self.tokens {
            write!(formatter, "/{}", escape(token))?;
        }
        Ok(())
    }
}

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl<T: Into<String>> FromIterator<T> for Pointer {
    fn from_iter<I: IntoIterator<Item = T>>(tokens: I) -> Self {
        Self { tokens: tokens.into_iter().map(Into::into).collect() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_form_survives_slashes_and_tildes_in_keys() {
        let pointer: Pointer = ["metadata", "annotations", "a.io/b~c"].into_iter().collect();
        assert_eq!(pointer.to_string(), "/metadata/annotations/a.io~1b~0c");
        assert_eq!(Pointer::parse(&pointer.to_string()), Ok(pointer));
    }

    #[test]
    fn finds_values_in_maps_and_lists() {
        let value = json!({"spec": {"containers": [{"image": "a"}, {"image": "b"}], "": 1}});
        let get = |text: &str| Pointer::parse(text).ok().and_then(|pointer| pointer.get(&value).cloned());
        assert_eq!(get("/spec/containers/1/image"), Some(json!("b")));
        assert_eq!(get("/spec/"), Some(json!(1)));
        assert_eq!(get("/spec/containers/01"), None);
        assert_eq!(get("/spec/containers/+1"), None);
        assert_eq!(get("/spec/containers/2"), None);
        assert_eq!(get(""), Some(value.clone()));
    }

    #[test]
    fn refuses_text_that_is_no_pointer() {
        assert_eq!(Pointer::parse("spec"), Err(PointerError::NoLeadingSlash("spec".to_owned())));
        assert_eq!(Pointer::parse("/a~2"), Err(PointerError::BadEscape("/a~2".to_owned())));
        assert_eq!(Pointer::parse("/a~"), Err(PointerError::BadEscape("/a~".to_owned())));
    }

    #[test]
    fn steps_in_and_out() {
        let pointer = Pointer::root().join("spec").join("a/b");
        assert_eq!(pointer.to_string(), "/spec/a~1b");
        assert_eq!(pointer.parent(), Some(Pointer::root().join("spec")));
        assert_eq!(Pointer::root().parent(), None);
    }
}
