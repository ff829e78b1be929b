//! The findings, worst first, with the lines that they point at.

use super::super::Report;
use super::super::escape::{html, html_sentence};
use super::super::setting::page;
use crate::finding::{Finding, Location};
use crate::manifest::Side;

/// Lines shown before and after a place.
const CONTEXT: usize = 2;
/// Lines shown of one place.
const MAX_LINES: usize = 12;
/// Characters shown of one line.
const MAX_COLUMNS: usize = 400;

/// The section of the findings.
pub(super) fn section(report: &Report<'_>) -> String {
    let shown = report.findings.iter().filter(|finding| report.all || finding.suppressed.is_none());
    let items: String = shown.map(|finding| entry(finding, report)).collect();
    let items = if items.is_empty() { "<p>None.</p>\n".to_owned() } else { items };
    format!("<section>\n<h2>Findings</h2>\n{items}</section>\n")
}

fn entry(finding: &Finding, report: &Report<'_>) -> String {
    let severity = finding.severity.as_str();
    let rule = match page(&finding.rule) {
        Some(page) => format!("<a href=\"{page}\">{}</a>", html(&finding.rule)),
        None => html(&finding.rule),
    };
    let mut text = format!(
        "<article class=\"item {severity}\" data-severity=\"{severity}\" data-app=\"{}\">\n<h3><span class=\"badge\">{severity}</span> {rule}</h3>\n<p>{}</p>\n",
        html(finding.application.as_deref().unwrap_or_default()),
        html_sentence(&finding.message)
    );
    if !finding.help.is_empty() {
        text += &format!("<p><strong>What to do:</strong> {}</p>\n", html_sentence(&finding.help));
    }
    for location in &finding.locations {
        text += &place(location, report);
    }
    let mut about = Vec::new();
    about.extend(finding.application.as_ref().map(|id| format!("Application <code>{}</code>", html(id))));
    about.extend(finding.resource.as_ref().map(|key| format!("<code>{}</code>", html(&key.to_string()))));
    if finding.assumed {
        about.push("live state is assumed to be what the base revision says".to_owned());
    }
    if !finding.introduced {
        about.push("it was there before the change under review".to_owned());
    }
    about.extend(finding.suppressed.as_ref().map(|by| format!("suppressed by {}: {}", html(by.by), html(&by.reason))));
    if !about.is_empty() {
        text += &format!("<p class=\"about\">{}</p>\n", about.join(" · "));
    }
    text + "</article>\n"
}

fn place(location: &Location, report: &Report<'_>) -> String {
    let name = format!("{}:{}:{}", html(&location.path), location.line, location.column);
    let name = match report.setting.files.as_ref().and_then(|files| files.location(location)) {
        Some(page) => format!("<a href=\"{}\">{name}</a>", html(&page)),
        None => name,
    };
    let side = if location.side == Side::Base { " (before the change)" } else { "" };
    let label = if location.label.is_empty() { String::new() } else { format!(": {}", html(&location.label)) };
    let excerpt = report.texts.get(&(location.side, location.path.clone())).map(|text| lines(text, location)).unwrap_or_default();
    format!("<figure>\n<figcaption>{name}{side}{label}</figcaption>\n{excerpt}</figure>\n")
}

/// The lines around a place, those of the place itself marked.
fn lines(text: &str, location: &Location) -> String {
    let (first, last) = (location.line as usize, location.end_line.max(location.line) as usize);
    let start = first.saturating_sub(CONTEXT + 1);
    let shown = (last + CONTEXT - start).min(MAX_LINES);
    let mut rows = String::new();
    for (index, line) in text.lines().enumerate().skip(start).take(shown) {
        let number = index + 1;
        let line: String = line.chars().take(MAX_COLUMNS).collect();
        let line = html(&line);
        let line = if (first..=last).contains(&number) { format!("<mark>{line}</mark>") } else { line };
        rows += &format!("<span class=\"number\">{number:>5}</span> {line}\n");
    }
    if rows.is_empty() { rows } else { format!("<pre tabindex=\"0\">{rows}</pre>\n") }
}
