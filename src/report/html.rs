//! One HTML page without limits: the same content as the comment, searchable, with fields side by side and trees that fold.
//!
//! Takes a [`Report`]; hands on one file that needs no network. Its policy (`Content-Security-Policy`) permits its own script alone, so that
//! nothing that a manifest brings along can run even if it came through.

mod application;
mod findings;

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::Report;
use super::escape::{html, html_sentence};
use super::style::plural;
use super::summary::{Summary, parts};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Writes the report as an HTML page.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let verdict = if report.fails() { "failed" } else { "passed" };
    let digest = STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    let policy =
        format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'");
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>presync {verdict}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to the findings</a>\n\
         {}{}<main id=\"content\">\n{}{}{}</main>\n{}<script>{SCRIPT}</script>\n</body>\n</html>\n",
        head(report, verdict),
        tools(report),
        findings::section(report),
        application::section(report),
        unjudged(report),
        foot(report),
    );
    out.write_all(page.as_bytes())
}

fn head(report: &Report<'_>, verdict: &str) -> String {
    let summary = Summary::of(report);
    let mut words =
        parts([(summary.errors, "error", "errors"), (summary.warnings, "warning", "warnings"), (summary.infos, "info", "infos")]);
    if words.is_empty() {
        words.push("no findings".to_owned());
    }
    words.extend(parts([(summary.suppressed, "suppressed", "suppressed"), (summary.unjudged, "not judged", "not judged")]));
    words.push(plural(summary.applications, "Application affected", "Applications affected"));
    words.extend(Some(summary.changes.signs()).filter(|signs| !signs.is_empty()));
    words.extend(summary.changes.words());
    let items: String = words.iter().map(|word| format!("<li>{}</li>", html(word))).collect();
    format!("<header class=\"{verdict}\">\n<h1>presync <strong>{verdict}</strong></h1>\n<ul class=\"counts\">{items}</ul>\n</header>\n")
}

/// Search and filters; the script shows them, since without it they would do nothing.
fn tools(report: &Report<'_>) -> String {
    let options = |values: &[String]| -> String { values.iter().map(|value| format!("<option>{}</option>", html(value))).collect() };
    let mut applications: Vec<String> = report.plans.iter().map(|plan| plan.application.id.to_string()).collect();
    applications.extend(report.findings.iter().filter_map(|finding| finding.application.clone()));
    applications.sort();
    applications.dedup();
    let severities = ["error", "warning", "info"].map(str::to_owned);
    format!(
        "<form class=\"tools\" role=\"search\" hidden>\n\
         <label>Search <input type=\"search\" id=\"search\" autocomplete=\"off\" title=\"Press / to come here\"></label>\n\
         <label>Severity <select id=\"severity\"><option value=\"\">all</option>{}</select></label>\n\
         <label>Application <select id=\"application\"><option value=\"\">all</option>{}</select></label>\n\
         <label>Action <select id=\"action\"><option value=\"\">all</option>{}</select></label>\n\
         <button type=\"button\" id=\"open\">Unfold all</button> <button type=\"button\" id=\"close\">Fold all</button>\n\
         <button type=\"button\" id=\"theme\" aria-pressed=\"false\">Dark</button>\n\
         <p id=\"found\" role=\"status\"></p>\n</form>\n",
        options(&severities),
        options(&applications),
        options(&application::actions(report)),
    )
}

fn unjudged(report: &Report<'_>) -> String {
    if report.unjudged.is_empty() {
        return String::new();
    }
    let items: String = report
        .unjudged
        .iter()
        .map(|unjudged| {
            let id = unjudged.application.as_deref().unwrap_or_default();
            let name = if id.is_empty() { String::new() } else { format!("<code>{}</code> ", html(id)) };
            format!("<li data-app=\"{}\">{name}{}: {}</li>\n", html(id), html_sentence(&unjudged.what), html_sentence(&unjudged.why))
        })
        .collect();
    format!("<section>\n<h2>Not judged</h2>\n<p>This could not be looked at. It is not a pass.</p>\n<ul>\n{items}</ul>\n</section>\n")
}

fn foot(report: &Report<'_>) -> String {
    let mut lines = vec![format!("base <code>{}</code>, head <code>{}</code>", html(&report.base), html(&report.head))];
    for snapshot in report.snapshots {
        let captured = snapshot.captured_at.as_ref().map(|time| {
            let age = report.setting.age(time).map(|age| format!(", {age} old")).unwrap_or_default();
            format!(", captured {}{age}", html(time))
        });
        let objects = plural(snapshot.objects, "object", "objects");
        lines.push(format!("live <code>{}</code>: {objects}{}", html(&snapshot.source), captured.unwrap_or_default()));
    }
    if report.snapshots.is_empty() {
        lines.push("no snapshot: the base stands in for the cluster".to_owned());
    }
    lines.extend(report.notes.iter().map(|note| html_sentence(note)));
    let elapsed = report.setting.elapsed.map(|time| format!(", {:.1} s", time.as_secs_f64())).unwrap_or_default();
    lines.push(format!("presync {}{elapsed}", env!("CARGO_PKG_VERSION")));
    let items: String = lines.iter().map(|line| format!("<li>{line}</li>\n")).collect();
    format!("<footer>\n<h2>About this report</h2>\n<ul>\n{items}</ul>\n</footer>\n")
}
