//! Functions on lists and maps, on defaults and on types.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Arguments;
use crate::inventory::applicationset::gotemplate::TemplateError;
use crate::inventory::applicationset::params::{self, Dict, Value};

type Answer = Result<Value, TemplateError>;

fn of_list(items: Vec<Value>) -> Answer {
    Ok(Value::List(Rc::new(items)))
}

fn texts<'t>(parts: impl IntoIterator<Item = &'t str>) -> Answer {
    of_list(parts.into_iter().map(Value::text).collect())
}

pub(super) fn default(arguments: &Arguments) -> Answer {
    let given = arguments.any(1);
    Ok(if given.is_empty() { arguments.any(0) } else { given })
}

pub(super) fn empty(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(arguments.any(0).is_empty()))
}

pub(super) fn coalesce(arguments: &Arguments) -> Answer {
    Ok(arguments.rest(0).iter().find(|value| !value.is_empty()).cloned().unwrap_or(Value::Nil))
}

pub(super) fn all(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(!arguments.rest(0).iter().any(Value::is_empty)))
}

pub(super) fn any(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(arguments.rest(0).iter().any(|value| !value.is_empty())))
}

pub(super) fn ternary(arguments: &Arguments) -> Answer {
    Ok(arguments.any(if arguments.any(2).is_true() { 0 } else { 1 }))
}

pub(super) fn deep_copy(arguments: &Arguments) -> Answer {
    Ok(arguments.any(0).deep_copy())
}

pub(super) fn deep_equal(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(arguments.any(0) == arguments.any(1)))
}

pub(super) fn type_of(arguments: &Arguments) -> Answer {
    Ok(Value::text(arguments.any(0).type_name()))
}

pub(super) fn type_is(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(*arguments.text(0)? == *arguments.any(1).type_name()))
}

pub(super) fn kind_of(arguments: &Arguments) -> Answer {
    Ok(Value::text(arguments.any(0).kind_name()))
}

pub(super) fn kind_is(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(*arguments.text(0)? == *arguments.any(1).kind_name()))
}

pub(super) fn list(arguments: &Arguments) -> Answer {
    of_list(arguments.rest(0).to_vec())
}

pub(super) fn append(arguments: &Arguments) -> Answer {
    let mut items = arguments.list(0)?.to_vec();
    items.push(arguments.any(1));
    of_list(items)
}

pub(super) fn prepend(arguments: &Arguments) -> Answer {
    let mut items = vec![arguments.any(1)];
    items.extend(arguments.list(0)?.iter().cloned());
    of_list(items)
}

pub(super) fn concat(arguments: &Arguments) -> Answer {
    let mut items = Vec::new();
    for index in 0..arguments.count() {
        items.extend(arguments.list(index)?.iter().cloned());
    }
    of_list(items)
}

pub(super) fn first(arguments: &Arguments) -> Answer {
    Ok(arguments.list(0)?.first().cloned().unwrap_or(Value::Nil))
}

pub(super) fn last(arguments: &Arguments) -> Answer {
    Ok(arguments.list(0)?.last().cloned().unwrap_or(Value::Nil))
}

pub(super) fn rest(arguments: &Arguments) -> Answer {
    Ok(match arguments.list(0)?.split_first() {
        Some((_, rest)) => Value::List(Rc::new(rest.to_vec())),
        None => Value::Nil,
    })
}

pub(super) fn initial(arguments: &Arguments) -> Answer {
    Ok(match arguments.list(0)?.split_last() {
        Some((_, initial)) => Value::List(Rc::new(initial.to_vec())),
        None => Value::Nil,
    })
}

pub(super) fn reverse(arguments: &Arguments) -> Answer {
    of_list(arguments.list(0)?.iter().rev().cloned().collect())
}

pub(super) fn compact(arguments: &Arguments) -> Answer {
    of_list(arguments.list(0)?.iter().filter(|value| !value.is_empty()).cloned().collect())
}

pub(super) fn uniq(arguments: &Arguments) -> Answer {
    let mut items: Vec<Value> = Vec::new();
    for item in arguments.list(0)?.iter() {
        if !items.contains(item) {
            items.push(item.clone());
        }
    }
    of_list(items)
}

