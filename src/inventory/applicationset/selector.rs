//! Label selectors over labels and over flattened parameters.
//!
//! Source: Argo CD `applicationset/utils/selector.go:LabelSelectorAsSelector` and Kubernetes `apimachinery/pkg/labels/selector.go`.

use std::collections::BTreeMap;

use crate::argocd::applicationset::LabelSelector;

/// Whether a selector selects these labels.
///
/// # Errors
/// Where the selector is not valid.
pub(super) fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> Result<bool, String> {
    check(selector)?;
    let value = |key: &str| labels.get(key);
    let labels_match = selector.match_labels.iter().all(|(key, wanted)| value(key) == Some(wanted));
    let expressions_match = selector.match_expressions.iter().all(|expression| {
        let found = value(&expression.key);
        match expression.operator.as_str() {
            "In" => found.is_some_and(|found| expression.values.contains(found)),
            "NotIn" => found.is_none_or(|found| !expression.values.contains(found)),
            "Exists" => found.is_some(),
            _ => found.is_none(),
        }
    });
    Ok(labels_match && expressions_match)
}

fn check(selector: &LabelSelector) -> Result<(), String> {
    let keys = selector.match_labels.keys().chain(selector.match_expressions.iter().map(|expression| &expression.key));
    if let Some(key) = keys.into_iter().find(|key| !is_qualified_name(key)) {
        return Err(format!("the selector's key {key:?} is no valid label name"));
    }
    for expression in &selector.match_expressions {
        match (expression.operator.as_str(), expression.values.is_empty()) {
            ("In" | "NotIn", false) | ("Exists" | "DoesNotExist", true) => {}
            ("In" | "NotIn", true) => return Err(format!("the selector's operator {} needs values", expression.operator)),
            ("Exists" | "DoesNotExist", false) => return Err(format!("the selector's operator {} takes no values", expression.operator)),
            (other, _) => return Err(format!("{other:?} is not a valid label selector operator")),
        }
    }
    Ok(())
}

/// Source: Kubernetes `apimachinery/pkg/util/validation/validation.go:IsQualifiedName`.
fn is_qualified_name(key: &str) -> bool {
    let name = match key.split_once('/') {
        Some((prefix, name)) if is_subdomain(prefix) => name,
        Some(_) => return false,
        None => key,
    };
    let ends = |letter: u8| letter.is_ascii_alphanumeric();
    let inside = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_' | b'.');
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && bytes.first().copied().is_some_and(ends)
        && bytes.last().copied().is_some_and(ends)
        && bytes.iter().copied().all(inside)
}

fn is_subdomain(prefix: &str) -> bool {
    let part_fits = |part: &str| {
        let inside = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
        !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.bytes().all(inside)
    };
    prefix.len() <= 253 && prefix.split('.').all(part_fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(selector: serde_json::Value, labels: &[(&str, &str)]) -> Result<bool, String> {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        selects(&serde_json::from_value(selector).unwrap(), &labels)
    }

    #[test]
    fn s10_58_a_selector_keeps_what_it_matches_and_an_empty_one_everything() {
        let labels = [("values.foo", "bar")];
        assert_eq!(run(json!({"matchLabels": {"values.foo": "foo"}}), &labels), Ok(false));
        assert_eq!(run(json!({"matchLabels": {"values.foo": "bar"}}), &labels), Ok(true));
        assert_eq!(run(json!({}), &labels), Ok(true));
    }

    #[test]
    fn expressions_work_as_in_kubernetes() {
        let labels = [("env", "prod"), ("server", "https://a.test:6443/")];
        let expression =
            |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "env", "operator": operator, "values": values}]});
        assert_eq!(run(expression("In", &["dev", "prod"]), &labels), Ok(true));
        assert_eq!(run(expression("NotIn", &["prod"]), &labels), Ok(false));
        assert_eq!(run(expression("NotIn", &["prod"]), &[]), Ok(true));
        assert_eq!(run(expression("Exists", &[]), &[]), Ok(false));
        assert_eq!(run(expression("DoesNotExist", &[]), &labels), Ok(false));
        assert_eq!(run(json!({"matchLabels": {"server": "https://a.test:6443/"}}), &labels), Ok(true));
        assert!(run(expression("In", &[]), &labels).is_err());
        assert!(run(expression("Like", &["a"]), &labels).is_err());
    }

    #[test]
    fn a_key_that_is_no_label_name_is_refused() {
        assert!(run(json!({"matchLabels": {"path[0]": "x"}}), &[]).is_err());
        assert!(run(json!({"matchLabels": {"example.com/a.b_c": "x"}}), &[]).is_ok());
    }
}
