//! Where an edit stands in the text, and what is written there.

use std::ops::Range;

use serde_json::Value;

use super::value::{topmost, written};
use crate::finding::Operation;
use crate::manifest::Pointer;
use crate::manifest::span::{FieldSpan, locate};

/// Bytes that are replaced.
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) replacement: String,
}

/// The edit of a text; whether it does what is meant, is for the reader to see.
pub(super) fn edit(
    text: &str,
    document: &Range<usize>,
    pointer: &Pointer,
    operation: &Operation,
    whole: &Value,
) -> Result<Edit, &'static str> {
    let place = Place { text, document, whole };
    match operation {
        Operation::Set(wanted) => match place.find(pointer) {
            Some(found) if !found.value.is_empty() => {
                let old = text.get(found.value.clone()).unwrap_or_default();
                if old.trim_end().contains('\n') {
                    return Err("the value goes over several lines");
                }
                let end = found.value.start + old.trim_end().len();
                Ok(Edit { range: found.value.start..end, replacement: scalar(wanted, place.is_flow(found.value.start)) })
            }
            _ => place.insert(pointer, &Leaf::Value(&Value::String(wanted.clone()))),
        },
        Operation::Quote => {
            let raw = written(text, document, pointer)?;
            let found = place.find(pointer).ok_or("the field is not written where it is read")?;
            Ok(Edit { range: found.value.start..found.value.start + raw.len(), replacement: quoted(&raw) })
        }
        Operation::Remove => {
            let (pointer, _) = topmost(whole, pointer)?;
            place.remove(&pointer)
        }
        Operation::Move(to) => place.take(pointer, &Pointer::parse(to).map_err(|_| "the place is not known")?),
        Operation::Add(item) => match place.find(pointer) {
            Some(found) if !found.value.is_empty() && !matches!(text.get(found.value.clone()), Some("null" | "~")) => {
                place.add(&found, item)
            }
            _ => place.insert(pointer, &Leaf::Value(&Value::Array(vec![item.clone()]))),
        },
    }
}

/// What is put in at the end of the fields that lead to it.
enum Leaf<'v> {
    Value(&'v Value),
    /// Lines as they stood elsewhere: those above it, what follows the key with its colon, and the column in which the key stood.
    Lines {
        above: Vec<String>,
        behind: String,
        column: usize,
    },
}

/// A replacement whose lines end as those around its place do.
pub(super) fn with_line_ends_of(text: &str, at: usize, replacement: String) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let line = after.find('\n').map(|newline| &after[..newline]).or_else(|| before.rfind('\n').map(|newline| &before[..newline]));
    if line.is_some_and(|line| line.ends_with('\r')) { replacement.replace('\n', "\r\n") } else { replacement }
}

/// A document in a text.
struct Place<'t> {
    text: &'t str,
    document: &'t Range<usize>,
    whole: &'t Value,
}

