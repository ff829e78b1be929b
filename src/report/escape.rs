//! Text of any origin, made safe to stand in Markdown, HTML, XML and JSON.
//!
//! Takes strings that a pull request may have written; hands on strings that stay where they are put. Characters that a terminal would act
//! upon, or that hide or reorder text, are written as escapes in every format.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::style::{acts_on_terminal, clean, one_line};

/// Text as one line of Markdown that is read as it stands: no markup, no link, no mention, no reference.
pub(super) fn markdown(text: &str) -> String {
    let line = one_line(text);
    let mut safe = String::with_capacity(line.len() + 16);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => safe.extend(['\\', c]),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '$' => safe.push_str("&#36;"),
            // GitHub turns these into mentions, references and links in the finished page, where only an element between helps.
            '@' | '#' => safe.extend([c, '<', '!', '-', '-', ' ', '-', '-', '>']),
            ':' if chars.peek() == Some(&'/') => safe.push_str(":<!-- -->"),
            '.' if safe.get(safe.len().saturating_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("www")) => {
                safe.push_str("<!-- -->.")
            }
            _ => safe.push(c),
        }
    }
    safe
}

/// Text as a code span of Markdown.
pub(super) fn code(text: &str) -> String {
    let line = one_line(text);
    let line = if line.is_empty() { "(empty)".to_owned() } else { line };
    let fence = "`".repeat(longest_run(&line, '`') + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') || fence.len() > 1 { " " } else { "" };
    format!("{fence}{pad}{line}{pad}{fence}")
}

/// Lines of text as a fenced block of Markdown.
pub(super) fn fenced(language: &str, lines: &[String], indent: &str) -> String {
    let longest = lines.iter().map(|line| longest_run(line, '`')).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let mut block = format!("{indent}{fence}{language}\n");
    for line in lines {
        block.push_str(indent);
        block.push_str(&clean(line));
        block.push('\n');
    }
    block + indent + &fence + "\n"
}

fn longest_run(text: &str, of: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == of { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Text as content or quoted attribute of HTML and XML.
pub(super) fn html(text: &str) -> String {
    entities(&clean(text))
}

/// The same for a sentence: what stands between backquotes becomes code. A backquote without a second one stays as it is.
pub(super) fn html_sentence(text: &str) -> String {
    let safe = html(text);
    let mut pieces = safe.split('`');
    let mut sentence = pieces.next().unwrap_or_default().to_owned();
    while let Some(piece) = pieces.next() {
        match pieces.next() {
            Some(after) => sentence += &format!("<code>{piece}</code>{after}"),
            None => sentence += &format!("`{piece}"),
        }
    }
    sentence
}

/// The same for text whose lines stay apart.
pub(super) fn html_lines(text: &str) -> String {
    entities(&super::style::clean_but(text, |c| c == '\n' || c == '\t'))
}

fn entities(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

/// A label of a Mermaid diagram: what is not a plain character becomes one of its numbered entities.
pub(super) fn mermaid(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in clean(text).chars() {
        if c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | ',' | '+') {
            safe.push(c);
        } else {
            safe.push_str(&format!("#{};", u32::from(c)));
        }
    }
    safe
}

/// Writes a value as indented JSON with a final newline. Characters that a terminal would act upon are escaped, and so is what would end a
/// script element of a page that embeds it: programs read the same values.
pub(super) fn write_json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    value.serialize(&mut Serializer::with_formatter(&mut out, Careful(PrettyFormatter::new())))?;
    out.write_all(b"\n")?;
    out.flush()
}

struct Careful(PrettyFormatter<'static>);

impl Formatter for Careful {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c: char| acts_on_terminal(c) || c == '<') {
            let (before, from) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            let Some(c) = chars.next() else { break };
            if c == '<' && !chars.as_str().starts_with(['/', '!']) {
                writer.write_all(b"<")?;
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_shows_text_as_it_stands() {
        assert_eq!(markdown("a *b* `c` [d](e) <f> | g_h"), r"a \*b\* \`c\` \[d\](e) &lt;f&gt; \| g\_h");
        assert_eq!(markdown("@team #12 https://x www.y.z"), "@<!-- -->team #<!-- -->12 https:<!-- -->//x www<!-- -->.y.z");
        assert_eq!(markdown("two\nlines\u{202e}"), "two lines\\\\u{202e}");
    }

    #[test]
    fn code_in_a_sentence_is_marked_and_stays_harmless() {
        assert_eq!(html_sentence("run `a < b` and `c`"), "run <code>a &lt; b</code> and <code>c</code>");
        assert_eq!(html_sentence("one ` alone"), "one ` alone");
        assert_eq!(html_sentence("`<b>` `"), "<code>&lt;b&gt;</code> `");
    }

    #[test]
    fn code_spans_and_fences_are_longer_than_what_they_hold() {
        assert_eq!(code("plain"), "`plain`");
        assert_eq!(code("a``b"), "``` a``b ```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(fenced("diff", &["- ```".to_owned(), "+ b\n".to_owned()], " "), " ````diff\n - ```\n + b\\n\n ````\n");
    }

    #[test]
    fn json_is_the_same_value_without_characters_that_act() {
        let value = serde_json::json!({"a\u{9b}": "</script><b>\u{202e}\u{e0001}\n", "list": [], "object": {}});
        let mut bytes = Vec::new();
        write_json(&value, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains(r#""a\u009b": "\u003c/script><b>\u202e\udb40\udc01\n""#), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
