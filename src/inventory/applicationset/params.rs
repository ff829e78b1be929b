//! Parameters of generators as Go sees them: what is `nil`, what is not there at all, floats, and maps that hold only texts.
//!
//! Takes JSON; hands on [`Value`]s, which are printed, flattened and merged as Argo CD does it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::{Map as JsonMap, Number, Value as Json};

/// Levels of nesting that are followed; what lies deeper is cut off.
const DEPTH: usize = 200;

/// A value in a template.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Nothing: a key that a map does not have.
    Missing,
    /// `nil`.
    Nil,
    /// A boolean.
    Bool(bool),
    /// An `int`: literals and lengths.
    Int(i64),
    /// An `int64`: results of arithmetic.
    Int64(i64),
    /// A `float64`: every number of JSON and YAML.
    Float(f64),
    /// A text.
    Text(Rc<str>),
    /// A list.
    List(Rc<Vec<Value>>),
    /// A map, shared as Go shares it: whoever writes to it is seen by all.
    Map(Rc<Dict>),
}

/// A map with texts as keys.
#[derive(Debug, Default)]
pub(super) struct Dict {
    /// Whether it is a `map[string]string`, whose missing entries are empty texts.
    pub(super) texts: bool,
    /// Its entries.
    pub(super) entries: RefCell<BTreeMap<Rc<str>, Value>>,
}

impl Dict {
    /// A map of anything.
    pub(super) fn of(entries: BTreeMap<Rc<str>, Value>) -> Rc<Self> {
        Rc::new(Self { texts: false, entries: RefCell::new(entries) })
    }

    /// A map of texts.
    pub(super) fn of_texts(entries: &BTreeMap<String, String>) -> Rc<Self> {
        let entries = entries.iter().map(|(key, value)| (key.as_str().into(), Value::text(value))).collect();
        Rc::new(Self { texts: true, entries: RefCell::new(entries) })
    }

    /// An entry.
    pub(super) fn get(&self, key: &str) -> Option<Value> {
        self.entries.borrow().get(key).cloned()
    }

    /// A copy that shares nothing at the top level.
    pub(super) fn copy(&self) -> Rc<Self> {
        Rc::new(Self { texts: self.texts, entries: self.entries.clone() })
    }
}

/// One set of parameters.
pub(super) type Params = Rc<Dict>;

