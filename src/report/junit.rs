//! JUnit XML, for systems that show test results: a suite for each Application, a case for each finding.
//!
//! Takes a [`Report`]; hands on XML that follows the schema of Jenkins' xUnit plugin. Findings that fail the check are failures, the others
//! passing cases with their text as output; suppressed ones and what could not be judged are skipped cases.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::Report;
use super::escape::html as xml;
use super::style::one_line;
use super::summary::{Counts, listed};
use crate::finding::{Finding, Unjudged};

/// What stands for findings that are about no Application.
const REPOSITORY: &str = "repository";

/// Writes the report as JUnit XML.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let suites = suites(report);
    let total = |count: fn(&Suite) -> usize| suites.values().map(count).sum::<usize>();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuites name=\"presync\" tests=\"{}\" failures=\"{}\" errors=\"0\">",
        total(|suite| suite.cases),
        total(|suite| suite.failures),
    );
    for (name, suite) in &suites {
        let _ = write!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n{}  </testsuite>\n",
            xml(name),
            suite.cases,
            suite.failures,
            suite.skipped,
            suite.text
        );
    }
    text.push_str("</testsuites>\n");
    out.write_all(text.as_bytes())
}

#[derive(Default)]
struct Suite {
    cases: usize,
    failures: usize,
    skipped: usize,
    text: String,
}

impl Suite {
    fn case(&mut self, class: &str, name: &str, content: Option<String>) {
        self.cases += 1;
        let start = format!("    <testcase classname=\"{}\" name=\"{}\"", xml(class), xml(&one_line(name)));
        self.text += &match content {
            Some(content) => format!("{start}>{content}</testcase>\n"),
            None => format!("{start}/>\n"),
        };
    }

    fn failure(&mut self, kind: &str, message: &str, body: &str) -> String {
        self.failures += 1;
        format!("<failure type=\"{}\" message=\"{}\">{}</failure>", xml(kind), xml(&one_line(message)), xml(body))
    }

    fn skip(&mut self, why: &str) -> String {
        self.skipped += 1;
        format!("<skipped message=\"{}\"/>", xml(&one_line(why)))
    }

    fn finding(&mut self, finding: &Finding, class: &str, report: &Report<'_>) {
        let subject = finding.resource.as_ref().map(|key| format!(" {key}")).unwrap_or_default();
        let place = finding.locations.first().map(|place| format!(" at {}:{}:{}", place.path, place.line, place.column));
        let body = one_line(&format!("{} {}{}", finding.message, finding.help, place.unwrap_or_default()));
        let content = match &finding.suppressed {
            Some(suppression) => self.skip(&format!("suppressed by {}: {}", suppression.by, suppression.reason)),
            None if report.counts(finding) => self.failure(finding.severity.as_str(), &finding.message, &body),
            None => format!("<system-out>{}</system-out>", xml(&format!("{}: {body}", finding.severity.as_str()))),
        };
        self.case(class, &format!("{}{subject}", finding.rule), Some(content));
    }

    fn unjudged(&mut self, unjudged: &Unjudged, class: &str, report: &Report<'_>) {
        let why = format!("not judged: {}", unjudged.why);
        let content = if report.strict { self.failure("not judged", &unjudged.why, &one_line(&why)) } else { self.skip(&why) };
        self.case(class, &unjudged.what, Some(content));
    }
}

fn suites<'a>(report: &Report<'a>) -> BTreeMap<String, Suite> {
    let mut suites: BTreeMap<String, Suite> = BTreeMap::new();
    let class = |application: Option<&String>| application.map_or(REPOSITORY, String::as_str).to_owned();
    for plan in report.plans {
        let id = plan.application.id.to_string();
        let counts = Counts::of(listed(plan, false));
        let name = format!("sync plan: {} {}", plan.sync.mode.as_str(), counts.signs());
        suites.entry(id.clone()).or_default().case(&id, name.trim_end(), None);
    }
    for finding in report.findings {
        let class = class(finding.application.as_ref());
        suites.entry(class.clone()).or_default().finding(finding, &class, report);
    }
    for unjudged in report.unjudged {
        let class = class(unjudged.application.as_ref());
        suites.entry(class.clone()).or_default().unjudged(unjudged, &class, report);
    }
    suites
}
