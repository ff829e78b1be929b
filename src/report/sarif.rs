//! SARIF 2.1.0, for code scanning.
//!
//! Takes a [`Report`]; hands on one run with the rules that it speaks of. Suppressed findings are results with a suppression; what could not be
//! judged is a notification of the tool.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Report;
use super::escape::write_json;
use super::setting::{self, RuleText, encoded};
use super::style::one_line;
use crate::finding::{Finding, Location, Severity};
use crate::manifest::Side;

/// Writes the report as SARIF.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let rules = rules(report);
    let results = report.findings.iter().map(|finding| SarifResult::of(finding, report, &rules)).collect();
    let log = Log {
        schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: env!("CARGO_PKG_NAME"),
                    version: env!("CARGO_PKG_VERSION"),
                    semantic_version: env!("CARGO_PKG_VERSION"),
                    information_uri: setting::home(),
                    rules: rules.iter().map(|rule| Rule::of(rule)).collect(),
                },
            },
            automation_details: json!({"id": "presync/"}),
            column_kind: "unicodeCodePoints",
            version_control_provenance: provenance(report),
            invocations: [json!({"executionSuccessful": true, "toolExecutionNotifications": notifications(report)})],
            results,
        }],
    };
    write_json(&log, out)
}

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool<'a>,
    automation_details: Value,
    column_kind: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    version_control_provenance: Vec<Value>,
    invocations: [Value; 1],
    results: Vec<SarifResult<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver<'a> {
    name: &'static str,
    version: &'static str,
    semantic_version: &'static str,
    information_uri: &'static str,
    rules: Vec<Rule<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule<'a> {
    id: &'a str,
    short_description: Value,
    full_description: Value,
    help: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    help_uri: Option<String>,
    default_configuration: Value,
    properties: Value,
}

impl<'a> Rule<'a> {
    fn of(rule: &'a RuleText) -> Self {
        let page = rule.page();
        let mut markdown = format!("{}\n\n**What to do:** {}\n", rule.why.trim(), rule.help.trim());
        for reference in page.iter().chain(&rule.references) {
            markdown.push_str(&format!("\n- <{reference}>"));
        }
        Self {
            id: &rule.id,
            short_description: json!({"text": rule.summary.trim()}),
            full_description: json!({"text": rule.why.trim()}),
            help: json!({"text": format!("{}\n\nWhat to do: {}", rule.why.trim(), rule.help.trim()), "markdown": markdown}),
            help_uri: page,
            default_configuration: json!({"level": level(rule.severity)}),
            properties: json!({"tags": ["argo-cd", "gitops", "kubernetes"]}),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'a> {
    rule_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Value,
    locations: [Value; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Value>,
    partial_fingerprints: Value,
    /// Written for every result, since a log where some results have it and others not leaves the others undecided.
    suppressions: Vec<Value>,
    properties: Value,
}

impl<'a> SarifResult<'a> {
    fn of(finding: &'a Finding, report: &Report<'_>, rules: &[&RuleText]) -> Self {
        let fingerprint = finding.fingerprint();
        let help = if finding.help.is_empty() { String::new() } else { format!(" {}", message(&finding.help)) };
        Self {
            rule_id: &finding.rule,
            rule_index: rules.iter().position(|rule| rule.id == *finding.rule),
            level: level(finding.severity),
            message: json!({"text": format!("{}{help}", message(&finding.message))}),
            locations: [primary(finding, report)],
            related_locations: finding.locations.iter().enumerate().skip(1).map(|(id, location)| related(id, location)).collect(),
            // The first is the name under which GitHub tells alerts apart.
            partial_fingerprints: json!({"primaryLocationLineHash": format!("{fingerprint}:1"), "presync/v1": fingerprint}),
            suppressions: finding.suppressed.iter().map(suppression).collect(),
            properties: json!({
                "application": finding.application, "resource": finding.resource.as_ref().map(ToString::to_string),
                "introduced": finding.introduced, "basis": if finding.assumed { "assumed" } else { "live" },
            }),
        }
    }
}

/// Where the result is shown: the first place, else the definition of its Application, else the repository as a whole. Code scanning refuses a
/// result without a file.
fn primary(finding: &Finding, report: &Report<'_>) -> Value {
    let mut value = match (finding.locations.first(), report.definition_of(finding)) {
        (Some(location), _) => physical(location),
        (None, Some((path, line))) => json!({"physicalLocation": {
            "artifactLocation": {"uri": encoded(path), "uriBaseId": "%SRCROOT%"}, "region": {"startLine": line}}}),
        (None, None) => json!({"physicalLocation": {"artifactLocation": {"uri": ".", "uriBaseId": "%SRCROOT%"}}}),
    };
    let application = finding.application.as_ref().map(|id| json!({"kind": "module", "fullyQualifiedName": format!("Application {id}")}));
    let resource = finding.resource.as_ref().map(|key| json!({"kind": "object", "fullyQualifiedName": key.to_string()}));
    let logical: Vec<Value> = resource.into_iter().chain(application).collect();
    if let Some(fields) = value.as_object_mut().filter(|_| !logical.is_empty()) {
        fields.insert("logicalLocations".to_owned(), logical.into());
    }
    value
}

fn physical(location: &Location) -> Value {
    json!({"physicalLocation": {
        "artifactLocation": {"uri": encoded(&location.path), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": location.line, "startColumn": location.column, "endLine": location.end_line, "endColumn": location.end_column},
    }})
}

fn related(id: usize, location: &Location) -> Value {
    let mut value = physical(location);
    let side = if location.side == Side::Base { " (before the change)" } else { "" };
    let fields = value.as_object_mut();
    fields
        .unwrap_or(&mut Map::new())
        .extend([("id".to_owned(), id.into()), ("message".to_owned(), json!({"text": format!("{}{side}", message(&location.label))}))]);
    value
}

fn suppression(suppression: &crate::finding::Suppression) -> Value {
    let kind = if suppression.by == "comment" { "inSource" } else { "external" };
    json!({"kind": kind, "status": "accepted", "justification": one_line(&suppression.reason)})
}

/// Text of a message: brackets would make a link of what stands in them (SARIF 2.1.0, section 3.11.6).
fn message(text: &str) -> String {
    one_line(text).replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// The rules that have a result, in the order of their ids.
fn rules<'a>(report: &Report<'a>) -> Vec<&'a RuleText> {
    let used = |rule: &&RuleText| report.findings.iter().any(|finding| *finding.rule == *rule.id);
    report.rules.iter().filter(used).collect()
}

fn notifications(report: &Report<'_>) -> Vec<Value> {
    let unjudged = report.unjudged.iter().map(|unjudged| {
        let name = unjudged.application.as_ref().map(|id| format!("Application {id}: ")).unwrap_or_default();
        json!({"level": if report.strict { "error" } else { "warning" }, "message": {"text": message(&format!("not judged: {name}{}: {}", unjudged.what, unjudged.why))}})
    });
    unjudged.chain(report.notes.iter().map(|note| json!({"level": "note", "message": {"text": message(note)}}))).collect()
}

fn provenance(report: &Report<'_>) -> Vec<Value> {
    let files = report.setting.files.iter();
    files.filter_map(|files| Some(json!({"repositoryUri": files.repository, "revisionId": files.head.as_ref()?}))).collect()
}