impl Value {
    /// A text.
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// What Go's `encoding/json` makes of JSON: every number is a float.
    pub(super) fn of_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(on) => Self::Bool(*on),
            Json::Number(number) => Self::Float(number.as_f64().unwrap_or_default()),
            Json::String(text) => Self::text(text),
            Json::Array(items) => Self::List(Rc::new(items.iter().map(Self::of_json).collect())),
            Json::Object(fields) => Self::Map(Dict::of(entries_of_json(fields))),
        }
    }

    /// The value as JSON. What is not there is `null`.
    pub(super) fn to_json(&self) -> Json {
        self.json_within(DEPTH)
    }

    fn json_within(&self, depth: usize) -> Json {
        if depth == 0 {
            return Json::Null;
        }
        match self {
            Self::Missing | Self::Nil => Json::Null,
            Self::Bool(on) => Json::Bool(*on),
            Self::Int(number) | Self::Int64(number) => Json::Number((*number).into()),
            Self::Float(number) => json_number(*number),
            Self::Text(text) => Json::String(text.to_string()),
            Self::List(items) => Json::Array(items.iter().map(|item| item.json_within(depth - 1)).collect()),
            Self::Map(map) => {
                let entries = map.entries.borrow();
                Json::Object(entries.iter().map(|(key, value)| (key.to_string(), value.json_within(depth - 1))).collect())
            }
        }
    }

    /// Whether a template's `if` takes it for true.
    pub(super) fn is_true(&self) -> bool {
        !self.is_empty()
    }

    /// Whether it is the zero value of its type, or an empty list or map.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Missing | Self::Nil => true,
            Self::Bool(on) => !on,
            Self::Int(number) | Self::Int64(number) => *number == 0,
            Self::Float(number) => *number == 0.0,
            Self::Text(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(map) => map.entries.borrow().is_empty(),
        }
    }

    /// Go's name of the type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Missing | Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Int64(_) => "int64",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::List(_) => "[]interface {}",
            Self::Map(map) if map.texts => "map[string]string",
            Self::Map(_) => "map[string]interface {}",
        }
    }

    /// Go's name of the kind.
    pub(super) fn kind_name(&self) -> &'static str {
        match self {
            Self::Missing | Self::Nil => "invalid",
            Self::List(_) => "slice",
            Self::Map(_) => "map",
            other => other.type_name(),
        }
    }

    /// As `%v` prints it.
    pub(super) fn print(&self) -> String {
        let mut out = String::new();
        self.print_to(&mut out, DEPTH);
        out
    }

    fn print_to(&self, out: &mut String, depth: usize) {
        match self {
            Self::Missing | Self::Nil => out.push_str("<nil>"),
            Self::Bool(on) => out.push_str(if *on { "true" } else { "false" }),
            Self::Int(number) | Self::Int64(number) => {
                let _ = write!(out, "{number}");
            }
            Self::Float(number) => out.push_str(&print_float(*number)),
            Self::Text(text) => out.push_str(text),
            Self::List(_) | Self::Map(_) if depth == 0 => out.push_str("..."),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(' ');
                    }
                    item.print_to(out, depth - 1);
                }
                out.push(']');
            }
            Self::Map(map) => {
                out.push_str("map[");
                for (index, (key, value)) in map.entries.borrow().iter().enumerate() {
                    if index > 0 {
                        out.push(' ');
                    }
                    out.push_str(key);
                    out.push(':');
                    value.print_to(out, depth - 1);
                }
                out.push(']');
            }
        }
    }

    /// A deep copy that shares no map.
    pub(super) fn deep_copy(&self) -> Self {
        match self {
            Self::List(items) => Self::List(Rc::new(items.iter().map(Self::deep_copy).collect())),
            Self::Map(map) => {
                let entries = map.entries.borrow().iter().map(|(key, value)| (Rc::clone(key), value.deep_copy())).collect();
                Self::Map(Rc::new(Dict { texts: map.texts, entries: RefCell::new(entries) }))
            }
            other => other.clone(),
        }
    }
}

impl PartialEq for Value {
    /// As Go's `reflect.DeepEqual`.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Missing | Self::Nil, Self::Missing | Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) | (Self::Int64(a), Self::Int64(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a.texts == b.texts && *a.entries.borrow() == *b.entries.borrow(),
            _ => false,
        }
    }
}

/// The entries of a JSON object.
pub(super) fn entries_of_json(fields: &JsonMap<String, Json>) -> BTreeMap<Rc<str>, Value> {
    fields.iter().map(|(key, value)| (key.as_str().into(), Value::of_json(value))).collect()
}

fn json_number(number: f64) -> Json {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        #[allow(clippy::cast_possible_truncation, reason = "whole and small enough")]
        return Json::Number((number as i64).into());
    }
    Number::from_f64(number).map_or(Json::Null, Json::Number)
}

/// A float as Go's `%v` prints it: with an exponent below 1e-04 and from 1e+06.
///
/// Source: Go `strconv/ftoa.go:formatDigits` for the verb `g` with the shortest precision.
pub(super) fn print_float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return format!("{number}");
    }
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// Nested maps and lists as one map with dotted keys and values as `%v` prints them.
///
/// Source: Argo CD `applicationset/generators/generator_spec_processor.go:flattenParameters` and jeremywohl/flatten. Empty maps and lists
/// leave nothing.
pub(super) fn flatten(params: &Dict) -> BTreeMap<String, String> {
    let mut flat = BTreeMap::new();
    for (key, value) in params.entries.borrow().iter() {
        flatten_to(key, value, &mut flat, DEPTH);
    }
    flat
}

