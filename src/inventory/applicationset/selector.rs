//! Label selectors over labels and over flattened parameters.
//!
//! Source: Argo CD `applicationset/utils/selector.go:LabelSelectorAsSelector` and Kubernetes `apimachinery/pkg/labels/selector.go`.

use std::collections::BTreeMap;

use crate::argocd::selector::LabelSelector;
use crate::manifest::label::is_label_key;

/// Whether a selector selects these labels.
///
/// # Errors
/// Where the selector is not valid.
pub(super) fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> Result<bool, String> {
    let mut keys = selector.match_labels.keys().chain(selector.match_expressions.iter().map(|expression| &expression.key));
    if let Some(key) = keys.find(|key| !is_label_key(key)) {
        return Err(format!("the selector's key {key:?} is no valid label name"));
    }
    selector.selects(labels)
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
