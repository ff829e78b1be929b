//! Argo CD's globs without separators, compiled once.

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;

/// A glob in which `*` spans everything, with `{a,b}`, `[ab]` and `?`. One that does not compile matches nothing.
///
/// Source: Argo CD `util/glob/glob.go` (gobwas/glob without separators).
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Pattern {
    text: String,
    matcher: Matcher,
}

#[derive(Clone, Debug)]
enum Matcher {
    Any,
    Exact,
    Glob(Box<GlobMatcher>),
    Broken,
}

impl Pattern {
    /// Compiles a pattern.
    pub(crate) fn new(text: &str) -> Self {
        let matcher = if text == "*" {
            Matcher::Any
        } else if !text.contains(['*', '?', '[', '{', '\\']) {
            Matcher::Exact
        } else {
            compile(text).map_or(Matcher::Broken, |glob| Matcher::Glob(Box::new(glob)))
        };
        Self { text: text.to_owned(), matcher }
    }

    /// Whether the whole text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Any => true,
            Matcher::Exact => self.text == text,
            Matcher::Glob(glob) => glob.is_match(text),
            Matcher::Broken => false,
        }
    }

    /// The pattern as written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl Default for Pattern {
    /// The empty pattern, which matches the empty text.
    fn default() -> Self {
        Self::new("")
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// `globset` gives `**` a meaning of its own, so runs of `*` become one.
fn compile(pattern: &str) -> Option<GlobMatcher> {
    let mut single = String::with_capacity(pattern.len());
    for character in pattern.chars() {
        if !(character == '*' && single.ends_with('*')) {
            single.push(character);
        }
    }
    let glob = GlobBuilder::new(&single).literal_separator(false).backslash_escape(true).empty_alternates(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_span_separators_and_know_alternatives() {
        let matches = |pattern: &str, text: &str| Pattern::new(pattern).matches(text);
        assert!(matches("*.example.{com,org}", "a/b.example.org"));
        assert!(matches("**", "a/b"));
        assert!(matches("apps", "apps") && !matches("apps", "apps2"));
        assert!(!matches("e[[a*", "e[[ab"));
        assert!(matches("", "") && !matches("", "apps"));
    }
}
