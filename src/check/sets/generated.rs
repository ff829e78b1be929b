//! The Applications that a set generates, as definitions of one side, and what stands for those that it does not bring into the cluster.
//!
//! Takes what sets expand to; hands on definitions, and live Applications as their set's controller leaves them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::{both, made_by_parent, made_by_set};
use crate::argocd::application::Automated;
use crate::argocd::names::GROUP;
use crate::argocd::{AppId, Application, ApplicationSet};
use crate::check::applications::Finder;
use crate::check::rejections::Claim;
use crate::finding::Unjudged;
use crate::inventory::applicationset::Generated;
use crate::inventory::{Definition, Delivery, GeneratedBy, SetDefinition};
use crate::manifest::{Manifest, Origin, ResourceKey, Side, label, metadata_str};
use crate::plan::effective::{self, SetIgnores};
use crate::snapshot::LiveObject;

impl Finder<'_> {
    pub(super) fn take_generated(&mut self, definition: &mut SetDefinition, generated: Vec<Generated>, origin: &Origin) {
        let set = definition.set.id.clone();
        let claims: Arc<[Claim]> = Claim::all(&generated, &self.control_namespace).into();
        definition.rejected = self.rejected(&set, &claims);
        self.say_not_ignored(&set);
        self.say_assumed(&set, &claims);
        if let Some(side) = self.sets.get_mut(&set) {
            side.claims = claims;
        }
        for one in &definition.rejected {
            if let Some(other) = &one.other_set {
                self.twice.insert((AppId::new(&set.namespace, &one.name), both(made_by_set(other), made_by_set(&set))));
            }
        }
        let rejected: BTreeSet<Arc<str>> = definition.rejected.iter().map(|one| Arc::clone(&one.name)).collect();
        let rolling = definition.set.is_rolling() && self.ground.controller.progressive;
        for mut one in generated {
            let Some(name) = metadata_str(&one.object, "name").filter(|name| !name.is_empty()).map(Arc::<str>::from) else { continue };
            definition.names.insert(Arc::clone(&name));
            if definition.repeated.contains(&name) || rejected.contains(&name) {
                continue;
            }
            let rolled = if rolling { rolled(&definition.set, &one.object) } else { None };
            if rolling {
                switch_automated_off(&mut one.object);
            }
            let by = GeneratedBy { set: set.clone(), parameters: Some(Arc::new(one.parameters)), rolled };
            self.define_generated(Arc::new(one.object), by, origin);
        }
        for name in definition.repeated.iter().chain(&rejected) {
            self.stand_in_for(&set, name, origin);
        }
        if definition.rejected.iter().any(|one| one.halts) {
            for name in self.names_so_far(&set) {
                if definition.names.insert(Arc::clone(&name)) {
                    self.stand_in_for(&set, &name, origin);
                }
            }
        }
    }

    /// Names the expressions of a set that Argo CD runs and presync does not: its live Applications are taken for left as they are.
    fn say_not_ignored(&mut self, set: &AppId) {
        let owns_some = !self.ground.owned_by(set).is_empty();
        let Some(SetIgnores::NotRun(why)) = self.sets.get(set).map(|side| &*side.ignores).filter(|_| owns_some) else { return };
        if self.side == Side::Head {
            let (what, why) = (format!("ApplicationSet {set}: what it changes of its live Applications"), why.clone());
            self.problems.push(Unjudged { application: None, what, why: format!("spec.ignoreApplicationDifferences: {why}") });
        }
    }

    /// What the set has so far stands for what it generates.
    pub(super) fn stand_in(&mut self, definition: &mut SetDefinition, origin: &Origin) {
        let set = definition.set.id.clone();
        let names = self.names_so_far(&set);
        for name in &names {
            self.stand_in_for(&set, name, origin);
        }
        definition.names = names;
    }

    /// The Applications that a set has so far.
    fn names_so_far(&self, set: &AppId) -> BTreeSet<Arc<str>> {
        let live = self.ground.owned_by(set).iter().map(|(application, _)| Arc::clone(&application.id.name));
        let before = self.other_sets.get(set).and_then(|before| before.definition.as_ref()).filter(|_| self.ground.live_state.is_none());
        live.chain(before.iter().flat_map(|before| before.names.iter().cloned())).collect()
    }

    /// Takes back what a set has generated, so that it is expanded once more.
    pub(in crate::check) fn expand_anew(&mut self, set: &AppId) {
        self.forget_generated(set);
        if let Some(side) = self.sets.get_mut(set) {
            side.definition = None;
        }
    }

    fn stand_in_for(&mut self, set: &AppId, name: &str, origin: &Origin) {
        let owned = self.ground.owned_by(set).iter().find(|(application, _)| &*application.id.name == name);
        let id = AppId::new(&set.namespace, name);
        let before = self.other_side.get(&id).filter(|before| before.generated.as_ref().is_some_and(|by| by.set == *set));
        let by = |parameters| GeneratedBy { set: set.clone(), parameters, rolled: None };
        if let Some((_, object)) = owned {
            let in_line = before.and_then(|before| {
                let side = self.other_sets.get(set)?;
                let set = &side.definition.as_ref()?.set;
                effective::is_in_line(&before.manifest.object, object.object(), set, &side.ignores)
                    .then(|| Arc::clone(before.manifest.object.shared()))
            });
            let object = in_line.unwrap_or_else(|| Arc::new(effective::as_defined(object.object())));
            self.define_generated(object, by(None), origin);
        } else if let Some(before) = before.filter(|_| self.ground.live_state.is_none()) {
            let (object, parameters) =
                (Arc::clone(before.manifest.object.shared()), before.generated.as_ref().and_then(|by| by.parameters.clone()));
            self.define_generated(object, by(parameters), origin);
        }
    }

    fn define_generated(&mut self, object: Arc<Value>, by: GeneratedBy, origin: &Origin) {
        match Application::read(Arc::clone(&object), &self.control_namespace) {
            Ok(application) => {
                let id = application.id.clone();
                let known = self.definitions.get(&id);
                let other = known.and_then(|known| match (&known.generated, &known.parent) {
                    (Some(other), _) if other.set != by.set => Some(made_by_set(&other.set)),
                    (None, Some(parent)) => Some(made_by_parent(parent)),
                    _ => None,
                });
                if let Some(other) = other {
                    self.twice.insert((id.clone(), both(other, made_by_set(&by.set))));
                    // Whoever owns it keeps it: the controller of another set is refused.
                    if !self.ground.owned_by(&by.set).iter().any(|(application, _)| application.id == id) {
                        return;
                    }
                }
                let key = ResourceKey::new(GROUP, "Application", &id.namespace, &id.name);
                let manifest = Arc::new(Manifest { key, object: object.into(), origin: origin.clone() });
                let application = Arc::new(application);
                let definition =
                    Definition { application, manifest, parent: None, generated: Some(by), delivery: Delivery::Merge, broken: None };
                self.in_effect.remove(&id);
                self.definitions.insert(id, definition);
            }
            Err(error) if self.side == Side::Head => self.problems.push(Unjudged {
                application: None,
                what: format!("Application {} of ApplicationSet {}", metadata_str(&object, "name").unwrap_or_default(), by.set),
                why: error.to_string(),
            }),
            Err(_) => {}
        }
    }

    /// A generated Application as its set's controller leaves it.
    pub(in crate::check) fn effective_generated(
        &self,
        definition: &Definition,
        by: &GeneratedBy,
        (application, object): (&Arc<Application>, &Arc<LiveObject>),
    ) -> Option<Arc<Application>> {
        let side = self.sets.get(&by.set)?;
        let set = &side.definition.as_ref()?.set;
        if by.parameters.is_none() || !self.ground.controller.policy_of(set).updates {
            return Some(Arc::clone(application));
        }
        let updated = effective::after_set(&definition.manifest.object, object.object(), set, &side.ignores);
        Application::read(updated, &self.control_namespace).ok().map(Arc::new)
    }
}

