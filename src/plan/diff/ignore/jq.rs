//! One jq path expression: takes its text, hands on the paths that it selects in an object, and removes them.
//!
//! Argo CD runs `del(EXPR)` with gojq. Here only `path(EXPR)` is run and the deletion is our own, since jaq's `del` differs from jq's.

use std::time::{Duration, Instant};

use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::Val;
use serde_json::Value;

use super::{IgnoreError, remove};

type Filter = jaq_core::Filter<data::JustLut<Val>>;

/// Words that can make an expression run without end, end the program, or read and write beside it.
const UNBOUNDED: [&str; 18] = [
    "def",
    "repeat",
    "until",
    "while",
    "recurse(",
    "range",
    "infinite",
    "input",
    "inputs",
    "foreach",
    "reduce",
    "combinations",
    "halt",
    "halt_error",
    "debug",
    "stderr",
    "env",
    "ENV",
];
/// jq's `IN`, which jaq lacks.
const PRELUDE: &str = "def IN(s): any(s == .; .); def IN(src; s): any(src == s; .);";
/// Argo CD's own limit.
const TIME: Duration = Duration::from_secs(1);
/// More paths than any object of a cluster has fields.
const PATHS: usize = 100_000;

pub(super) struct PathExpression {
    text: String,
    filter: Filter,
}

impl std::fmt::Debug for PathExpression {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("PathExpression").field(&self.text).finish()
    }
}

/// What is wrong with an expression, in a few words. It stands within `path(…)`, so that the end of the text is a parenthesis here.
fn misread(error: &load::Error<&str>) -> String {
    let expected = |what: &str, found: &str| match found.strip_suffix(')').unwrap_or(found) {
        "" => format!("{what} is missing at the end"),
        found => format!("{what} is missing before `{found}`"),
    };
    match error {
        load::Error::Io(errors) => errors.first().map(|(_, said)| said.clone()),
        load::Error::Lex(errors) => errors.first().map(|(what, found)| expected(what.as_str(), found)),
        load::Error::Parse(errors) => errors.first().map(|(what, found)| expected(what.as_str(), found)),
    }
    .unwrap_or_default()
}

impl PathExpression {
    pub(super) fn compile(text: &str) -> Result<PathExpression, IgnoreError> {
        if let Some(word) = words(text).find_map(|word| UNBOUNDED.into_iter().find(|refused| is_word(text, word, refused))) {
            return Err(IgnoreError::Unbounded { expression: text.to_owned(), word: word.trim_end_matches('(').to_owned() });
        }
        let failed = |reason: String| IgnoreError::Jq { expression: text.to_owned(), reason };
        let code = format!("{PRELUDE} path({text})");
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let loaded = Loader::new(defs).load(&arena, File { code: code.as_str(), path: () });
        let modules = loaded.map_err(|errors| failed(errors.first().map(|(_, error)| misread(error)).unwrap_or_default()))?;
        let filter = Compiler::default().with_funs(funs).compile(modules).map_err(|errors| {
            let first = errors.first().and_then(|(_, errors)| errors.first());
            failed(first.map(|(name, what)| format!("there is no {} `{name}`", what.as_str())).unwrap_or_default())
        })?;
        Ok(PathExpression { text: text.to_owned(), filter })
    }

    /// The selected paths as pointer tokens, or `None` if the expression fails on this object: then Argo CD skips the rule.
    pub(super) fn paths(&self, object: &Value) -> Option<Vec<Vec<String>>> {
        let start = Instant::now();
        let input = jaq_json::read::parse_single(object.to_string().as_bytes()).ok()?;
        let context = Ctx::<data::JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
        let mut found = Vec::new();
        for output in self.filter.id.run((context, input)).map(unwrap_valr) {
            let path: Vec<Value> = serde_json::from_str(&output.ok()?.to_string()).ok()?;
            found.extend(concrete(object, &path));
            if found.len() > PATHS || start.elapsed() > TIME {
                return None;
            }
        }
        Some(found)
    }

    /// Deletes what it selects: deepest and last first, so that indices stay right.
    pub(super) fn remove(&self, object: &mut Value) {
        let Some(mut paths) = self.paths(object) else { return };
        paths.sort_by(|left, right| compare(right, left));
        paths.dedup();
        for path in paths {
            if path.is_empty() {
                *object = Value::Null;
            } else {
                remove::pointer(object, &path);
            }
        }
    }
}

/// The tokens of a jq path in this object. A slice names several elements; a negative index counts from the end.
fn concrete(object: &Value, path: &[Value]) -> Vec<Vec<String>> {
    let mut found = vec![(Vec::new(), Some(object))];
    for step in path {
        let mut next = Vec::new();
        for (tokens, at) in found {
            let length = at.and_then(Value::as_array).map_or(0, Vec::len);
            let mut push = |token: String| {
                let inner = match at {
                    Some(Value::Object(map)) => map.get(&token),
                    Some(Value::Array(items)) => token.parse::<usize>().ok().and_then(|index| items.get(index)),
                    _ => None,
                };
                let mut tokens: Vec<String> = Vec::clone(&tokens);
                tokens.push(token);
                next.push((tokens, inner));
            };
            match step {
                Value::String(name) => push(name.clone()),
                Value::Number(number) => {
                    if let Some(index) = number.as_i64().and_then(|index| position(index, length)) {
                        push(index.to_string());
                    }
                }
                Value::Object(slice) => {
                    let bound = |name: &str, default: usize| {
                        slice.get(name).and_then(Value::as_i64).map_or(default, |index| position(index, length).unwrap_or(length))
                    };
                    for index in bound("start", 0)..bound("end", length).min(length) {
                        push(index.to_string());
                    }
                }
                _ => {}
            }
        }
        found = next;
    }
    found.into_iter().map(|(tokens, _)| tokens).collect()
}

fn position(index: i64, length: usize) -> Option<usize> {
    let shifted = if index < 0 { index.checked_add(i64::try_from(length).ok()?)? } else { index };
    usize::try_from(shifted).ok()
}

/// Indices by number, names by text.
fn compare(left: &[String], right: &[String]) -> std::cmp::Ordering {
    for (left, right) in left.iter().zip(right) {
        let order = match (left.parse::<usize>(), right.parse::<usize>()) {
            (Ok(left), Ok(right)) => left.cmp(&right),
            _ => left.cmp(right),
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

/// Whether a word of the text is a refused one. `recurse` alone ends with the object; with a function it need not.
fn is_word(text: &str, word: &str, refused: &str) -> bool {
    match refused.strip_suffix('(') {
        Some(name) => word == name && calls(text, name),
        None => word == refused,
    }
}

/// Whether a name is followed by a parenthesis anywhere.
fn calls(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| text.get(at + name.len()..).is_some_and(|rest| rest.trim_start().starts_with('(')))
}

/// The names in an expression. Text in quotes does not count, unless it could hold code (`\\(…)`).
fn words(text: &str) -> impl Iterator<Item = &str> {
    let interpolates = text.contains("\\(");
    let code = text.split('"').enumerate().filter(move |(index, _)| index % 2 == 0 || interpolates).map(|(_, part)| part);
    let names = code.flat_map(|part| part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.'));
    // What follows a point is the name of a field.
    names.filter_map(|name| name.split('.').next()).filter(|word| !word.is_empty())
}
