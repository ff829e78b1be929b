//! What an edit means: the document's value after it.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::finding::Operation;
use crate::manifest::Pointer;
use crate::manifest::span::locate;

/// The value after an edit; `None` where there is nothing to do.
pub(super) fn after(
    whole: &Value,
    pointer: &Pointer,
    operation: &Operation,
    text: &str,
    document: &Range<usize>,
) -> Result<Option<Value>, &'static str> {
    let mut value = whole.clone();
    match operation {
        Operation::Set(wanted) => set(&mut value, pointer.tokens(), Value::String(wanted.clone()))?,
        Operation::Quote => set(&mut value, pointer.tokens(), Value::String(written(text, document, pointer)?))?,
        Operation::Remove => remove(&mut value, whole, pointer)?,
        Operation::Move(to) => {
            let to = Pointer::parse(to).map_err(|_| "the place is not known")?;
            let moved = pointer.get(whole).cloned().ok_or("the field is not there")?;
            if to.get(whole).is_some_and(|there| !there.is_null()) {
                return Err("something stands at the place where it belongs");
            }
            remove(&mut value, whole, pointer)?;
            set(&mut value, to.tokens(), moved)?;
        }
        Operation::Add(item) => {
            let mut list = match pointer.get(whole) {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(list)) => list.clone(),
                Some(_) => return Err("it is no list"),
            };
            if list.contains(item) {
                return Ok(None);
            }
            list.insert(0, item.clone());
            set(&mut value, pointer.tokens(), Value::Array(list))?;
        }
    }
    Ok((value != *whole).then_some(value))
}

fn remove(value: &mut Value, whole: &Value, pointer: &Pointer) -> Result<(), &'static str> {
    let (pointer, _) = topmost(whole, pointer)?;
    let parent = pointer.parent().ok_or("the document as a whole cannot be taken out")?;
    let last = pointer.tokens().last().ok_or("the document as a whole cannot be taken out")?;
    let parent = value.pointer_mut(&parent.to_string()).and_then(Value::as_object_mut).ok_or("it is no field of a map")?;
    parent.remove(last);
    Ok(())
}

/// The field that goes when this one does: a map that would be left empty goes as well. With whether it is the field itself.
pub(super) fn topmost(whole: &Value, pointer: &Pointer) -> Result<(Pointer, bool), &'static str> {
    pointer.get(whole).ok_or("the field is not there")?;
    let mut topmost = pointer.clone();
    while let Some(parent) = topmost.parent().filter(|parent| !parent.is_root()) {
        if parent.get(whole).and_then(Value::as_object).is_none_or(|map| map.len() != 1) {
            break;
        }
        topmost = parent;
    }
    let is_itself = topmost == *pointer;
    Ok((topmost, is_itself))
}

/// What stands at a place, as it is written.
pub(super) fn written(text: &str, document: &Range<usize>, pointer: &Pointer) -> Result<String, &'static str> {
    let found = locate(text, document.clone(), pointer).ok_or("the field is not written where it is read")?;
    let raw = text.get(found.value).unwrap_or_default().trim_end();
    if raw.contains('\n') || raw.starts_with(['"', '\'', '{', '[', '*', '&', '|', '>', '!']) {
        return Err("what stands there is no plain value");
    }
    Ok(raw.to_owned())
}

fn set(value: &mut Value, tokens: &[String], wanted: Value) -> Result<(), &'static str> {
    let Some((first, rest)) = tokens.split_first() else {
        *value = wanted;
        return Ok(());
    };
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    let next = match value {
        Value::Object(map) => map.entry(first.clone()).or_insert(Value::Null),
        Value::Array(list) => first.parse().ok().and_then(|index: usize| list.get_mut(index)).ok_or("the list is too short")?,
        _ => return Err("a value stands in the way"),
    };
    set(next, rest, wanted)
}
