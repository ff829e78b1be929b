//! Label selectors of Kubernetes.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A label selector; an empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LabelSelector {
    match_labels: Option<BTreeMap<String, String>>,
    match_expressions: Option<Vec<Requirement>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Requirement {
    key: String,
    operator: String,
    values: Option<Vec<String>>,
}

impl LabelSelector {
    /// Whether the labels are selected; `None` where the selector is invalid.
    ///
    /// Source: Kubernetes `apimachinery/pkg/apis/meta/v1/helpers.go:LabelSelectorAsSelector`.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> Option<bool> {
        let plain = self.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
        let mut selected = plain;
        for requirement in self.match_expressions.iter().flatten() {
            selected &= requirement.holds(labels)?;
        }
        Some(selected)
    }
}

impl Requirement {
    fn holds(&self, labels: &BTreeMap<String, String>) -> Option<bool> {
        let values = self.values.as_deref().unwrap_or_default();
        let label = labels.get(&self.key);
        match (&*self.operator, values.is_empty()) {
            ("In", false) => Some(label.is_some_and(|label| values.contains(label))),
            ("NotIn", false) => Some(label.is_none_or(|label| !values.contains(label))),
            ("Exists", true) => Some(label.is_some()),
            ("DoesNotExist", true) => Some(label.is_none()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn selects(selector: Value) -> Option<bool> {
        let labels = [("team".to_owned(), "shop".to_owned())].into();
        LabelSelector::deserialize(selector).unwrap().selects(&labels)
    }

    #[test]
    fn labels_and_expressions_all_have_to_hold() {
        assert_eq!(selects(json!({})), Some(true));
        assert_eq!(selects(json!({"matchLabels": {"team": "shop"}})), Some(true));
        assert_eq!(selects(json!({"matchLabels": {"team": "bank"}})), Some(false));
        let expressions =
            json!([{"key": "team", "operator": "In", "values": ["shop", "bank"]}, {"key": "tier", "operator": "DoesNotExist"}]);
        assert_eq!(selects(json!({"matchExpressions": expressions})), Some(true));
        assert_eq!(selects(json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a"]}]})), Some(true));
        assert_eq!(
            selects(json!({"matchExpressions": [{"key": "team", "operator": "Exists"}], "matchLabels": {"team": "x"}})),
            Some(false)
        );
    }

    #[test]
    fn an_invalid_expression_makes_the_selector_invalid() {
        assert_eq!(selects(json!({"matchExpressions": [{"key": "team", "operator": "Is", "values": ["shop"]}]})), None);
        assert_eq!(selects(json!({"matchExpressions": [{"key": "team", "operator": "In"}]})), None);
    }
}
