//! The ApplicationSets of both sides with what they generate.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::argocd::application::Automated;
use crate::argocd::{AppId, ApplicationSet, ApplicationsSync, Propagation};
use crate::manifest::Manifest;
use crate::snapshot::LiveObject;

/// How an Application comes out of an ApplicationSet.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedBy {
    /// The set.
    pub set: AppId,
    /// The parameters that it was rendered with; `None` where the live Application stands for what the set generates.
    pub parameters: Option<Arc<Value>>,
    /// How the set's controller syncs it, where it starts the syncs itself.
    pub rolled: Option<Automated>,
}

/// What a set generates at one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Exactly its names.
    Done,
    /// Nothing is created, updated or deleted, because of this error.
    Frozen(String),
    /// What and why: it cannot be said; the Applications that it owns so far stand for it.
    AsBefore {
        /// What cannot be evaluated.
        what: String,
        /// Why.
        why: String,
    },
}

/// An Application that several make.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contested {
    /// The Application.
    pub application: AppId,
    /// Who makes it, in words, sorted.
    pub by: Vec<String>,
    /// Whether only head has it so.
    pub introduced: bool,
}

/// A generated Application that the controller neither creates nor updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Its name; empty where it has none.
    pub name: Arc<str>,
    /// Why, in words.
    pub why: String,
    /// The other set that it belongs to.
    pub other_set: Option<AppId>,
    /// The controller fails on it, and deletes no Application of the set until that is mended.
    pub halts: bool,
}

/// A set as one side of the change defines it.
#[derive(Clone, Debug)]
pub struct SetDefinition {
    /// The set in effect.
    pub set: Arc<ApplicationSet>,
    /// The document that defines it; `None` where only the live object does.
    pub manifest: Option<Arc<Manifest>>,
    /// The Application that renders it.
    pub parent: Option<AppId>,
    /// Whether it generated anything, and else why not.
    pub generation: Generation,
    /// The names that it generates.
    pub names: BTreeSet<Arc<str>>,
    /// What it generates and the controller does not accept.
    pub rejected: Vec<Rejected>,
    /// Names that it generates more than once: those Applications are neither created nor updated.
    pub repeated: Vec<Arc<str>>,
}

/// Everything known about one ApplicationSet.
#[derive(Clone, Debug)]
pub struct SetEntry {
    /// Namespace and name.
    pub id: AppId,
    /// Before the change.
    pub base: Option<SetDefinition>,
    /// After the change.
    pub head: Option<SetDefinition>,
    /// Its live object.
    pub live: Option<(Arc<ApplicationSet>, Arc<LiveObject>)>,
    /// The Applications that it owns live.
    pub owned: BTreeSet<AppId>,
    /// What its controller may do to its Applications at head.
    pub policy: ApplicationsSync,
    /// Whether the controller syncs the Applications of sets with a `RollingSync` strategy.
    pub progressive: bool,
}

impl SetEntry {
    /// The definition to point at: head, else base.
    pub fn definition(&self) -> Option<&SetDefinition> {
        self.head.as_ref().or(self.base.as_ref())
    }

    /// Whether the change edits, adds or removes it.
    pub fn definition_changes(&self) -> bool {
        match (&self.base, &self.head) {
            (Some(base), Some(head)) => base.set.object != head.set.object,
            (None, None) => false,
            _ => true,
        }
    }

    /// Applications that the set generated before the change and does not generate any more. `None` where that is not known, or where the set
    /// itself is gone from the files.
    pub fn no_longer_generated(&self) -> Vec<AppId> {
        let (Some(base), Some(head)) = (&self.base, &self.head) else { return Vec::new() };
        if matches!(head.generation, Generation::Frozen(_)) {
            return Vec::new();
        }
        // Where live Applications stand for what a generator gives, a new name template names them anew all the same.
        base.names.difference(&head.names).map(|name| AppId::new(&self.id.namespace, name)).collect()
    }

    /// Applications that only head generates.
    pub fn newly_generated(&self) -> Vec<AppId> {
        let before = self.base.as_ref().map(|base| base.names.clone()).unwrap_or_default();
        let after = self.head.iter().flat_map(|head| &head.names);
        after.filter(|name| !before.contains(*name)).map(|name| AppId::new(&self.id.namespace, name)).collect()
    }

    /// The Applications that go when the set itself is deleted: those that it owns, or what base generates where nothing is live.
    ///
    /// Source: Argo CD `applicationset/controllers/applicationset_controller.go:Reconcile`: a set that may not delete and carries the resources
    /// finalizer lets go of its Applications first, which is sure to be in time where the deletion goes on in the background only.
    pub fn goes_with_it(&self, live_is_known: bool, propagation: Propagation) -> Vec<AppId> {
        if propagation == Propagation::Orphan {
            return Vec::new();
        }
        let finalizers = self.live.as_ref().map(|(set, _)| &set.finalizers).or_else(|| self.base.as_ref().map(|base| &base.set.finalizers));
        let lets_go = finalizers.is_some_and(|all| all.iter().any(|one| one == crate::argocd::names::RESOURCES_FINALIZER));
        if lets_go && !self.policy.deletes && propagation == Propagation::Background {
            return Vec::new();
        }
        if live_is_known {
            return self.owned.iter().cloned().collect();
        }
        self.base.iter().flat_map(|base| &base.names).map(|name| AppId::new(&self.id.namespace, name)).collect()
    }
}
