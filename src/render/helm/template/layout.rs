//! Where the fields of an object stand in a template, by the indentation of its lines.
//!
//! Takes a text, a part of it and a pointer; hands on [`Field`]s. Lines that hold actions alone have no place in the structure.

use std::ops::Range;

use super::action;

/// A place where a field is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// Its line, without indentation.
    pub(super) line: Range<usize>,
    /// The line, and all below it that belong to the field.
    pub(super) region: Range<usize>,
    /// How many names of the pointer lie below the field, in something that the template does not spell out.
    pub(super) rest: usize,
}

/// One entry of the structure.
struct Entry {
    indent: usize,
    name: String,
}

/// A line that names a field.
struct Named {
    line: Range<usize>,
    indent: usize,
    depth: usize,
    has_text: bool,
}

/// The places in a part of the text where the field stands, or else the nearest field above it whose contents the template does not spell out.
pub(super) fn fields(text: &str, part: &Range<usize>, pointer: &[String]) -> Vec<Field> {
    let plain = without_actions(text);
    let lines = lines(&plain, part);
    let named = named(&plain, &lines, pointer);
    let deepest = named.iter().map(|one| one.depth).max().unwrap_or(0);
    let found = named.iter().filter(|one| one.depth == deepest && deepest > 0).map(|one| {
        let after = lines.iter().filter(|line| line.start > one.line.start);
        let mut texts = after.filter(|line| plain.get((*line).clone()).is_some_and(|line| !line.trim().is_empty()));
        let (mut end, mut has_children) = (part.end, one.has_text);
        for line in texts.by_ref() {
            let content = plain.get(line.clone()).unwrap_or_default();
            let indent = indent(content);
            let is_item = content.trim_start().starts_with("- ") && indent == one.indent;
            if indent <= one.indent && !is_item {
                end = line.start;
                break;
            }
            has_children = true;
        }
        (Field { line: trimmed(text, &one.line), region: one.line.start..end, rest: pointer.len() - deepest }, has_children)
    });
    found.filter(|(field, spelled_out)| field.rest == 0 || !spelled_out).map(|(field, _)| field).collect()
}

/// The lines whose field lies on the way to the pointer, with how far they lead.
fn named(plain: &str, lines: &[Range<usize>], pointer: &[String]) -> Vec<Named> {
    let mut stack: Vec<Entry> = Vec::new();
    let mut found = Vec::new();
    for line in lines {
        let content = plain.get(line.clone()).unwrap_or_default();
        let mut rest = content.trim();
        if rest.is_empty() || rest.starts_with('#') {
            continue;
        }
        let mut indent = indent(content);
        while let Some(item) = rest.strip_prefix('-').filter(|item| item.is_empty() || item.starts_with(' ')) {
            while stack.last().is_some_and(|top| top.indent > indent || (top.indent == indent && top.name == "-")) {
                stack.pop();
            }
            stack.push(Entry { indent, name: "-".to_owned() });
            indent += rest.len() - item.trim_start().len();
            rest = item.trim_start();
        }
        while stack.last().is_some_and(|top| top.indent >= indent) {
            stack.pop();
        }
        let Some((key, value)) = rest.split_once(':').filter(|(_, value)| value.is_empty() || value.starts_with(' ')) else { continue };
        stack.push(Entry { indent, name: key.trim().trim_matches(['"', '\'']).to_owned() });
        let leads = stack.iter().zip(pointer).all(|(entry, token)| {
            let is_position = token.bytes().all(|byte| byte.is_ascii_digit());
            if entry.name == "-" { is_position } else { entry.name == *token }
        });
        if leads && stack.len() <= pointer.len() {
            let value = value.trim();
            found.push(Named { line: line.clone(), indent, depth: stack.len(), has_text: !value.is_empty() && !value.starts_with('#') });
        }
    }
    found
}

/// The lines of a part, without their ends.
fn lines(text: &str, part: &Range<usize>) -> Vec<Range<usize>> {
    let mut at = part.start;
    let lines = text.get(part.clone()).unwrap_or_default().split_inclusive('\n').map(|line| {
        let start = at;
        at += line.len();
        start..start + line.trim_end_matches('\n').len()
    });
    lines.collect()
}

/// The text with blanks where it has actions, as long as before.
fn without_actions(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    for action in action::actions(text) {
        plain.push_str(text.get(at..action.span.start).unwrap_or_default());
        let inside = text.get(action.span.clone()).unwrap_or_default();
        plain.extend(inside.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        at = action.span.end;
    }
    plain.push_str(text.get(at..).unwrap_or_default());
    plain
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn trimmed(text: &str, line: &Range<usize>) -> Range<usize> {
    let content = text.get(line.clone()).unwrap_or_default();
    let start = line.start + (content.len() - content.trim_start().len());
    start..start + content.trim().len()
}
