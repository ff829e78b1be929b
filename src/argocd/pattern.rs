//! Argo CD's globs, compiled once.
//!
//! Takes the text of a pattern; tells which texts it matches.

use regex::Regex;
use serde::Deserialize;

/// A glob with `*`, `**`, `?`, `{a,b}`, `[ab]`, `[a-z]` and `[!a]`. One that does not compile matches nothing.
///
/// Source: Argo CD `util/glob/glob.go`, gobwas/glob `syntax/lexer/lexer.go`, `syntax/ast/parser.go`.
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
    Glob(Box<Regex>),
    Broken,
}

impl Pattern {
    /// Compiles a pattern in which `*` and `?` match everything.
    pub(crate) fn new(text: &str) -> Self {
        Self::compiled(text, None)
    }

    /// Compiles a pattern in which `*` and `?` do not match `separator`; `**` and classes do. A lone `*` matches everything.
    pub(crate) fn stopping_at(separator: char, text: &str) -> Self {
        Self::compiled(text, Some(separator))
    }

    fn compiled(text: &str, separator: Option<char>) -> Self {
        let matcher = if text == "*" {
            Matcher::Any
        } else if !text.contains(['*', '?', '[', '{', '\\']) {
            Matcher::Exact
        } else {
            expression(text, separator)
                .and_then(|text| Regex::new(&text).ok())
                .map_or(Matcher::Broken, |glob| Matcher::Glob(Box::new(glob)))
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

    /// Whether a namespace is meant, in a list of them: a pattern in slashes is a regular expression.
    ///
    /// Source: Argo CD `util/glob/list.go:MatchStringInList`.
    pub(crate) fn matches_namespace(&self, namespace: &str) -> bool {
        match self.text.strip_prefix('/').and_then(|pattern| pattern.strip_suffix('/')) {
            Some(expression) => Regex::new(expression).is_ok_and(|expression| expression.is_match(namespace)),
            None => self.matches(namespace),
        }
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

/// The regular expression of a glob; `None` where the glob is broken.
fn expression(pattern: &str, separator: Option<char>) -> Option<String> {
    let (any, single) = match separator.map(escaped) {
        None => (".*".to_owned(), ".".to_owned()),
        Some(separator) => (format!("[^{separator}]*"), format!("[^{separator}]")),
    };
    let mut expression = String::from("(?s)^(?:");
    let mut open = 0_usize;
    let mut rest = pattern.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '*' if rest.next_if_eq(&'*').is_some() => expression.push_str(".*"),
            '*' => expression.push_str(&any),
            '?' => expression.push_str(&single),
            '[' => expression.push_str(&class(&mut rest)?),
            '{' => {
                open += 1;
                expression.push_str("(?:");
            }
            ',' if open > 0 => expression.push('|'),
            '}' if open > 0 => {
                open -= 1;
                expression.push(')');
            }
            // The last character of a pattern escapes nothing and is left out.
            '\\' => expression.extend(rest.next().map(escaped)),
            other => expression.push_str(&escaped(other)),
        }
    }
    // Alternatives that are not closed end with the pattern.
    expression.push_str(&")".repeat(open));
    expression.push_str(")$");
    Some(expression)
}

/// A class is one range or a list of letters, which `!` turns round; `^` is a letter.
fn class(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let not = if rest.next_if_eq(&'!').is_some() { "^" } else { "" };
    let first = rest.next()?;
    if rest.next_if_eq(&'-').is_some() {
        let last = rest.next()?;
        let closed = rest.next()? == ']';
        return (closed && first <= last).then(|| format!("[{not}{}-{}]", escaped(first), escaped(last)));
    }
    let mut letters = String::new();
    let mut next = Some(first);
    while let Some(letter) = next {
        match letter {
            ']' if letters.is_empty() => return None,
            ']' => return Some(format!("[{not}{letters}]")),
            '\\' => letters.push_str(&escaped(rest.next()?)),
            letter => letters.push_str(&escaped(letter)),
        }
        next = rest.next();
    }
    None
}

/// A character that stands for itself, in classes as well.
fn escaped(character: char) -> String {
    if character.is_alphanumeric() { character.to_string() } else { format!("\\x{{{:x}}}", u32::from(character)) }
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

    #[test]
    fn each_construct_means_what_it_means_to_argo_cd() {
        for (pattern, text, expected) in [
            ("**/*.yaml", "a.yaml", false),
            ("**/*.yaml", "a/b.yaml", true),
            ("***", "a/b", true),
            ("?.yaml", "é.yaml", true),
            ("[ab].yaml", "b.yaml", true),
            ("[a-c].yaml", "b.yaml", true),
            ("[a-cx].yaml", "x.yaml", false),
            ("[ab-d].yaml", "-.yaml", true),
            ("[ab-d].yaml", "c.yaml", false),
            ("[c-a].yaml", "b.yaml", false),
            ("[!a].yaml", "b.yaml", true),
            ("[!a].yaml", "a.yaml", false),
            ("[!a-c].yaml", "/.yaml", true),
            ("[^a].yaml", "b.yaml", false),
            ("[^a].yaml", "^.yaml", true),
            ("[^a].yaml", "a.yaml", true),
            ("[]a].yaml", "a.yaml", false),
            ("[\\]a].yaml", "].yaml", true),
            ("[].yaml", "a.yaml", false),
            ("[a", "a", false),
            ("{a,b/{c,d}}.yaml", "b/d.yaml", true),
            ("{a,}.yaml", ".yaml", true),
            ("{a,b", "b", true),
            ("a,b}*", "a,b}c", true),
            ("a\\*b", "a*b", true),
            ("a\\*b", "axb", false),
            ("a*\\", "ab", true),
            ("a.b*", "axb", false),
            ("*$", "a$", true),
            ("A*", "ab", false),
            ("*", "a\nb", true),
            ("a*", "a\nb", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_separator_stops_single_stars_only() {
        let matches = |pattern: &str, text: &str| Pattern::stopping_at('/', pattern).matches(text);
        assert!(matches("*", "a/b") && matches("a/*", "a/b") && !matches("a/*", "a/b/c"));
        assert!(matches("a/**", "a/b/c") && !matches("a?b", "a/b") && matches("a[!x]b", "a/b"));
    }
}
