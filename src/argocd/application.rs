//! An Application, read and normalised as Argo CD's controller normalises it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::go::{self, null_default};
use super::names::{GROUP, RESOURCES_FINALIZER, SKIP_RECONCILE};
use super::options::{Propagation, SyncOptions};
use super::shape::{SpecProblem, spec_problem};
use super::version::Version;
use crate::manifest::{annotation, key, metadata_str};

/// Namespace and name of an Application.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId {
    /// Namespace of the Application object.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl AppId {
    /// An id from its parts.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The name that objects are tracked under: `name` in Argo CD's own namespace, else `namespace_name`.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:InstanceName`.
    pub fn instance(&self, control_namespace: &str) -> String {
        if self.namespace.is_empty() || &*self.namespace == control_namespace {
            self.name.to_string()
        } else {
            format!("{}_{}", self.namespace, self.name)
        }
    }

    /// The id behind an instance name.
    pub fn of_instance(instance: &str, control_namespace: &str) -> Self {
        match instance.split_once('_') {
            Some((namespace, name)) => Self::new(namespace, name),
            None => Self::new(control_namespace, instance),
        }
    }
}

impl fmt::Display for AppId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// An Application object whose spec has the right shape.
#[derive(Clone, Debug)]
pub struct Application {
    /// Namespace and name.
    pub id: AppId,
    /// `spec`, normalised.
    pub spec: Spec,
    /// Finalizers, in order.
    pub finalizers: Vec<String>,
    /// The object it was read from.
    pub object: Arc<Value>,
}

/// `spec` of an Application. Fields that decide nothing here are left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// Project; `default` where none is given.
    #[serde(deserialize_with = "null_default")]
    pub project: String,
    /// Where the objects go.
    #[serde(deserialize_with = "null_default")]
    pub destination: Destination,
    source: Option<Source>,
    #[serde(deserialize_with = "null_default")]
    sources: Vec<Source>,
    /// `sourceHydrator`, as it stands.
    pub source_hydrator: Option<Value>,
    /// Sync policy.
    #[serde(deserialize_with = "null_default")]
    pub sync_policy: SyncPolicy,
    /// `ignoreDifferences`, as it stands.
    #[serde(deserialize_with = "null_default")]
    pub ignore_differences: Vec<Value>,
}

impl Spec {
    /// The sources in order: `sources` wins over `source`.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:GetSources`.
    pub fn sources(&self) -> &[Source] {
        if self.sources.is_empty() { self.source.as_slice() } else { &self.sources }
    }

    /// The sources that decide what runs in the end: that of the hydrator as it is written, where there is one.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:SourceHydrator.GetDrySource`.
    pub fn dry_sources(&self) -> Cow<'_, [Source]> {
        match self.source_hydrator.as_ref().map(|hydrator| hydrator.get("drySource").map(Source::deserialize)) {
            None => Cow::Borrowed(self.sources()),
            Some(Some(Ok(dry))) => Cow::Owned(vec![dry.normalised()]),
            // Without a dry source there is nothing to render.
            Some(_) => Cow::Borrowed(&[]),
        }
    }

    /// What the hydrator has written and the cluster follows, where there is a hydrator.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:SourceHydrator.GetSyncSource`.
    pub fn hydrated_source(&self) -> Option<Source> {
        let hydrator = self.source_hydrator.as_ref()?;
        let text = |pointer: &str| hydrator.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let target_revision = text("/syncSource/targetBranch");
        let source = Source { repo_url: text("/drySource/repoURL"), path: text("/syncSource/path"), target_revision, ..Source::default() };
        (!source.target_revision.is_empty()).then_some(source)
    }

    /// The branch that the hydrator writes in place of the one that the cluster follows; somebody merges it.
    pub fn staging_branch(&self) -> Option<&str> {
        self.source_hydrator.as_ref()?.pointer("/hydrateTo/targetBranch").and_then(Value::as_str)
    }

    /// Whether `sources` is used.
    pub fn is_multi_source(&self) -> bool {
        !self.sources.is_empty()
    }
}

