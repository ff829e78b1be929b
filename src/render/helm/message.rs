//! What helm says when it fails: shortened for people, and the file that it is about.
//!
//! Takes the text; hands on the message and a place.

use std::sync::{Arc, OnceLock};

use regex::Regex;

use super::chart::{self, TemplatePlace};
use crate::render::program::ProgramError;
use crate::repo::Tree;

/// Lines of a message that are kept.
const MAX_LINES: usize = 12;

/// Whether helm misses charts that `Chart.yaml` names.
///
/// Source: Argo CD `util/helm/helm.go:IsMissingDependencyErr`.
pub(super) fn is_missing_dependency(error: &ProgramError) -> bool {
    let said = error.to_string();
    ["found in Chart.yaml, but missing in charts/ directory", "found in requirements.yaml, but missing in charts"]
        .iter()
        .any(|text| said.contains(text))
}

/// The message without log lines before it and advice about flags behind it.
pub(super) fn readable(said: &str) -> String {
    let from_error = said.rfind("\nError: ").map(|at| at + 1).or_else(|| said.find("Error: "));
    let text = from_error.and_then(|at| said.get(at + "Error: ".len()..)).unwrap_or(said);
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with("Use --debug flag"));
    without_values(&crate::repo::without_passwords(&lines.take(MAX_LINES).collect::<Vec<_>>().join("\n")))
}

/// What a chart's schema says of values, without the values: one of them may be a password.
fn without_values(text: &str) -> String {
    static VALUE: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = VALUE.get_or_init(|| Regex::new(r"(?m)^(\s*- at '[^'\n]*': )'.*' (does not match|is not valid)").ok());
    pattern.as_ref().map_or_else(|| text.to_owned(), |pattern| pattern.replace_all(text, "${1}the value $2").into_owned())
}

/// The file of a chart that a message is about without naming its path, with the line where it tells one.
pub(super) fn chart_file(text: &str) -> Option<(&'static str, u32)> {
    const SIGNS: [(&str, &str); 4] = [
        ("cannot load values.yaml", "values.yaml"),
        ("don't meet the specifications of the schema", "values.schema.json"),
        ("chart.metadata", "Chart.yaml"),
        ("cannot load Chart.yaml", "Chart.yaml"),
    ];
    let (_, file) = SIGNS.iter().find(|(sign, _)| text.contains(sign))?;
    Some((file, line_in(text)))
}

/// The line that a YAML parser tells; the first where it tells none.
pub(in crate::render) fn line_in(text: &str) -> u32 {
    let behind = text.split_once("yaml: line ").map(|(_, behind)| behind).unwrap_or_default();
    let digits = behind.split(|character: char| !character.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(1)
}

/// The file of the repository that a message names first, with line and column where it tells them.
pub(super) fn place(text: &str, tree: &Tree, chart: &str) -> Option<(Arc<str>, u32, u32)> {
    static TEMPLATE: OnceLock<Option<Regex>> = OnceLock::new();
    // `web/templates/a.yaml:12:4`, `web/templates/a.yaml` behind `on`.
    let pattern = TEMPLATE.get_or_init(|| Regex::new(r"([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_. -]+)+\.[A-Za-z]+)(?::(\d+)(?::(\d+))?)?").ok());
    pattern.as_ref()?.captures_iter(text).find_map(|found| {
        let named = found.get(1)?.as_str();
        let path = match chart::template_place(tree, chart, named) {
            Some(TemplatePlace::File(path)) => path,
            _ => tree.get(named)?.path.to_string(),
        };
        let number = |group: usize| found.get(group).and_then(|text| text.as_str().parse::<u32>().ok());
        // Helm counts columns from 0.
        Some((path.into(), number(2).unwrap_or(1), number(3).map_or(1, |column| column.saturating_add(1))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_error_itself_is_told() {
        let said = "helm failed: level=WARN msg=\"found symbolic link\"\nError: YAML parse error on web/templates/a.yaml: yaml: line 3\n\n\
            Use --debug flag to render out invalid YAML\n";
        assert_eq!(readable(said), "YAML parse error on web/templates/a.yaml: yaml: line 3");
        assert_eq!(readable("helm did not end within 90 seconds and was stopped"), "helm did not end within 90 seconds and was stopped");
    }

    #[test]
    fn what_a_schema_refuses_is_told_without_the_value() {
        let said = "Error: values don't meet the specifications of the schema(s) in the following chart(s):\nweb:\n- at '/db/password': 'canary' does not match pattern '^x$'\n";
        assert!(readable(said).ends_with("- at '/db/password': the value does not match pattern '^x$'"), "{}", readable(said));
    }

    #[test]
    fn files_of_a_chart_are_known_by_what_is_wrong_with_them() {
        let broken = "cannot load values.yaml: cannot unmarshal yaml document: error converting YAML to JSON: yaml: line 3: did not find";
        assert_eq!(chart_file(broken), Some(("values.yaml", 3)));
        assert_eq!(chart_file("validation: chart.metadata.version is required"), Some(("Chart.yaml", 1)));
        assert_eq!(chart_file("execution error"), None);
    }

    #[test]
    fn missing_dependencies_are_recognised() {
        let failed = |stderr: &str| ProgramError::Failed { program: "helm".into(), status: "exit status: 1".into(), stderr: stderr.into() };
        assert!(is_missing_dependency(&failed("Error: found in Chart.yaml, but missing in charts/ directory: db")));
        assert!(!is_missing_dependency(&failed("Error: no such file")));
    }
}
