//! YAML text as events.
//!
//! Takes the text of one document, hands on events with resolved scalars. Stops at the first end of a document, as go-yaml's
//! `Unmarshal` does: what follows a line `...` in the same text is never looked at.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{ErrorKind, Event as Token, Parser, ScalarStyle, ScanError, Span, StrInput, StructureStyle};

use super::error::{Problem, ReadErrorKind};
use super::event::{Event, Events, Scalar, Spanned};
use super::scalar::{Tag, resolve, resolve_tagged};
use super::strict::{self, Tabs};

const CORE_TAGS: &str = "tag:yaml.org,2002:";

/// Reads one YAML document.
pub(crate) struct YamlEvents<'text> {
    parser: Parser<'text, StrInput<'text>>,
    text: &'text str,
    base: usize,
    max_depth: usize,
    /// The open collections, outermost first.
    open: Vec<Open>,
    finished: bool,
    tabs: Tabs,
    /// Whether the last token was a plain scalar.
    after_plain: bool,
    /// Byte offset behind the last token.
    token_end: usize,
}

struct Open {
    flow: bool,
    is_map: bool,
    /// Whether the next node of a map is a key.
    expects_key: bool,
    /// Where the last key of a map begins, unless `?` marks it.
    key_start: Option<usize>,
    start: usize,
}

impl<'text> YamlEvents<'text> {
    /// Reads `range` of `text`; the ranges of the events count from the start of `text`.
    pub(crate) fn new(text: &'text str, range: Range<usize>, max_depth: usize) -> Self {
        let document = text.get(range.clone()).unwrap_or_default();
        let document = document.strip_prefix('\u{FEFF}').unwrap_or(document);
        let limit = max_depth.saturating_add(1);
        let options = granit_parser::options! {
            emit_comments: false,
            emit_unresolved_aliases: true,
            emit_anchor_events: true,
            bom_inside_document_as_content: true,
            flow_nesting_limit: limit,
            block_nesting_limit: limit,
        };
        Self {
            parser: Parser::new_from_str_with_options(document, options),
            text: document,
            base: range.end.saturating_sub(document.len()),
            max_depth,
            open: Vec::new(),
            finished: false,
            tabs: Tabs::new(document),
            after_plain: false,
            token_end: 0,
        }
    }

    /// Refuses what go-yaml refuses though it is YAML.
    fn check(&mut self, token: &Token<'_>, span: &Span) -> Result<(), Problem> {
        let range = span.byte_range().unwrap_or_default();
        let in_brackets = self.open.last().is_some_and(|open| open.flow);
        let plain_from = if self.after_plain { Some(self.column_of_innermost() + 1) } else { None };
        let checked = match token {
            // The span of an anchor lies before that of its node, which has been checked already.
            Token::Anchor(_, name) => strict::anchor_name(name, range.start),
            _ => self.tabs.check(&range, in_brackets, plain_from),
        };
        let checked = checked.and_then(|()| match token {
            Token::Scalar(_, style, ..) => {
                strict::scalar(self.text.get(range.clone()).unwrap_or_default(), *style, in_brackets, range.start)
            }
            _ => Ok(()),
        });
        if !token.is_node() {
            return checked.map_err(|problem| self.rebase(problem));
        }
        self.after_plain = matches!(token, Token::Scalar(_, ScalarStyle::Plain, ..));
        let checked = checked.and_then(|()| self.check_key(range.start));
        checked.map_err(|problem| self.rebase(problem))
    }

    fn rebase(&self, problem: Problem) -> Problem {
        Problem::new(problem.kind, self.base + problem.offset)
    }

    /// Takes note of keys and their values; in braces, a key and its colon must stand on one line.
    fn check_key(&mut self, start: usize) -> Result<(), Problem> {
        let gap = self.text.get(self.token_end..start).unwrap_or_default();
        let Some(map) = self.open.last_mut().filter(|open| open.is_map) else { return Ok(()) };
        map.expects_key = !map.expects_key;
        if !map.expects_key {
            map.key_start = (map.flow && !gap.contains('?')).then_some(start);
            return Ok(());
        }
        let key = map.key_start.take().zip(gap.find(':'));
        let before_colon = key.and_then(|(key_start, colon)| self.text.get(key_start..self.token_end + colon));
        strict::key_in_brackets(before_colon.unwrap_or_default(), start)
    }

    fn column_of_innermost(&self) -> usize {
        let before = self.open.last().and_then(|open| self.text.as_bytes().get(..open.start)).unwrap_or_default();
        before.len() - memchr::memrchr(b'\n', before).map_or(0, |at| at + 1)
    }

    fn range(&self, span: &Span) -> Range<usize> {
        let range = span.byte_range().unwrap_or_default();
        self.base + range.start..self.base + range.end
    }

    fn problem(&self, error: &ScanError) -> Problem {
        let kind = match error.kind() {
            ErrorKind::RecursionLimitExceeded => ReadErrorKind::TooDeep { limit: self.max_depth },
            _ => ReadErrorKind::Yaml(error.info()),
        };
        Problem::new(kind, self.base + error.marker().byte_offset().unwrap_or(self.text.len()).min(self.text.len()))
    }