/// Source: Argo CD `applicationset/progressivesync/progressive_sync.go:disableAutomatedSync`.
/// How the controller syncs an Application of a rolling sync: those that a step selects, with prune where the template has it.
///
/// Source: Argo CD `applicationset/controllers/applicationset_controller.go:buildAppDependencyList`, `syncApplication`.
fn rolled(set: &ApplicationSet, object: &Value) -> Option<Automated> {
    let steps = set.spec.strategy.rolling_sync.as_ref()?.get("steps")?.as_array()?;
    let matches = |expression: &Value| {
        let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
        let value = label(object, text("key"));
        let listed =
            expression.get("values").and_then(Value::as_array).is_some_and(|values| values.iter().any(|one| one.as_str() == value));
        match text("operator") {
            "In" => value.is_some() && listed,
            "NotIn" => value.is_none() || !listed,
            _ => false,
        }
    };
    let selects = |step: &&Value| step.get("matchExpressions").and_then(Value::as_array).is_none_or(|all| all.iter().all(matches));
    steps.iter().find(selects)?;
    let prune = object.pointer("/spec/syncPolicy/automated/prune").and_then(Value::as_bool).unwrap_or_default();
    Some(Automated { prune, ..Automated::default() })
}

fn switch_automated_off(object: &mut Value) {
    if let Some(Value::Object(automated)) = object.pointer_mut("/spec/syncPolicy/automated") {
        automated.insert("enabled".to_owned(), Value::Bool(false));
    }
}
