//! The actions of a Go template: what stands between `{{` and `}}`, as words.
//!
//! Takes the text of a template; hands on [`Action`]s in order. What is no template is not noticed here: helm says it.

use std::ops::Range;

/// One action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Action {
    /// Bytes of it, braces included.
    pub(super) span: Range<usize>,
    /// What it says; nothing for a comment.
    pub(super) words: Vec<Word>,
}

/// A word of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A name, a field, a variable, a number.
    Plain(String),
    /// The contents of a string.
    Text(String),
    /// `:=` or `=`.
    Assign,
    /// A parenthesis, pipe or comma.
    Mark(char),
}

/// All actions of a text.
pub(super) fn actions(text: &str) -> Vec<Action> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = text.get(at..).and_then(|rest| rest.find("{{")).map(|start| at + start) {
        let (words, end) = words(text, start + 2);
        found.push(Action { span: start..end, words });
        at = end.max(start + 2);
    }
    found
}

/// The words of the action whose contents begin at a place, and where the action ends.
fn words(text: &str, start: usize) -> (Vec<Word>, usize) {
    let inside = text.get(start..).unwrap_or_default();
    let trimmed = inside.strip_prefix('-').unwrap_or(inside).trim_start();
    if trimmed.starts_with("/*") {
        let end = inside.find("*/").and_then(|comment| Some(comment + inside.get(comment..)?.find("}}")? + 2));
        return (Vec::new(), start + end.unwrap_or(inside.len()));
    }
    let mut words = Vec::new();
    let mut rest = inside;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else { return (words, text.len()) };
        if rest.starts_with("}}") {
            return (words, at + 2);
        }
        let length = match first {
            '"' | '`' | '\'' => {
                let length = quoted(rest, first);
                words.push(Word::Text(unquoted(rest.get(1..length.saturating_sub(1)).unwrap_or_default(), first)));
                length
            }
            '(' | ')' | '|' | ',' => {
                words.push(Word::Mark(first));
                1
            }
            '=' => {
                words.push(Word::Assign);
                1
            }
            ':' if rest.starts_with(":=") => {
                words.push(Word::Assign);
                2
            }
            _ => {
                let ends = |(at, one): (usize, char)| {
                    let closes = rest.get(at..).is_some_and(|rest| rest.starts_with("}}") || rest.starts_with(":="));
                    (at > 0 && (closes || one.is_whitespace() || "()|,\"`=".contains(one))).then_some(at)
                };
                let length = rest.char_indices().find_map(ends).unwrap_or(rest.len());
                let word = rest.get(..length).unwrap_or_default();
                // The dashes that trim the text around an action.
                if word != "-" {
                    words.push(Word::Plain(word.to_owned()));
                }
                length
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// The length of a string that a text starts with, quotes included.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, one) in text.char_indices().skip(1) {
        match one {
            _ if escaped => escaped = false,
            '\\' if quote != '`' => escaped = true,
            _ if one == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn unquoted(text: &str, quote: char) -> String {
    if quote == '`' { text.to_owned() } else { text.replace("\\\"", "\"").replace("\\\\", "\\") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(word: &str) -> Word {
        Word::Plain(word.to_owned())
    }

    #[test]
    fn words_are_told_apart_with_or_without_trimming_dashes() {
        let text = "a: {{- $x := index .Values \"a b\" | default (dict) -}}\nb: {{ .Values.y }}";
        let found = actions(text);
        let expected = [
            plain("$x"),
            Word::Assign,
            plain("index"),
            plain(".Values"),
            Word::Text("a b".to_owned()),
            Word::Mark('|'),
            plain("default"),
            Word::Mark('('),
            plain("dict"),
            Word::Mark(')'),
        ];
        assert_eq!(found[0].words, expected);
        assert_eq!(&text[found[1].span.clone()], "{{ .Values.y }}");
        assert_eq!(found[1].words, [plain(".Values.y")]);
    }

    #[test]
    fn braces_in_strings_and_comments_end_nothing() {
        let found = actions("{{ printf \"}}%s\\\"\" .x }}{{/* {{ .y }} */}}{{ .z }}");
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].words[1], Word::Text("}}%s\"".to_owned()));
        assert!(found[1].words.is_empty());
        assert_eq!(found[2].words, [plain(".z")]);
    }

    #[test]
    fn an_action_that_never_ends_is_one_to_the_end() {
        assert_eq!(actions("a {{ .x").len(), 1);
        assert_eq!(actions("a {{ \"x").len(), 1);
        assert_eq!(actions("a {{/* x").len(), 1);
        assert!(actions("é: {").is_empty());
    }
}