    fn scalar(
        &self,
        text: Cow<'text, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<Cow<'text, granit_parser::Tag>>,
        range: Range<usize>,
    ) -> Result<Spanned<'text>, Problem> {
        let mut merge = false;
        let value = match tag {
            Some(tag) => {
                let core = tag.suffix_in_namespace(CORE_TAGS);
                merge = text == "<<" && core.as_deref() == Some("merge");
                let tag = core.map_or(Tag::Other, |name| Tag::from_core_name(&name));
                resolve_tagged(text, tag).map_err(|kind| Problem::new(kind, range.start))?
            }
            None if style == ScalarStyle::Plain => {
                merge = text == "<<";
                resolve(text)
            }
            None => Scalar::Text(text),
        };
        Ok((Event::Scalar { value, merge, anchor }, range))
    }

    /// The byte range of a scalar. The parser gives that of the text of a block scalar; ours begins at the `|` or `>` and
    /// ends before the indentation of the line behind.
    fn scalar_range(&self, span: &Span, style: ScalarStyle) -> Range<usize> {
        let Range { start, end } = span.byte_range().unwrap_or_default();
        if !matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            return self.base + start..self.base + end;
        }
        let gap = self.text.get(self.token_end..start).unwrap_or_default();
        let header = block_scalar_header(gap).map_or(start, |at| self.token_end + at);
        let source = self.text.get(header..end).unwrap_or_default();
        let keeps_line_feeds = source.split(['\n', '#']).next().is_some_and(|header| header.contains('+'));
        let length = if keeps_line_feeds { source.trim_end_matches([' ', '\t']).len() } else { source.trim_end().len() };
        self.base + header..self.base + header + length
    }

    /// Where a list begins. For one that stands at the indentation of its key, the parser gives what follows the first `-`.
    fn list_start(&self, start: usize) -> usize {
        let in_block_map = self.open.last().is_some_and(|open| open.is_map && !open.flow);
        let gap = self.text.get(self.token_end..start).filter(|_| in_block_map).unwrap_or_default();
        let mut line_start = self.token_end;
        for (number, line) in gap.split_inclusive('\n').enumerate() {
            let entry = line.trim_start();
            if number > 0 && entry.starts_with('-') {
                return line_start + line.len() - entry.len();
            }
            line_start += line.len();
        }
        start
    }
}

/// Where the `|` or `>` stands in the text between the token before a block scalar and its content.
fn block_scalar_header(gap: &str) -> Option<usize> {
    let line = gap.trim_end().rsplit('\n').next()?;
    let line_start = gap.trim_end().len() - line.len();
    let code = line.split_once(" #").or_else(|| line.split_once("\t#")).map_or(line, |(code, _)| code).trim_end();
    let header = code.rsplit([' ', '\t']).next().filter(|header| header.starts_with(['|', '>']))?;
    Some(line_start + code.len() - header.len())
}

impl<'text> Events<'text> for YamlEvents<'text> {
    fn next_event(&mut self) -> Result<Option<Spanned<'text>>, Problem> {
        while !self.finished {
            let Some(token) = self.parser.next_event() else {
                break;
            };
            let (token, span) = token.map_err(|error| self.problem(&error))?;
            self.check(&token, &span)?;
            let mut range = self.range(&span);
            let event = match token {
                Token::Scalar(text, style, anchor, tag) => {
                    let value_range = self.scalar_range(&span, style);
                    self.token_end = range.end - self.base;
                    return self.scalar(text, style, anchor, tag, value_range).map(Some);
                }
                Token::MappingStart(style, anchor, _) => {
                    let flow = style == StructureStyle::Flow;
                    self.open.push(Open { flow, is_map: true, expects_key: true, key_start: None, start: range.start - self.base });
                    Event::MapStart { anchor }
                }
                Token::SequenceStart(style, anchor, _) => {
                    range.start = self.base + self.list_start(range.start - self.base);
                    let flow = style == StructureStyle::Flow;
                    self.open.push(Open { flow, is_map: false, expects_key: false, key_start: None, start: range.start - self.base });
                    Event::ListStart { anchor }
                }
                Token::MappingEnd | Token::SequenceEnd => {
                    // A pair in a list, `[a: 1]`, is a map without braces.
                    let closed = self.open.pop().is_some_and(|open| open.flow) && !range.is_empty();
                    Event::End { closed }
                }
                Token::Alias(anchor) => Event::Alias { anchor },
                Token::UnresolvedAlias(name) => {
                    return Err(Problem::new(ReadErrorKind::UnknownAnchor(name.into_owned()), range.start));
                }
                Token::DocumentEnd | Token::StreamEnd => break,
                _ => continue,
            };
            self.token_end = range.end - self.base;
            return Ok(Some((event, range)));
        }
        self.finished = true;
        Ok(None)
    }
}
