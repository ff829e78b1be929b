//! Why Argo CD refuses a sync before anything is applied.
//!
//! Takes the compared pairs and the hooks of an Application; hands on remarks, of which the first is the reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Compared, Hook, Planner};
use crate::argocd::{hook, options};
use crate::manifest::{Manifest, ResourceKey, key::version_of, metadata_str};
use crate::plan::change::{Condition, KIND_WITHDRAWN};
use crate::plan::diff::{Method, ObjectDiff};
use crate::plan::failure::{self, Apply, ApplyStrategy, Certainty, Outcome};
use crate::plan::pairing::Pair;
use crate::plan::permission;

/// Kind of a remark that Argo CD cannot compare an object.
pub(super) const COMPARISON_ERROR: &str = "ComparisonError";
/// Kind of a remark on any other reason to refuse a sync.
pub(super) const SYNC_REFUSED: &str = "SyncRefused";

impl Planner<'_> {
    /// Why Argo CD cannot compare a pair.
    ///
    /// Source: Argo CD `gitops-engine/pkg/diff/diff.go:serverSideDiff` and `structuredMergeDiff`; in the recordings the dry run of a change that the
    /// API server refuses ends the comparison of the whole Application.
    pub(super) fn incomparable(&self, pair: &Pair, diff: Option<&ObjectDiff>, known: &Value) -> Option<String> {
        let (diff, target) = (diff?, pair.target.as_ref()?);
        if let Some(error) = &diff.error {
            return Some(format!("{}: {error}", pair.key.named()));
        }
        if self.method(&target.object) != Method::ServerSide || !diff.modified {
            return None;
        }
        let apply = Apply { strategy: ApplyStrategy::ServerSide, force: false };
        match failure::foresee_apply(&target.object, known, apply, self.world.failure_context(&self.server)) {
            Outcome::Fail(failure) => {
                let likely = if failure.certainty == Certainty::Likely { "will likely be refused" } else { "is refused" };
                Some(format!("{}, so the dry run of the server-side diff {likely}", failure.reason))
            }
            _ => None,
        }
    }

    /// The remarks on pairs that Argo CD cannot compare. It starts no sync then, and refuses one by hand.
    ///
    /// Source: Argo CD `controller/state.go:CompareAppState`, `controller/sync.go:SyncAppState`.
    pub(super) fn comparison_errors(&self, compared: &[Compared]) -> Vec<Condition> {
        let errors = compared.iter().filter_map(|Compared { pair, problem, .. }| {
            let message = format!("Argo CD cannot compare live and target state: {}", problem.as_ref()?);
            let origin = pair.target.as_ref().map(|target| target.origin.clone());
            Some(Condition { kind: COMPARISON_ERROR, message, key: Some(pair.key.clone()), origin })
        });
        errors.collect()
    }

    /// Targets outside of the namespaces to which the cluster's Secret limits Argo CD: it loads no live state at all then. It names the first
    /// one; here all of one place are one remark.
    ///
    /// Source: Argo CD `gitops-engine/pkg/cache/cluster.go:GetManagedLiveObjs`, which is given hooks as well.
    pub(super) fn out_of_sight(&self) -> Vec<Condition> {
        let Some(limit) = self.world.limit(&self.server) else { return Vec::new() };
        let mut places: BTreeMap<&str, Vec<&Arc<Manifest>>> = BTreeMap::new();
        for target in self.targets.manifests.iter().filter(|target| !limit.takes(&target.key.namespace)) {
            places.entry(&target.key.namespace).or_default().push(target);
        }
        let cluster = self.world.cluster_label(&self.server);
        let remark = |(namespace, mut outside): (&str, Vec<&Arc<Manifest>>)| {
            outside.sort_by(|a, b| a.key.cmp(&b.key));
            let first = outside.first()?;
            let more = if outside.len() > 1 { format!(" (and {} more)", outside.len() - 1) } else { String::new() };
            let allowed = limit.namespaces.join(", ");
            let why =
                if namespace.is_empty() { "it is in no namespace".to_owned() } else { format!("namespace {namespace} is not among them") };
            let message = format!(
                "Argo CD is limited to namespaces {allowed} of cluster {cluster}, and cannot manage {}{more}: {why}",
                first.key.named()
            );
            Some(Condition { kind: COMPARISON_ERROR, message, key: Some(first.key.clone()), origin: Some(first.origin.clone()) })
        };
        places.into_iter().filter_map(remark).collect()
    }

    /// Everything for which a sync that runs is refused before anything is applied.
    ///
    /// Source: Argo CD `controller/sync.go:SyncAppState`, `gitops-engine/pkg/sync/sync_context.go:getSyncTasks` (discovery and permission of every
    /// task) and kubectl's `apply.go:applyOneObject` (names).
    pub(super) fn refusals(&self, compared: &[Compared], hooks: &[Hook], conditions: &[Condition]) -> Vec<Condition> {
        let about_application = |message: String| Condition { kind: SYNC_REFUSED, message, key: None, origin: self.input.origin.clone() };
        if self.options().has("FailOnSharedResource=true")
            && let Some(shared) = conditions.iter().find(|condition| condition.kind == "SharedResourceWarning")
        {
            return vec![about_application(format!("FailOnSharedResource=true: {}", shared.message))];
        }
        if let Some(problem) = permission::impersonation(&self.input.application, self.world, &self.server) {
            return vec![about_application(problem)];
        }
        let mut found = Vec::new();
        let targets = compared.iter().filter_map(|compared| compared.pair.target.as_ref().map(|target| (target, false)));
        let hooks = hooks.iter().filter(|(_, phases)| !phases.is_empty()).map(|(hook, _)| (hook, true));
        for (target, is_hook) in targets.chain(hooks).filter(|(target, _)| !hook::is_skipped(&target.object)) {
            let about = |kind, message| Condition { kind, message, key: Some(target.key.clone()), origin: Some(target.origin.clone()) };
            match versionless(target) {
                Some(problem) => found.push(about(SYNC_REFUSED, problem)),
                None => found.extend(self.unserved(target).map(|problem| about(self.unserved_kind(target), problem))),
            }
            found.extend(self.denied(&target.key).map(|problem| about("ProjectDenies", problem)));
            found.extend(self.nameless(target, is_hook).map(|problem| about(SYNC_REFUSED, problem)));
        }
        if let Some(namespace) = self.namespace_task()
            && let Some(denied) = self.denied(&namespace)
        {
            let message = format!("{denied}, which CreateNamespace=true adds to the sync");
            found.push(Condition { kind: "ProjectDenies", message, key: Some(namespace), origin: self.input.origin.clone() });
        }
        found
    }

    fn denied(&self, key: &ResourceKey) -> Option<String> {
        permission::object(&self.input.application, self.world, &self.server, key)
    }

    /// Why the cluster cannot take this kind and nothing lets the check pass.
    fn unserved(&self, target: &Manifest) -> Option<String> {
        let version = version_of(&target.object);
        let problem = self.world.not_served(&self.server, &target.key, version)?;
        let skipped = (self.settings().version().reads_application_skip_dry_run()
            && self.options().has("SkipDryRunOnMissingResource=true"))
            || options::object_has(&target.object, "SkipDryRunOnMissingResource=true");
        (!skipped && !self.brings_kind(&target.key)).then_some(problem)
    }

    fn unserved_kind(&self, target: &Manifest) -> &'static str {
        if self.withdrawn(target).is_some() { KIND_WITHDRAWN } else { "KindNotServed" }
    }

    /// Why the cluster will not serve the version of this target any more.
    pub(super) fn withdrawn(&self, target: &Manifest) -> Option<String> {
        self.world.withdrawn(&self.server, &target.key, version_of(&target.object))
    }

    /// Whether a CustomResourceDefinition of this group and kind is among the targets; versions do not count here.
    fn brings_kind(&self, key: &ResourceKey) -> bool {
        self.definition_of(key).is_some()
    }

    /// Why the dry run refuses an object for its name. Argo CD names hooks itself.
    fn nameless(&self, target: &Manifest, is_hook: bool) -> Option<String> {
        let text = |field: &str| metadata_str(&target.object, field).unwrap_or_default();
        if !text("name").is_empty() || (is_hook && !text("generateName").is_empty()) {
            return None;
        }
        let replaces = self.apply(&target.object, None).strategy == ApplyStrategy::Replace;
        match text("generateName") {
            "" => Some(match target.object.pointer("/metadata/name").filter(|name| !name.is_null() && !name.is_string()) {
                Some(name) => format!("{} has {name} for a name, which is no text: quote it, or the dry run fails", target.key.kind),
                None => format!("{} without a name cannot be applied: the dry run fails", target.key.kind),
            }),
            _ if replaces => None,
            generated => Some(format!(
                "{} {generated} has a generateName and no name, which kubectl apply does not take: the dry run fails",
                target.key.kind
            )),
        }
    }

    /// The Namespace that `CreateNamespace=true` adds to the tasks: a missing one, or any with `managedNamespaceMetadata`.
    ///
    /// Source: Argo CD `controller/sync_namespace.go:syncNamespace`.
    fn namespace_task(&self) -> Option<ResourceKey> {
        let namespace = &self.input.application.spec.destination.namespace;
        let key = ResourceKey::new("", "Namespace", "", namespace);
        let in_git = self.targets.manifests.iter().any(|target| target.key == key && !hook::is_hook(&target.object));
        if namespace.is_empty() || in_git || !self.options().has("CreateNamespace=true") {
            return None;
        }
        let managed = self.input.application.spec.sync_policy.managed_namespace_metadata.is_some();
        (managed || self.world.namespace_is_missing(&self.server, namespace)).then_some(key)
    }

    /// The CustomResourceDefinition of a kind, if it is among the targets.
    pub(super) fn definition_of(&self, key: &ResourceKey) -> Option<&Arc<Manifest>> {
        self.definitions.iter().find(|definition| {
            let text = |pointer: &str| definition.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            text("/spec/group") == &*key.group && text("/spec/names/kind") == &*key.kind
        })
    }
}

/// Why no cluster knows the version of an object.
///
/// Source: apimachinery `pkg/runtime/schema/group_version.go:ParseGroupVersion`; Argo CD asks the cluster for what it gives.
fn versionless(target: &Manifest) -> Option<String> {
    let written = target.object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let named = target.key.named();
    if written.is_empty() {
        return Some(format!("{named} has no apiVersion, so no cluster knows its kind"));
    }
    let (_, version) = written.split_once('/').unwrap_or(("", written));
    let valid = !version.is_empty() && !version.contains('/');
    (!valid).then(|| format!("the apiVersion {written} of {named} is neither `version` nor `group/version`, so no cluster knows its kind"))
}
