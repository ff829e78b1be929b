//! Functions on numbers.

use std::rc::Rc;

use super::Arguments;
use crate::inventory::applicationset::gotemplate::TemplateError;
use crate::inventory::applicationset::params::Value;

type Answer = Result<Value, TemplateError>;

/// Numbers that one list may hold.
const LONGEST: usize = 100_000;

/// Source: spf13/cast `ToInt64`: what is no number is 0.
#[allow(clippy::cast_possible_truncation, reason = "Go cuts floats off in the same way")]
fn whole(value: &Value) -> i64 {
    match value {
        Value::Int(number) | Value::Int64(number) => *number,
        Value::Float(number) => *number as i64,
        Value::Bool(on) => i64::from(*on),
        Value::Text(text) => whole_of_text(text),
        _ => 0,
    }
}

fn whole_of_text(text: &str) -> i64 {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    let prefixed = |radix: u32, at: usize| i64::from_str_radix(digits.get(at..).unwrap_or_default(), radix).unwrap_or(0);
    let number = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => prefixed(16, 2),
        [b'0', b'b' | b'B', ..] => prefixed(2, 2),
        [b'0', b'o' | b'O', ..] => prefixed(8, 2),
        [b'0', _, ..] => prefixed(8, 1),
        _ => digits.parse().unwrap_or(0),
    };
    if negative { -number } else { number }
}

#[allow(clippy::cast_precision_loss, reason = "Go does the same")]
fn float(value: &Value) -> f64 {
    match value {
        Value::Int(number) | Value::Int64(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Bool(on) => f64::from(u8::from(*on)),
        Value::Text(text) => text.parse().unwrap_or(0.0),
        _ => 0.0,
    }
}

pub(super) fn add(arguments: &Arguments) -> Answer {
    Ok(Value::Int64(arguments.rest(0).iter().fold(0, |sum, value| sum.wrapping_add(whole(value)))))
}

pub(super) fn add1(arguments: &Arguments) -> Answer {
    Ok(Value::Int64(whole(&arguments.any(0)).wrapping_add(1)))
}

pub(super) fn sub(arguments: &Arguments) -> Answer {
    Ok(Value::Int64(whole(&arguments.any(0)).wrapping_sub(whole(&arguments.any(1)))))
}

pub(super) fn mul(arguments: &Arguments) -> Answer {
    Ok(Value::Int64(arguments.rest(0).iter().fold(1, |product, value| product.wrapping_mul(whole(value)))))
}

pub(super) fn div(arguments: &Arguments) -> Answer {
    let quotient = whole(&arguments.any(0)).checked_div(whole(&arguments.any(1)));
    quotient.map(Value::Int64).ok_or_else(|| arguments.error("runtime error: integer divide by zero"))
}

pub(super) fn modulo(arguments: &Arguments) -> Answer {
    let rest = whole(&arguments.any(0)).checked_rem(whole(&arguments.any(1)));
    rest.map(Value::Int64).ok_or_else(|| arguments.error("runtime error: integer divide by zero"))
}

pub(super) fn max(arguments: &Arguments) -> Answer {
    Ok(Value::Int64(arguments.rest(0).iter().map(whole).max().unwrap_or(0)))
}

pub(super) fn min(arguments: &Arguments) -> Answer {
    Ok(Value::Int64(arguments.rest(0).iter().map(whole).min().unwrap_or(0)))
}

pub(super) fn int(arguments: &Arguments) -> Answer {
    Ok(Value::Int(whole(&arguments.any(0))))
}

pub(super) fn int64(arguments: &Arguments) -> Answer {
    Ok(Value::Int64(whole(&arguments.any(0))))
}

pub(super) fn float64(arguments: &Arguments) -> Answer {
    Ok(Value::Float(float(&arguments.any(0))))
}

pub(super) fn atoi(arguments: &Arguments) -> Answer {
    Ok(Value::Int(arguments.text(0)?.parse().unwrap_or(0)))
}

pub(super) fn ceil(arguments: &Arguments) -> Answer {
    Ok(Value::Float(float(&arguments.any(0)).ceil()))
}

pub(super) fn floor(arguments: &Arguments) -> Answer {
    Ok(Value::Float(float(&arguments.any(0)).floor()))
}

/// Source: Masterminds/sprig `numeric.go:round`: from .5 on it rounds up.
pub(super) fn round(arguments: &Arguments) -> Answer {
    let (value, places) = (float(&arguments.any(0)), arguments.int(1)?);
    let up = arguments.rest(2).first().map_or(0.5, float);
    let power = 10_f64.powi(i32::try_from(places).unwrap_or(0));
    let digit = power * value;
    let rounded = if digit - digit.trunc() >= up { digit.ceil() } else { digit.floor() };
    Ok(Value::Float(rounded / power))
}

fn steps(arguments: &Arguments, start: i64, stop: i64, step: i64) -> Result<Vec<i64>, TemplateError> {
    let mut numbers = Vec::new();
    let mut number = start;
    while (step > 0 && number < stop) || (step < 0 && number > stop) {
        if numbers.len() == LONGEST {
            return Err(TemplateError::Unjudged(format!("{} makes a longer list than presync follows", arguments.name)));
        }
        numbers.push(number);
        number = number.saturating_add(step);
    }
    Ok(numbers)
}

fn list(numbers: Vec<i64>) -> Answer {
    Ok(Value::List(Rc::new(numbers.into_iter().map(Value::Int).collect())))
}

pub(super) fn until(arguments: &Arguments) -> Answer {
    let stop = arguments.int(0)?;
    list(steps(arguments, 0, stop, if stop < 0 { -1 } else { 1 })?)
}

pub(super) fn until_step(arguments: &Arguments) -> Answer {
    list(steps(arguments, arguments.int(0)?, arguments.int(1)?, arguments.int(2)?)?)
}

/// Source: Masterminds/sprig `numeric.go:seq`: the last number is included, and all are joined by spaces.
pub(super) fn seq(arguments: &Arguments) -> Answer {
    let (start, step, end) = match arguments.count() {
        0 => return Ok(Value::text("")),
        1 => (1, None, arguments.int(0)?),
        2 => (arguments.int(0)?, None, arguments.int(1)?),
        3 => (arguments.int(0)?, Some(arguments.int(1)?), arguments.int(2)?),
        _ => return Ok(Value::text("")),
    };
    let step = step.unwrap_or(if end < start { -1 } else { 1 });
    if (arguments.count() == 3) && ((step > 0 && end < start) || (step < 0 && end > start)) {
        return Ok(Value::text(""));
    }
    let numbers = steps(arguments, start, end.saturating_add(step.signum()), step)?;
    Ok(Value::text(&numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")))
}
