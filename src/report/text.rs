//! What `presync check` prints for people: findings with their source, then what happens to each Application, then what could not be judged,
//! then the verdict.
//!
//! Takes a [`Report`]; hands on text that is the same for the same report.

use std::io::{self, BufWriter, Write};

use super::Report;
use super::diagnostic::{Drawing, tone};
use super::style::{Style, Tone, clean, columns, one_line, plural, wrap, wrap_pieces};
use super::summary::{Counts, Summary, listed, mode_words};
use crate::finding::Severity;
use crate::plan::{AppChange, Basis, SyncMode, SyncPlan};

/// Columns that names of Applications may widen the table to.
const MAX_NAME: usize = 44;
/// Applications of which nothing differs that are named.
const MAX_SAME: usize = 5;
/// Columns below which words move to lines of their own.
const MIN_WORDS: usize = 24;

/// Writes the report as text.
pub fn write(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    write_findings(report, style, &mut out)?;
    write_applications(report, style, &mut out)?;
    write_unjudged(report, style, &mut out)?;
    write_notes(report, style, &mut out)?;
    write_closing(report, style, &mut out)?;
    out.flush()
}

fn write_findings(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let drawing = Drawing::new(style);
    for finding in report.findings.iter().filter(|finding| finding.suppressed.is_none()) {
        drawing.draw(finding, report, out)?;
    }
    if !report.all {
        return Ok(());
    }
    let mut any = false;
    for finding in report.findings {
        let Some(suppression) = &finding.suppressed else { continue };
        any = true;
        let until = suppression.expires.as_ref().map(|day| format!(" until {}", clean(day))).unwrap_or_default();
        let label = format!("{}[{}]", finding.severity.as_str(), clean(&finding.rule));
        let line = format!("{} (suppressed by {}{until}: {})", one_line(&finding.message), suppression.by, one_line(&suppression.reason));
        write_entry(&style.paint(Tone::Faint, &label), columns(&label), &line, style, out)?;
    }
    if any { writeln!(out) } else { Ok(()) }
}

fn write_applications(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if report.plans.is_empty() {
        writeln!(out, "{}", style.paint(Tone::Strong, "0 Applications affected"))?;
        let same: Vec<String> = report.same.iter().take(MAX_SAME).map(|id| clean(&id.to_string()).into_owned()).collect();
        let more = report.same.len().saturating_sub(MAX_SAME);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let render_the_same = format!("What the change touches renders the same as before: {}{more}.", same.join(", "));
        let why = if !same.is_empty() {
            &render_the_same
        } else if report.unjudged.is_empty() {
            "No Application that presync found reads a file that the change touches, and the change adds, edits or removes no Application. \
             If one should be affected: its repoURL may not be a URL of this repository (--repo-url), or it may not exist in a snapshot or as a file."
        } else {
            "Of what could be judged, nothing is touched by the change. What could not be judged is listed below."
        };
        for line in wrap(why, style.width.saturating_sub(4)) {
            writeln!(out, "  {line}")?;
        }
        return writeln!(out);
    }
    writeln!(out, "{}", style.paint(Tone::Strong, "Applications"))?;
    let rows: Vec<Row> = report.plans.iter().map(Row::of).collect();
    let name_width = rows.iter().map(|row| columns(&row.name)).filter(|width| *width <= MAX_NAME).max().unwrap_or(0);
    let mode_width = rows.iter().map(|row| columns(&row.mode)).max().unwrap_or(0);
    let signs_width = rows.iter().map(|row| columns(&row.signs)).max().unwrap_or(0);
    for row in rows {
        let gap = |text: &str, width: usize| " ".repeat(width.saturating_sub(columns(text)));
        let start = format!(
            "  {}{}  {}{}  {}{}  ",
            style.paint(Tone::Strong, &row.name),
            gap(&row.name, name_width),
            style.paint(row.tone, &row.mode),
            gap(&row.mode, mode_width),
            row.signs,
            gap(&row.signs, signs_width),
        );
        let beside = 8 + columns(&row.name).max(name_width) + mode_width + signs_width;
        let words = || row.words.iter().map(String::as_str);
        if beside + MIN_WORDS <= style.width {
            let mut lines = wrap_pieces(words(), style.width - beside).into_iter();
            writeln!(out, "{}", format!("{start}{}", lines.next().unwrap_or_default()).trim_end())?;
            for line in lines {
                writeln!(out, "{}{line}", " ".repeat(beside))?;
            }
        } else {
            writeln!(out, "{}", start.trim_end())?;
            for line in wrap_pieces(words(), style.width.saturating_sub(8)) {
                writeln!(out, "      {line}")?;
            }
        }
        for reason in wrap(&row.reason, style.width.saturating_sub(8)) {
            writeln!(out, "      {}", style.paint(Tone::Faint, &reason))?;
        }
    }
    writeln!(out)
}

