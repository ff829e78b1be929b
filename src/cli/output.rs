//! Where output goes and how it looks.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};

use clap::ValueEnum;
use miette::{GraphicalReportHandler, GraphicalTheme};

use super::Failure;
use super::shared::{Color, Format, SharedArgs};
use super::surroundings;
use crate::check::Outcome;
use crate::report::applications::{self, Node};
use crate::report::{Report, Style, github, gitlab, html, json, junit, markdown, plan_text, sarif, text};

/// What the text format shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// Findings first.
    Findings,
    /// The plan.
    Plan,
}

/// Writes a report to standard output and to the files that were asked for.
pub(super) fn write(report: &Report<'_>, args: &SharedArgs, text: Text) -> Result<(), Failure> {
    for (format, path) in &args.report {
        let file = File::create(path).map_err(|error| miette::miette!("cannot write {}: {error}", path.display()))?;
        let mut out = BufWriter::new(file);
        write_format(report, *format, text, Style { color: false, width: 100, unicode: true }, &mut out)?;
        out.flush().map_err(|error| miette::miette!("cannot write {}: {error}", path.display()))?;
    }
    if args.quiet {
        return Ok(());
    }
    let stdout = io::stdout();
    let style = style(args.color, stdout.is_terminal());
    let mut out = BufWriter::new(stdout.lock());
    if args.format == Format::Text && surroundings::in_github_actions() {
        github::write_fenced(&mut out, |out| write_format(report, args.format, text, style, out))?;
        github::write(report, &mut out)?;
    } else {
        write_format(report, args.format, text, style, &mut out)?;
    }
    out.flush()?;
    Ok(())
}

/// Writes the tree of Applications to standard output and to the files that were asked for.
pub(super) fn write_applications(nodes: &[Node], outcome: &Outcome, args: &SharedArgs) -> Result<(), Failure> {
    if let Some(other) = args.formats().find(|format| !matches!(format, Format::Text | Format::Json)) {
        let name = other.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        return Err(miette::miette!(help = "The tree is written as text or json.", "--applications has no format {name}").into());
    }
    let write = |format: Format, style: Style, out: &mut dyn Write| match format {
        Format::Json => applications::write_json(nodes, &outcome.base, &outcome.head, out),
        _ => applications::write_text(nodes, style, out),
    };
    for (format, path) in &args.report {
        let cannot = |error: io::Error| miette::miette!("cannot write {}: {error}", path.display());
        let mut file = File::create(path).map_err(cannot)?;
        write(*format, Style { color: false, width: 100, unicode: true }, &mut file).map_err(cannot)?;
    }
    if !args.quiet {
        let stdout = io::stdout();
        let style = style(args.color, stdout.is_terminal());
        write(args.format, style, &mut stdout.lock())?;
    }
    Ok(())
}

fn write_format(report: &Report<'_>, format: Format, text: Text, style: Style, out: &mut dyn Write) -> io::Result<()> {
    match (format, text) {
        (Format::Json, _) => json::write(report, out),
        (Format::Sarif, _) => sarif::write(report, out),
        (Format::Github, _) => github::write(report, out),
        (Format::Markdown, _) => markdown::write(report, out),
        (Format::Junit, _) => junit::write(report, out),
        (Format::Gitlab, _) => gitlab::write(report, out),
        (Format::Html, _) => html::write(report, out),
        (Format::Text, Text::Findings) => text::write(report, style, out),
        (Format::Text, Text::Plan) => plan_text::write(report, style, out),
    }
}

/// How text looks on this output.
pub(super) fn style(color: Color, terminal: bool) -> Style {
    let wanted = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let color = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => !wanted("NO_COLOR") && (terminal || wanted("CLICOLOR_FORCE")),
    };
    Style { color, width: 100, unicode: true }
}

/// Prints why a command failed, with its help, to standard error.
pub(super) fn print_failure(report: &miette::Report) {
    let color = style(Color::Auto, io::stderr().is_terminal()).color;
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
    if handler.render_report(&mut text, report.as_ref()).is_err() {
        text = report.to_string();
    }
    // Nothing is left to do where standard error is closed.
    let _ = writeln!(io::stderr(), "presync failed\n{}", text.trim_end());
}
