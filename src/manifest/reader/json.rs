//! JSON text as events, by the rules of Go's `encoding/json`.
//!
//! Takes text that starts with a JSON value, hands on events and where the value ends. Does not recurse.

use std::borrow::Cow;
use std::ops::Range;

use super::error::{Problem, ReadErrorKind};
use super::event::{Event, Events, Scalar, Spanned};

/// Go's limit for nested JSON (`encoding/json`, `scanner.go:maxNestingDepth`).
pub(crate) const GO_MAX_DEPTH: usize = 10_000;

#[derive(Clone, Copy, PartialEq)]
enum Expect {
    /// A value that must come.
    Value,
    /// A value or the end of a list that has just been opened.
    FirstValue,
    /// A key that must come.
    Key,
    /// A key or the end of a map that has just been opened.
    FirstKey,
    /// A comma or the end of the innermost map or list.
    CommaOrEnd,
    /// The value is complete.
    Nothing,
}

/// Reads one JSON value.
pub(crate) struct JsonEvents<'text> {
    text: &'text str,
    position: usize,
    end: usize,
    expect: Expect,
    /// Whether each open collection is a map, outermost first.
    open: Vec<bool>,
}

impl<'text> JsonEvents<'text> {
    /// Reads the JSON value at the start of `range` of `text`; the ranges of the events count from the start of `text`.
    pub(crate) fn new(text: &'text str, range: Range<usize>) -> Self {
        let end = range.end.min(text.len());
        Self { text, position: range.start, end, expect: Expect::Value, open: Vec::new() }
    }

    /// Where reading stands: behind the last event, so behind the value when all events have been taken.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Whether the whole value has been taken and nothing but blanks follows.
    pub(crate) fn is_complete(&mut self) -> bool {
        self.expect == Expect::Nothing && self.peek().is_none()
    }

