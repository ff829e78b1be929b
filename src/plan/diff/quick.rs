//! The short way: takes a pair, says whether it is plainly unmodified, without copying anything. A doubt means no.

use serde_json::{Map, Value};

use super::ignore::{Target, Touch};
use super::{DiffContext, Method, structured};
use crate::plan::schema::{ListMerge, Node, PatchStrategy, Schemas};

/// Nesting limit; deeper pairs take the long way.
const DEPTH: usize = 64;

/// Whether everything in the target stands in live as it is, and nothing was applied before that the target no longer has.
pub(super) fn is_unmodified(target: &Value, live: &Value, last_applied: Option<&str>, ctx: &DiffContext<'_>) -> bool {
    if ctx.ignore.touches(&Target::of(target)) == Touch::Anything || target.get("apiVersion") != live.get("apiVersion") {
        return false;
    }
    let node = Schemas::builtin().scheme_type(target);
    let three_way = ctx.method == Method::ThreeWay;
    let (rules, typed) = if three_way { (Rules::Strategic, node) } else { (Rules::Structured, ctx.schemas.object_type(target)) };
    if !contains(target, live, typed, rules, DEPTH) {
        return false;
    }
    if !three_way {
        return structured::owns_nothing_more(target, live, typed);
    }
    last_applied.is_none_or(|text| is_written_as(target, text))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    Strategic,
    Structured,
}

fn contains(target: &Value, live: &Value, node: Option<Node<'_>>, rules: Rules, depth: usize) -> bool {
    match (target, live) {
        // Argo CD drops an empty map of the target before it compares, but not the one that was applied last: what live has there goes.
        (Value::Object(target), Value::Object(live)) if target.is_empty() => live.is_empty(),
        (Value::Object(target), Value::Object(live)) if depth > 0 => target.iter().all(|(key, wanted)| {
            let Some(own) = live.get(key) else { return false };
            // What the long way would rewrite or drop on one side is left to it.
            if wanted.is_null() {
                return false;
            }
            match node.and_then(|node| node.field(key)) {
                Some((field, inner)) => field_contains(wanted, own, &field.patch, &field.list, field.atomic, inner, rules, depth),
                None => {
                    let inner = node.filter(|node| node.as_struct().is_none()).and_then(Node::element);
                    contains(wanted, own, inner, rules, depth - 1)
                }
            }
        }),
        (target, live) => target == live,
    }
}

#[allow(clippy::too_many_arguments, reason = "the parts of one field")]
fn field_contains(
    target: &Value,
    live: &Value,
    patch: &PatchStrategy,
    list: &ListMerge,
    atomic: bool,
    node: Node<'_>,
    rules: Rules,
    depth: usize,
) -> bool {
    let strategic = rules == Rules::Strategic;
    let whole = match rules {
        Rules::Strategic => patch.replace,
        Rules::Structured => atomic || node.as_struct().is_some_and(|own| own.atomic),
    };
    // `retainKeys` clears what the target does not name.
    let same_keys = |target: &Value, live: &Value| !(strategic && patch.retain_keys) || keys(target).eq(keys(live));
    match (target, live) {
        _ if whole => target == live,
        (Value::Object(_), Value::Object(_)) => same_keys(target, live) && contains(target, live, Some(node), rules, depth - 1),
        (Value::Array(wanted), Value::Array(own)) => {
            let merge_keys: &[String] = match (rules, &patch.key, list) {
                (Rules::Strategic, Some(key), _) if patch.merge => std::slice::from_ref(key),
                (Rules::Structured, _, ListMerge::Map(keys)) => keys,
                _ => return target == live,
            };
            let element = node.element();
            wanted.len() == own.len()
                && wanted.iter().zip(own).all(|(wanted, own)| {
                    merge_keys.iter().all(|key| wanted.get(key) == own.get(key))
                        && same_keys(wanted, own)
                        && contains(wanted, own, element, rules, depth - 1)
                })
                && distinct(wanted, merge_keys)
        }
        (target, live) => target == live,
    }
}

fn keys(value: &Value) -> impl Iterator<Item = &String> {
    value.as_object().into_iter().flat_map(Map::keys)
}

/// Whether no element stands twice: server-side apply refuses that, and strategic merge mixes the two up.
fn distinct(items: &[Value], keys: &[String]) -> bool {
    let mut seen = std::collections::HashSet::with_capacity(items.len());
    items.iter().all(|item| seen.insert(keys.iter().map(|key| item.get(key)).collect::<Vec<_>>()))
}

/// Whether the text is the object as kubectl writes it: keys sorted, no spaces, `<`, `>` and `&` escaped, a line break at the end.
fn is_written_as(object: &Value, text: &str) -> bool {
    let mut rest = text.trim_end().as_bytes();
    eat_value(object, &mut rest, DEPTH) && rest.is_empty()
}

fn eat(expected: &[u8], rest: &mut &[u8]) -> bool {
    match rest.strip_prefix(expected) {
        Some(after) => {
            *rest = after;
            true
        }
        None => false,
    }
}

fn eat_value(value: &Value, rest: &mut &[u8], depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    match value {
        Value::Null => eat(b"null", rest),
        Value::Bool(true) => eat(b"true", rest),
        Value::Bool(false) => eat(b"false", rest),
        Value::Number(number) => !number.is_f64() && eat(number.to_string().as_bytes(), rest),
        Value::String(text) => eat_string(text, rest),
        Value::Array(items) => {
            eat(b"[", rest)
                && items.iter().enumerate().all(|(index, item)| (index == 0 || eat(b",", rest)) && eat_value(item, rest, depth - 1))
                && eat(b"]", rest)
        }
        Value::Object(map) => eat_object(map, rest, depth),
    }
}

fn eat_object(map: &Map<String, Value>, rest: &mut &[u8], depth: usize) -> bool {
    eat(b"{", rest)
        && map.iter().enumerate().all(|(index, (key, value))| {
            (index == 0 || eat(b",", rest)) && eat_string(key, rest) && eat(b":", rest) && eat_value(value, rest, depth - 1)
        })
        && eat(b"}", rest)
}

fn eat_string(text: &str, rest: &mut &[u8]) -> bool {
    if !eat(b"\"", rest) {
        return false;
    }
    let mut plain = 0;
    let bytes = text.as_bytes();
    for (index, byte) in bytes.iter().enumerate() {
        let escaped: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            b'<' => b"\\u003c",
            b'>' => b"\\u003e",
            b'&' => b"\\u0026",
            0..0x20 | 0x7f => return false,
            _ => continue,
        };
        if !eat(bytes.get(plain..index).unwrap_or_default(), rest) || !eat(escaped, rest) {
            return false;
        }
        plain = index + 1;
    }
    eat(bytes.get(plain..).unwrap_or_default(), rest) && eat(b"\"", rest)
}
