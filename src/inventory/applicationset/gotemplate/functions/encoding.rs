//! Functions between values and texts: JSON, YAML, base64, digests, regular expressions, versions.

use std::rc::Rc;

use regex::Regex;
use serde_json::Value as Json;
use sha1::Digest;

use super::Arguments;
use crate::inventory::applicationset::gotemplate::TemplateError;
use crate::inventory::applicationset::params::{Dict, Value};
use crate::manifest::base64;
use crate::manifest::reader::{self, Limits};
use crate::repo::semver::{Constraint, Version};

type Answer = Result<Value, TemplateError>;

fn of_json_text(text: &str) -> Option<Value> {
    serde_json::from_str::<Json>(text).ok().map(|json| Value::of_json(&json))
}

pub(super) fn from_json(arguments: &Arguments) -> Answer {
    Ok(of_json_text(&arguments.text(0)?).unwrap_or(Value::Nil))
}

pub(super) fn must_from_json(arguments: &Arguments) -> Answer {
    of_json_text(&arguments.text(0)?).ok_or_else(|| arguments.error("the text is no JSON"))
}

/// Source: Go `encoding/json`: letters that mean something in HTML are escaped.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            other => out.push(other),
        }
    }
    out
}

pub(super) fn to_json(arguments: &Arguments) -> Answer {
    Ok(Value::text(&escaped(&arguments.any(0).to_json().to_string())))
}

pub(super) fn to_raw_json(arguments: &Arguments) -> Answer {
    Ok(Value::text(&arguments.any(0).to_json().to_string()))
}

pub(super) fn to_pretty_json(arguments: &Arguments) -> Answer {
    let text = serde_json::to_string_pretty(&arguments.any(0).to_json()).map_err(|error| arguments.error(error))?;
    Ok(Value::text(&escaped(&text)))
}

pub(super) fn to_yaml(arguments: &Arguments) -> Answer {
    let text = serde_yaml::to_string(&marked(arguments.any(0).to_json())).map_err(|error| arguments.error(error))?;
    let text = text.replace(QUOTE, "\"");
    Ok(Value::text(text.strip_suffix('\n').unwrap_or(&text)))
}

/// Stands for a quotation mark until the YAML is written. No text of a repository has it: it is reserved for private use.
const QUOTE: char = '\u{f8f1}';

/// The value with marks around the texts that Go's writer puts in double quotes, since a reader of YAML 1.1 takes them for something else.
///
/// Source: go-yaml v2 `encode.go:stringv`.
fn marked(value: Json) -> Json {
    let text = |text: String| if reads_as_other(&text) { format!("{QUOTE}{text}{QUOTE}") } else { text };
    match value {
        Json::String(one) => Json::String(text(one)),
        Json::Array(items) => items.into_iter().map(marked).collect(),
        Json::Object(fields) => fields.into_iter().map(|(name, value)| (text(name), marked(value))).collect(),
        other => other,
    }
}

/// Whether a text without quotation marks would be read as a number, a truth value, nothing, a time, or a number to the base of 60.
fn reads_as_other(text: &str) -> bool {
    let is_word = !text.contains(['\n', '"', '\\', '#', ':', ' ', '{', '[', '&', '*', '!', '|', '>', '\'', '%', '@', '`', ',']);
    let resolved = || match read_stream(text).as_slice() {
        [] => true,
        [one] => !matches!(one, Json::String(_) | Json::Array(_) | Json::Object(_)),
        _ => false,
    };
    matches!(text, "" | "y" | "Y" | "n" | "N") || (is_word && resolved()) || is_time(text) || is_sexagesimal(text)
}

fn read_stream(text: &str) -> Vec<Json> {
    reader::read_stream(text, &Limits::default()).documents.into_iter().map(|document| document.value).collect()
}

