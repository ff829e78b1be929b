//! How text for people looks: colour, width, drawing characters, and text that cannot disturb a terminal.
//!
//! Takes strings of any origin; hands on strings that are safe to print.

use std::borrow::Cow;

use owo_colors::OwoColorize;

/// How text output looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Colours are wanted.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Drawing characters beyond ASCII are wanted.
    pub unicode: bool,
}

impl Default for Style {
    /// 100 columns, no colour, Unicode.
    fn default() -> Self {
        Self { color: false, width: 100, unicode: true }
    }
}

/// What a piece of text expresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Bad,
    Doubtful,
    Good,
    Known,
    Strong,
    Faint,
}

impl Style {
    /// Text in a tone.
    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let style = owo_colors::Style::new();
        let style = match tone {
            Tone::Bad => style.red().bold(),
            Tone::Doubtful => style.yellow(),
            Tone::Good => style.green(),
            Tone::Known => style.cyan(),
            Tone::Strong => style.bold(),
            Tone::Faint => style.dimmed(),
        };
        text.style(style).to_string()
    }

    /// The sign for left out text.
    pub(super) fn ellipsis(self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    /// The sign between an old and a new value.
    pub(super) fn arrow(self) -> &'static str {
        if self.unicode { "→" } else { "->" }
    }

    /// The sign before an element of a tree.
    pub(super) fn branch(self, last: bool) -> &'static str {
        match (self.unicode, last) {
            (true, true) => "└─",
            (true, false) => "├─",
            (false, true) => "`-",
            (false, false) => "|-",
        }
    }

    /// The line past the elements of a tree that belong to an earlier one.
    pub(super) fn bar(self) -> &'static str {
        if self.unicode { "│ " } else { "| " }
    }

    /// Text of at most `width` characters, shortened in the middle.
    pub(super) fn shorten(self, text: &str, width: usize) -> String {
        if fits(text, width) {
            return text.to_owned();
        }
        let room = width.saturating_sub(self.ellipsis().chars().count()).max(2);
        let tail = room / 3;
        let head_end = text.char_indices().nth(room - tail).map_or(text.len(), |(at, _)| at);
        let tail_start = text.char_indices().rev().nth(tail.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
        let (head, tail) = (text.get(..head_end).unwrap_or(text), text.get(tail_start..).unwrap_or_default());
        format!("{head}{}{tail}", self.ellipsis())
    }
}

/// Whether the text has at most `width` characters.
pub(super) fn fits(text: &str, width: usize) -> bool {
    text.len() <= width || text.chars().nth(width).is_none()
}

/// Number of columns, one a character.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// The text in one line, with every character that a terminal would act upon, or that hides or reorders text, written as an escape.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    clean_but(text, |_| false)
}

/// The same, but some of these characters stay.
pub(super) fn clean_but(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let acts = |c: char| acts_on_terminal(c) && !stays(c);
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// Control characters, directional overrides, invisible characters and separators of lines.
pub(super) fn acts_on_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A message of possibly several lines as one clean line.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split([' ', '\n', '\r', '\t']).filter(|word| !word.is_empty()).collect();
    clean(&words.join(" ")).into_owned()
}

/// Breaks clean text at spaces into lines of at most `width` characters; a longer word stands alone.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    wrap_pieces(text.split(' '), width)
}

/// The same for pieces that are not broken.
pub(super) fn wrap_pieces<'a>(pieces: impl IntoIterator<Item = &'a str>, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut filled) = (String::new(), 0);
    for word in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        let length = columns(word);
        if filled > 0 && filled + 1 + length > width {
            lines.push(std::mem::take(&mut line));
            filled = 0;
        }
        if filled > 0 {
            line.push(' ');
            filled += 1;
        }
        line.push_str(word);
        filled += length;
    }
    if filled > 0 {
        lines.push(line);
    }
    lines
}

/// The number with the fitting word.
pub(super) fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_hidden_characters_become_visible() {
        assert_eq!(clean("a\u{1b}[31mred\u{9b}2J"), r"a\u{1b}[31mred\u{9b}2J");
        assert_eq!(clean("safe\u{202e}txt\u{200b}"), r"safe\u{202e}txt\u{200b}");
        assert_eq!(clean("two\nlines\r"), r"two\nlines\r");
        assert!(matches!(clean("Größe 東京"), Cow::Borrowed("Größe 東京")));
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let style = Style::default();
        assert_eq!(style.shorten("abcdefghij", 10), "abcdefghij");
        assert_eq!(style.shorten("abcdefghijk", 7), "abcd…jk");
        assert_eq!(style.shorten("äöüäöüäöüäöü", 7), "äöüä…öü");
        assert_eq!(Style { unicode: false, ..style }.shorten("abcdefghijk", 9), "abcd...jk");
    }

    #[test]
    fn wrapping_breaks_at_spaces_only() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a averylongword b", 5), ["a", "averylongword", "b"]);
        assert!(wrap("  ", 5).is_empty());
    }
}
