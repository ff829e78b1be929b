//! Versions of kinds that the cluster serves until a CustomResourceDefinition is applied that serves them no longer.
//!
//! Takes the plans of head; hands on [`Withdrawn`], with which the Applications that use such a version are planned once more.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::change::{Action, Change, SyncMode, SyncPlan};
use crate::argocd::AppId;
use crate::manifest::ResourceKey;

/// A kind that loses versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Server of the cluster.
    pub server: Arc<str>,
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// The versions that go.
    pub gone: BTreeSet<String>,
    /// Those that stay.
    kept: BTreeSet<String>,
    /// Name of the definition.
    definition: String,
    /// The Application that applies it.
    pub by: AppId,
    /// Whether that happens without a person.
    pub automated: bool,
}

/// All kinds that lose versions.
#[derive(Clone, Debug, Default)]
pub struct Withdrawn(Vec<Loss>);

impl Loss {
    /// Whether every version that the other one takes goes with this one too.
    pub fn takes_as_much(&self, other: &Self) -> bool {
        self.server == other.server && self.group == other.group && self.kind == other.kind && other.gone.is_subset(&self.gone)
    }
}

impl Withdrawn {
    /// What these plans take away. A definition that will not be applied takes nothing.
    ///
    /// Source: the API server serves the versions of `spec.versions` that are `served`.
    pub fn by<'p>(plans: impl Iterator<Item = &'p SyncPlan>) -> Self {
        let of_plan = |plan: &'p SyncPlan| plan.changes.iter().filter_map(|change| loss(plan, change));
        Self(plans.flat_map(of_plan).collect())
    }

    /// Those of them that are wanted.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&Loss) -> bool) -> Self {
        Self(self.0.iter().filter(|loss| wanted(loss)).cloned().collect())
    }

    /// The kinds.
    pub fn losses(&self) -> &[Loss] {
        &self.0
    }

    pub(super) fn of(&self, server: &str, key: &ResourceKey, version: &str) -> Option<String> {
        let is_it = |loss: &&Loss| *loss.server == *server && *loss.group == *key.group && *loss.kind == *key.kind;
        let loss = self.0.iter().find(|loss| is_it(loss) && loss.gone.contains(version))?;
        let kept: Vec<&str> = loss.kept.iter().map(String::as_str).collect();
        let only = if kept.is_empty() { String::new() } else { format!(", only {}", kept.join(" and ")) };
        Some(format!(
            "once `{}` applies CustomResourceDefinition {}, the cluster serves {}/{version} {} no longer{only}",
            loss.by.name, loss.definition, loss.group, loss.kind
        ))
    }
}

fn loss(plan: &SyncPlan, change: &Change) -> Option<Loss> {
    let applied = matches!(change.action, Action::Update | Action::Adopt | Action::Replace | Action::Recreate);
    if !applied || !change.reached || !change.key.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        return None;
    }
    let (live, target) = (change.live_object()?, change.target_object()?);
    let text = |pointer: &str| target.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let kept = served(target)?;
    let gone: BTreeSet<String> = served(live)?.difference(&kept).cloned().collect();
    (!gone.is_empty()).then_some(Loss {
        server: change.live.as_ref().map(|live| Arc::clone(&live.cluster))?,
        group: text("/spec/group")?,
        kind: text("/spec/names/kind")?,
        gone,
        kept,
        definition: change.key.name.to_string(),
        by: plan.application.id.clone(),
        automated: plan.sync.starts && matches!(plan.sync.mode, SyncMode::Automated | SyncMode::Blocked),
    })
}

/// The versions that a definition serves; `None` where it lists none.
fn served(definition: &Value) -> Option<BTreeSet<String>> {
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let served = versions.iter().filter(|version| version.get("served") != Some(&Value::Bool(false)));
    Some(served.filter_map(|version| version.get("name")?.as_str().map(str::to_owned)).collect())
}
