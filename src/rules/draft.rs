//! How a rule writes a finding down: a [`Draft`] with what it says, completed by [`Findings`] with what its definition says.

use std::sync::Arc;

use super::definition::Definition;
use super::policy::Policy;
use super::set::Rule;
use crate::argocd::{Application, names::GROUP};
use crate::finding::{Finding, Place};
use crate::manifest::{Origin, ResourceKey};
use crate::plan::{Basis, Change, SyncPlan};

/// A finding while a rule writes it.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    message: String,
    help: Option<String>,
    grade: Option<String>,
    application: Option<String>,
    resource: Option<ResourceKey>,
    places: Vec<Place>,
    introduced: bool,
    assumed: bool,
    discriminator: String,
}

impl Draft {
    /// About neither an Application nor an object.
    pub(super) fn new(message: String) -> Self {
        Self {
            message,
            help: None,
            grade: None,
            application: None,
            resource: None,
            places: Vec::new(),
            introduced: true,
            assumed: false,
            discriminator: String::new(),
        }
    }

    /// About one change. Introduced as the change is.
    pub(super) fn of_change(plan: &SyncPlan, change: &Change, message: String) -> Self {
        Self { resource: Some(change.key.clone()), introduced: change.introduced, ..Self::of_plan(plan, message) }
    }

    /// About an Application as a whole, without naming its object.
    pub(super) fn of_plan(plan: &SyncPlan, message: String) -> Self {
        Self { application: Some(plan.application.id.to_string()), assumed: plan.basis == Basis::Assumed, ..Self::new(message) }
    }

    /// About an Application object.
    pub(super) fn of_application(application: &Application, message: String) -> Self {
        Self { application: Some(application.id.to_string()), resource: Some(application_key(application)), ..Self::new(message) }
    }

    /// Names the Application by its id.
    pub(super) fn application(self, application: String) -> Self {
        Self { application: Some(application), ..self }
    }

    /// The Application that it is about.
    pub(super) fn about(&self) -> Option<&str> {
        self.application.as_deref()
    }

    /// Says something else at its last place.
    pub(super) fn relabelled(mut self, label: &str) -> Self {
        if let Some(place) = self.places.last_mut() {
            label.clone_into(&mut place.label);
        }
        self
    }

    /// Names the object.
    pub(super) fn resource(self, resource: ResourceKey) -> Self {
        Self { resource: Some(resource), ..self }
    }

    /// A severity grade of the definition.
    pub(super) fn grade(self, grade: Option<&str>) -> Self {
        Self { grade: grade.map(str::to_owned), ..self }
    }

    /// What to do, where it differs from the definition's help.
    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Adds a place, if there is one; the first one is primary.
    pub(super) fn at(mut self, origin: Option<&Origin>, pointer: &str, label: impl Into<String>) -> Self {
        if let Some(origin) = origin {
            self.places.push(Place { origin: origin.clone(), pointer: pointer.to_owned(), label: label.into() });
        }
        self
    }

    /// Whether the change under review brings it about.
    pub(super) fn introduced(self, introduced: bool) -> Self {
        Self { introduced, ..self }
    }

    /// Whether live state was assumed.
    pub(super) fn assumed(self, assumed: bool) -> Self {
        Self { assumed, ..self }
    }

    /// What tells it from others of the same rule on the same object.
    pub(super) fn discriminator(self, discriminator: impl Into<String>) -> Self {
        Self { discriminator: discriminator.into(), ..self }
    }

    fn finish(self, definition: &Definition, rule: &Arc<str>) -> Finding {
        Finding {
            rule: rule.clone(),
            severity: definition.severity_of(self.grade.as_deref()),
            message: self.message,
            help: self.help.unwrap_or_else(|| definition.help.trim().to_owned()),
            application: self.application,
            resource: self.resource,
            places: self.places,
            locations: Vec::new(),
            introduced: self.introduced,
            assumed: self.assumed,
            discriminator: self.discriminator,
            fixable: false,
            fix: None,
            suppressed: None,
        }
    }
}

/// The key of an Application object.
pub(super) fn application_key(application: &Application) -> ResourceKey {
    ResourceKey::new(GROUP, "Application", &application.id.namespace, &application.id.name)
}

/// Collects what one rule says.
pub(super) struct Findings<'d> {
    rule: &'d Rule,
    policy: &'d Policy,
    id: Arc<str>,
    found: Vec<Finding>,
}

impl<'d> Findings<'d> {
    /// For one rule.
    pub(super) fn new(rule: &'d Rule, policy: &'d Policy) -> Self {
        Self { rule, policy, id: rule.definition.id.as_str().into(), found: Vec::new() }
    }

    /// Writes one down.
    pub(super) fn push(&mut self, draft: Draft) {
        self.found.push(draft.finish(&self.rule.definition, &self.id));
    }

    /// Writes down what there is.
    pub(super) fn extend(&mut self, drafts: impl IntoIterator<Item = Draft>) {
        drafts.into_iter().for_each(|draft| self.push(draft));
    }

    /// A parameter of the rule for an Application as a number; `fallback` where it is none.
    pub(super) fn number(&self, plan: &SyncPlan, name: &str, fallback: f64) -> f64 {
        self.policy.parameters(self.rule, plan).get(name).and_then(serde_json::Value::as_f64).unwrap_or(fallback)
    }

    /// A parameter of the rule for the change as a whole as a number; `fallback` where it is none.
    pub(super) fn number_of_change(&self, name: &str, fallback: f64) -> f64 {
        self.rule.parameters.get(name).and_then(serde_json::Value::as_f64).unwrap_or(fallback)
    }

    /// What was written down.
    pub(super) fn into_found(self) -> Vec<Finding> {
        self.found
    }
}