    /// Skips blanks and hands back the first byte behind them.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.position..self.end)?;
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.position += blanks;
        rest.get(blanks).copied()
    }

    fn fail<T>(&self, expected: &str) -> Result<T, Problem> {
        let found = self.text.get(self.position..self.end).and_then(|rest| rest.chars().next());
        let message = match found {
            Some(found) => format!("expected {expected}, found `{}`", found.escape_debug()),
            None => format!("expected {expected}, but the text ends"),
        };
        Err(Problem::new(ReadErrorKind::Json(message), self.position))
    }

    fn after_value(&mut self) {
        self.expect = if self.open.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
    }

    fn open(&mut self, is_map: bool, event: Event<'text>) -> Result<Spanned<'text>, Problem> {
        if self.open.len() >= GO_MAX_DEPTH {
            return Err(Problem::new(ReadErrorKind::TooDeep { limit: GO_MAX_DEPTH }, self.position));
        }
        self.open.push(is_map);
        self.expect = if is_map { Expect::FirstKey } else { Expect::FirstValue };
        self.position += 1;
        Ok((event, self.position - 1..self.position))
    }

    fn close(&mut self) -> Spanned<'text> {
        self.open.pop();
        self.after_value();
        self.position += 1;
        (Event::End { closed: true }, self.position - 1..self.position)
    }

    fn value(&mut self) -> Result<Spanned<'text>, Problem> {
        let start = self.position;
        let value = match self.peek() {
            Some(b'{') => return self.open(true, Event::MapStart { anchor: 0 }),
            Some(b'[') => return self.open(false, Event::ListStart { anchor: 0 }),
            Some(b'"') => Scalar::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Scalar::Bool(true))?,
            Some(b'f') => self.word("false", Scalar::Bool(false))?,
            Some(b'n') => self.word("null", Scalar::Null)?,
            _ => return self.fail("a value"),
        };
        self.after_value();
        Ok((Event::Scalar { value, merge: false, anchor: 0 }, start..self.position))
    }

    fn key(&mut self) -> Result<Spanned<'text>, Problem> {
        let start = self.position;
        let key = self.string()?;
        let range = start..self.position;
        if self.peek() != Some(b':') {
            return self.fail("`:`");
        }
        self.position += 1;
        self.expect = Expect::Value;
        Ok((Event::Scalar { value: Scalar::Text(key), merge: false, anchor: 0 }, range))
    }

    fn word(&mut self, word: &str, value: Scalar<'text>) -> Result<Scalar<'text>, Problem> {
        let rest = self.text.get(self.position..self.end).unwrap_or_default();
        if !rest.starts_with(word) {
            return self.fail(&format!("`{word}`"));
        }
        self.position += word.len();
        Ok(value)
    }

    fn digits(&mut self) -> usize {
        let rest = self.text.as_bytes().get(self.position..self.end).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.position += count;
        count
    }

    fn at(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position..self.end)?.first().copied()
    }

    fn number(&mut self) -> Result<Scalar<'text>, Problem> {
        let start = self.position;
        let mut whole = true;
        if self.at() == Some(b'-') {
            self.position += 1;
        }
        if self.at() == Some(b'0') {
            self.position += 1;
        } else if self.digits() == 0 {
            return self.fail("a digit");
        }
        if self.at() == Some(b'.') {
            whole = false;
            self.position += 1;
            if self.digits() == 0 {
                return self.fail("a digit");
            }
        }
        if matches!(self.at(), Some(b'e' | b'E')) {
            whole = false;
            self.position += 1;
            if matches!(self.at(), Some(b'+' | b'-')) {
                self.position += 1;
            }
            if self.digits() == 0 {
                return self.fail("a digit");
            }
        }
        let digits = self.text.get(start..self.position).unwrap_or_default();
        if whole && let Ok(integer) = digits.parse() {
            return Ok(Scalar::Integer(integer));
        }
        match digits.parse::<f64>() {
            Ok(float) if float.is_finite() => Ok(Scalar::Float(float)),
            _ => Err(Problem::new(ReadErrorKind::Number(digits.to_owned()), start)),
        }
    }

    fn string(&mut self) -> Result<Cow<'text, str>, Problem> {
        if self.at() != Some(b'"') {
            return self.fail("a key in double quotes");
        }
        self.position += 1;
        let mut decoded: Option<String> = None;
        loop {
            let rest = self.text.get(self.position..self.end).unwrap_or_default();
            let plain = rest.bytes().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1F)).count();
            let (text, rest) = rest.split_at_checked(plain).unwrap_or((rest, ""));
            self.position += plain;
            match rest.as_bytes().first() {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(match decoded {
                        Some(decoded) => Cow::Owned(decoded + text),
                        None => Cow::Borrowed(text),
                    });
                }
                Some(b'\\') => {
                    self.position += 1;
                    let decoded = decoded.get_or_insert_default();
                    decoded.push_str(text);
                    decoded.push(self.escape()?);
                }
                Some(_) => return self.fail("no control character in a string"),
                None => return self.fail("`\"`"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Problem> {
        let character = match self.at() {
            Some(quoted @ (b'"' | b'\\' | b'/')) => char::from(quoted),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{C}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.position += 1;
                return self.unicode_escape();
            }
            _ => return self.fail("an escape"),
        };
        self.position += 1;
        Ok(character)
    }

    /// Half a surrogate pair becomes U+FFFD, as in Go.
    fn unicode_escape(&mut self) -> Result<char, Problem> {
        let Some(first) = self.hex() else {
            return self.fail("four hexadecimal digits");
        };
        let before_second = self.position;
        if (0xD800..0xDC00).contains(&first) && self.text.get(self.position..self.end).is_some_and(|rest| rest.starts_with("\\u")) {
            self.position += 2;
            if let Some(second) = self.hex()
                && let Some(Ok(character)) = char::decode_utf16([first, second]).next()
            {
                return Ok(character);
            }
            self.position = before_second;
        }
        Ok(char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Option<u16> {
        let digits = self.text.get(self.position..self.end)?.get(..4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.position += 4;
        u16::from_str_radix(digits, 16).ok()
    }
}

impl<'text> Events<'text> for JsonEvents<'text> {
    fn next_event(&mut self) -> Result<Option<Spanned<'text>>, Problem> {
        loop {
            if self.expect == Expect::Nothing {
                return Ok(None);
            }
            let next = self.peek();
            let in_map = self.open.last().copied().unwrap_or_default();
            match (self.expect, next) {
                (Expect::FirstKey | Expect::CommaOrEnd, Some(b'}')) if in_map => {
                    return Ok(Some(self.close()));
                }
                (Expect::FirstValue | Expect::CommaOrEnd, Some(b']')) if !in_map => {
                    return Ok(Some(self.close()));
                }
                (Expect::CommaOrEnd, Some(b',')) => {
                    self.position += 1;
                    self.expect = if in_map { Expect::Key } else { Expect::Value };
                }
                (Expect::CommaOrEnd, _) => {
                    return self.fail(if in_map { "`,` or `}`" } else { "`,` or `]`" });
                }
                (Expect::FirstKey | Expect::Key, _) => return self.key().map(Some),
                _ => return self.value().map(Some),
            }
        }
    }
}
