//! Which type an unquoted or tagged scalar has, by the rules of go-yaml v2 that Kubernetes uses (`resolve.go:resolve`).
//!
//! Takes the text of a scalar, hands on a [`Scalar`]. Differs from YAML 1.2 in many places: `yes`, `on` and `y` are
//! booleans, `0644` is octal, `1_000` is a number, unknown tags keep the text.

use std::borrow::Cow;

use super::error::ReadErrorKind;
use super::event::Scalar;
use crate::manifest::base64;

/// The tags that change how a scalar is read; any other tag keeps its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    Bool,
    Integer,
    Float,
    Null,
    Timestamp,
    Binary,
    Other,
}

impl Tag {
    /// From the part behind `tag:yaml.org,2002:`.
    pub(crate) fn from_core_name(name: &str) -> Self {
        match name {
            "bool" => Self::Bool,
            "int" => Self::Integer,
            "float" => Self::Float,
            "null" => Self::Null,
            "timestamp" => Self::Timestamp,
            "binary" => Self::Binary,
            _ => Self::Other,
        }
    }
}

/// The type of a plain scalar without a tag.
pub(crate) fn resolve(text: Cow<'_, str>) -> Scalar<'_> {
    untyped(&text).unwrap_or(Scalar::Text(text))
}

/// The type of a scalar with a tag, quoted or not.
pub(crate) fn resolve_tagged(text: Cow<'_, str>, tag: Tag) -> Result<Scalar<'_>, ReadErrorKind> {
    let typed = || untyped(&text);
    let (resolved, name) = match tag {
        Tag::Other => return Ok(Scalar::Text(text)),
        Tag::Binary => {
            return match base64::decode(&text) {
                Some(bytes) => Ok(Scalar::Text(Cow::Owned(replace_invalid_bytes(&bytes)))),
                None => Err(ReadErrorKind::Tag { tag: "!!binary (base64)", text: text.into_owned() }),
            };
        }
        Tag::Bool => (typed().filter(|value| matches!(value, Scalar::Bool(_))), "!!bool"),
        Tag::Integer => (typed().filter(|value| matches!(value, Scalar::Integer(_) | Scalar::Unsigned(_))), "!!int"),
        Tag::Float => {
            let float = typed().and_then(|value| match value {
                Scalar::Integer(integer) => Some(Scalar::Float(integer as f64)),
                Scalar::Float(_) => Some(value),
                _ => None,
            });
            (float, "!!float")
        }
        Tag::Null => (typed().filter(|value| matches!(value, Scalar::Null)), "!!null"),
        Tag::Timestamp => (is_timestamp(&text).then(|| Scalar::Text(text.clone())), "!!timestamp"),
    };
    resolved.ok_or_else(|| ReadErrorKind::Tag { tag: name, text: text.into_owned() })
}

/// `None` for text that stays text.
fn untyped(text: &str) -> Option<Scalar<'static>> {
    let Some(first) = text.bytes().next() else {
        return Some(Scalar::Null);
    };
    match first {
        b'0'..=b'9' | b'+' | b'-' => number(text),
        b'.' => match text {
            ".inf" | ".Inf" | ".INF" => Some(Scalar::Float(f64::INFINITY)),
            ".nan" | ".NaN" | ".NAN" => Some(Scalar::Float(f64::NAN)),
            _ => float(&without_separators(text)?),
        },
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' if text.len() <= 5 => word(text),
        _ => None,
    }
}

/// Go's `ParseFloat` takes underscores between digits.
fn without_separators(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(text.into());
    }
    let between_digits = |part: &str| part.starts_with(|first: char| first.is_ascii_digit());
    let parts: Vec<&str> = text.split('_').collect();
    let behind = parts.iter().skip(1).all(|part| between_digits(part));
    let before = parts.iter().rev().skip(1).all(|part| part.ends_with(|last: char| last.is_ascii_digit()));
    (behind && before).then(|| parts.concat().into())
}

fn word(text: &str) -> Option<Scalar<'static>> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(Scalar::Bool(true)),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(Scalar::Bool(false)),
        "~" | "null" | "Null" | "NULL" => Some(Scalar::Null),
        _ => None,
    }
}

fn number(text: &str) -> Option<Scalar<'static>> {
    match text {
        "+.inf" | "+.Inf" | "+.INF" => return Some(Scalar::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => return Some(Scalar::Float(f64::NEG_INFINITY)),
        _ => {}
    }
    let plain: Cow<'_, str> = if text.contains('_') { text.replace('_', "").into() } else { text.into() };
    integer(&plain).or_else(|| float(&plain)).or_else(|| signed_binary(&plain))
}