/// Where an Application's objects go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Destination {
    /// API server URL.
    #[serde(deserialize_with = "null_default")]
    pub server: String,
    /// Registered name of the cluster.
    #[serde(deserialize_with = "null_default")]
    pub name: String,
    /// Namespace for objects that name none.
    #[serde(deserialize_with = "null_default")]
    pub namespace: String,
}

/// One source of an Application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Source {
    /// Repository.
    #[serde(rename = "repoURL", deserialize_with = "null_default")]
    pub repo_url: String,
    /// Directory in the repository.
    #[serde(deserialize_with = "null_default")]
    pub path: String,
    /// Branch, tag, commit or version range; empty means `HEAD`.
    #[serde(deserialize_with = "null_default")]
    pub target_revision: String,
    /// What the tags start with among which a version range chooses (3.5).
    #[serde(deserialize_with = "null_default")]
    pub tag_prefix: String,
    /// Chart of a Helm repository.
    #[serde(deserialize_with = "null_default")]
    pub chart: String,
    /// Name under which other sources use this one.
    #[serde(rename = "ref", deserialize_with = "null_default")]
    pub reference: String,
    /// Name by which commands mean this source.
    #[serde(deserialize_with = "null_default")]
    pub name: String,
    /// Helm settings.
    pub helm: Option<Map<String, Value>>,
    /// Kustomize settings.
    pub kustomize: Option<Map<String, Value>>,
    /// Plain directory settings.
    pub directory: Option<Directory>,
    /// Config management plugin settings.
    pub plugin: Option<Map<String, Value>>,
}

/// Settings of a plain directory source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Directory {
    /// Whether sub-directories are read.
    #[serde(deserialize_with = "null_default")]
    pub recurse: bool,
    /// Glob of paths to take.
    #[serde(deserialize_with = "null_default")]
    pub include: String,
    /// Glob of paths to leave out.
    #[serde(deserialize_with = "null_default")]
    pub exclude: String,
    /// Take files of every extension (3.6).
    #[serde(deserialize_with = "null_default")]
    pub disable_extension_filter: bool,
    /// Jsonnet settings.
    #[serde(deserialize_with = "null_default")]
    pub jsonnet: Jsonnet,
}

/// How jsonnet files of a plain directory are evaluated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Jsonnet {
    /// External variables (`std.extVar`).
    #[serde(deserialize_with = "null_default")]
    pub ext_vars: Vec<JsonnetVariable>,
    /// Top-level arguments.
    #[serde(deserialize_with = "null_default")]
    pub tlas: Vec<JsonnetVariable>,
    /// Folders in which imports are looked up, from the repository root.
    #[serde(deserialize_with = "null_default")]
    pub libs: Vec<String>,
}

/// A variable or argument of jsonnet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JsonnetVariable {
    /// Its name.
    #[serde(deserialize_with = "null_default")]
    pub name: String,
    /// A text, or code.
    #[serde(deserialize_with = "null_default")]
    pub value: String,
    /// Whether the value is code.
    #[serde(deserialize_with = "null_default")]
    pub code: bool,
}

impl Directory {
    fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// `spec.syncPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncPolicy {
    /// Automated sync; `None` means that a person syncs.
    pub automated: Option<Automated>,
    /// `syncOptions`.
    #[serde(deserialize_with = "options")]
    pub sync_options: SyncOptions,
    /// Labels and annotations for the namespace that `CreateNamespace=true` makes.
    pub managed_namespace_metadata: Option<Value>,
}

/// `spec.syncPolicy.automated`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Automated {
    /// Absent means on.
    pub enabled: Option<bool>,
    /// Delete what Git no longer has.
    #[serde(deserialize_with = "null_default")]
    pub prune: bool,
    /// Undo changes made in the cluster.
    #[serde(deserialize_with = "null_default")]
    pub self_heal: bool,
    /// Sync even if nothing would remain.
    #[serde(deserialize_with = "null_default")]
    pub allow_empty: bool,
}

fn options<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SyncOptions, D::Error> {
    Ok(SyncOptions(Option::deserialize(deserializer)?.unwrap_or_default()))
}

