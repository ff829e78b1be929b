//! The lines of the files that a finding points at, as a source text for miette.
//!
//! Takes places and the texts of their files; hands on a small text made of windows: a few lines around each place, from one file or several.
//! The cost depends on the windows, not on the length of the files, which miette would read anew for each label. Long lines are cut around
//! the place, and characters that a terminal would act upon are escaped.

use std::ops::Range;

use miette::{LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use super::style::{Style, clean, clean_but};
use crate::finding::Location;
use crate::manifest::Side;

/// Lines shown before and after a place.
const CONTEXT: usize = 2;
/// Columns that stand before the source text: line number, gutter.
const MARGIN: usize = 12;

/// Windows into files, one after the other.
#[derive(Debug, Default)]
pub(super) struct Excerpt {
    text: String,
    windows: Vec<Window>,
    labels: Vec<Label>,
}

#[derive(Debug)]
struct Window {
    /// File, as the header shows it.
    name: String,
    /// Bytes in the excerpt's text.
    span: SourceSpan,
    /// Line of the file at which it starts, from 0.
    line: usize,
    line_count: usize,
}

#[derive(Debug)]
struct Label {
    span: SourceSpan,
    /// Line and column in the file, from 0.
    place: (usize, usize),
    text: String,
    primary: bool,
}

/// A place in one file, cut to its first line.
struct Spot<'a> {
    location: &'a Location,
    bytes: Range<usize>,
    line_start: usize,
    line_end: usize,
    primary: bool,
}

impl Excerpt {
    /// An excerpt of the places whose text is at hand, and the places that are left.
    pub(super) fn of<'a>(
        locations: &'a [Location],
        text_of: impl Fn(&Location) -> Option<&'a str>,
        style: Style,
    ) -> (Self, Vec<&'a Location>) {
        let mut files: Vec<(&str, Vec<Spot<'a>>)> = Vec::new();
        let mut left = Vec::new();
        for (index, location) in locations.iter().enumerate() {
            let spot = text_of(location).and_then(|text| Some((text, Spot::new(location, text, index == 0)?)));
            let Some((text, spot)) = spot else {
                left.push(location);
                continue;
            };
            let same_file = |spots: &[Spot<'_>]| {
                spots.first().is_some_and(|first| first.location.path == location.path && first.location.side == location.side)
            };
            match files.iter_mut().find(|(_, spots)| same_file(spots)) {
                Some((_, spots)) => spots.push(spot),
                None => files.push((text, vec![spot])),
            }
        }
        let mut excerpt = Self::default();
        for (text, mut spots) in files {
            spots.sort_by_key(|spot| (spot.bytes.start, spot.bytes.end));
            excerpt.add_file(text, &spots, style);
        }
        (excerpt, left)
    }

    /// Whether there is nothing to show.
    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The labels, in terms of the excerpt.
    pub(super) fn labels(&self) -> impl Iterator<Item = LabeledSpan> + '_ {
        self.labels.iter().map(|label| {
            let text = Some(label.text.clone()).filter(|text| !text.is_empty());
            if label.primary { LabeledSpan::new_primary_with_span(text, label.span) } else { LabeledSpan::new_with_span(text, label.span) }
        })
    }

    fn add_file(&mut self, text: &str, spots: &[Spot<'_>], style: Style) {
        let mut rest = spots;
        while let Some(first) = rest.first() {
            let (start, above) = lines_above(text, first.line_start);
            let mut end = lines_below(text, first.line_end);
            let mut together = 1;
            while let Some(next) = rest.get(together).filter(|next| lines_above(text, next.line_start).0 <= end) {
                end = end.max(lines_below(text, next.line_end));
                together += 1;
            }
            let (window, later) = rest.split_at(together);
            let line = (first.location.line as usize).saturating_sub(1 + above);
            self.add_window(text, start..end, line, window, style);
            rest = later;
        }
    }

    fn add_window(&mut self, text: &str, bytes: Range<usize>, line: usize, spots: &[Spot<'_>], style: Style) {
        let Some(first) = spots.first() else { return };
        let offset = self.text.len();
        let mut line_count = 0;
        let mut at = bytes.start;
        for content in text.get(bytes).unwrap_or_default().split_inclusive('\n') {
            let on_line: Vec<&Spot<'_>> = spots.iter().filter(|spot| spot.line_start == at).collect();
            self.add_line(content.trim_end_matches(['\n', '\r']), at, &on_line, style);
            at += content.len();
            line_count += 1;
        }
        let side = if first.location.side == Side::Base { " (base)" } else { "" };
        let name = format!("{}{side}", clean(&first.location.path));
        self.windows.push(Window { name, span: (offset, self.text.len() - offset).into(), line, line_count });
    }

    /// Adds one line, cut to the width around the first place on it.
    fn add_line(&mut self, line: &str, start: usize, spots: &[&Spot<'_>], style: Style) {
        let room = style.width.saturating_sub(MARGIN).max(40);
        let first = spots.first().map_or(0, |spot| spot.bytes.start - start);
        let from = if first + room / 4 < room || line.len() <= room { 0 } else { floor(line, first.saturating_sub(room / 4)) };
        let shown = line.get(from..).unwrap_or_default();
        let cut = shown.char_indices().nth(room).map_or(shown.len(), |(at, _)| at);
        let is_cut = cut < shown.len();
        let shown = shown.get(..cut).unwrap_or(shown);
        if from > 0 {
            self.text.push_str(style.ellipsis());
        }
        let offset = self.text.len();
        let position = |byte: usize| {
            let within = floor(shown, (byte - start).saturating_sub(from));
            offset + source(shown.get(..within).unwrap_or_default()).len()
        };
        for spot in spots {
            let (begin, end) = (position(spot.bytes.start), position(spot.bytes.end));
            self.labels.push(Label {
                span: (begin, end.saturating_sub(begin)).into(),
                place: ((spot.location.line as usize).saturating_sub(1), (spot.location.column as usize).saturating_sub(1)),
                text: style.shorten(&clean(&spot.location.label), room),
                primary: spot.primary,
            });
        }
        self.text.push_str(&source(shown));
        if is_cut {
            self.text.push_str(style.ellipsis());
        }
        self.text.push('\n');
    }
}

impl SourceCode for Excerpt {
    /// The window around a place, whole, whatever context is asked for; without context the place alone.
    fn read_span<'a>(&'a self, span: &SourceSpan, before: usize, after: usize) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let end = span.offset() + span.len();
        let window = self.windows.iter().find(|window| {
            let (from, to) = (window.span.offset(), window.span.offset() + window.span.len());
            from <= span.offset() && end <= to && span.offset() < to
        });
        let window = window.ok_or(MietteError::OutOfBounds)?;
        let label = self.labels.iter().find(|label| label.span == *span).filter(|_| before == 0 && after == 0);
        let (shown, (line, column)) = label.map_or((window.span, (window.line, 0)), |label| (label.span, label.place));
        let text = self.text.get(shown.offset()..shown.offset() + shown.len()).ok_or(MietteError::OutOfBounds)?;
        Ok(Box::new(MietteSpanContents::new_named(window.name.clone(), text.as_bytes(), shown, line, column, window.line_count)))
    }
}

