//! A change before its place in the sync is known.
//!
//! Takes a pair and what happens to it; hands on the task that the sync orders, and then the [`Change`].

use std::sync::Arc;

use serde_json::Value;

use crate::argocd::names::{HELM_HOOK, HOOK};
use crate::manifest::{Manifest, ResourceKey, annotation, key::version_of};
use crate::plan::change::{Action, Change, FieldChange, Phase};
use crate::plan::pairing::Pair;
use crate::plan::reason::Reason;
use crate::plan::tasks::{Effect, Task};
use crate::snapshot::LiveObject;

/// A change before its place in the sync is known.
pub(super) struct Row {
    pub(super) key: ResourceKey,
    pub(super) action: Action,
    pub(super) reason: Reason,
    pub(super) phase: Phase,
    pub(super) hook: bool,
    pub(super) target: Option<Arc<Manifest>>,
    pub(super) live: Option<Arc<LiveObject>>,
    pub(super) diff: Vec<FieldChange>,
    pub(super) cluster: Option<Arc<str>>,
}

impl Row {
    pub(super) fn new(pair: &Pair, action: Action, reason: Reason) -> Self {
        Self {
            key: pair.key.clone(),
            action,
            reason,
            phase: Phase::Sync,
            hook: false,
            target: pair.target.clone(),
            live: pair.live.clone(),
            diff: Vec::new(),
            cluster: None,
        }
    }

    /// A live object that Git has only as a hook that no sync runs: it counts as removed.
    pub(super) fn of_hook_without_phase(pair: &Pair, hook: &Arc<Manifest>, action: Action, reason: Reason) -> Self {
        let reason = match reason {
            Reason::RemovedFromGit { .. } => Reason::OnlyAHookInGit { value: hook_value(hook).to_owned() },
            other => other,
        };
        Self { target: Some(Arc::clone(hook)), ..Self::new(pair, action, reason) }
    }

    pub(super) fn task(&self, destination_namespace: &str) -> Task {
        let target = self.target.as_ref().filter(|_| !self.action.is_removal());
        let in_destination = target.is_some() && self.key.namespace.is_empty();
        Task {
            key: if in_destination { self.key.in_namespace(destination_namespace) } else { self.key.clone() },
            phase: self.phase,
            target: target.cloned(),
            live: self.live.clone(),
            hook: self.hook,
        }
    }

    pub(super) fn effect(&self) -> Effect {
        match self.action {
            Action::Fail => Effect::Failed,
            Action::Confirm => Effect::Waits,
            Action::Leftover | Action::Retain => Effect::Kept,
            _ => Effect::Done,
        }
    }

    pub(super) fn change(self, order: usize, phase: Phase, wave: i64, reached: bool) -> Change {
        let object = self.target.as_ref().map(|target| &*target.object).or_else(|| self.live.as_ref().map(|live| live.object()));
        Change {
            version: version_of(object.unwrap_or(&Value::Null)).into(),
            key: self.key,
            action: self.action,
            reason: self.reason,
            phase,
            wave,
            order,
            introduced: false,
            earlier: false,
            reached,
            target: self.target,
            live: self.live,
            base: None,
            diff: self.diff,
            cascade: Vec::new(),
            stays: Vec::new(),
            cluster: self.cluster,
        }
    }
}

/// What the annotation that makes an object a hook holds.
pub(super) fn hook_value(hook: &Manifest) -> &str {
    annotation(&hook.object, HOOK).or_else(|| annotation(&hook.object, HELM_HOOK)).unwrap_or_default()
}
