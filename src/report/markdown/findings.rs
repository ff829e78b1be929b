//! The findings, by severity.

use super::super::Report;
use super::super::escape::{code, markdown};
use super::super::setting::page;
use super::super::style::plural;
use crate::finding::{Finding, Location, Severity};
use crate::manifest::Side;

/// Places named of one finding.
const MAX_PLACES: usize = 5;

/// How much is said of each finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// Everything.
    Full,
    /// Message and first place, in one line.
    Line,
    /// The same for as many findings as there is room for.
    Some(usize),
}

impl Detail {
    /// Says less; `false` where nothing less can be said.
    pub(super) fn shorten(&mut self, excess: usize) -> bool {
        *self = match *self {
            Self::Full => Self::Line,
            Self::Line => Self::Some(400),
            Self::Some(0) => return false,
            // A line has at least some hundred characters.
            Self::Some(count) => Self::Some(count.saturating_sub((excess / 1000).max(1))),
        };
        true
    }

    /// How many of the other lists' entries are named.
    pub(super) fn unjudged(self) -> usize {
        match self {
            Self::Full => usize::MAX,
            Self::Line => 50,
            Self::Some(_) => 10,
        }
    }

    fn findings(self) -> usize {
        match self {
            Self::Some(count) => count,
            _ => usize::MAX,
        }
    }
}

/// The findings that count, worst first.
pub(super) fn text(report: &Report<'_>, detail: Detail) -> String {
    let counting: Vec<&Finding> = report.findings.iter().filter(|finding| finding.suppressed.is_none()).collect();
    let mut left = detail.findings();
    let mut text = String::new();
    for (severity, sign, one, many) in [
        (Severity::Error, "❌", "error", "errors"),
        (Severity::Warning, "⚠️", "warning", "warnings"),
        (Severity::Info, "ℹ️", "info", "infos"),
    ] {
        let found: Vec<&&Finding> = counting.iter().filter(|finding| finding.severity == severity).collect();
        if found.is_empty() {
            continue;
        }
        text += &format!("### {sign} {}\n\n", plural(found.len(), one, many));
        for finding in found.iter().take(left) {
            text += &entry(finding, report, detail);
        }
        if found.len() > left {
            text += &format!("- and {} more, which there is no room for here\n", found.len() - left);
        }
        left = left.saturating_sub(found.len());
        text.push('\n');
    }
    text + &suppressed(report)
}

fn entry(finding: &Finding, report: &Report<'_>, detail: Detail) -> String {
    let rule = match page(&finding.rule) {
        Some(page) => format!("[{}]({page})", code(&finding.rule)),
        None => code(&finding.rule),
    };
    let message = markdown(&finding.message);
    if detail != Detail::Full {
        let place = finding.locations.first().map(|place| format!(" ({})", location(place, report))).unwrap_or_default();
        return format!("- {} {message}{place}\n", code(&finding.rule));
    }
    let mut text = format!("- {rule} {message}\n");
    if !finding.help.is_empty() {
        text += &format!("  **What to do:** {}\n", markdown(&finding.help));
    }
    let mut about = Vec::new();
    for place in finding.locations.iter().take(MAX_PLACES) {
        let label = if place.label.is_empty() { String::new() } else { format!(" ({})", markdown(&place.label)) };
        about.push(format!("{}{label}", location(place, report)));
    }
    if finding.locations.len() > MAX_PLACES {
        about.push(format!("{} more places", finding.locations.len() - MAX_PLACES));
    }
    about.extend(finding.application.as_ref().map(|id| format!("Application {}", code(id))));
    about.extend(finding.resource.as_ref().map(|key| code(&key.to_string())));
    if finding.assumed {
        about.push("live state is assumed".to_owned());
    }
    if !finding.introduced {
        about.push("was there before".to_owned());
    }
    if !about.is_empty() {
        text += &format!("  <sub>{}</sub>\n", about.join(" · "));
    }
    text
}

/// A place as a link where its file can be seen on the web.
fn location(place: &Location, report: &Report<'_>) -> String {
    let name = code(&format!("{}:{}", place.path, place.line));
    let side = if place.side == Side::Base { " before the change" } else { "" };
    match report.setting.files.as_ref().and_then(|files| files.location(place)) {
        Some(page) => format!("[{name}]({page}){side}"),
        None => format!("{name}{side}"),
    }
}

fn suppressed(report: &Report<'_>) -> String {
    let mut lines = String::new();
    for finding in report.findings {
        let Some(suppression) = finding.suppressed.as_ref().filter(|_| report.all) else { continue };
        lines +=
            &format!("- {} {} ({}: {})\n", code(&finding.rule), markdown(&finding.message), suppression.by, markdown(&suppression.reason));
    }
    if lines.is_empty() { lines } else { format!("<details><summary>Suppressed findings</summary>\n\n{lines}\n</details>\n\n") }
}