/// Why an object is no usable Application.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplicationError {
    /// It has no name.
    #[error("the Application has no metadata.name")]
    NoName,
    /// A field is missing or has the wrong type.
    #[error("the Application cannot be read: {0}")]
    Spec(SpecProblem),
}

impl Application {
    /// Whether the object is an Application.
    pub fn is_application(object: &Value) -> bool {
        object.get("kind").and_then(Value::as_str) == Some("Application") && key::group_of(object) == GROUP
    }

    /// Whether the object says where its sources are and where they go; a patch fragment does not.
    pub fn is_complete(object: &Value) -> bool {
        let Some(spec) = object.get("spec").and_then(Value::as_object) else { return false };
        spec.get("destination").is_some_and(Value::is_object)
            && ["source", "sources", "sourceHydrator"].iter().any(|field| spec.get(*field).is_some_and(|value| !value.is_null()))
            && object.get("$patch").is_none()
    }

    /// Reads and normalises an Application; without a namespace of its own it is in `default_namespace`.
    ///
    /// Source: Argo CD `util/argo/argo.go:NormalizeApplicationSpec`.
    pub fn read(object: Arc<Value>, default_namespace: &str) -> Result<Self, ApplicationError> {
        let name = metadata_str(&object, "name").filter(|name| !name.is_empty()).ok_or(ApplicationError::NoName)?;
        let namespace = metadata_str(&object, "namespace").filter(|namespace| !namespace.is_empty()).unwrap_or(default_namespace);
        let id = AppId::new(namespace, name);
        if let Some(problem) = spec_problem(&object) {
            return Err(ApplicationError::Spec(problem));
        }
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let unreadable = |error: serde_json::Error| SpecProblem { pointer: "/spec".to_owned(), message: format!("spec: {error}") };
        let mut spec = Spec::deserialize(spec).map_err(|error| ApplicationError::Spec(unreadable(error)))?;
        if spec.project.is_empty() {
            "default".clone_into(&mut spec.project);
        }
        spec.source = spec.source.map(Source::normalised);
        spec.sources = spec.sources.into_iter().map(Source::normalised).collect();
        let finalizers = object
            .pointer("/metadata/finalizers")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            .unwrap_or_default();
        Ok(Self { id, spec, finalizers, object })
    }

    /// Automated sync, if it is on.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:IsAutomatedSyncEnabled`.
    pub fn automated(&self) -> Option<&Automated> {
        self.automated_in(Version::ASSUMED)
    }

    /// Automated sync, if it is on in a version; before 3.1 `enabled` says nothing.
    pub fn automated_in(&self, version: Version) -> Option<&Automated> {
        let is_on = |automated: &&Automated| !version.reads_automated_enabled() || automated.enabled.unwrap_or(true);
        self.spec.sync_policy.automated.as_ref().filter(is_on)
    }