/// Go's `strconv.ParseInt` and then `ParseUint` with base 0, underscores already taken out.
fn integer(text: &str) -> Option<Scalar<'static>> {
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => (Some(b'-'), text.get(1..)?),
        b'+' => (Some(b'+'), text.get(1..)?),
        _ => (None, text),
    };
    let (radix, digits) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, unsigned.get(2..)?),
        [b'0', b'o' | b'O', _, ..] => (8, unsigned.get(2..)?),
        [b'0', b'b' | b'B', _, ..] => (2, unsigned.get(2..)?),
        [b'0', _, ..] => (8, unsigned.get(1..)?),
        _ => (10, unsigned),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    match sign {
        Some(b'-') => 0_i64.checked_sub_unsigned(magnitude).map(Scalar::Integer),
        _ => match i64::try_from(magnitude) {
            Ok(value) => Some(Scalar::Integer(value)),
            Err(_) if sign.is_some() => None,
            Err(_) => Some(Scalar::Unsigned(magnitude)),
        },
    }
}

/// go-yaml tries `0b` once more by hand, which lets a sign through behind the prefix: `0b-101` is -5.
fn signed_binary(text: &str) -> Option<Scalar<'static>> {
    let digits = text.strip_prefix("0b")?;
    i64::from_str_radix(digits, 2).ok().map(Scalar::Integer)
}

/// A decimal number in the shape `[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?` that is in the range of a 64-bit float.
fn float(text: &str) -> Option<Scalar<'static>> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let shaped = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    if !shaped || exponent.is_some_and(|exponent| exponent.is_empty() || !digits(exponent)) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(Scalar::Float)
}

/// The forms of `resolve.go:parseTimestamp`: a date, or a date and a time with a zone behind `T` or without one behind a blank.
fn is_timestamp(text: &str) -> bool {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at..)),
        None => (text, None),
    };
    let fields: Vec<&str> = date.split('-').collect();
    let [year, month, day] = fields.as_slice() else {
        return false;
    };
    let (Some(month), Some(day)) = (in_range(month, 1, 12), in_range(day, 1, 31)) else {
        return false;
    };
    let Ok(year) = year.parse::<i16>() else {
        return false;
    };
    if date.find('-') != Some(4) || jiff::civil::Date::new(year, month, day).is_err() {
        return false;
    }
    let Some(time) = time else { return true };
    let (clock, zoned) = match time.strip_prefix(' ') {
        Some(clock) => (clock, true),
        None => {
            let zoned = time.get(1..).unwrap_or_default();
            match zoned.strip_suffix('Z') {
                Some(clock) => (clock, true),
                None => match zoned.rfind(['+', '-']).and_then(|at| zoned.split_at_checked(at)) {
                    Some((clock, zone)) => (clock, is_zone(zone)),
                    None => (zoned, false),
                },
            }
        }
    };
    zoned && is_clock(clock)
}

fn in_range(text: &str, low: i8, high: i8) -> Option<i8> {
    let short = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|value| short && (low..=high).contains(value))
}

