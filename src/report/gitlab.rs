//! GitLab's code quality report, which GitLab shows in merge requests.
//!
//! Takes a [`Report`]; hands on the members that GitLab's documentation ("Code Quality", report format) asks for. Suppressed findings are
//! left out.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;

use super::Report;
use super::escape::write_json;
use super::style::one_line;
use crate::finding::{Finding, Severity};

/// Writes the report for GitLab.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut seen = BTreeSet::new();
    let counting = report.findings.iter().filter(|finding| finding.suppressed.is_none());
    let issues: Vec<Issue> = counting.map(|finding| Issue::of(finding, report, &mut seen)).collect();
    write_json(&issues, out)
}

#[derive(Serialize)]
struct Issue<'a> {
    description: String,
    check_name: &'a str,
    fingerprint: String,
    severity: &'static str,
    location: Place<'a>,
}

#[derive(Serialize)]
struct Place<'a> {
    path: &'a str,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
    end: u32,
}

impl<'a> Issue<'a> {
    fn of(finding: &'a Finding, report: &Report<'a>, seen: &mut BTreeSet<String>) -> Self {
        let help = if finding.help.is_empty() { String::new() } else { format!(" {}", one_line(&finding.help)) };
        // GitLab drops what has the fingerprint of another.
        let own = finding.fingerprint();
        let mut fingerprint = own.clone();
        let mut number = 1;
        while !seen.insert(fingerprint.clone()) {
            number += 1;
            fingerprint = format!("{own}-{number}");
        }
        let location = match (finding.locations.first(), report.definition_of(finding)) {
            (Some(place), _) => Place { path: &place.path, lines: Lines { begin: place.line, end: place.end_line } },
            (None, Some((path, line))) => Place { path, lines: Lines { begin: line, end: line } },
            // A path is required; the root of the repository stands for what is in no file.
            (None, None) => Place { path: ".", lines: Lines { begin: 1, end: 1 } },
        };
        Self {
            description: format!("{}{help}", one_line(&finding.message)),
            check_name: &finding.rule,
            fingerprint,
            severity: match finding.severity {
                Severity::Error => "critical",
                Severity::Warning => "major",
                Severity::Info => "info",
            },
            location,
        }
    }
}
