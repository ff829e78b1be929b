//! An ApplicationSet, read as Argo CD's API types read it: fields that the types do not have are not there.
//!
//! Takes an object; hands on an [`ApplicationSet`] or why it is none. What it generates is worked out elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::application::AppId;
use super::go::null_default;
use super::selector::LabelSelector;
use crate::manifest::metadata_str;

/// An ApplicationSet object whose spec has the right shape.
#[derive(Clone, Debug)]
pub struct ApplicationSet {
    /// Namespace and name of the set.
    pub id: AppId,
    /// Its spec.
    pub spec: SetSpec,
    /// Finalizers of the set itself.
    pub finalizers: Vec<String>,
    /// The object it was read from.
    pub object: Arc<Value>,
}

/// `spec` of an ApplicationSet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetSpec {
    /// Whether templates are Go templates; else fasttemplate.
    #[serde(deserialize_with = "null_default")]
    pub go_template: bool,
    /// Options of Go templates, such as `missingkey=error`.
    #[serde(deserialize_with = "null_default")]
    pub go_template_options: Vec<String>,
    /// The generators.
    #[serde(deserialize_with = "null_default")]
    pub generators: Vec<Generator>,
    /// The template of the Applications.
    #[serde(deserialize_with = "null_default")]
    pub template: Template,
    /// A patch over each rendered Application, itself a template.
    pub template_patch: Option<String>,
    /// What the controller may do to the Applications.
    #[serde(deserialize_with = "null_default")]
    pub sync_policy: SetSyncPolicy,
    /// How the Applications are synced one after the other.
    #[serde(deserialize_with = "null_default")]
    pub strategy: Strategy,
    /// Metadata that stays as it is live.
    #[serde(deserialize_with = "null_default")]
    pub preserved_fields: PreservedFields,
    /// Fields of live Applications that stay as they are.
    #[serde(deserialize_with = "null_default")]
    pub ignore_application_differences: Vec<IgnoredDifference>,
}

/// The template of an Application. Its spec is kept as it stands, for any text in it may be a template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Template {
    /// Name, labels, annotations and finalizers.
    #[serde(deserialize_with = "null_default")]
    pub metadata: TemplateMetadata,
    /// The spec.
    #[serde(deserialize_with = "null_default")]
    pub spec: Value,
}

/// `template.metadata`. A namespace is accepted and has no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateMetadata {
    /// Name.
    #[serde(deserialize_with = "null_default")]
    pub name: String,
    /// Labels.
    #[serde(deserialize_with = "null_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(deserialize_with = "null_default")]
    pub annotations: BTreeMap<String, String>,
    /// Finalizers.
    #[serde(deserialize_with = "null_default")]
    pub finalizers: Vec<String>,
}

/// One entry of `generators`; more than one kind may be set at the top level.
///
/// Source: Argo CD `pkg/apis/application/v1alpha1/applicationset_types.go`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Generator {
    /// Elements as they stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<ListGenerator>,
    /// Clusters that Argo CD knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<ClusterGenerator>,
    /// Directories or files of a Git repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitGenerator>,
    /// Repositories of a hoster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scm_provider: Option<Value>,
    /// Clusters that an object's status names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_decision_resource: Option<DecisionGenerator>,
    /// Open pull requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<Value>,
    /// Every pair of two generators' parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix: Option<MatrixGenerator>,
    /// Parameters of several generators laid over each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeGenerator>,
    /// What a program answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Value>,
    /// Which parameters are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

impl Generator {
    /// The kinds that are set, in the order in which Argo CD runs them.
    pub fn kinds(&self) -> Vec<&'static str> {
        let all = [
            ("list", self.list.is_some()),
            ("clusters", self.clusters.is_some()),
            ("git", self.git.is_some()),
            ("scmProvider", self.scm_provider.is_some()),
            ("clusterDecisionResource", self.cluster_decision_resource.is_some()),
            ("pullRequest", self.pull_request.is_some()),
            ("matrix", self.matrix.is_some()),
            ("merge", self.merge.is_some()),
            ("plugin", self.plugin.is_some()),
        ];
        all.into_iter().filter(|(_, set)| *set).map(|(kind, _)| kind).collect()
    }

    /// The generators inside a matrix or merge.
    pub fn children(&self) -> &[Generator] {
        match (&self.matrix, &self.merge) {
            (Some(matrix), _) => &matrix.generators,
            (None, Some(merge)) => &merge.generators,
            _ => &[],
        }
    }
}

/// `list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ListGenerator {
    /// The elements.
    #[serde(deserialize_with = "null_default")]
    pub elements: Vec<Value>,
    /// More elements, as YAML text.
    #[serde(deserialize_with = "null_default")]
    pub elements_yaml: String,
    /// A template of its own.
    #[serde(deserialize_with = "null_default")]
    pub template: Template,
}

