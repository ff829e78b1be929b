//! Rules as they are written: takes `spec.ignoreDifferences` and argocd-cm, hands on plain lists.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{IgnoreError, Pattern, Rule, Target};
use crate::argocd::Version;
use crate::plan::diff::normalize::{KnownType, KnownTypeField};

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
        let override_key = match (written, written.split_once('_')) {
            ("all", _) => "*/*".to_owned(),
            (_, Some((group, kind))) if !kind.contains('_') => format!("{group}/{kind}"),
            (kind, None) if !kind.is_empty() => kind.to_owned(),
            _ => return Err(unreadable(key, "a key ends in `<group>_<kind>` or `<kind>`")),
        };
        let own = found.entry(override_key).or_default();
        match part {
            "ignoreDifferences" => own.lists = if text.trim().is_empty() { Lists::default() } else { yaml(key, text)? },
            "knownTypeFields" => own.known_types = known_types(yaml(key, text)?),
            "health" | "useOpenLibs" | "actions" | "ignoreResourceUpdates" => {}
            other => return Err(unreadable(key, format!("`{other}` is no customization"))),
        }
    }
    Ok(found)
}

fn known_types(written: Vec<WrittenKnownType>) -> Vec<KnownTypeField> {
    let fields = written.into_iter().filter_map(|field| {
        let known = KnownType::named(&field.type_name)?;
        Some(KnownTypeField { path: field.field.split('.').map(str::to_owned).collect(), known })
    });
    fields.collect()
}

/// A Rollout's Pod template is known without being configured (`ensureDefaultCRDsConfigured`).
pub(super) fn default_known_types() -> BTreeMap<(String, String), Vec<KnownTypeField>> {
    let path = ["spec", "template", "spec"].map(str::to_owned).to_vec();
    BTreeMap::from([(
        ("argoproj.io".to_owned(), "Rollout".to_owned()),
        KnownType::named("core/v1/PodSpec").map(|known| KnownTypeField { path, known }).into_iter().collect(),
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
    /// CustomResourceDefinitions, and with it their `preserveUnknownFields`: the default before 3.0.
    CrdAndUnknownFields,
    /// None.
    None,
}

impl StatusIgnore {
    pub(in crate::plan::diff) fn covers(self, target: &Target<'_>) -> bool {
        match self {
            StatusIgnore::All => true,
            StatusIgnore::Crd | StatusIgnore::CrdAndUnknownFields => is_definition(target),
            StatusIgnore::None => false,
        }
    }

    /// Takes the ignored fields out of an object that this covers.
    pub(in crate::plan::diff) fn remove(self, object: &mut Value) {
        let Some(map) = object.as_object_mut() else { return };
        map.remove("status");
        if self == StatusIgnore::CrdAndUnknownFields
            && let Some(spec) = map.get_mut("spec").and_then(Value::as_object_mut)
        {
            spec.remove("preserveUnknownFields");
        }
    }

    /// What a word in the settings means (`util/settings/settings.go:GetResourceOverrides`).
    fn of_word(word: &str, version: Version) -> StatusIgnore {
        let since_3 = version.ignores_status_by_default();
        match word {
            "off" | "false" => StatusIgnore::None,
            "none" if since_3 => StatusIgnore::None,
            "crd" if since_3 => StatusIgnore::Crd,
            "all" => StatusIgnore::All,
            "" | "crd" if !since_3 => StatusIgnore::CrdAndUnknownFields,
            _ if since_3 => StatusIgnore::All,
            _ => StatusIgnore::Crd,
        }
    }
}

fn is_definition(target: &Target<'_>) -> bool {
    target.group == "apiextensions.k8s.io" && target.kind == "CustomResourceDefinition"
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
    /// If it is not a YAML map with values of the right types.
    pub fn from_settings(settings: &BTreeMap<String, String>, version: Version) -> Result<CompareOptions, IgnoreError> {
        let text = settings.get(COMPARE_OPTIONS).map(String::as_str).unwrap_or_default();
        let map: BTreeMap<String, Value> = if text.trim().is_empty() { BTreeMap::new() } else { yaml(COMPARE_OPTIONS, text)? };
        let word = match map.get("ignoreResourceStatusField") {
            None | Some(Value::Null) => "",
            // YAML reads an unquoted `off` as false.
            Some(Value::Bool(false)) => "off",
            Some(Value::String(word)) => word,
            Some(_) => "?",
        };
        let ignore_aggregated_roles = match map.get("ignoreAggregatedRoles") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => return Err(unreadable(COMPARE_OPTIONS, format!("ignoreAggregatedRoles must be true or false, not {other}"))),
        };
        Ok(CompareOptions { ignore_aggregated_roles, ignore_status: StatusIgnore::of_word(word, version) })
    }
}
