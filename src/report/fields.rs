//! Differing fields of one object, as lines of text.
//!
//! Takes [`FieldChange`]s with Secret values already replaced; hands on one line a field, or a small line diff where a value has lines.

use std::io::{self, Write};

use serde_json::Value;

use super::style::{Style, Tone, clean, columns, fits, plural};
use crate::plan::FieldChange;

/// Fields shown of one object.
const MAX_FIELDS: usize = 30;
/// Lines shown of each side of one value.
const MAX_LINES: usize = 8;

/// Writes differing fields, each line after `indent`.
pub(super) fn write_fields(fields: &[FieldChange], indent: &str, all: bool, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let shown = if all { fields.len() } else { fields.len().min(MAX_FIELDS) };
    for field in fields.iter().take(shown) {
        write_field(field, indent, style, out)?;
    }
    if shown < fields.len() {
        let rest = plural(fields.len() - shown, "more field differs", "more fields differ");
        writeln!(out, "{indent}{}", style.paint(Tone::Faint, &format!("{rest} (--all lists them)")))?;
    }
    Ok(())
}

fn write_field(field: &FieldChange, indent: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let room = style.width.saturating_sub(columns(indent)).max(40);
    let path = style.shorten(&clean(&field.path), room - 2);
    let since = field.owner_time.as_ref().map(|time| format!(", {}", clean(time))).unwrap_or_default();
    let owner = field.owner.as_ref().map(|owner| format!("   (owned by {}{since})", style.shorten(&clean(owner), 40))).unwrap_or_default();
    let owner = style.paint(Tone::Faint, &owner);
    let (live, target) = (value(field.live.as_ref()), value(field.target.as_ref()));
    let arrow = style.arrow();
    let one_line = format!("{path}: {live} {arrow} {target}");
    if !has_lines(field) && fits(&one_line, room) {
        return writeln!(out, "{indent}{path}: {live} {arrow} {target}{owner}");
    }
    writeln!(out, "{indent}{path}:{owner}")?;
    for (sign, text) in sides(field, room - 4, style) {
        let line = match sign {
            '-' => style.paint(Tone::Bad, &format!("- {text}")),
            '+' => style.paint(Tone::Good, &format!("+ {text}")),
            _ => format!("  {}", style.paint(Tone::Faint, &text)),
        };
        writeln!(out, "{indent}  {line}")?;
    }
    Ok(())
}

/// Whether both values are texts, one of them of several lines.
fn has_lines(field: &FieldChange) -> bool {
    let lines = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(|text| text.trim_end().contains('\n'));
    matches!((lines(&field.live), lines(&field.target)), (Some(live), Some(target)) if live || target)
}

fn value(value: Option<&Value>) -> String {
    value.map_or_else(|| "(absent)".to_owned(), |value| clean(&value.to_string()).into_owned())
}

/// Number of characters that both texts begin with.
fn shared_beginning(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// The text cut so that what stands at `from` is seen: the difference must not hide in what is left out.
fn around(text: &str, from: usize, width: usize, style: Style) -> String {
    if fits(text, width) || from < width / 2 {
        return cut_end(text, width, style);
    }
    let room = width.saturating_sub(columns(style.ellipsis()));
    let start = (from - width / 4).min(columns(text).saturating_sub(room));
    let rest = text.char_indices().nth(start).and_then(|(at, _)| text.get(at..)).unwrap_or_default();
    format!("{}{}", style.ellipsis(), cut_end(rest, room, style))
}

fn cut_end(text: &str, width: usize, style: Style) -> String {
    if fits(text, width) {
        return text.to_owned();
    }
    let end = text.char_indices().nth(width.saturating_sub(columns(style.ellipsis()))).map_or(text.len(), |(at, _)| at);
    format!("{}{}", text.get(..end).unwrap_or(text), style.ellipsis())
}

/// A field's values as lines with their sign: `-` live, `+` target, and a blank for what is left out between.
pub(super) fn sides(field: &FieldChange, width: usize, style: Style) -> Vec<(char, String)> {
    if let (Some(Value::String(live)), Some(Value::String(target))) = (&field.live, &field.target)
        && has_lines(field)
    {
        return differing_lines(live, target, width, style);
    }
    let (live, target) = (value(field.live.as_ref()), value(field.target.as_ref()));
    let from = shared_beginning(&live, &target);
    [('-', live), ('+', target)].into_iter().map(|(sign, text)| (sign, around(&text, from, width, style))).collect()
}

/// The lines between what both texts begin with and what both end with.
fn differing_lines(live: &str, target: &str, width: usize, style: Style) -> Vec<(char, String)> {
    let (live, target): (Vec<&str>, Vec<&str>) = (live.lines().collect(), target.lines().collect());
    let before = live.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let (live, target) = (live.get(before..).unwrap_or_default(), target.get(before..).unwrap_or_default());
    let after = live.iter().rev().zip(target.iter().rev()).take_while(|(a, b)| a == b).count();
    let same = |count: usize| {
        let text = plural(count, "line the same", "lines the same");
        (count > 0).then(|| (' ', format!("{} {text}", style.ellipsis())))
    };
    let mut found: Vec<(char, String)> = same(before).into_iter().collect();
    let from = match (live, target) {
        ([a, ..], [b, ..]) => shared_beginning(&clean(a), &clean(b)),
        _ => 0,
    };
    for (sign, lines) in [('-', live), ('+', target)] {
        let lines = lines.get(..lines.len() - after).unwrap_or_default();
        for (index, line) in lines.iter().take(MAX_LINES).enumerate() {
            found.push((sign, around(&clean(line), if index == 0 { from } else { 0 }, width, style)));
        }
        if lines.len() > MAX_LINES {
            found.push((sign, format!("{} {}", style.ellipsis(), plural(lines.len() - MAX_LINES, "more line", "more lines"))));
        }
    }
    found.extend(same(after));
    found
}