/// One line of the table of Applications.
struct Row {
    name: String,
    mode: String,
    tone: Tone,
    signs: String,
    /// What else there is to say, in pieces that stand in one line each.
    words: Vec<String>,
    /// Why it is not simply synced; empty where it is.
    reason: String,
}

impl Row {
    fn of(plan: &SyncPlan) -> Self {
        let sync = &plan.sync;
        let counts = Counts::of(listed(plan, false));
        let (signs, mut words) = (counts.signs(), counts.words());
        let last = words.len().saturating_sub(1);
        words.iter_mut().take(last).for_each(|word| word.push(','));
        if counts == Counts::default() && !matches!(sync.mode, SyncMode::Refused | SyncMode::Error | SyncMode::Deleted) {
            words.push("nothing to do".to_owned());
        }
        if plan.change != AppChange::Unchanged {
            words.push(format!("({} by the change)", plan.change.as_str()));
        }
        if plan.basis == Basis::Assumed {
            words.push("(assumed)".to_owned());
        }
        let tone = match sync.mode {
            SyncMode::Refused | SyncMode::Error | SyncMode::Deleted => Tone::Bad,
            SyncMode::Blocked | SyncMode::Manual => Tone::Doubtful,
            SyncMode::Automated => Tone::Good,
        };
        let runs = sync.mode == SyncMode::Automated && (sync.starts || counts == Counts::default());
        let reason = if runs { String::new() } else { one_line(&sync.reason) };
        Self { name: clean(&plan.application.id.to_string()).into_owned(), mode: mode_words(plan), tone, signs, words, reason }
    }
}

fn write_unjudged(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if report.unjudged.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.paint(Tone::Strong, "Not judged"))?;
    for unjudged in report.unjudged {
        let name = unjudged.application.as_deref().map(clean);
        let text = format!("{}: {}", one_line(&unjudged.what), one_line(&unjudged.why));
        match name {
            Some(name) => write_entry(&style.paint(Tone::Strong, &name), columns(&name), &text, style, out)?,
            None => write_entry("", 0, &text, style, out)?,
        }
    }
    writeln!(out)
}

fn write_notes(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for snapshot in report.snapshots {
        let captured = snapshot.captured_at.as_ref().map_or_else(|| ", age not known".to_owned(), |time| format!(", captured {time}"));
        let text = format!("{}: {}{captured}", snapshot.source, plural(snapshot.objects, "object", "objects"));
        write_entry(&style.paint(Tone::Faint, "live:"), 5, &one_line(&text), style, out)?;
    }
    for note in report.notes {
        write_entry(&style.paint(Tone::Faint, "note:"), 5, &one_line(note), style, out)?;
    }
    if report.snapshots.is_empty() && report.notes.is_empty() { Ok(()) } else { writeln!(out) }
}

/// A label and a text beside it, wrapped under its own beginning.
fn write_entry(label: &str, label_width: usize, text: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let start = if label_width == 0 { "  ".to_owned() } else { format!("  {label}  ") };
    let indent = if label_width == 0 || label_width > MAX_NAME { 4 } else { label_width + 4 };
    for (index, line) in wrap(text, style.width.saturating_sub(indent + 2).max(20)).iter().enumerate() {
        if index == 0 { writeln!(out, "{start}{line}")? } else { writeln!(out, "{}{line}", " ".repeat(indent))? }
    }
    Ok(())
}

fn write_closing(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let summary = Summary::of(report);
    let counts = [
        (summary.errors, "error", "errors", Severity::Error),
        (summary.warnings, "warning", "warnings", Severity::Warning),
        (summary.infos, "info", "infos", Severity::Info),
    ];
    let found: Vec<String> = counts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many, severity)| style.paint(tone(*severity), &plural(*count, one, many)))
        .collect();
    let found = if found.is_empty() { "no findings".to_owned() } else { found.join(", ") };
    let suppressed = if summary.suppressed > 0 { format!(" ({} suppressed)", summary.suppressed) } else { String::new() };
    let looked_at = plural(summary.applications, "Application looked at", "Applications looked at");
    let unjudged = if summary.unjudged > 0 { format!(", {} not judged", summary.unjudged) } else { String::new() };
    writeln!(out, "{found}{suppressed}; {looked_at}{unjudged}")?;
    let verdict = if report.fails() { style.paint(Tone::Bad, "failed") } else { style.paint(Tone::Good, "passed") };
    let remark = match report.fail_on {
        None if summary.errors + summary.warnings + summary.infos > 0 => " (findings never fail it: --fail-on never)",
        _ if !report.fails() && summary.unjudged > 0 => " (incomplete: see \"Not judged\")",
        _ if report.fails() && report.strict && summary.unjudged > 0 => " (--strict: what could not be judged fails it too)",
        _ => "",
    };
    writeln!(out, "check: {verdict}{remark}")
}
