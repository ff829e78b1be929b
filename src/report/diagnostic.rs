//! One finding, as miette draws it.
//!
//! Takes a [`Finding`] and the texts it points at; hands on lines of text: headline, source with labels, help, and what it is about.

use std::fmt;
use std::io::{self, Write};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode, ThemeCharacters, ThemeStyles};

use super::Report;
use super::excerpt::Excerpt;
use super::style::{Style, Tone, clean, one_line, wrap};
use crate::finding::{Finding, Location, Severity};
use crate::manifest::Side;

/// Places shown of one finding.
const MAX_PLACES: usize = 8;
/// Where the text after `help:` starts.
const INDENT: &str = "        ";

/// Draws findings.
pub(super) struct Drawing {
    style: Style,
    handler: GraphicalReportHandler,
}

impl Drawing {
    pub(super) fn new(style: Style) -> Self {
        let theme = GraphicalTheme {
            characters: if style.unicode { ThemeCharacters::unicode() } else { ThemeCharacters::ascii() },
            styles: if style.color { ThemeStyles::ansi() } else { ThemeStyles::none() },
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(style.width)
            .with_links(false)
            .with_break_words(false)
            .with_context_lines(1)
            .without_syntax_highlighting();
        Self { style, handler }
    }

    /// Draws one finding.
    pub(super) fn draw(&self, finding: &Finding, report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
        let shown = finding.locations.get(..MAX_PLACES).unwrap_or(&finding.locations);
        let text_of = |location: &Location| report.texts.get(&(location.side, location.path.clone())).map(|text| &**text);
        let (excerpt, without_text) = Excerpt::of(shown, text_of, self.style);
        let tone = tone(finding.severity);
        let label = format!("{}[{}]:", finding.severity.as_str(), clean(&finding.rule));
        let headline = format!("{} {}", self.style.paint(tone, &label), one_line(&finding.message));
        let drawn = Drawn { headline, help: one_line(&finding.help), severity: finding.severity, excerpt };
        let mut text = String::new();
        self.handler.render_report(&mut text, &drawn).map_err(io::Error::other)?;
        out.write_all(text.as_bytes())?;
        for location in without_text {
            let label = if location.label.is_empty() { String::new() } else { format!(" ({})", one_line(&location.label)) };
            self.remark("at", &format!("{}{label}", place(location)), out)?;
        }
        if finding.locations.len() > shown.len() {
            self.remark("at", &format!("{} more places", finding.locations.len() - shown.len()), out)?;
        }
        if let Some(about) = about(finding) {
            self.remark("for", &about, out)?;
        }
        if finding.assumed {
            self.remark("note", "live state is assumed to be what the base revision says; no snapshot covers it", out)?;
        }
        if finding.fixable {
            self.remark("fix", "`presync check --fix` makes the edit", out)?;
        }
        if !finding.introduced {
            self.remark("note", "it was there before the change under review", out)?;
        }
        writeln!(out)
    }

    fn remark(&self, word: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
        for (index, line) in wrap(text, self.style.width.saturating_sub(INDENT.len() + 2)).iter().enumerate() {
            if index == 0 {
                writeln!(
                    out,
                    "{} {line}",
                    self.style.paint(Tone::Faint, &format!("{:>width$}", format!("{word}:"), width = INDENT.len() - 1))
                )?;
            } else {
                writeln!(out, "{INDENT}{line}")?;
            }
        }
        Ok(())
    }
}

/// The tone of a severity.
pub(super) fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Doubtful,
        Severity::Info => Tone::Known,
    }
}

/// `Application argocd/x, PersistentVolumeClaim shop/orders`.
fn about(finding: &Finding) -> Option<String> {
    let application = finding.application.as_ref().map(|id| format!("Application {}", clean(id)));
    let resource = finding.resource.as_ref().map(|key| clean(&key.to_string()).into_owned());
    let parts: Vec<String> = application.into_iter().chain(resource).collect();
    if parts.is_empty() { None } else { Some(parts.join(", ")) }
}

/// `path:line:column`, with the side where it is the base.
fn place(location: &Location) -> String {
    let side = if location.side == Side::Base { " (base)" } else { "" };
    format!("{}:{}:{}{side}", clean(&location.path), location.line, location.column)
}

/// What miette is given: it knows no [`Finding`].
#[derive(Debug)]
struct Drawn {
    headline: String,
    help: String,
    severity: Severity,
    excerpt: Excerpt,
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline)
    }
}

impl std::error::Error for Drawn {}

impl Diagnostic for Drawn {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Info => miette::Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        if self.help.is_empty() { None } else { Some(Box::new(&self.help)) }
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        if self.excerpt.is_empty() { None } else { Some(&self.excerpt) }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.excerpt.is_empty() { None } else { Some(Box::new(self.excerpt.labels())) }
    }
}