pub(super) fn without(arguments: &Arguments) -> Answer {
    let omitted = arguments.rest(1);
    of_list(arguments.list(0)?.iter().filter(|item| !omitted.contains(item)).cloned().collect())
}

pub(super) fn has(arguments: &Arguments) -> Answer {
    if matches!(arguments.any(1), Value::Missing | Value::Nil) {
        return Ok(Value::Bool(false));
    }
    Ok(Value::Bool(arguments.list(1)?.contains(&arguments.any(0))))
}

pub(super) fn slice(arguments: &Arguments) -> Answer {
    let items = arguments.list(0)?;
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let bound = |index: usize, fallback: usize| match arguments.rest(0).get(index) {
        Some(Value::Int(number) | Value::Int64(number)) => usize::try_from(*number).unwrap_or(usize::MAX),
        _ => fallback,
    };
    let (start, end) = (bound(1, 0), bound(2, items.len()));
    let part = items.get(start..end).ok_or_else(|| arguments.error("reflect.Value.Slice: slice index out of bounds"))?;
    of_list(part.to_vec())
}

/// Source: Masterminds/sprig `strings.go:strslice`.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().filter(|item| !matches!(item, Value::Missing | Value::Nil)).map(Value::print).collect(),
        Value::Missing | Value::Nil => Vec::new(),
        other => vec![other.print()],
    }
}

pub(super) fn to_strings(arguments: &Arguments) -> Answer {
    of_list(strings(&arguments.any(0)).iter().map(|text| Value::text(text)).collect())
}

pub(super) fn join(arguments: &Arguments) -> Answer {
    Ok(Value::text(&strings(&arguments.any(1)).join(&arguments.text(0)?)))
}

pub(super) fn sort_alpha(arguments: &Arguments) -> Answer {
    let mut sorted = strings(&arguments.any(0));
    if matches!(arguments.any(0), Value::List(_)) {
        sorted.sort();
    }
    of_list(sorted.iter().map(|text| Value::text(text)).collect())
}

/// Parts as Go's `strings.Split` cuts them: an empty separator cuts between all letters.
fn parts<'t>(separator: &str, whole: &'t str, limit: Option<usize>) -> Vec<&'t str> {
    if separator.is_empty() {
        let starts: Vec<usize> = whole.char_indices().map(|(at, _)| at).chain([whole.len()]).collect();
        return starts.windows(2).filter_map(|bounds| whole.get(bounds[0]..bounds[1])).collect();
    }
    match limit {
        Some(limit) => whole.splitn(limit, separator).collect(),
        None => whole.split(separator).collect(),
    }
}

pub(super) fn split_list(arguments: &Arguments) -> Answer {
    texts(parts(&arguments.text(0)?, &arguments.text(1)?, None))
}

fn numbered(parts: &[&str]) -> Answer {
    let entries = parts.iter().enumerate().map(|(index, part)| (format!("_{index}"), (*part).to_owned())).collect();
    Ok(Value::Map(Dict::of_texts(&entries)))
}

pub(super) fn split(arguments: &Arguments) -> Answer {
    numbered(&parts(&arguments.text(0)?, &arguments.text(1)?, None))
}

pub(super) fn splitn(arguments: &Arguments) -> Answer {
    let limit = usize::try_from(arguments.int(1)?).ok();
    if limit == Some(0) {
        return numbered(&[]);
    }
    numbered(&parts(&arguments.text(0)?, &arguments.text(2)?, limit))
}

pub(super) fn dict(arguments: &Arguments) -> Answer {
    let mut entries: BTreeMap<Rc<str>, Value> = BTreeMap::new();
    for pair in arguments.rest(0).chunks(2) {
        let value = pair.get(1).cloned().unwrap_or_else(|| Value::text(""));
        if let Some(key) = pair.first() {
            entries.insert(key.print().into(), if matches!(value, Value::Missing) { Value::Nil } else { value });
        }
    }
    Ok(Value::Map(Dict::of(entries)))
}

pub(super) fn get(arguments: &Arguments) -> Answer {
    Ok(arguments.map(0)?.get(&arguments.text(1)?).unwrap_or_else(|| Value::text("")))
}

