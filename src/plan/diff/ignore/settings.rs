//! Rules as they are written: takes `spec.ignoreDifferences` and argocd-cm, hands on plain lists.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{IgnoreError, Pattern, Rule, Target};
use crate::plan::diff::normalize::KnownTypeField;

const CUSTOMIZATIONS: &str = "resource.customizations";
const COMPARE_OPTIONS: &str = "resource.compareoptions";

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Lists {
    #[serde(rename = "jsonPointers", deserialize_with = "null_as_default")]
    pub(super) json_pointers: Vec<String>,
    #[serde(rename = "jqPathExpressions", deserialize_with = "null_as_default")]
    pub(super) jq_path_expressions: Vec<String>,
    #[serde(deserialize_with = "null_as_default")]
    pub(super) managed_fields_managers: Vec<String>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct WrittenRule {
    #[serde(deserialize_with = "null_as_default")]
    pub(super) group: String,
    #[serde(deserialize_with = "null_as_default")]
    pub(super) kind: String,
    #[serde(deserialize_with = "null_as_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "null_as_default")]
    pub(super) namespace: String,
    #[serde(flatten)]
    pub(super) lists: Lists,
}

fn null_as_default<'de, D: serde::Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl WrittenRule {
    pub(super) fn compiled<T>(&self, what: T) -> Rule<T> {
        Rule {
            group: Pattern::new(&self.group),
            kind: Pattern::new(&self.kind),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            what,
        }
    }
}

pub(super) fn application_rules(rules: Option<&Value>) -> Result<Vec<WrittenRule>, IgnoreError> {
    match rules {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(rules) => Vec::deserialize(rules).map_err(|error| IgnoreError::Rules(error.to_string())),
    }
}

/// What argocd-cm says about one group and kind.
#[derive(Debug, Default)]
pub(super) struct Customization {
    pub(super) lists: Lists,
    pub(super) known_types: Vec<KnownTypeField>,
}

#[derive(Deserialize)]
struct WrittenKnownType {
    field: String,
    #[serde(rename = "type")]
    type_name: String,
}

/// By key `group/Kind`, `Kind` or `*/*`. A split key replaces that part of the map (`util/settings/settings.go:GetResourceOverrides`).
pub(super) fn customizations(settings: &BTreeMap<String, String>) -> Result<BTreeMap<String, Customization>, IgnoreError> {
    let mut found: BTreeMap<String, Customization> = BTreeMap::new();
    if let Some(text) = settings.get(CUSTOMIZATIONS).filter(|text| !text.trim().is_empty()) {
        let map: BTreeMap<String, Value> = yaml(CUSTOMIZATIONS, text)?;
        for (key, value) in map {
            let lists = match value.get("ignoreDifferences") {
                Some(Value::String(text)) if !text.trim().is_empty() => yaml(CUSTOMIZATIONS, text)?,
                _ => Lists::default(),
            };
            let known: Vec<WrittenKnownType> = match value.get("knownTypeFields") {
                Some(written @ Value::Array(_)) => Vec::deserialize(written).map_err(|error| unreadable(CUSTOMIZATIONS, error))?,
                _ => Vec::new(),
            };
            found.insert(key, Customization { lists, known_types: known_types(known) });
        }
    }
    for (key, text) in settings {
        let Some((part, written)) = key.strip_prefix(CUSTOMIZATIONS).and_then(|rest| rest.strip_prefix('.')?.split_once('.')) else {
            continue;
        };
        let override_key = match written.split_once('_') {
            Some((group, kind)) => format!("{group}/{kind}"),
            None if written == "all" => "*/*".to_owned(),
            None => written.to_owned(),
        };
        let own = found.entry(override_key).or_default();
        match part {
            "ignoreDifferences" => own.lists = if text.trim().is_empty() { Lists::default() } else { yaml(key, text)? },
            "knownTypeFields" => own.known_types = known_types(yaml(key, text)?),
            _ => {}
        }
    }
    Ok(found)
}

fn known_types(written: Vec<WrittenKnownType>) -> Vec<KnownTypeField> {
    let fields = written.into_iter().filter_map(|field| {
        let type_name = match field.type_name.as_str() {
            "core/Quantity" => "Quantity".to_owned(),
            other => other.to_owned(),
        };
        let known = type_name == "Quantity" || crate::plan::schema::Schemas::named_type(&type_name).is_some();
        known.then(|| KnownTypeField { path: field.field.split('.').map(str::to_owned).collect(), type_name })
    });
    fields.collect()
}

/// A Rollout's Pod template is known without being configured (`ensureDefaultCRDsConfigured`).
pub(super) fn default_known_types() -> BTreeMap<(String, String), Vec<KnownTypeField>> {
    let path = ["spec", "template", "spec"].map(str::to_owned).to_vec();
    BTreeMap::from([(
        ("argoproj.io".to_owned(), "Rollout".to_owned()),
        vec![KnownTypeField { path, type_name: "core/v1.PodSpec".to_owned() }],
    )])
}

pub(super) fn group_and_kind(key: &str) -> Option<(&str, &str)> {
    match key.split_once('/') {
        Some((group, kind)) if !kind.contains('/') => Some((group, kind)),
        Some(_) => None,
        None => Some(("", key)),
    }
}

fn yaml<T: serde::de::DeserializeOwned>(key: &str, text: &str) -> Result<T, IgnoreError> {
    serde_yaml::from_str(text).map_err(|error| unreadable(key, error))
}

fn unreadable(key: &str, error: impl ToString) -> IgnoreError {
    IgnoreError::Setting { key: key.to_owned(), reason: error.to_string() }
}

/// Of which kinds `status` is left out of the comparison (`ignoreResourceStatusField`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StatusIgnore {
    /// All: the default since 3.0, and what an unknown word means.
    #[default]
    All,
    /// CustomResourceDefinitions.
    Crd,
    /// None.
    None,
}

impl StatusIgnore {
    pub(in crate::plan::diff) fn covers(self, target: &Target<'_>) -> bool {
        match self {
            StatusIgnore::All => true,
            StatusIgnore::Crd => target.group == "apiextensions.k8s.io" && target.kind == "CustomResourceDefinition",
            StatusIgnore::None => false,
        }
    }
}

/// `resource.compareoptions` of argocd-cm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompareOptions {
    /// `ignoreAggregatedRoles`.
    pub ignore_aggregated_roles: bool,
    /// `ignoreResourceStatusField`.
    pub ignore_status: StatusIgnore,
}

impl CompareOptions {
    /// Reads the setting.
    ///
    /// # Errors
    /// If it is not a YAML map.
    pub fn from_settings(settings: &BTreeMap<String, String>) -> Result<CompareOptions, IgnoreError> {
        let Some(text) = settings.get(COMPARE_OPTIONS).filter(|text| !text.trim().is_empty()) else { return Ok(CompareOptions::default()) };
        let map: BTreeMap<String, Value> = yaml(COMPARE_OPTIONS, text)?;
        let ignore_status = match map.get("ignoreResourceStatusField") {
            Some(Value::Bool(false)) => StatusIgnore::None,
            Some(Value::String(word)) => match word.as_str() {
                "crd" => StatusIgnore::Crd,
                "none" | "off" | "false" => StatusIgnore::None,
                _ => StatusIgnore::All,
            },
            _ => StatusIgnore::All,
        };
        Ok(CompareOptions { ignore_aggregated_roles: map.get("ignoreAggregatedRoles") == Some(&Value::Bool(true)), ignore_status })
    }
}
