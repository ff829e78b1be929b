//! The functions of Go's template package itself.
//!
//! Source: Go `text/template/funcs.go`.

use std::cmp::Ordering;
use std::rc::Rc;

use super::TemplateError;
use super::functions::Arguments;
use crate::inventory::applicationset::params::Value;

type Answer = Result<Value, TemplateError>;

/// `index`: into maps, lists and texts; a missing key gives the zero value.
pub(super) fn index(arguments: &Arguments) -> Answer {
    let mut item = arguments.any(0);
    if matches!(item, Value::Missing | Value::Nil) {
        return Err(TemplateError::fails("index of untyped nil"));
    }
    for index in arguments.rest(1) {
        item = match (&item, index) {
            (Value::Map(map), Value::Text(key)) => map.get(key).unwrap_or_else(|| if map.texts { Value::text("") } else { Value::Nil }),
            (Value::Map(_), Value::Missing | Value::Nil) => return Err(TemplateError::fails("value is nil; should be of type string")),
            (Value::Map(_), other) => {
                return Err(TemplateError::fails(format!("value has type {}; should be string", other.type_name())));
            }
            (Value::List(items), index) => items.get(position(index, items.len())?).cloned().unwrap_or(Value::Nil),
            (Value::Text(text), index) => Value::Int(text.as_bytes().get(position(index, text.len())?).copied().map_or(0, i64::from)),
            (Value::Missing | Value::Nil, _) => return Err(TemplateError::fails("index of nil pointer")),
            (other, _) => return Err(TemplateError::fails(format!("can't index item of type {}", other.type_name()))),
        };
    }
    Ok(item)
}

fn position(index: &Value, length: usize) -> Result<usize, TemplateError> {
    match index {
        Value::Int(number) | Value::Int64(number) => {
            let found = usize::try_from(*number).ok().filter(|found| *found < length);
            found.ok_or_else(|| TemplateError::fails(format!("index out of range: {number}")))
        }
        Value::Missing | Value::Nil => Err(TemplateError::fails("cannot index slice/array with nil")),
        other => Err(TemplateError::fails(format!("cannot index slice/array with type {}", other.type_name()))),
    }
}

/// `len`.
pub(super) fn len(arguments: &Arguments) -> Answer {
    let length = match arguments.any(0) {
        Value::Text(text) => text.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.entries.borrow().len(),
        Value::Missing | Value::Nil => return Err(TemplateError::fails("len of untyped nil")),
        other => return Err(TemplateError::fails(format!("len of type {}", other.type_name()))),
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

/// `not`.
pub(super) fn not(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(!arguments.any(0).is_true()))
}

/// Kinds that can be compared.
#[derive(PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Float,
    Text,
    Other,
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Bool(_) => Kind::Bool,
        Value::Int(_) | Value::Int64(_) => Kind::Int,
        Value::Float(_) => Kind::Float,
        Value::Text(_) => Kind::Text,
        _ => Kind::Other,
    }
}

fn is_nil(value: &Value) -> bool {
    matches!(value, Value::Missing | Value::Nil)
}

fn incompatible() -> TemplateError {
    TemplateError::fails("incompatible types for comparison")
}

fn whole(value: &Value) -> i64 {
    match value {
        Value::Int(number) | Value::Int64(number) => *number,
        _ => 0,
    }
}

fn equal(one: &Value, other: &Value) -> Result<bool, TemplateError> {
    let (first, second) = (kind(one), kind(other));
    if first != second {
        return if is_nil(one) || is_nil(other) { Ok(false) } else { Err(incompatible()) };
    }
    match first {
        Kind::Int => Ok(whole(one) == whole(other)),
        Kind::Other if is_nil(one) || is_nil(other) => Ok(is_nil(one) == is_nil(other)),
        Kind::Other => Err(TemplateError::fails(format!("non-comparable type {}", one.type_name()))),
        _ => Ok(one == other),
    }
}

/// `eq`: the first argument equals one of the others.
pub(super) fn eq(arguments: &Arguments) -> Answer {
    if arguments.rest(1).is_empty() {
        return Err(TemplateError::fails("missing argument for comparison"));
    }
    let one = arguments.any(0);
    for other in arguments.rest(1) {
        if equal(&one, other)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// `ne`.
pub(super) fn ne(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(!equal(&arguments.any(0), &arguments.any(1))?))
}

fn order(arguments: &Arguments) -> Result<Ordering, TemplateError> {
    let (one, other) = (arguments.any(0), arguments.any(1));
    let (first, second) = (kind(&one), kind(&other));
    if [&first, &second].iter().any(|kind| matches!(kind, Kind::Other)) {
        return Err(TemplateError::fails("invalid type for comparison"));
    }
    if first != second {
        return Err(incompatible());
    }
    match (&one, &other) {
        (Value::Float(one), Value::Float(other)) => Ok(one.partial_cmp(other).unwrap_or(Ordering::Greater)),
        (Value::Text(one), Value::Text(other)) => Ok(one.cmp(other)),
        (Value::Bool(_), _) => Err(TemplateError::fails("invalid type for comparison")),
        _ => Ok(whole(&one).cmp(&whole(&other))),
    }
}

/// `lt`.
pub(super) fn lt(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(order(arguments)? == Ordering::Less))
}

/// `le`.
pub(super) fn le(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(order(arguments)? != Ordering::Greater))
}

/// `gt`.
pub(super) fn gt(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(order(arguments)? == Ordering::Greater))
}

/// `ge`.
pub(super) fn ge(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(order(arguments)? != Ordering::Less))
}

/// `print`: with a space between two that are no texts.
pub(super) fn print(arguments: &Arguments) -> Answer {
    let mut out = String::new();
    let mut text_before = true;
    for (index, value) in arguments.rest(0).iter().enumerate() {
        let is_text = matches!(value, Value::Text(_));
        if index > 0 && !is_text && !text_before {
            out.push(' ');
        }
        out.push_str(&value.print());
        text_before = is_text;
    }
    Ok(Value::Text(Rc::from(out)))
}

/// `println`.
pub(super) fn println(arguments: &Arguments) -> Answer {
    let printed: Vec<String> = arguments.rest(0).iter().map(Value::print).collect();
    Ok(Value::Text(Rc::from(printed.join(" ") + "\n")))
}

/// `printf`.
pub(super) fn printf(arguments: &Arguments) -> Answer {
    Ok(Value::Text(super::printf::format(&arguments.text(0)?, arguments.rest(1))?.into()))
}

fn escaped(arguments: &Arguments, escape: impl Fn(&str) -> String) -> Answer {
    let text: String = match arguments.rest(0) {
        [Value::Text(text)] => text.to_string(),
        [Value::Missing | Value::Nil] => "<no value>".to_owned(),
        all => all.iter().map(Value::print).collect::<Vec<_>>().join(" "),
    };
    Ok(Value::text(&escape(&text)))
}

/// `html`.
pub(super) fn html(arguments: &Arguments) -> Answer {
    escaped(arguments, gotmpl::html_escape)
}

/// `js`.
pub(super) fn js(arguments: &Arguments) -> Answer {
    escaped(arguments, gotmpl::js_escape)
}

/// `urlquery`.
pub(super) fn urlquery(arguments: &Arguments) -> Answer {
    escaped(arguments, gotmpl::url_encode)
}