pub(super) fn set(arguments: &Arguments) -> Answer {
    let map = arguments.map(0)?;
    let value = arguments.any(2);
    if contains_itself(&value, &map) {
        return Err(TemplateError::Unjudged("a template puts a map into itself".to_owned()));
    }
    map.entries.borrow_mut().insert(arguments.text(1)?, value);
    Ok(Value::Map(map))
}

fn contains_itself(value: &Value, map: &Rc<Dict>) -> bool {
    match value {
        Value::Map(inner) => Rc::ptr_eq(inner, map) || inner.entries.borrow().values().any(|value| contains_itself(value, map)),
        Value::List(items) => items.iter().any(|item| contains_itself(item, map)),
        _ => false,
    }
}

pub(super) fn unset(arguments: &Arguments) -> Answer {
    let map = arguments.map(0)?;
    map.entries.borrow_mut().remove(&*arguments.text(1)?);
    Ok(Value::Map(map))
}

pub(super) fn has_key(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(arguments.map(0)?.entries.borrow().contains_key(&*arguments.text(1)?)))
}

pub(super) fn keys(arguments: &Arguments) -> Answer {
    let mut names = Vec::new();
    for index in 0..arguments.count() {
        names.extend(arguments.map(index)?.entries.borrow().keys().map(|key| Value::Text(Rc::clone(key))));
    }
    of_list(names)
}

pub(super) fn values(arguments: &Arguments) -> Answer {
    of_list(arguments.map(0)?.entries.borrow().values().cloned().collect())
}

pub(super) fn pluck(arguments: &Arguments) -> Answer {
    let key = arguments.text(0)?;
    let mut found = Vec::new();
    for index in 1..arguments.count() {
        found.extend(arguments.map(index)?.get(&key));
    }
    of_list(found)
}

fn filtered(arguments: &Arguments, keeps: bool) -> Answer {
    let map = arguments.map(0)?;
    let named = |key: &Rc<str>| arguments.rest(1).iter().any(|name| matches!(name, Value::Text(name) if name == key));
    let entries = map.entries.borrow();
    Ok(Value::Map(Dict::of(
        entries.iter().filter(|(key, _)| named(key) == keeps).map(|(key, value)| (Rc::clone(key), value.clone())).collect(),
    )))
}

pub(super) fn pick(arguments: &Arguments) -> Answer {
    filtered(arguments, true)
}

pub(super) fn omit(arguments: &Arguments) -> Answer {
    filtered(arguments, false)
}

pub(super) fn merge(arguments: &Arguments) -> Answer {
    let target = arguments.map(0)?;
    for index in 1..arguments.count() {
        params::merge_under(&target, &arguments.map(index)?.copy());
    }
    Ok(Value::Map(target))
}

pub(super) fn merge_overwrite(arguments: &Arguments) -> Answer {
    let target = arguments.map(0)?;
    for index in 1..arguments.count() {
        params::merge_over(&target, &arguments.map(index)?.copy());
    }
    Ok(Value::Map(target))
}

/// Source: Masterminds/sprig `dict.go:dig`: keys, a default, and the map; a map of texts stops it.
pub(super) fn dig(arguments: &Arguments) -> Answer {
    let all = arguments.rest(0);
    let [path @ .., fallback, map] = all else { return Err(arguments.error("dig needs at least three arguments")) };
    if path.is_empty() {
        return Err(arguments.error("dig needs at least three arguments"));
    }
    let mut current = map.clone();
    for (index, key) in path.iter().enumerate() {
        let Value::Text(key) = key else { return Err(arguments.error("interface conversion: interface {} is not string")) };
        let map = match &current {
            Value::Map(map) if !map.texts => Rc::clone(map),
            other => {
                let kind = other.type_name();
                return Err(arguments.error(format!("interface conversion: interface {{}} is {kind}, not map[string]interface {{}}")));
            }
        };
        match map.get(key) {
            None => return Ok(fallback.clone()),
            Some(found) if index + 1 == path.len() => return Ok(found),
            Some(found) => current = found,
        }
    }
    Ok(current)
}
