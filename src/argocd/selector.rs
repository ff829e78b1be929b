//! Label selectors of Kubernetes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::go::null_default;

/// A label selector; an empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels and their values.
    #[serde(deserialize_with = "null_default")]
    pub match_labels: BTreeMap<String, String>,
    /// Expressions.
    #[serde(deserialize_with = "null_default")]
    pub match_expressions: Vec<MatchExpression>,
}

/// One expression of a label selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MatchExpression {
    /// The label.
    #[serde(deserialize_with = "null_default")]
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    #[serde(deserialize_with = "null_default")]
    pub operator: String,
    /// The values.
    #[serde(deserialize_with = "null_default")]
    pub values: Vec<String>,
}

impl LabelSelector {
    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Whether the labels are selected.
    ///
    /// # Errors
    /// Where an expression is not valid, whatever the labels.
    ///
    /// Source: Kubernetes `apimachinery/pkg/apis/meta/v1/helpers.go:LabelSelectorAsSelector`.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> Result<bool, String> {
        let mut selected = self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value));
        for expression in &self.match_expressions {
            selected &= expression.holds(labels.get(&expression.key))?;
        }
        Ok(selected)
    }
}

impl MatchExpression {
    fn holds(&self, label: Option<&String>) -> Result<bool, String> {
        match (self.operator.as_str(), self.values.is_empty()) {
            ("In", false) => Ok(label.is_some_and(|label| self.values.contains(label))),
            ("NotIn", false) => Ok(label.is_none_or(|label| !self.values.contains(label))),
            ("Exists", true) => Ok(label.is_some()),
            ("DoesNotExist", true) => Ok(label.is_none()),
            (operator @ ("In" | "NotIn"), true) => Err(format!("the selector's operator {operator} needs values")),
            (operator @ ("Exists" | "DoesNotExist"), false) => Err(format!("the selector's operator {operator} takes no values")),
            (other, _) => Err(format!("{other:?} is not a valid label selector operator")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn selects(selector: Value) -> Option<bool> {
        let labels = [("team".to_owned(), "shop".to_owned())].into();
        LabelSelector::deserialize(selector).unwrap().selects(&labels).ok()
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
