//! Annotations of GitHub Actions: workflow commands, one a line.
//!
//! Takes a [`Report`]; hands on at most ten errors, ten warnings and ten notices, which is what GitHub shows of one step, the worst first.
//! See GitHub's documentation, "Workflow commands for GitHub Actions"; the escapes are those of `@actions/core` (`command.ts`).

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, Write};

use super::Report;
use super::style::{clean, one_line, plural};
use crate::finding::{Finding, Severity};
use crate::manifest::Side;

/// Annotations of each kind that GitHub shows of one step.
const MOST: usize = 10;

/// Writes the annotations.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    for (severity, command) in [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "notice")] {
        let found: Vec<&Finding> =
            report.findings.iter().filter(|finding| finding.severity == severity && finding.suppressed.is_none()).collect();
        let shown = if found.len() > MOST { MOST - 1 } else { found.len() };
        for finding in found.iter().take(shown) {
            write_finding(command, finding, &mut out)?;
        }
        if shown < found.len() {
            let text = format!(
                "{} {} not annotated, because GitHub shows {MOST} of a kind; the report lists all",
                plural(found.len() - shown, &format!("more {command}"), &format!("more {command}s")),
                if found.len() - shown == 1 { "is" } else { "are" },
            );
            writeln!(out, "::{command} title=presync::{}", data(&text))?;
        }
    }
    out.flush()
}

fn write_finding(command: &str, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let mut properties = Vec::new();
    let mut text = one_line(&finding.message);
    if let Some(place) = finding.locations.first() {
        properties.push(format!("file={}", property(&clean(&place.path))));
        if place.side == Side::Base {
            // The line of the old text would point at something else in the new one.
            text.push_str(&format!("\n(line {} before the change)", place.line));
        } else {
            properties.push(format!("line={},endLine={}", place.line, place.end_line));
            // GitHub takes columns only within one line.
            if place.line == place.end_line {
                properties.push(format!("col={},endColumn={}", place.column, place.end_column));
            }
        }
    }
    properties.push(format!("title={}", property(&format!("presync: {}", one_line(&finding.rule)))));
    if !finding.help.is_empty() {
        text.push_str(&format!("\n{}", one_line(&finding.help)));
    }
    writeln!(out, "::{command} {}::{}", properties.join(","), data(&text))
}

/// Text as the data of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text as a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Writes lines between which the runner reads no workflow commands, whatever they hold.
pub fn write_fenced(out: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // Nobody may know the word that switches commands on again before the lines are written.
    let random = || RandomState::new().build_hasher().finish();
    let word = format!("presync-{:016x}{:016x}", random(), random());
    writeln!(out, "::stop-commands::{word}")?;
    let written = write(out);
    writeln!(out, "::{word}::")?;
    written
}