/// `clusters`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterGenerator {
    /// Which cluster Secrets count.
    #[serde(deserialize_with = "null_default")]
    pub selector: LabelSelector,
    /// A template of its own.
    #[serde(deserialize_with = "null_default")]
    pub template: Template,
    /// More parameters.
    #[serde(deserialize_with = "null_default")]
    pub values: BTreeMap<String, String>,
    /// All clusters as one set of parameters.
    #[serde(deserialize_with = "null_default")]
    pub flat_list: bool,
}

/// `git`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GitGenerator {
    /// The repository.
    #[serde(rename = "repoURL", deserialize_with = "null_default")]
    pub repo_url: String,
    /// The revision.
    #[serde(deserialize_with = "null_default")]
    pub revision: String,
    /// Patterns of directories.
    #[serde(deserialize_with = "null_default")]
    pub directories: Vec<PathItem>,
    /// Patterns of files.
    #[serde(deserialize_with = "null_default")]
    pub files: Vec<PathItem>,
    /// Name before `path` in the parameters.
    #[serde(deserialize_with = "null_default")]
    pub path_param_prefix: String,
    /// A template of its own.
    #[serde(deserialize_with = "null_default")]
    pub template: Template,
    /// More parameters.
    #[serde(deserialize_with = "null_default")]
    pub values: BTreeMap<String, String>,
}

/// A pattern of directories or files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathItem {
    /// The pattern.
    #[serde(deserialize_with = "null_default")]
    pub path: String,
    /// Whether what matches is left out.
    #[serde(deserialize_with = "null_default")]
    pub exclude: bool,
}

/// `clusterDecisionResource`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DecisionGenerator {
    /// ConfigMap that names the kind.
    #[serde(deserialize_with = "null_default")]
    pub config_map_ref: String,
    /// Name of the object.
    #[serde(deserialize_with = "null_default")]
    pub name: String,
    /// Labels of the objects, where no name is given.
    #[serde(deserialize_with = "null_default")]
    pub label_selector: LabelSelector,
    /// A template of its own.
    #[serde(deserialize_with = "null_default")]
    pub template: Template,
    /// More parameters, which are no templates here.
    #[serde(deserialize_with = "null_default")]
    pub values: BTreeMap<String, String>,
}

/// `matrix`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MatrixGenerator {
    /// The two generators.
    #[serde(deserialize_with = "null_default")]
    pub generators: Vec<Generator>,
    /// A template of its own.
    #[serde(deserialize_with = "null_default")]
    pub template: Template,
}

/// `merge`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MergeGenerator {
    /// The generators; the first one is the base.
    #[serde(deserialize_with = "null_default")]
    pub generators: Vec<Generator>,
    /// Parameters by which sets are joined.
    #[serde(deserialize_with = "null_default")]
    pub merge_keys: Vec<String>,
    /// A template of its own.
    #[serde(deserialize_with = "null_default")]
    pub template: Template,
}

/// `spec.syncPolicy` of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetSyncPolicy {
    /// Do not add the resources finalizer to generated Applications.
    #[serde(deserialize_with = "null_default")]
    pub preserve_resources_on_deletion: bool,
    /// `create-only`, `create-update`, `create-delete` or `sync`.
    pub applications_sync: Option<String>,
}

/// `spec.strategy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Strategy {
    /// `AllAtOnce` or `RollingSync`.
    #[serde(rename = "type", deserialize_with = "null_default")]
    pub kind: String,
    /// The steps of a rolling sync, as they stand.
    pub rolling_sync: Option<Value>,
}

/// `spec.preservedFields`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PreservedFields {
    /// Annotations that keep their live value.
    #[serde(deserialize_with = "null_default")]
    pub annotations: Vec<String>,
    /// Labels that keep their live value.
    #[serde(deserialize_with = "null_default")]
    pub labels: Vec<String>,
}

/// One entry of `spec.ignoreApplicationDifferences`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct IgnoredDifference {
    /// Only the Application of this name.
    #[serde(deserialize_with = "null_default")]
    pub name: String,
    /// JSON pointers.
    #[serde(rename = "jsonPointers", deserialize_with = "null_default")]
    pub json_pointers: Vec<String>,
    /// jq paths.
    #[serde(rename = "jqPathExpressions", deserialize_with = "null_default")]
    pub jq_path_expressions: Vec<String>,
}

/// What the controller may do to the Applications of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApplicationsSync {
    /// Whether existing Applications are brought in line.
    pub updates: bool,
    /// Whether Applications that are no longer generated are deleted.
    pub deletes: bool,
}

impl ApplicationsSync {
    /// Everything, the default.
    pub const SYNC: Self = Self { updates: true, deletes: true };

