//! The destination namespace: made by `CreateNamespace=true`, and managed by `managedNamespaceMetadata`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::row::Row;
use super::{Compared, Planner};
use crate::argocd::names::SYNC_OPTIONS;
use crate::manifest::{Manifest, ResourceKey};
use crate::plan::change::{Action, Phase};
use crate::plan::diff::{self, IgnoreRules};
use crate::plan::pairing::Pair;
use crate::plan::reason::Reason;
use crate::plan::tasks::Task;

impl Planner<'_> {
    fn destination_namespace(&self) -> &str {
        &self.input.application.spec.destination.namespace
    }

    /// `managedNamespaceMetadata`, where it is set.
    fn namespace_metadata(&self) -> Option<&Map<String, Value>> {
        self.input.application.spec.sync_policy.managed_namespace_metadata.as_ref().and_then(Value::as_object)
    }

    /// Whether `managedNamespaceMetadata` is another one than in the last sync.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:HasChangedManagedNamespaceMetadata`.
    pub(super) fn namespace_metadata_changed(&self) -> bool {
        let result = self.input.application.object.pointer("/status/operationState/syncResult").filter(|result| !result.is_null());
        let Some((wanted, result)) = self.namespace_metadata().zip(result) else { return false };
        let synced = result.get("managedNamespaceMetadata").and_then(Value::as_object);
        let entries = |metadata: &Map<String, Value>, field: &str| {
            metadata.get(field).and_then(Value::as_object).filter(|entries| !entries.is_empty()).cloned()
        };
        synced.is_none_or(|synced| ["labels", "annotations"].iter().any(|field| entries(wanted, field) != entries(synced, field)))
    }

    /// The namespace as the sync writes it.
    ///
    /// Source: Argo CD `controller/sync_namespace.go:syncNamespace`.
    fn managed_namespace(&self) -> Option<Arc<Manifest>> {
        let name = self.destination_namespace();
        let mut metadata = Map::from_iter([("name".to_owned(), json!(name))]);
        if let Some(managed) = self.namespace_metadata() {
            let entries = |field: &str| managed.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
            let (labels, mut annotations) = (entries("labels"), entries("annotations"));
            annotations.insert(SYNC_OPTIONS.to_owned(), json!("ServerSideApply=true"));
            if !labels.is_empty() {
                metadata.insert("labels".to_owned(), Value::Object(labels));
            }
            metadata.insert("annotations".to_owned(), Value::Object(annotations));
        }
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        let key = ResourceKey::new("", "Namespace", "", name);
        Some(Arc::new(Manifest { key, object: object.into(), origin: self.input.origin.clone()? }))
    }

    /// A live namespace that is tracked and has managed metadata counts as being in Git, so that it is not pruned.
    ///
    /// Source: Argo CD `controller/state.go:isManagedNamespace`.
    pub(super) fn keep_managed_namespace(&self, pairs: &mut [Pair]) {
        if self.namespace_metadata().is_none() {
            return;
        }
        let key = ResourceKey::new("", "Namespace", "", self.destination_namespace());
        let in_git = self.targets.manifests.iter().any(|target| target.key == key);
        if let Some(pair) = pairs.iter_mut().find(|pair| !in_git && pair.target.is_none() && pair.key == key) {
            pair.target = self.managed_namespace();
        }
    }

    /// The namespace that `CreateNamespace=true` makes, or that is written at every sync because its metadata is managed.
    ///
    /// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:autoCreateNamespace` and `controller/sync_namespace.go:syncNamespace`.
    pub(super) fn namespace_of_sync(&self, compared: &[Compared], rules: &IgnoreRules) -> Option<Row> {
        let namespace = self.destination_namespace();
        let key = ResourceKey::new("", "Namespace", "", namespace);
        let applied = compared.iter().any(|one| one.pair.key == key && one.pair.target.is_some());
        if namespace.is_empty() || applied || !self.options().has("CreateNamespace=true") || self.world.live.is_assumed() {
            return None;
        }
        let is_there = self.world.namespace_exists(&self.server, namespace);
        if is_there && self.namespace_metadata().is_none() {
            return None;
        }
        let live = self.world.live.get(&self.server, &key).cloned();
        // A namespace that is only known by what is in it cannot be compared.
        if is_there && live.is_none() {
            return None;
        }
        let target = self.managed_namespace()?;
        let mut row = Row::new(&Pair { key, target: Some(Arc::clone(&target)), live }, Action::Create, Reason::CreateNamespace);
        row.phase = Phase::PreSync;
        if let Some(live) = &row.live {
            let diff = diff::diff(&target.object, live.object(), &self.world.diff_context(rules, self.method(&target.object)));
            (row.action, row.reason) =
                if diff.modified { (Action::Update, Reason::NamespaceMetadata) } else { (Action::None, Reason::InSync) };
            row.diff = diff.fields;
        }
        Some(row)
    }

    /// The task that makes the missing destination namespace: it comes before everything else, whatever its wave.
    ///
    /// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:getNamespaceCreationTask`.
    pub(super) fn created_first(&self, tasks: &[Task]) -> Option<usize> {
        let is_it = |task: &Task| {
            task.key.is("", "Namespace") && *task.key.name == *self.destination_namespace() && task.target.is_some() && task.live.is_none()
        };
        if self.settings().version().creates_namespace_first() { tasks.iter().position(is_it) } else { None }
    }
}
