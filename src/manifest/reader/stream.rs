//! Cuts a stream into documents as `NewYAMLOrJSONDecoder` of Kubernetes does (apimachinery, `pkg/util/yaml/decoder.go`).
//!
//! Takes the text of a file or of a renderer's output, hands on documents until the first that cannot be read.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use super::build::{Built, build};
use super::duplicate::duplicate_keys;
use super::error::{Problem, ReadErrorKind};
use super::json::JsonEvents;
use super::strict::forbidden_character;
use super::yaml::YamlEvents;
use super::{Document, Limits, Stream};

/// How far the Kubernetes decoder looks for the brace that makes it try JSON (the buffer size that Argo CD and kubectl give).
const GUESS_BYTES: usize = 4096;

/// U+0085 ends a line in YAML as go-yaml reads it (`yamlprivateh.go:is_break`), and so does a line break of the same length in its place.
pub(crate) fn with_line_breaks<'text>(text: &'text str, document: &Range<usize>) -> Cow<'text, str> {
    match text.get(document.clone()) {
        Some(inside) if inside.contains('\u{85}') => Cow::Owned(text.replace('\u{85}', "\r\n")),
        _ => Cow::Borrowed(text),
    }
}

/// Reads a stream; see [`super::read_stream`].
pub(crate) fn read(text: &str, limits: &Limits) -> Stream {
    let mut reader = StreamReader { text, limits, documents: Vec::new(), lines: LineCounter { text, offset: 0, line: 1 } };
    let outcome = reader.run();
    Stream { documents: reader.documents, error: outcome.err().map(|problem| problem.locate(text)) }
}

struct StreamReader<'text, 'limits> {
    text: &'text str,
    limits: &'limits Limits,
    documents: Vec<Document>,
    lines: LineCounter<'text>,
}

impl StreamReader<'_, '_> {
    fn run(&mut self) -> Result<(), Problem> {
        let start = if starts_with_brace(self.text) { self.json_values()? } else { Some((0, None)) };
        let Some((position, json_problem)) = start else {
            return Ok(());
        };
        let mut chunks = Chunks { text: self.text, position };
        let mut json_problem = json_problem;
        while let Some(chunk) = chunks.next_chunk() {
            let read = chunk.and_then(|range| self.yaml_document(range));
            // The decoder reports the JSON error when the first document behind the JSON is no YAML either.
            match (read, json_problem.take()) {
                (Ok(()), _) => {}
                (Err(problem), None) => return Err(problem),
                (Err(yaml), Some(json)) => return Err(self.likelier(json, yaml)),
            }
        }
        Ok(())
    }

    /// A text that starts with a brace but has no JSON at all is YAML with braces: its own error helps more.
    fn likelier(&self, json: Problem, yaml: Problem) -> Problem {
        if matches!(yaml.kind, ReadErrorKind::Yaml(_)) || !self.documents.is_empty() { json } else { yaml }
    }

    /// Reads JSON values one behind the other. Hands back where to go on as YAML and the error that was met there, or
    /// `None` at the end of the stream.
    fn json_values(&mut self) -> Result<Option<(usize, Option<Problem>)>, Problem> {
        let end = self.text.len();
        let mut position = 0;
        let mut count = 0;
        loop {
            let mut events = JsonEvents::new(self.text, position..end);
            if events.peek().is_none() {
                return Ok(None);
            }
            let begin = events.position();
            match build(&mut events, self.limits) {
                Ok(built) => {
                    let range = begin..events.position();
                    count += 1;
                    position = range.end;
                    if let Some(built) = built {
                        let document = JsonEvents::new(self.text, range.clone());
                        self.keep(built, range, |_| duplicate_keys(document))?;
                    }
                }
                Err(problem) if count > 1 || !matches!(problem.kind, ReadErrorKind::Json(_)) => {
                    return Err(problem);
                }
                Err(problem) => {
                    return match skip_blanks_and_line_feed(self.text, position) {
                        Some(position) => Ok(Some((position, Some(problem)))),
                        None => Err(problem),
                    };
                }
            }
        }
    }