    /// A policy by its name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "create-only" => Some(Self { updates: false, deletes: false }),
            "create-update" => Some(Self { updates: true, deletes: false }),
            "create-delete" => Some(Self { updates: false, deletes: true }),
            "sync" => Some(Self::SYNC),
            _ => None,
        }
    }

    /// The policy that is in force. `controller` is the controller's flag `--policy`, `overridable` its `--enable-policy-override`, which
    /// is on where no policy is set.
    ///
    /// Source: Argo CD `applicationset/utils/policy.go:DefaultPolicy`.
    pub fn in_force(set: Option<&str>, controller: Option<&str>, overridable: Option<bool>) -> Self {
        let default = controller.and_then(Self::parse).unwrap_or(Self::SYNC);
        let overridable = overridable.unwrap_or(controller.is_none());
        if overridable { set.and_then(Self::parse).unwrap_or(default) } else { default }
    }
}

/// Why an object is no usable ApplicationSet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplicationSetError {
    /// It has no name.
    #[error("the ApplicationSet has no metadata.name")]
    NoName,
    /// It has no generators or no template.
    #[error("the ApplicationSet has no spec with generators and a template")]
    Incomplete,
    /// A field has the wrong type.
    #[error("the ApplicationSet's spec cannot be read: {0}")]
    Spec(String),
}

impl ApplicationSet {
    /// Reads a set; without a namespace of its own it is in `default_namespace`.
    ///
    /// # Errors
    /// Where it has no name, or a shape that the API server refuses.
    pub fn read(object: Arc<Value>, default_namespace: &str) -> Result<Self, ApplicationSetError> {
        let name = metadata_str(&object, "name").filter(|name| !name.is_empty()).ok_or(ApplicationSetError::NoName)?;
        let namespace = metadata_str(&object, "namespace").filter(|namespace| !namespace.is_empty()).unwrap_or(default_namespace);
        let id = AppId::new(namespace, name);
        let spec = object.get("spec").filter(|spec| spec.get("generators").is_some() && spec.get("template").is_some());
        let spec = SetSpec::deserialize(spec.ok_or(ApplicationSetError::Incomplete)?)
            .map_err(|error| ApplicationSetError::Spec(error.to_string()))?;
        let finalizers = object
            .pointer("/metadata/finalizers")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            .unwrap_or_default();
        Ok(Self { id, spec, finalizers, object })
    }

    /// Whether the set's controller syncs its Applications itself, step by step.
    ///
    /// Source: Argo CD `applicationset/controllers/progressive.go:isRollingSyncStrategy`.
    pub fn is_rolling(&self) -> bool {
        let steps = self.spec.strategy.rolling_sync.as_ref().and_then(|rolling| rolling.get("steps")).and_then(Value::as_array);
        self.spec.strategy.kind == "RollingSync" && steps.is_some_and(|steps| !steps.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(spec: Value) -> Result<ApplicationSet, ApplicationSetError> {
        ApplicationSet::read(
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "s"}, "spec": spec}).into(),
            "argocd",
        )
    }

    #[test]
    fn generators_are_read_with_their_kinds_in_the_order_of_argo_cd() {
        let set = read(json!({"template": {"metadata": {"name": "x"}}, "generators": [
            {"git": {"repoURL": "r", "directories": [{"path": "apps/*"}]}, "list": {"elements": [{"a": "b"}]}},
            {"lists": {"elements": []}}]}))
        .unwrap();
        assert_eq!(set.spec.generators[0].kinds(), ["list", "git"]);
        assert!(set.spec.generators[1].kinds().is_empty());
        assert_eq!(set.id.to_string(), "argocd/s");
    }

    #[test]
    fn a_fragment_is_no_set_and_a_wrong_type_is_named() {
        assert_eq!(read(json!({"generators": []})).unwrap_err(), ApplicationSetError::Incomplete);
        let wrong = read(json!({"template": {}, "generators": {"list": {}}}));
        assert!(matches!(wrong, Err(ApplicationSetError::Spec(_))), "{wrong:?}");
    }

    #[test]
    fn null_is_as_good_as_absent() {
        let set = read(json!({"template": {"metadata": {"name": "x", "labels": null}, "spec": null}, "generators": [{"list": null}],
            "syncPolicy": null, "strategy": null}))
        .unwrap();
        assert!(set.spec.generators[0].list.is_none());
        assert!(!set.is_rolling());
    }

    #[test]
    fn the_sets_policy_counts_only_where_the_controller_lets_it() {
        let keep = ApplicationsSync { updates: true, deletes: false };
        assert_eq!(ApplicationsSync::in_force(Some("create-update"), None, None), keep);
        assert_eq!(ApplicationsSync::in_force(Some("create-update"), Some("sync"), None), ApplicationsSync::SYNC);
        assert_eq!(ApplicationsSync::in_force(Some("create-update"), Some("sync"), Some(true)), keep);
        assert_eq!(ApplicationsSync::in_force(None, Some("create-update"), None), keep);
        assert_eq!(ApplicationsSync::in_force(Some("create-update"), None, Some(false)), ApplicationsSync::SYNC);
    }
}
