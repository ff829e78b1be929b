//! The generated Applications that the controller of ApplicationSets does not bring into the cluster.
//!
//! Takes what a set generates and what is known of projects, clusters and live Applications; hands on [`Rejected`] ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::applications::Finder;
use crate::argocd::{AppId, Application, Destination, Version};
use crate::inventory::applicationset::Generated;
use crate::inventory::{Rejected, SetDefinition};
use crate::manifest::label::is_dns_subdomain;
use crate::manifest::{Side, metadata_str};
use crate::plan::clusters;
use crate::plan::effective::SetIgnores;

/// What decides whether a generated Application is accepted.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    name: Arc<str>,
    project: String,
    destination: Destination,
}

impl Claim {
    /// What these Applications claim; those that cannot be read are left out.
    pub(super) fn all(generated: &[Generated], control_namespace: &str) -> Vec<Self> {
        let one = |one: &Generated| {
            let name: Arc<str> = metadata_str(&one.object, "name").unwrap_or_default().into();
            let mut object = one.object.clone();
            if name.is_empty() {
                object.pointer_mut("/metadata")?.as_object_mut()?.insert("name".to_owned(), Value::String("unnamed".to_owned()));
            }
            let application = Application::read(Arc::new(object), control_namespace).ok()?;
            Some(Self { name, project: application.spec.project.clone(), destination: application.spec.destination.clone() })
        };
        generated.iter().filter_map(one).collect()
    }
}

impl Finder<'_> {
    /// The Applications of a set that its controller neither creates nor updates, apart from those of equal names.
    ///
    /// Source: Argo CD `applicationset/controllers/applicationset_controller.go:validateGeneratedApplications` and `createOrUpdateInCluster`: the
    /// first look at projects and destinations leaves single ones out, and a write that fails keeps the controller from deleting anything.
    pub(super) fn rejected(&self, set: &AppId, claims: &[Claim]) -> Vec<Rejected> {
        // Of equal names none is written, so that none fails.
        let mut counts: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        claims.iter().for_each(|claim| *counts.entry(&claim.name).or_default() += 1);
        let named = claims.iter().filter(|claim| !claim.name.is_empty() && counts.get(&claim.name) == Some(&1));
        let mut rejected: Vec<Rejected> = named.filter_map(|claim| self.rejection(set, claim)).collect();
        rejected.extend(self.without_name(claims));
        rejected
    }

    fn rejection(&self, set: &AppId, claim: &Claim) -> Option<Rejected> {
        let of = |why: String, halts: bool| Some(Rejected { name: Arc::clone(&claim.name), why, other_set: None, halts });
        if self.project_is_missing(&claim.project) {
            return of(format!("project {} does not exist", claim.project), false);
        }
        let server = match self.ground.registry(self.side) {
            Some(live) => clusters::server_of(&claim.destination, live).map(drop),
            None => clusters::one_of_the_two(&claim.destination).map(drop),
        };
        if let Err(why) = server {
            return of(why, false);
        }
        if !is_dns_subdomain(&claim.name) {
            return of(format!("{} is no valid name", claim.name), true);
        }
        let is_live = self.live.contains_key(&AppId::new(&set.namespace, &claim.name));
        if let Some(SetIgnores::Fails(why)) = self.sets.get(set).map(|side| &*side.ignores).filter(|_| is_live) {
            return of(format!("its spec.ignoreApplicationDifferences cannot be used: {why}"), true);
        }
        let (kind, owner) = self.other_owner(set, &claim.name)?;
        let other_set = (kind == "ApplicationSet").then(|| AppId::new(&set.namespace, owner));
        Some(Rejected { other_set, ..of(format!("{} belongs to {kind} {owner}", claim.name), true)? })
    }

    /// Several without a name count as Applications of equal names, which are left out; a single one is written in vain, or left out as well.
    fn without_name(&self, claims: &[Claim]) -> Option<Rejected> {
        let count = claims.iter().filter(|claim| claim.name.is_empty()).count();
        let version = self.ground.live_state.map_or(Version::ASSUMED, |live| live.settings().version());
        let halts = count == 1 && !version.rejects_generated_applications_without_a_name();
        (count > 0).then(|| Rejected { name: "".into(), why: "a name is needed".to_owned(), other_set: None, halts })
    }

    fn project_is_missing(&self, name: &str) -> bool {
        let Some(live) = self.ground.live_state.filter(|live| clusters::knows_projects(live)) else { return false };
        let is_new = || self.projects.iter().any(|(_, project)| metadata_str(&project.object, "name") == Some(name));
        !name.is_empty() && name != "default" && !self.ground.projects.contains_key(name) && !is_new() && !live.is_assumed()
    }

    /// The controller that owns the live Application of a name, where that is another than the set and goes on existing.
    ///
    /// Source: controller-runtime `controllerutil.SetControllerReference`.
    fn other_owner(&self, set: &AppId, name: &str) -> Option<(&str, &str)> {
        let (_, object) = self.live.get(&AppId::new(&set.namespace, name))?;
        let owners = object.object().pointer("/metadata/ownerReferences")?.as_array()?;
        let owner = owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        let (kind, owner) = (text("kind"), text("name"));
        let goes = kind == "ApplicationSet" && (owner == &*set.name || !self.sets.contains_key(&AppId::new(&set.namespace, owner)));
        (!goes).then_some((kind, owner))
    }

    /// Judges again what was judged before all projects and sets were known; whether anything has come out differently.
    pub(super) fn reconsider_rejections(&mut self) -> bool {
        let differs = |id: &AppId, definition: &SetDefinition, claims: &[Claim]| definition.rejected != self.rejected(id, claims);
        let expanded =
            self.sets.iter().filter(|(id, side)| side.definition().is_some_and(|definition| differs(id, definition, &side.claims)));
        let stale: Vec<AppId> = expanded.map(|(id, _)| id.clone()).collect();
        for id in &stale {
            self.expand_anew(id);
        }
        !stale.is_empty()
    }

    /// Says which projects and clusters are taken for known although the snapshot does not prove them.
    pub(super) fn say_assumed(&mut self, set: &AppId, claims: &[Claim]) {
        let Some(live) = self.ground.registry(Side::Head).filter(|_| self.side == Side::Head) else { return };
        let (mut projects, mut servers) = (BTreeSet::new(), BTreeSet::new());
        for claim in claims {
            let before = self.other_side.get(&AppId::new(&set.namespace, &claim.name)).map(|before| &before.application.spec);
            let is_new_project = before.is_none_or(|before| before.project != claim.project);
            if is_new_project && claim.project != "default" && !clusters::knows_projects(live) {
                projects.insert(claim.project.as_str());
            }
            let is_new_server = before.is_none_or(|before| before.destination != claim.destination);
            let server = clusters::server_of(&claim.destination, live).unwrap_or_default();
            if is_new_server && !server.is_empty() && live.cluster_by_server(&server).is_none() {
                servers.insert(server);
            }
        }
        let names = |names: Vec<String>| names.join(", ");
        let projects = (!projects.is_empty()).then(|| format!("project {}", names(projects.into_iter().map(str::to_owned).collect())));
        let servers = (!servers.is_empty()).then(|| format!("cluster {}", names(servers.iter().map(ToString::to_string).collect())));
        let all: Vec<String> = projects.into_iter().chain(servers).collect();
        if !all.is_empty() {
            self.notes.push(format!(
                "ApplicationSet {set}: assuming that Argo CD knows {}, which the snapshot does not show; else these Applications stay as they are",
                all.join(" and ")
            ));
        }
    }
}
