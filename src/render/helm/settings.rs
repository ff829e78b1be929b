//! The `helm` block of a source, typed.
//!
//! Takes the block as it stands in the Application; hands on [`HelmSettings`].

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::argocd::go::null_default;
use crate::render::RenderError;

/// `spec.source.helm`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct HelmSettings {
    /// Name of the release; the Application's name where it is empty.
    #[serde(deserialize_with = "null_default")]
    pub(super) release_name: String,
    /// Value files, in order.
    #[serde(deserialize_with = "null_default")]
    pub(super) value_files: Vec<String>,
    /// Values as text.
    #[serde(deserialize_with = "null_default")]
    pub(super) values: String,
    /// Values as an object; where it is set, `values` is not used.
    pub(super) values_object: Option<Value>,
    /// Single values.
    #[serde(deserialize_with = "null_default")]
    pub(super) parameters: Vec<Parameter>,
    /// Values that are read from files.
    #[serde(deserialize_with = "null_default")]
    pub(super) file_parameters: Vec<FileParameter>,
    /// Version of Helm: empty, `v3` or `v4`, which make no difference.
    #[serde(deserialize_with = "null_default")]
    pub(super) version: String,
    /// Whether credentials go to other hosts than that of the repository.
    #[serde(deserialize_with = "null_default")]
    pub(super) pass_credentials: bool,
    /// Whether value files may be absent.
    #[serde(deserialize_with = "null_default")]
    pub(super) ignore_missing_value_files: bool,
    /// Whether the chart's `crds` folder is left out.
    #[serde(deserialize_with = "null_default")]
    pub(super) skip_crds: bool,
    /// Whether test hooks are left out.
    #[serde(deserialize_with = "null_default")]
    pub(super) skip_tests: bool,
    /// Whether values are not held against the chart's schema.
    #[serde(deserialize_with = "null_default")]
    pub(super) skip_schema_validation: bool,
    /// Namespace of the release; the destination's where it is empty.
    #[serde(deserialize_with = "null_default")]
    pub(super) namespace: String,
    /// Version of Kubernetes; the cluster's where it is empty.
    #[serde(deserialize_with = "null_default")]
    pub(super) kube_version: String,
    /// API versions; the cluster's where it is empty.
    #[serde(deserialize_with = "null_default")]
    pub(super) api_versions: Vec<String>,
}

/// One of `parameters`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Parameter {
    /// Path of the value.
    #[serde(deserialize_with = "null_default")]
    pub(super) name: String,
    /// The value.
    #[serde(deserialize_with = "null_default")]
    pub(super) value: String,
    /// Whether it stays a string.
    #[serde(deserialize_with = "null_default")]
    pub(super) force_string: bool,
}

/// One of `fileParameters`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct FileParameter {
    /// Path of the value.
    #[serde(deserialize_with = "null_default")]
    pub(super) name: String,
    /// The file.
    #[serde(deserialize_with = "null_default")]
    pub(super) path: String,
}

impl HelmSettings {
    /// Reads the block; an absent one is all defaults.
    ///
    /// # Errors
    /// When a field has the wrong type, or the version is none that Argo CD knows (`util/helm/cmd.go:NewCmd`).
    pub(super) fn read(block: Option<&Map<String, Value>>) -> Result<Self, RenderError> {
        let Some(block) = block else { return Ok(Self::default()) };
        let settings: Self = Self::deserialize(block).map_err(|error| {
            RenderError::new(
                "render-failed",
                format!("the helm settings of the source cannot be read: {error}"),
                "Mend spec.source.helm of the Application.",
            )
        })?;
        if !matches!(settings.version.as_str(), "" | "v3" | "v4") {
            return Err(RenderError::new(
                "render-failed",
                format!("helm version '{}' is not supported by Argo CD", settings.version),
                "Remove helm.version, or say v3 or v4.",
            ));
        }
        Ok(settings)
    }

    /// The values that stand in the Application itself, as YAML text; `None` where there are none. An object wins over the text, even an
    /// empty one.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/values.go:ValuesYAML`.
    pub(super) fn inline_values(&self) -> Option<String> {
        match &self.values_object {
            Some(Value::Null) | None => (!self.values.is_empty()).then(|| self.values.clone()),
            // JSON is YAML.
            Some(object) => Some(object.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(block: &Value) -> Result<HelmSettings, RenderError> {
        HelmSettings::read(block.as_object())
    }

    #[test]
    fn an_object_wins_over_the_text_even_an_empty_one() {
        let both = read(&json!({"values": "a: 1", "valuesObject": {"a": 2}})).unwrap();
        assert_eq!(both.inline_values().as_deref(), Some("{\"a\":2}"));
        assert_eq!(read(&json!({"values": "a: 1", "valuesObject": {}})).unwrap().inline_values().as_deref(), Some("{}"));
        assert_eq!(read(&json!({"values": "a: 1", "valuesObject": null})).unwrap().inline_values().as_deref(), Some("a: 1"));
        assert_eq!(read(&json!({"values": ""})).unwrap().inline_values(), None);
    }

    #[test]
    fn versions_that_argo_cd_does_not_know_are_refused() {
        assert!(read(&json!({"version": "v3"})).is_ok());
        assert!(read(&json!({"version": "v4"})).is_ok());
        assert_eq!(read(&json!({"version": "v2"})).unwrap_err().message, "helm version 'v2' is not supported by Argo CD");
    }

    #[test]
    fn a_wrong_type_is_an_error_of_the_application_and_null_is_absent() {
        assert!(read(&json!({"valueFiles": "values.yaml"})).unwrap_err().message.contains("cannot be read"));
        assert_eq!(read(&json!({"valueFiles": null, "skipCrds": null})).unwrap(), HelmSettings::default());
    }
}