    /// Whether the controller is told to leave the Application alone.
    ///
    /// Source: Argo CD `controller/appcontroller.go:canProcessApp`; the annotation is read by Go's `strconv.ParseBool`.
    pub fn is_skipped(&self) -> bool {
        annotation(&self.object, SKIP_RECONCILE).is_some_and(|text| matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True"))
    }

    /// How its own deletion deletes its objects.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:GetPropagationPolicy`.
    pub fn propagation(&self) -> Propagation {
        let is_background = |finalizer: &String| finalizer.strip_prefix(RESOURCES_FINALIZER) == Some("/background");
        if self.finalizers.iter().any(is_background) { Propagation::Background } else { Propagation::Foreground }
    }

    /// Whether deleting the Application deletes its objects.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:CascadedDeletion`.
    pub fn cascades(&self) -> bool {
        self.finalizers.iter().any(|finalizer| {
            finalizer.strip_prefix(RESOURCES_FINALIZER).is_some_and(|rest| matches!(rest, "" | "/foreground" | "/background"))
        })
    }
}

/// Fields that alone do not make a source one of Kustomize's.
///
/// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:ApplicationSourceKustomize.IsZero`.
const SWITCHES_OF_KUSTOMIZE: [&str; 5] =
    ["commonAnnotationsEnvsubst", "forceCommonAnnotations", "forceCommonLabels", "labelIncludeTemplates", "labelWithoutSelector"];

impl Source {
    /// The source as the controller compares it: blocks that say nothing count as absent.
    ///
    /// Source: Argo CD `util/argo/argo.go:NormalizeSource`.
    pub fn normalised(mut self) -> Self {
        let says_something = |fields: &Map<String, Value>| !fields.values().all(go::is_zero);
        self.helm = self.helm.filter(says_something);
        // Switches about settings that are not there count for nothing.
        let says_more = |fields: &Map<String, Value>| {
            fields.iter().any(|(name, value)| !go::is_zero(value) && !SWITCHES_OF_KUSTOMIZE.contains(&name.as_str()))
        };
        self.kustomize = self.kustomize.filter(says_more);
        self.directory = self.directory.filter(|directory| !directory.is_zero());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(spec: Value) -> Result<Application, ApplicationError> {
        let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"}, "spec": spec});
        Application::read(object.into(), "argocd")
    }

    #[test]
    fn s9_82_empty_blocks_and_a_missing_project_are_normalised() {
        let app = read(json!({
            "destination": {"server": "s", "namespace": "n"},
            "source": {"repoURL": "r", "path": "p", "kustomize": {}, "helm": {"parameters": []}, "directory": {"recurse": false}},
        }))
        .unwrap();
        assert_eq!(app.spec.project, "default");
        let source = &app.spec.sources()[0];
        assert_eq!((&source.kustomize, &source.helm, &source.directory), (&None, &None, &None));
        assert_eq!(app.id.to_string(), "argocd/a");
    }

    #[test]
    fn a_directory_block_with_only_an_exclude_is_kept() {
        let app = read(json!({"destination": {}, "source": {"directory": {"exclude": "x"}}})).unwrap();
        assert!(app.spec.sources()[0].directory.is_some());
    }

    #[test]
    fn s9_31_enabled_false_means_manual() {
        let manual =
            read(json!({"destination": {}, "source": {}, "syncPolicy": {"automated": {"enabled": false, "prune": true}}})).unwrap();
        assert!(manual.automated().is_none());
        let on = read(json!({"destination": {}, "source": {}, "syncPolicy": {"automated": {}}})).unwrap();
        assert!(on.automated().is_some());
        assert!(manual.automated_in(Version { major: 3, minor: 0 }).is_some(), "`enabled` is read from 3.1 on");
    }

    #[test]
    fn an_application_is_skipped_if_its_annotation_is_true_in_go() {
        let with = |value: &str| {
            let metadata = json!({"name": "a", "annotations": {SKIP_RECONCILE: value}});
            let object = json!({"metadata": metadata, "spec": {"destination": {}, "source": {}}});
            Application::read(object.into(), "argocd").unwrap().is_skipped()
        };
        assert!(with("true") && with("1") && with("T") && !with("false") && !with("yes") && !with(""));
    }

    #[test]
    fn a_patch_fragment_is_no_application_and_a_wrong_type_is_named() {
        assert_eq!(
            read(json!({"source": {"path": "p"}})).unwrap_err().to_string(),
            "the Application cannot be read: spec.destination is missing"
        );
        assert!(matches!(read(json!({"destination": {}, "source": "x"})), Err(ApplicationError::Spec(_))));
    }

    #[test]
    fn only_resource_finalizers_cascade() {
        let with = |finalizer: &str| {
            let mut app = read(json!({"destination": {}, "source": {}})).unwrap();
            app.finalizers = vec![finalizer.into()];
            app.cascades()
        };
        assert!(with("resources-finalizer.argocd.argoproj.io"));
        assert!(with("resources-finalizer.argocd.argoproj.io/background"));
        assert!(!with("post-delete-finalizer.argocd.argoproj.io"));
        assert!(!with("resources-finalizer.argocd.argoproj.io/other"));
    }
}