impl Place<'_> {
    fn find(&self, pointer: &Pointer) -> Option<FieldSpan> {
        locate(self.text, self.document.clone(), pointer)
    }

    fn at(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    /// Whether a place is inside of braces or brackets; what is on the same line decides.
    fn is_flow(&self, at: usize) -> bool {
        let start = self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
        self.is_json() || self.at(start..at).contains(['{', '['])
    }

    fn is_json(&self) -> bool {
        self.at(self.document.clone()).trim_start().starts_with('{')
    }

    /// How far a place is indented, in characters of its line before it.
    fn column(&self, at: usize) -> usize {
        let start = self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
        self.at(start..at).chars().count()
    }

    /// Puts a field in, with the maps that lead to it, at the beginning of the nearest map that is there.
    fn insert(&self, pointer: &Pointer, leaf: &Leaf<'_>) -> Result<Edit, &'static str> {
        let tokens = pointer.tokens();
        let mut ancestor = pointer.parent().ok_or("the place is not known")?;
        let found = loop {
            if let Some(found) = self.find(&ancestor) {
                break found;
            }
            ancestor = ancestor.parent().ok_or("the document is empty")?;
        };
        let missing = tokens.get(ancestor.tokens().len()..).unwrap_or_default();
        let old = self.at(found.value.clone());
        if old.starts_with('{') {
            let is_empty = old.trim_start_matches('{').trim_start().starts_with('}');
            let Leaf::Value(value) = leaf else { return Err("it would go into a map in braces") };
            let entry = flow_entry(missing, value);
            let at = found.value.start + 1;
            return Ok(Edit { range: at..at, replacement: if is_empty { entry } else { format!("{entry}, ") } });
        }
        if old.is_empty() || matches!(old, "null" | "~") {
            let key = found.key.as_ref().ok_or("the document is empty")?;
            let indent = self.column(key.start) + 2;
            let block = block_entry(missing, leaf, indent);
            // Where nothing is written, the reader may put the value at the next field.
            let colon =
                self.text.get(key.end..).and_then(|rest| rest.find(':')).map(|at| key.end + at + 1).ok_or("the place is not known")?;
            let range = if old.is_empty() { colon..colon } else { found.value };
            return Ok(Edit { range, replacement: format!("\n{}{}", " ".repeat(indent), block.trim_end()) });
        }
        // The first key of a map may stand in quotes; an alias must not be written into.
        let is_map = ancestor.get(self.whole).is_some_and(Value::is_object) && !old.starts_with('*');
        if !is_map {
            return Err("a value stands in the way");
        }
        let indent = self.column(found.value.start);
        let block = block_entry(missing, leaf, indent);
        Ok(Edit { range: found.value.start..found.value.start, replacement: format!("{block}{}", " ".repeat(indent)) })
    }

    /// Puts an item at the beginning of a list.
    fn add(&self, found: &FieldSpan, item: &Value) -> Result<Edit, &'static str> {
        let old = self.at(found.value.clone());
        let start = found.value.start;
        if let Some(rest) = old.strip_prefix('[') {
            let is_empty = rest.trim_start().starts_with(']');
            let item = flow(item);
            return Ok(Edit { range: start + 1..start + 1, replacement: if is_empty { item } else { format!("{item}, ") } });
        }
        if !old.starts_with('-') {
            return Err("it is no list in the text");
        }
        let column = self.column(start);
        Ok(Edit { range: start..start, replacement: format!("- {}\n{}", block_item(item, column), " ".repeat(column)) })
    }

    /// Takes a field to another place, as it is written, with the comments on its lines and right above it.
    fn take(&self, pointer: &Pointer, to: &Pointer) -> Result<Edit, &'static str> {
        let (topmost, is_itself) = topmost(self.whole, pointer)?;
        let found = self.find(pointer).and_then(|found| found.key).ok_or("the field is not written where it is read")?;
        if self.is_flow(found.start) {
            return Err("it stands in a map in braces");
        }
        let own = self.remove(pointer)?.range;
        let mut removed = self.remove(&topmost)?.range;
        let column = self.column(found.start);
        // Where a map goes along, what stands above it speaks of more than the field.
        let above = if is_itself { self.comments_above(&mut removed.start, column) } else { Vec::new() };
        let behind = self.at(found.end..own.end).replace("\r\n", "\n");
        let behind = behind.strip_prefix('"').or_else(|| behind.strip_prefix('\'')).unwrap_or(&behind).to_owned();
        let inserted = self.insert(to, &Leaf::Lines { above, behind, column })?;
        if inserted.range.start < removed.end && removed.start < inserted.range.end.max(inserted.range.start + 1) {
            return Err("it would go into itself");
        }
        let removed = Edit { range: removed, replacement: String::new() };
        let (first, second) = if removed.range.start < inserted.range.start { (removed, inserted) } else { (inserted, removed) };
        let between = self.at(first.range.end..second.range.start).replace("\r\n", "\n");
        Ok(Edit { range: first.range.start..second.range.end, replacement: first.replacement + &between + &second.replacement })
    }

    /// The comments right above a line that begin in its column; the place is moved to the first of them.
    fn comments_above(&self, start: &mut usize, column: usize) -> Vec<String> {
        let mut above = Vec::new();
        while *start > self.document.start {
            let line = self.at(0..*start - 1).rfind('\n').map_or(0, |newline| newline + 1);
            let text = self.at(line..*start).trim_end();
            if line < self.document.start || !text.trim_start().starts_with('#') || text.len() - text.trim_start().len() != column {
                break;
            }
            above.insert(0, text.trim_start().to_owned());
            *start = line;
        }
        above
    }

    /// Takes a field out: its lines, or its part of a line in braces.
    fn remove(&self, pointer: &Pointer) -> Result<Edit, &'static str> {
        let found = self.find(pointer).ok_or("the field is not written where it is read")?;
        let key = found.key.ok_or("it is no field of a map")?;
        let end = found.value.end.max(key.end);
        if self.is_flow(key.start) {
            let after = self.text.get(end..).unwrap_or_default();
            let spaces = after.len() - after.trim_start_matches([' ', '\t']).len();
            if after[spaces..].starts_with(',') {
                let rest = &after[spaces + 1..];
                let more = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                return Ok(Edit { range: key.start..end + spaces + 1 + more, replacement: String::new() });
            }
            let before = self.text.get(..key.start).unwrap_or_default().trim_end();
            let start = if before.ends_with(',') { before.len() - 1 } else { key.start };
            return Ok(Edit { range: start..end, replacement: String::new() });
        }
        let line = self.text.get(..key.start).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
        if !self.at(line..key.start).trim().is_empty() {
            return Err("something else stands on its line");
        }
        // A value of several lines ends behind its last one.
        let ended = end > 0 && self.at(end - 1..end) == "\n";
        let next = if ended {
            end
        } else {
            self.text.get(end..).and_then(|rest| rest.find('\n')).map_or(self.text.len(), |newline| end + newline + 1)
        };
        Ok(Edit { range: line..next, replacement: String::new() })
    }
}