    fn yaml_document(&mut self, range: Range<usize>) -> Result<(), Problem> {
        let max_depth = self.limits.max_depth;
        let text = &*with_line_breaks(self.text, &range);
        self.check_length(&range)?;
        if let Some(problem) = forbidden_character(text.get(range.clone()).unwrap_or_default()) {
            return Err(Problem::new(problem.kind, range.start + problem.offset));
        }
        match build(&mut YamlEvents::new(text, range.clone(), max_depth), self.limits)? {
            Some(built) => self.keep(built, range, |range| duplicate_keys(YamlEvents::new(text, range, max_depth))),
            None => Ok(()),
        }
    }

    fn check_length(&self, range: &Range<usize>) -> Result<(), Problem> {
        let limit = self.limits.max_document_bytes;
        if range.len() > limit {
            return Err(Problem::new(ReadErrorKind::DocumentTooLong { limit }, range.start));
        }
        Ok(())
    }

    fn keep(
        &mut self,
        built: Built,
        range: Range<usize>,
        find_duplicates: impl FnOnce(Range<usize>) -> Vec<super::DuplicateKey>,
    ) -> Result<(), Problem> {
        self.check_length(&range)?;
        if built.value.is_null() {
            return Ok(());
        }
        let limit = self.limits.max_documents;
        if self.documents.len() >= limit {
            return Err(Problem::new(ReadErrorKind::TooManyDocuments { limit }, built.start));
        }
        let duplicate_keys = if built.duplicate_keys { find_duplicates(range.clone()) } else { Vec::new() };
        let line = self.lines.line_at(built.start);
        self.documents.push(Document { value: built.value, range, line, duplicate_keys });
        Ok(())
    }
}

fn starts_with_brace(text: &str) -> bool {
    let head = text.get(..text.floor_char_boundary(GUESS_BYTES)).unwrap_or(text);
    head.trim_start().starts_with('{')
}

/// What `decoder.go:consumeWhitespace` skips before it goes on as YAML: blanks up to and with the first line feed. `None`
/// where that function gives up, which it does with fewer than four bytes left.
fn skip_blanks_and_line_feed(text: &str, mut position: usize) -> Option<usize> {
    loop {
        let rest = text.get(position..).filter(|rest| rest.len() >= 4)?;
        let next = rest.chars().next()?;
        if !next.is_whitespace() {
            return Some(position);
        }
        position += next.len_utf8();
        if next == '\n' {
            return Some(position);
        }
    }
}

/// Cuts at lines that start with `---` (`decoder.go:YAMLReader.Read`). Before the content of a document such a line does not
/// cut but belongs to it.
struct Chunks<'text> {
    text: &'text str,
    position: usize,
}

impl Chunks<'_> {
    fn next_chunk(&mut self) -> Option<Result<Range<usize>, Problem>> {
        let start = self.position;
        let end = self.text.len();
        let mut search = start;
        while let Some(separator) = self.separator_from(search) {
            let behind = separator + "---".len();
            let line_end = memchr::memchr(b'\n', self.text.as_bytes().get(behind..)?).map_or(end, |at| behind + at + 1);
            let rest = self.text.get(behind..line_end)?.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                self.position = end;
                return Some(Err(Problem::new(ReadErrorKind::Separator(shorten(rest)), separator)));
            }
            if separator > start {
                self.position = line_end;
                return Some(Ok(start..separator));
            }
            search = line_end;
        }
        self.position = end;
        (start < end).then_some(Ok(start..end))
    }

    /// The next line at or behind `from`, which is the start of a line, that starts with `---`.
    fn separator_from(&self, from: usize) -> Option<usize> {
        let rest = self.text.as_bytes().get(from..)?;
        if rest.starts_with(b"---") {
            return Some(from);
        }
        memmem::find(rest, b"\n---").map(|at| from + at + 1)
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Counts lines in one pass over the text; offsets must not go back.
struct LineCounter<'text> {
    text: &'text str,
    offset: usize,
    line: u32,
}

impl LineCounter<'_> {
    fn line_at(&mut self, offset: usize) -> u32 {
        let between = self.text.as_bytes().get(self.offset..offset).unwrap_or_default();
        let lines = memchr::memchr_iter(b'\n', between).count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.offset = self.offset.max(offset);
        self.line
    }
}
