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
    if let (Some(Value::String(live)), Some(Value::String(target))) = (&field.live, &field.target)
        && (live.trim_end().contains('\n') || target.trim_end().contains('\n'))
    {
        writeln!(out, "{indent}{path}:{owner}")?;
        return write_lines(live, target, indent, style, out);
    }
    let (live, target) = (value(field.live.as_ref()), value(field.target.as_ref()));
    let arrow = style.arrow();
    let one_line = format!("{path}: {live} {arrow} {target}");
    if fits(&one_line, room) {
        return writeln!(out, "{indent}{path}: {live} {arrow} {target}{owner}");
    }
    writeln!(out, "{indent}{path}:{owner}")?;
    let from = shared_beginning(&live, &target);
    for (sign, tone, text) in [("-", Tone::Bad, live), ("+", Tone::Good, target)] {
        let text = around(&text, from, room - 4, style);
        writeln!(out, "{indent}  {}", style.paint(tone, &format!("{sign} {text}")))?;
    }
    Ok(())
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

/// The lines between what both texts begin with and what both end with.
fn write_lines(live: &str, target: &str, indent: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (live, target): (Vec<&str>, Vec<&str>) = (live.lines().collect(), target.lines().collect());
    let before = live.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let (live, target) = (live.get(before..).unwrap_or_default(), target.get(before..).unwrap_or_default());
    let after = live.iter().rev().zip(target.iter().rev()).take_while(|(a, b)| a == b).count();
    let same = |count: usize, out: &mut dyn Write| {
        let text = plural(count, "line the same", "lines the same");
        if count > 0 { writeln!(out, "{indent}    {}", style.paint(Tone::Faint, &format!("{} {text}", style.ellipsis()))) } else { Ok(()) }
    };
    same(before, out)?;
    let room = style.width.saturating_sub(columns(indent) + 4).max(40);
    let from = match (live, target) {
        ([a, ..], [b, ..]) => shared_beginning(&clean(a), &clean(b)),
        _ => 0,
    };
    for (sign, tone, lines) in [("-", Tone::Bad, live), ("+", Tone::Good, target)] {
        let lines = lines.get(..lines.len() - after).unwrap_or_default();
        for (index, line) in lines.iter().take(MAX_LINES).enumerate() {
            let text = around(&clean(line), if index == 0 { from } else { 0 }, room, style);
            writeln!(out, "{indent}  {}", style.paint(tone, &format!("{sign} {text}")))?;
        }
        if lines.len() > MAX_LINES {
            let rest = plural(lines.len() - MAX_LINES, "more line", "more lines");
            writeln!(out, "{indent}  {}", style.paint(tone, &format!("{sign} {} {rest}", style.ellipsis())))?;
        }
    }
    same(after, out)
}