impl<'a> Spot<'a> {
    /// `None` where the place does not lie in the text.
    fn new(location: &'a Location, text: &str, primary: bool) -> Option<Self> {
        let start = location.span.start;
        let line_start = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
        let line_end = start + text.get(start..)?.find('\n').unwrap_or(text.len() - start);
        let content = text.get(start..line_end)?.trim_end_matches('\r').len();
        let end = location.span.end.clamp(start, start + content);
        Some(Self { location, bytes: start..end, line_start, line_end, primary })
    }
}

/// Start of the line that stands [`CONTEXT`] lines above the one that starts at `line_start`, or of the first line; and how many lines above.
fn lines_above(text: &str, line_start: usize) -> (usize, usize) {
    let mut start = line_start;
    for lines in 0..CONTEXT {
        if start == 0 {
            return (0, lines);
        }
        start = text.get(..start - 1).and_then(|above| above.rfind('\n')).map_or(0, |at| at + 1);
    }
    (start, CONTEXT)
}

/// End of the line that stands [`CONTEXT`] lines below the one that ends at `line_end`, with its line break.
fn lines_below(text: &str, line_end: usize) -> usize {
    let mut end = (line_end + 1).min(text.len());
    for _ in 0..CONTEXT {
        let Some(below) = text.get(end..) else { return text.len() };
        end = below.find('\n').map_or(text.len(), |at| end + at + 1);
    }
    end
}

/// Source text for a terminal; tabs stay, miette aligns them.
fn source(text: &str) -> std::borrow::Cow<'_, str> {
    clean_but(text, |c| c == '\t')
}

/// The largest character boundary up to `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
