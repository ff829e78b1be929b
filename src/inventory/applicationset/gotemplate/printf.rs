//! Go's `fmt.Sprintf` for the values of templates.
//!
//! Source: Go `fmt/print.go` and `fmt/format.go`.

use super::TemplateError;
use crate::inventory::applicationset::params::{Value, print_float};

/// Columns that a width may ask for.
const WIDTH: usize = 65_536;

#[derive(Default)]
struct Flags {
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// Formats the arguments.
///
/// # Errors
/// Where a width is too large, or the format is one that presync does not know.
pub(super) fn format(format: &str, arguments: &[Value]) -> Result<String, TemplateError> {
    let mut out = String::new();
    let mut arguments_left = arguments.iter();
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let mut flags = Flags::default();
        while let Some(flag) = letters.next_if(|letter| "-+# 0".contains(*letter)) {
            match flag {
                '-' => flags.minus = true,
                '+' => flags.plus = true,
                '#' => flags.sharp = true,
                ' ' => flags.space = true,
                _ => flags.zero = true,
            }
        }
        flags.width = number(&mut letters)?;
        if letters.next_if_eq(&'.').is_some() {
            flags.precision = Some(number(&mut letters)?.unwrap_or(0));
        }
        match letters.next() {
            None => out.push_str("%!(NOVERB)"),
            Some('%') => out.push('%'),
            Some('*' | '[') => return Err(TemplateError::Unjudged("printf with `*` or `[` in its format is not evaluated".to_owned())),
            Some(verb) if is_not_followed(verb, &flags, arguments_left.as_slice().first()) => {
                return Err(TemplateError::Unjudged(format!("printf with a verb such as `%#v` or `%U` is not evaluated (`{verb}`)")));
            }
            Some(verb) => match arguments_left.next() {
                None => out.push_str(&format!("%!{verb}(MISSING)")),
                Some(value) => one(&mut out, verb, value, &flags),
            },
        }
    }
    let extra: Vec<String> = arguments_left.map(described).collect();
    if !extra.is_empty() {
        out.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    Ok(out)
}

/// Whether the verb writes code points, or Go's own syntax of a value that is no text.
fn is_not_followed(verb: char, flags: &Flags, value: Option<&Value>) -> bool {
    verb == 'U' || (verb == 'v' && flags.sharp && value.is_some_and(|value| !matches!(value, Value::Text(_))))
}

fn number(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Option<usize>, TemplateError> {
    let mut digits = String::new();
    while let Some(digit) = letters.next_if(char::is_ascii_digit) {
        digits.push(digit);
    }
    if digits.is_empty() {
        return Ok(None);
    }
    match digits.parse() {
        Ok(number) if number <= WIDTH => Ok(Some(number)),
        _ => Err(TemplateError::Unjudged(format!("printf with a width of {digits} is not evaluated"))),
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::Missing | Value::Nil => "<nil>".to_owned(),
        other => format!("{}={}", other.type_name(), other.print()),
    }
}

fn one(out: &mut String, verb: char, value: &Value, flags: &Flags) {
    if let (Value::List(items), true) = (value, verb != 'v' && verb != 'T') {
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            one(out, verb, item, flags);
        }
        out.push(']');
        return;
    }
    let text = match (verb, value) {
        ('T', value) => value.type_name().to_owned(),
        ('v', Value::Text(text)) if flags.sharp => quoted(text),
        ('v', Value::Missing | Value::Nil) => "<nil>".to_owned(),
        ('v' | 'd', Value::Int(number) | Value::Int64(number)) => signed(number.to_string(), *number >= 0, flags),
        ('v', Value::Float(number)) => signed(print_float(*number), *number >= 0.0, flags),
        ('v', value) => value.print(),
        ('s', Value::Text(text)) => cut(text, flags.precision),
        ('s', map @ Value::Map(_)) => map.print(),
        ('q', Value::Text(text)) => quoted(text),
        ('x', Value::Text(text)) => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
        ('X', Value::Text(text)) => text.bytes().map(|byte| format!("{byte:02X}")).collect(),
        ('t', Value::Bool(on)) => on.to_string(),
        ('x', Value::Int(number) | Value::Int64(number)) => in_base(*number, |magnitude| format!("{magnitude:x}")),
        ('X', Value::Int(number) | Value::Int64(number)) => in_base(*number, |magnitude| format!("{magnitude:X}")),
        ('o', Value::Int(number) | Value::Int64(number)) => in_base(*number, |magnitude| format!("{magnitude:o}")),
        ('b', Value::Int(number) | Value::Int64(number)) => in_base(*number, |magnitude| format!("{magnitude:b}")),
        ('c', Value::Int(number) | Value::Int64(number)) => {
            u32::try_from(*number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER).to_string()
        }
        ('f' | 'F', Value::Float(number)) => signed(format!("{number:.*}", flags.precision.unwrap_or(6)), *number >= 0.0, flags),
        ('e', Value::Float(number)) => signed(exponential(*number, flags.precision.unwrap_or(6)), *number >= 0.0, flags),
        ('g', Value::Float(number)) if flags.precision.is_none() => signed(print_float(*number), *number >= 0.0, flags),
        (verb, Value::Missing | Value::Nil) => format!("%!{verb}(<nil>)"),
        (verb, value) => format!("%!{verb}({})", described(value)),
    };
    let length = text.chars().count();
    let missing = flags.width.unwrap_or(0).saturating_sub(length);
    let zero = flags.zero && !flags.minus;
    if flags.minus {
        out.push_str(&text);
        out.extend(std::iter::repeat_n(' ', missing));
    } else if zero && matches!(value, Value::Int(_) | Value::Int64(_) | Value::Float(_)) {
        let (sign, digits) = text.split_at(usize::from(text.starts_with(['-', '+', ' '])));
        out.push_str(sign);
        out.extend(std::iter::repeat_n('0', missing));
        out.push_str(digits);
    } else {
        out.extend(std::iter::repeat_n(if zero { '0' } else { ' ' }, missing));
        out.push_str(&text);
    }
}

fn signed(text: String, positive: bool, flags: &Flags) -> String {
    match (positive, flags.plus, flags.space) {
        (true, true, _) => format!("+{text}"),
        (true, false, true) => format!(" {text}"),
        _ => text,
    }
}

fn cut(text: &str, precision: Option<usize>) -> String {
    precision.map_or_else(|| text.to_owned(), |precision| text.chars().take(precision).collect())
}

fn in_base(number: i64, write: impl Fn(u64) -> String) -> String {
    format!("{}{}", if number < 0 { "-" } else { "" }, write(number.unsigned_abs()))
}

fn exponential(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let exponent: i32 = exponent.parse().unwrap_or_default();
            format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
        None => text,
    }
}

/// A text in double quotes as Go writes it.
///
/// Source: Go `strconv/quote.go:Quote`.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            control if (control as u32) < 0x20 || control as u32 == 0x7f => out.push_str(&format!("\\x{:02x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