/// Fields one inside of the other, as lines from this indentation on; the first one has its place already.
fn block_entry(tokens: &[String], leaf: &Leaf<'_>, indent: usize) -> String {
    let mut text = String::new();
    let last = tokens.len().saturating_sub(1);
    for (depth, token) in tokens.iter().enumerate() {
        let column = indent + 2 * depth;
        if let (Leaf::Lines { above, .. }, true) = (leaf, depth == last) {
            for (position, line) in above.iter().enumerate() {
                let lead = if depth + position > 0 { " ".repeat(column) } else { String::new() };
                text.push_str(&format!("{lead}{line}\n"));
            }
        }
        if !text.is_empty() {
            text.push_str(&" ".repeat(column));
        }
        text.push_str(&scalar(token, false));
        match leaf {
            _ if depth < last => text.push_str(":\n"),
            Leaf::Value(value) => text.push_str(&value_lines(value, column + 2)),
            Leaf::Lines { behind, column: before, .. } => text.push_str(&shifted(behind, *before, column)),
        }
    }
    text
}

/// What stands behind a key, with its colon; lists begin in this column of the next line.
fn value_lines(value: &Value, column: usize) -> String {
    match value {
        Value::Array(items) => {
            let items = items.iter().map(|item| format!("{}- {}\n", " ".repeat(column), block_item(item, column)));
            format!(":\n{}", items.collect::<String>())
        }
        Value::String(value) => format!(": {}\n", scalar(value, false)),
        other => format!(": {other}\n"),
    }
}

/// Lines that stood below a key in one column, for a key in another one; the first line follows the key.
fn shifted(lines: &str, before: usize, after: usize) -> String {
    let shift = |line: &str| {
        let depth = line.len() - line.trim_start_matches(' ').len();
        format!("{}{}", " ".repeat((depth + after).saturating_sub(before)), line.trim_start_matches(' '))
    };
    let mut all = lines.lines();
    let first = all.next().unwrap_or_default().to_owned();
    let rest = all.map(|line| if line.trim().is_empty() { String::new() } else { shift(line) });
    std::iter::once(first).chain(rest).map(|line| line + "\n").collect()
}

/// An item of a list whose dashes stand in this column.
fn block_item(item: &Value, column: usize) -> String {
    let Value::Object(map) = item else {
        return item.as_str().map_or_else(|| flow(item), |text| scalar(text, false));
    };
    let fields: Vec<String> = map
        .iter()
        .map(|(name, value)| match value {
            Value::Array(items) => {
                let lead = format!("\n{}- ", " ".repeat(column + 4));
                let items: String = items.iter().map(|item| format!("{lead}{}", block_item(item, column + 4))).collect();
                format!("{}:{items}", scalar(name, false))
            }
            Value::String(text) => format!("{}: {}", scalar(name, false), scalar(text, false)),
            other => format!("{}: {}", scalar(name, false), flow(other)),
        })
        .collect();
    fields.join(&format!("\n{}", " ".repeat(column + 2)))
}

fn flow_entry(tokens: &[String], value: &Value) -> String {
    match tokens.split_first() {
        Some((last, [])) => format!("{}: {}", quoted(last), flow(value)),
        Some((first, rest)) => format!("{}: {{{}}}", quoted(first), flow_entry(rest, value)),
        None => String::new(),
    }
}

/// A value in braces and brackets, valid as YAML and as JSON alike.
fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entries: Vec<String> = map.iter().map(|(name, value)| format!("{}: {}", quoted(name), flow(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

/// A text as YAML: plain where every reader takes it for a text.
fn scalar(text: &str, in_flow: bool) -> String {
    let plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./=-".contains(&byte) || (byte == b',' && !in_flow))
        && !["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&text.to_lowercase().as_str());
    if plain && !in_flow { text.to_owned() } else { quoted(text) }
}

/// A text in double quotes.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