fn flatten_to(key: &str, value: &Value, flat: &mut BTreeMap<String, String>, depth: usize) {
    match value {
        Value::Map(map) if depth > 0 => {
            for (name, value) in map.entries.borrow().iter() {
                flatten_to(&format!("{key}.{name}"), value, flat, depth - 1);
            }
        }
        Value::List(items) if depth > 0 => {
            for (index, value) in items.iter().enumerate() {
                flatten_to(&format!("{key}.{index}"), value, flat, depth - 1);
            }
        }
        other => drop(flat.insert(key.to_owned(), other.print())),
    }
}

/// Lays `source` over `target`, map by map; empty values of `source` do not win, lists are replaced.
///
/// Source: `mergo.Merge(&target, source, mergo.WithOverride)`.
pub(super) fn merge_over(target: &Dict, source: &Dict) {
    merge(target, source, true);
}

/// Fills what is empty in `target` from `source`, map by map.
///
/// Source: `mergo.Merge(&target, source)`.
pub(super) fn merge_under(target: &Dict, source: &Dict) {
    merge(target, source, false);
}

fn merge(target: &Dict, source: &Dict, overrides: bool) {
    let incoming: Vec<(Rc<str>, Value)> = source.entries.borrow().iter().map(|(key, value)| (Rc::clone(key), value.clone())).collect();
    for (key, value) in incoming {
        let known = target.entries.borrow().get(&key).cloned();
        let merged = match (known, value) {
            (Some(Value::Map(mine)), Value::Map(theirs)) => {
                let mine = mine.copy();
                merge(&mine, &theirs, overrides);
                Value::Map(mine)
            }
            (None, value) => value,
            (Some(known), value) => {
                let takes = if overrides { !value.is_empty() } else { known.is_empty() };
                if takes { value } else { known }
            }
        };
        target.entries.borrow_mut().insert(key, merged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn dict(json: Json) -> Params {
        match Value::of_json(&json) {
            Value::Map(map) => map,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn floats_are_printed_as_go_prints_them() {
        let printed = |number: f64| Value::Float(number).print();
        assert_eq!(printed(100_000.0), "100000");
        assert_eq!(printed(1_000_000.0), "1e+06");
        assert_eq!(printed(123_456_789_012.0), "1.23456789012e+11");
        assert_eq!(printed(3.0), "3");
        assert_eq!(printed(0.5), "0.5");
        assert_eq!(printed(0.0001), "0.0001");
        assert_eq!(printed(0.00001), "1e-05");
        assert_eq!(printed(-1_234_567.5), "-1.2345675e+06");
        assert_eq!(Value::Int(1_000_000).print(), "1000000");
    }

    #[test]
    fn maps_and_lists_are_printed_sorted_and_in_brackets() {
        assert_eq!(Value::of_json(&json!({"b": [1, "x", null], "a": true})).print(), "map[a:true b:[1 x <nil>]]");
    }

    #[test]
    fn flattening_dots_keys_and_indexes() {
        let flat = flatten(&dict(json!({"a": {"b": 1_000_000, "c": ["x", {"d": false}]}, "e": null})));
        let flat: Vec<(&str, &str)> = flat.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(flat, [("a.b", "1e+06"), ("a.c.0", "x"), ("a.c.1.d", "false"), ("e", "<nil>")]);
    }

    #[test]
    fn what_is_empty_does_not_win_a_merge() {
        let target = dict(json!({"a": "1", "b": {"x": "1", "y": "2"}, "c": [1], "d": "keep"}));
        merge_over(&target, &dict(json!({"a": "", "b": {"x": "9", "z": ""}, "c": [2, 3], "d": "new", "e": ""})));
        assert_eq!(Value::Map(target).to_json(), json!({"a": "1", "b": {"x": "9", "y": "2", "z": ""}, "c": [2, 3], "d": "new", "e": ""}));
        let target = dict(json!({"a": "", "b": {"x": false}}));
        merge_under(&target, &dict(json!({"a": "1", "b": {"x": true, "y": 2}})));
        assert_eq!(Value::Map(target).to_json(), json!({"a": "1", "b": {"x": true, "y": 2}}));
    }
}