/// A date, alone or with a time behind it.
fn is_time(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let digits = |part: Option<&str>, least: usize, most: usize| {
        part.is_some_and(|part| (least..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let (year, month, rest) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
    let day = rest.find(['T', 't', ' ']).map_or(rest, |end| rest.get(..end).unwrap_or_default());
    digits(year, 4, 4) && digits(month, 1, 2) && digits(Some(day), 1, 2)
}

/// Numbers such as `1:30`.
fn is_sexagesimal(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut parts = text.split(':');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_' || byte == b'.');
    text.contains(':')
        && parts.next().is_some_and(|first| first.starts_with(|letter: char| letter.is_ascii_digit()) && is_number(first))
        && parts.all(is_number)
}

/// The first document of a text.
fn document(arguments: &Arguments) -> Result<Json, TemplateError> {
    let text = arguments.text(0)?;
    let stream = reader::read_stream(&text, &Limits::default());
    match (stream.documents.into_iter().next(), stream.error) {
        (Some(document), _) => Ok(document.value),
        (None, Some(error)) => Err(arguments.error(error.kind)),
        (None, None) => Ok(Json::Null),
    }
}

pub(super) fn from_yaml(arguments: &Arguments) -> Answer {
    match document(arguments)? {
        Json::Null => Ok(Value::Map(Rc::new(Dict::default()))),
        map @ Json::Object(_) => Ok(Value::of_json(&map)),
        _ => Err(arguments.error("json: cannot unmarshal into Go value of type map[string]interface {}")),
    }
}

pub(super) fn from_yaml_array(arguments: &Arguments) -> Answer {
    match document(arguments)? {
        Json::Null => Ok(Value::List(Rc::default())),
        list @ Json::Array(_) => Ok(Value::of_json(&list)),
        _ => Err(arguments.error("json: cannot unmarshal into Go value of type []interface {}")),
    }
}

pub(super) fn b64enc(arguments: &Arguments) -> Answer {
    Ok(Value::text(&base64::encode(arguments.text(0)?.as_bytes())))
}

pub(super) fn b64dec(arguments: &Arguments) -> Answer {
    match base64::decode(&arguments.text(0)?).map(String::from_utf8) {
        Some(Ok(text)) => Ok(Value::text(&text)),
        _ => Err(TemplateError::Unjudged("b64dec of something that is no base64 of a text is not evaluated".to_owned())),
    }
}

fn hexadecimal(bytes: &[u8]) -> Value {
    Value::text(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

pub(super) fn sha256sum(arguments: &Arguments) -> Answer {
    Ok(hexadecimal(&sha2::Sha256::digest(arguments.text(0)?.as_bytes())))
}

pub(super) fn sha1sum(arguments: &Arguments) -> Answer {
    Ok(hexadecimal(&sha1::Sha1::digest(arguments.text(0)?.as_bytes())))
}

pub(super) fn adler32sum(arguments: &Arguments) -> Answer {
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in arguments.text(0)?.bytes() {
        low = (low + u32::from(byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    Ok(Value::text(&((high << 16) | low).to_string()))
}

fn pattern(arguments: &Arguments) -> Result<Regex, TemplateError> {
    Regex::new(&arguments.text(0)?).map_err(|error| arguments.error(error))
}

pub(super) fn regex_match(arguments: &Arguments) -> Answer {
    let text = arguments.text(1)?;
    Ok(Value::Bool(pattern(arguments).is_ok_and(|pattern| pattern.is_match(&text))))
}

pub(super) fn must_regex_match(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(pattern(arguments)?.is_match(&arguments.text(1)?)))
}

pub(super) fn regex_find(arguments: &Arguments) -> Answer {
    must_regex_find(arguments)
}

pub(super) fn must_regex_find(arguments: &Arguments) -> Answer {
    let text = arguments.text(1)?;
    Ok(Value::text(pattern(arguments)?.find(&text).map_or("", |found| found.as_str())))
}

/// How many results a count of Go's asks for; negative means all.
fn limit(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

pub(super) fn regex_find_all(arguments: &Arguments) -> Answer {
    let (text, count) = (arguments.text(1)?, arguments.int(2)?);
    let pattern = pattern(arguments)?;
    let found = pattern.find_iter(&text).take(limit(count)).map(|found| Value::text(found.as_str()));
    Ok(Value::List(Rc::new(found.collect())))
}

/// The replacement with Go's `${1}` and `$1`, which are the same here.
pub(super) fn regex_replace_all(arguments: &Arguments) -> Answer {
    let (text, replacement) = (arguments.text(1)?, arguments.text(2)?);
    Ok(Value::text(&pattern(arguments)?.replace_all(&text, &*replacement)))
}

pub(super) fn regex_replace_all_literal(arguments: &Arguments) -> Answer {
    let (text, replacement) = (arguments.text(1)?, arguments.text(2)?);
    Ok(Value::text(&pattern(arguments)?.replace_all(&text, regex::NoExpand(&replacement))))
}

pub(super) fn regex_split(arguments: &Arguments) -> Answer {
    let (text, count) = (arguments.text(1)?, arguments.int(2)?);
    let pattern = pattern(arguments)?;
    let parts: Vec<Value> = match limit(count) {
        0 => Vec::new(),
        usize::MAX => pattern.split(&text).map(Value::text).collect(),
        count => pattern.splitn(&text, count).map(Value::text).collect(),
    };
    Ok(Value::List(Rc::new(parts)))
}

pub(super) fn regex_quote_meta(arguments: &Arguments) -> Answer {
    let mut out = String::new();
    for letter in arguments.text(0)?.chars() {
        if "\\.+*?()|[]{}^$".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    Ok(Value::text(&out))
}

/// The parts of a version; Go's type has more, which templates do not use.
pub(super) fn semver(arguments: &Arguments) -> Answer {
    let text = arguments.text(0)?;
    Version::parse(&text).ok_or_else(|| arguments.error("Invalid Semantic Version"))?;
    let core = text.trim_start_matches('v');
    let core = core.split(['-', '+']).next().unwrap_or_default();
    let mut numbers = core.split('.').map(|number| number.parse().unwrap_or(0)).chain(std::iter::repeat(0));
    let mut entries = std::collections::BTreeMap::new();
    for name in ["Major", "Minor", "Patch"] {
        entries.insert(Rc::from(name), Value::Int64(numbers.next().unwrap_or(0)));
    }
    let without_metadata = text.split('+').next().unwrap_or_default();
    entries.insert("Prerelease".into(), Value::text(without_metadata.split_once('-').map_or("", |(_, rest)| rest)));
    entries.insert("Metadata".into(), Value::text(text.split_once('+').map_or("", |(_, rest)| rest)));
    entries.insert("Original".into(), Value::Text(Rc::clone(&text)));
    Ok(Value::Map(Dict::of(entries)))
}

pub(super) fn semver_compare(arguments: &Arguments) -> Answer {
    let (constraint, version) = (arguments.text(0)?, arguments.text(1)?);
    let constraint = Constraint::parse(&constraint).ok_or_else(|| arguments.error(format!("improper constraint: {constraint}")))?;
    let version = Version::parse(&version).ok_or_else(|| arguments.error("Invalid Semantic Version"))?;
    Ok(Value::Bool(constraint.matches(&version)))
}