fn is_clock(text: &str) -> bool {
    let fields: Vec<&str> = text.split(':').collect();
    let [hour, minute, second] = fields.as_slice() else {
        return false;
    };
    let (second, fraction) = second.split_once(['.', ',']).unwrap_or((second, "0"));
    in_range(hour, 0, 23).is_some()
        && in_range(minute, 0, 59).is_some()
        && in_range(second, 0, 59).is_some()
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_zone(text: &str) -> bool {
    let hours_and_minutes = text.get(1..).and_then(|zone| zone.split_once(':'));
    hours_and_minutes.is_some_and(|(hours, minutes)| {
        hours.len() == 2 && minutes.len() == 2 && in_range(hours, 0, 24).is_some() && in_range(minutes, 0, 60).is_some()
    })
}

/// Go's JSON writer puts one U+FFFD for each byte that is no UTF-8.
fn replace_invalid_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// A map key as text (`sigs.k8s.io/yaml`, `yaml.go:convertToJSONableObject`): `y` becomes `true`, `0x10` becomes `16`.
pub(crate) fn key_text(key: Scalar<'_>) -> Result<String, ReadErrorKind> {
    match key {
        Scalar::Text(text) => Ok(text.into_owned()),
        Scalar::Bool(value) => Ok(value.to_string()),
        Scalar::Integer(value) => Ok(value.to_string()),
        Scalar::Float(value) => Ok(float_key(value as f32)),
        Scalar::Unsigned(_) => Err(ReadErrorKind::Key("a whole number over 9223372036854775807")),
        Scalar::Null => Err(ReadErrorKind::Key("null")),
    }
}

/// Go's `FormatFloat(value, 'g', -1, 32)`.
fn float_key(value: f32) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..21).contains(&exponent) || exponent >= 6 => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Scalar<'_> {
        resolve(Cow::Borrowed(text))
    }

    #[test]
    fn yaml_1_1_words_are_booleans_and_nulls() {
        assert_eq!(plain("yes"), Scalar::Bool(true));
        assert_eq!(plain("OFF"), Scalar::Bool(false));
        assert_eq!(plain("yEs"), Scalar::Text("yEs".into()));
        assert_eq!(plain("~"), Scalar::Null);
        assert_eq!(plain(""), Scalar::Null);
        assert_eq!(plain("nULL"), Scalar::Text("nULL".into()));
    }

    #[test]
    fn whole_numbers_follow_go_prefixes() {
        for (text, value) in [
            ("0644", 420),
            ("-0644", -420),
            ("0o17", 15),
            ("0X1F", 31),
            ("+0b11", 3),
            ("0b-101", -5),
            ("1__0_", 10),
            ("00", 0),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(plain(text), Scalar::Integer(value), "{text}");
        }
        assert_eq!(plain("18446744073709551615"), Scalar::Unsigned(u64::MAX));
        for text in ["0x", "0b", "-", "+", "0b2", "0x-1", "1:30", "2001-12-14", "0o9"] {
            assert_eq!(plain(text), Scalar::Text(text.into()), "{text}");
        }
    }

    #[test]
    fn floats_need_the_decimal_shape() {
        assert_eq!(plain("08"), Scalar::Float(8.0));
        assert_eq!(plain("5."), Scalar::Float(5.0));
        assert_eq!(plain(".5e+1"), Scalar::Float(5.0));
        assert_eq!(plain("1_0.5"), Scalar::Float(10.5));
        assert_eq!(plain(".5_0"), Scalar::Float(0.5));
        assert_eq!(plain("+18446744073709551615"), Scalar::Float(18_446_744_073_709_551_615.0));
        for text in [".", "1e", "1e400", "inf", "+inf", "-nan", "infinity", "0x1p4", ".5_", "._5", "-.nan"] {
            assert_eq!(plain(text), Scalar::Text(text.into()), "{text}");
        }
    }

    #[test]
    fn tags_force_or_refuse_a_type() {
        let tagged = |text: &'static str, tag| resolve_tagged(Cow::Borrowed(text), tag).ok();
        assert_eq!(tagged("1", Tag::Float), Some(Scalar::Float(1.0)));
        assert_eq!(tagged("yes", Tag::Bool), Some(Scalar::Bool(true)));
        assert_eq!(tagged("1.5", Tag::Integer), None);
        assert_eq!(tagged("12", Tag::Other), Some(Scalar::Text("12".into())));
        assert_eq!(tagged("aGk=", Tag::Binary), Some(Scalar::Text("hi".into())));
        assert_eq!(tagged("aGk", Tag::Binary), None);
        assert_eq!(tagged("aG k=", Tag::Binary), None);
        for text in ["2001-12-14", "2001-1-2 3:4:5.6", "2001-12-14T21:59:43.10-05:00", "2001-12-14t21:59:43Z"] {
            assert_eq!(tagged(text, Tag::Timestamp), Some(Scalar::Text(text.into())), "{text}");
        }
        for text in ["2001-02-30", "2001-12-14T21:59:43", "01-12-14", "2001-12-14 21:59:43Z", "2001-12-14T21:59:43-5"] {
            assert_eq!(tagged(text, Tag::Timestamp), None, "{text}");
        }
    }

    #[test]
    fn keys_are_written_as_sigs_yaml_writes_them() {
        for (text, key) in [
            ("y", "true"),
            ("0x10", "16"),
            ("1e6", "1e+06"),
            ("1.50", "1.5"),
            ("100000.0", "100000"),
            ("0.0001", "0.0001"),
            ("1e-7", "1e-07"),
            ("1e300", ".inf"),
            ("123456789.5", "1.2345679e+08"),
            ("2001-12-14", "2001-12-14"),
        ] {
            assert_eq!(key_text(plain(text)), Ok(key.to_owned()), "{text}");
        }
        assert!(key_text(Scalar::Null).is_err());
        assert!(key_text(Scalar::Unsigned(u64::MAX)).is_err());
    }
}
