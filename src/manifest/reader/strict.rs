//! What go-yaml refuses although it is YAML, or reads otherwise than our parser.
//!
//! Takes the text of a document and where its scalars stand, hands on the places that Kubernetes would not read.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::error::{Problem, ReadErrorKind};

fn refused(message: &str, offset: usize) -> Problem {
    Problem::new(ReadErrorKind::Yaml(message.to_owned()), offset)
}

/// The first character that go-yaml refuses wherever it stands (`readerc.go:yaml_parser_update_buffer`). Offsets count from
/// the start of `document`, here and below.
pub(crate) fn forbidden_character(document: &str) -> Option<Problem> {
    // Most documents hold only bytes that need no second look.
    let suspicious = |byte: &u8| matches!(byte, 0..=8 | 11 | 12 | 14..=31 | 0x7F | 0xC2 | 0xEF);
    if !document.as_bytes().iter().any(suspicious) {
        return None;
    }
    let forbidden = |character: &char| {
        matches!(character, '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\u{E}'..='\u{1F}' | '\u{7F}'..='\u{84}'
            | '\u{86}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}')
    };
    let (offset, character) = document.char_indices().find(|(_, character)| forbidden(character))?;
    Some(Problem::new(ReadErrorKind::Character(character), offset))
}

/// Checks the name of an anchor (`scannerc.go:yaml_parser_scan_anchor`, `is_alpha`).
pub(crate) fn anchor_name(name: &str, offset: usize) -> Result<(), Problem> {
    if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
        return Ok(());
    }
    Err(refused("the name of an anchor may only have letters of the Latin alphabet, digits, `_` and `-`", offset))
}

/// Checks the source of a scalar that starts at `offset`.
pub(crate) fn scalar(source: &str, style: ScalarStyle, in_brackets: bool, offset: usize) -> Result<(), Problem> {
    match style {
        ScalarStyle::DoubleQuoted => escapes(source, offset),
        ScalarStyle::SingleQuoted => Ok(()),
        // `scannerc.go:yaml_parser_scan_plain_scalar`
        ScalarStyle::Plain if in_brackets && source.contains('?') => {
            Err(refused("`?` inside of brackets needs quotes in YAML as Kubernetes reads it", offset))
        }
        _ if source.is_ascii() => Ok(()),
        _ => line_separators(source, offset),
    }
}

/// Checks the text from the start of a key to its colon, inside of brackets (`scannerc.go:yaml_simple_key_is_valid`).
pub(crate) fn key_in_brackets(source: &str, offset: usize) -> Result<(), Problem> {
    if source.contains('\n') { Err(refused("a key and its `:` must stand on one line", offset)) } else { Ok(()) }
}

/// go-yaml knows neither `\/` nor surrogate pairs (`scannerc.go:yaml_parser_scan_flow_scalar`).
fn escapes(source: &str, offset: usize) -> Result<(), Problem> {
    let bytes = source.as_bytes();
    let mut position = 0;
    while let Some(at) = bytes.get(position..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let escape = position + at;
        match bytes.get(escape + 1..).unwrap_or_default() {
            [b'/', ..] => {
                return Err(refused("`\\/` is no escape in YAML as Kubernetes reads it; write `/`", offset + escape));
            }
            [b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..] => {
                return Err(refused("`\\u` cannot name half of a surrogate pair; write the character itself", offset + escape));
            }
            _ => {}
        }
        position = escape + 2;
    }
    Ok(())
}

/// To go-yaml (YAML 1.1) these characters end a line, so what follows stands at the margin and ends the scalar.
fn line_separators(source: &str, offset: usize) -> Result<(), Problem> {
    let mut characters = source.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let ends_line = matches!(character, '\u{2028}' | '\u{2029}');
        if ends_line && characters.peek().is_some_and(|(_, next)| !next.is_whitespace() && *next != '#') {
            return Err(Problem::new(ReadErrorKind::Character(character), offset + at));
        }
    }
    Ok(())
}

/// Watches over tabs: outside of brackets and scalars, go-yaml takes no tab where a key could begin
/// (`scannerc.go:yaml_parser_scan_to_next_token`).
pub(crate) struct Tabs {
    /// Tabs with nothing but blanks and `-`, `?`, `:` before them in their line, in order.
    offsets: std::vec::IntoIter<LeadingTab>,
    next: Option<LeadingTab>,
}

#[derive(Clone, Copy)]
struct LeadingTab {
    offset: usize,
    column: usize,
    behind_indicator: bool,
}

impl Tabs {
    pub(crate) fn new(document: &str) -> Self {
        let bytes = document.as_bytes();
        let leading = |offset: usize| {
            let before = bytes.get(..offset).unwrap_or_default();
            let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
            let before = before.get(line_start..).unwrap_or_default();
            let indicator = |byte: &u8| matches!(byte, b'-' | b'?' | b':');
            let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
            let only_indicators =
                before.iter().all(|byte| blank(byte) || indicator(byte)) && !before.windows(2).any(|pair| pair.iter().all(indicator));
            only_indicators.then(|| LeadingTab { offset, column: before.len(), behind_indicator: before.iter().any(indicator) })
        };
        // The first tab of a line decides: it is the first that go-yaml meets.
        let mut line_end = 0;
        let mut offsets = Vec::new();
        for tab in memchr::memchr_iter(b'\t', bytes) {
            if tab < line_end {
                continue;
            }
            offsets.extend(leading(tab));
            line_end = bytes.get(tab..).and_then(|rest| memchr::memchr(b'\n', rest)).map_or(bytes.len(), |at| tab + at);
        }
        let mut offsets = offsets.into_iter();
        let next = offsets.next();
        Self { offsets, next }
    }

    /// Checks up to the token at `range`. `in_brackets` tells whether the text before it is inside a flow collection;
    /// `plain_until` is the column from which blanks may go on after a plain scalar, when one stands before.
    pub(crate) fn check(&mut self, range: &Range<usize>, in_brackets: bool, plain_from: Option<usize>) -> Result<(), Problem> {
        while let Some(tab) = self.next.filter(|tab| tab.offset < range.end.max(range.start + 1)) {
            let allowed =
                tab.offset >= range.start || in_brackets || plain_from.is_some_and(|column| !tab.behind_indicator && tab.column >= column);
            if !allowed {
                return Err(refused("a tab cannot stand here; indent with spaces", tab.offset));
            }
            self.next = self.offsets.next();
        }
        Ok(())
    }
}
