//! ApplicationSets of one side: which there are, how they are in effect, and the Applications that they generate.
//!
//! Takes sets out of files, out of parents' sources and live; hands on definitions of Applications. What cannot be evaluated leaves the
//! Applications of the set as they are.

mod generated;
mod outcome;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use serde_json::Value;

use super::applications::{Finder, in_namespace};
use super::registered::Registered;
use super::rejections::Claim;
use super::sources::Sources;
use crate::argocd::names::{GROUP, IN_CLUSTER_SERVER};
use crate::argocd::{AppId, Application, ApplicationSet, ApplicationsSync, Project};
use crate::finding::Unjudged;
use crate::inventory::applicationset::{self, Clusters, Expansion, Generated, GitFiles, Surroundings};
use crate::inventory::{Definition, Generation, SetDefinition};
use crate::manifest::{Manifest, Origin, Side, metadata_str};
use crate::plan::clusters;
use crate::plan::effective::SetIgnores;
use crate::plan::watch::{self, Watch};
use crate::repo::Tree;
use crate::snapshot::{LiveObject, LiveState, SecretEdits};

pub(super) use self::outcome::{entries, no_longer_generated, with_their_set};

/// What the controller of ApplicationSets was told.
pub(super) struct Controller {
    policy: Option<String>,
    overridable: Option<bool>,
    progressive: bool,
    doublestar: bool,
}

impl Controller {
    /// As live state says; without it as Argo CD is installed.
    fn of(live: Option<&LiveState>) -> Self {
        let entry = |name: &str, short: &str| live?.parameter(&format!("applicationsetcontroller.{name}"), short);
        let flag = |name: &str, short: &str| entry(name, short).map(|value| value == "true");
        Self {
            policy: entry("policy", "applicationSetPolicy").map(str::to_owned),
            overridable: flag("enable.policy.override", "applicationSetPolicyOverride"),
            progressive: flag("enable.progressive.syncs", "applicationSetProgressiveSyncs").unwrap_or(false),
            doublestar: flag("enable.new.git.file.globbing", "applicationSetNewGitFileGlobbing").unwrap_or(false),
        }
    }

    fn policy_of(&self, set: &ApplicationSet) -> ApplicationsSync {
        ApplicationsSync::in_force(set.spec.sync_policy.applications_sync.as_deref(), self.policy.as_deref(), self.overridable)
    }
}

/// A live Application that a set owns.
type Owned = (Arc<Application>, Arc<LiveObject>);

/// What both sides know about ApplicationSets.
pub(super) struct SetGround<'a> {
    pub(super) live_state: Option<&'a LiveState>,
    pub(super) live: BTreeMap<AppId, (Arc<ApplicationSet>, Arc<LiveObject>)>,
    /// By the set that owns them.
    owned: BTreeMap<AppId, Vec<Owned>>,
    /// The clusters at both sides.
    clusters: [Clusters; 2],
    /// Live state with the clusters that there are at head.
    live_after: Option<&'a LiveState>,
    /// The live AppProjects.
    pub(super) projects: BTreeMap<String, Project>,
    controller: Controller,
    files: [Arc<GitFiles>; 2],
    /// The files that the change does not reach, by repository and revision.
    pinned: Mutex<BTreeMap<[String; 2], Arc<GitFiles>>>,
    all: bool,
}

impl<'a> SetGround<'a> {
    /// Out of live state.
    pub(super) fn new(
        sources: &Sources<'_>,
        live: Option<&'a LiveState>,
        registered: &'a Registered,
        applications: &BTreeMap<AppId, Owned>,
        all: bool,
        problems: &mut Vec<Unjudged>,
    ) -> Self {
        let mut owned: BTreeMap<AppId, Vec<Owned>> = BTreeMap::new();
        for (id, (application, object)) in applications {
            if let Some(set) = owning_set(object.object()) {
                owned.entry(AppId::new(&id.namespace, set)).or_default().push((Arc::clone(application), Arc::clone(object)));
            }
        }
        let clusters = |edits: &SecretEdits| match live {
            Some(live) => Clusters::of_live_after(live, edits),
            None => Clusters::without_snapshot(&sources.clusters),
        };
        Self {
            live_state: live,
            live: live.map(|live| live_sets(live, problems)).unwrap_or_default(),
            owned,
            clusters: [clusters(&SecretEdits::new()), clusters(&registered.edits)],
            live_after: registered.live.as_ref().or(live),
            projects: live.map(clusters::live_projects).unwrap_or_default(),
            controller: Controller::of(live),
            files: [Side::Base, Side::Head].map(|side| Arc::new(GitFiles::new(sources.revisions.tree(side)))),
            pinned: Mutex::default(),
            all,
        }
    }

    /// Live state with the clusters that there are at a side.
    pub(super) fn registry(&self, side: Side) -> Option<&LiveState> {
        if side == Side::Head { self.live_after } else { self.live_state }
    }

    fn pinned_files(&self, url: &str, revision: &str, tree: &Tree) -> Arc<GitFiles> {
        let mut pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(pinned.entry([url, revision].map(str::to_owned)).or_insert_with(|| Arc::new(GitFiles::new(tree))))
    }

    fn owned_by(&self, set: &AppId) -> &[Owned] {
        self.owned.get(set).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The name of the set that owns an Application.
fn owning_set(object: &Value) -> Option<&str> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let owner = owners.iter().find(|owner| owner.get("kind").and_then(Value::as_str) == Some("ApplicationSet"))?;
    owner.get("name")?.as_str()
}

fn live_sets(live: &LiveState, problems: &mut Vec<Unjudged>) -> BTreeMap<AppId, (Arc<ApplicationSet>, Arc<LiveObject>)> {
    let mut found = BTreeMap::new();
    for object in live.of_kind(IN_CLUSTER_SERVER, GROUP, "ApplicationSet") {
        match ApplicationSet::read(Arc::new(object.object().clone()), &live.settings().namespace) {
            Ok(set) => drop(found.insert(set.id.clone(), (Arc::new(set), Arc::clone(object)))),
            Err(error) => problems.push(Unjudged {
                application: None,
                what: format!("live ApplicationSet {}", object.key.place()),
                why: error.to_string(),
            }),
        }
    }
    found
}

/// A set of one side.
#[derive(Clone)]
pub(super) struct SetSide {
    pub(super) manifest: Option<Arc<Manifest>>,
    pub(super) parent: Option<AppId>,
    /// What it generates, once it was expanded.
    definition: Option<SetDefinition>,
    /// What its Applications claim.
    pub(super) claims: Arc<[Claim]>,
    /// What of its live Applications it leaves alone, once it was expanded.
    pub(super) ignores: Arc<SetIgnores>,
}

impl SetSide {
    fn new(manifest: Option<Arc<Manifest>>, parent: Option<AppId>) -> Self {
        Self { manifest, parent, definition: None, claims: Arc::default(), ignores: Arc::default() }
    }

    /// What it generates, once it was expanded.
    pub(super) fn definition(&self) -> Option<&SetDefinition> {
        self.definition.as_ref()
    }
}

/// A set in effect with what it generates.
type Expanded = (Arc<ApplicationSet>, Expansion);

impl Finder<'_> {
    /// Records a set; one that a parent renders wins over one that merely lies in a file.
    pub(super) fn define_set(&mut self, manifest: &Arc<Manifest>, parent: Option<&Application>) {
        let namespace = match (metadata_str(&manifest.object, "namespace"), parent) {
            (Some(namespace), _) if !namespace.is_empty() => namespace,
            (_, Some(parent)) => &parent.spec.destination.namespace,
            _ => &self.control_namespace,
        };
        let placed = in_namespace(manifest, namespace);
        if let Err(error) = ApplicationSet::read(Arc::clone(placed.object.shared()), &self.control_namespace) {
            if self.side == Side::Head {
                let origin = &manifest.origin;
                let what = format!("ApplicationSet {} ({}:{})", manifest.key.place(), origin.path, origin.line);
                self.problems.push(Unjudged { application: None, what, why: error.to_string() });
            }
            return;
        }
        let id = AppId::new(&placed.key.namespace, &placed.key.name);
        let parent = parent.map(|parent| parent.id.clone());
        let is_there = self.ground.live.contains_key(&id) || (self.ground.live_state.is_none() && self.other_sets.contains_key(&id));
        if !is_there && parent.as_ref().is_some_and(|parent| self.holds_set(&id, parent).is_some()) {
            // Its file is what the parent renders.
            self.forget_generated(&id);
            self.sets.remove(&id);
            self.unapplied_sets.remove(&id);
            return;
        }
        if let Some(known) = self.sets.get_mut(&id) {
            if parent.is_none() && known.parent.is_some() {
                return;
            }
            if known.manifest.as_ref().is_some_and(|known| known.object == placed.object) && known.parent == parent {
                return;
            }
            self.forget_generated(&id);
        }
        self.sets.insert(id, SetSide::new(Some(placed), parent));
    }

    /// Forgets sets that lie in one of these files, out of which a kustomization makes its own, with what they generate.
    pub(super) fn drop_raw_sets(&mut self, files: &BTreeSet<Arc<str>>) {
        let is_raw =
            |set: &SetSide| set.parent.is_none() && set.manifest.as_ref().is_some_and(|manifest| files.contains(&manifest.origin.path));
        let raw: Vec<AppId> = self.sets.iter().filter(|(_, set)| is_raw(set)).map(|(id, _)| id.clone()).collect();
        for id in raw {
            self.forget_generated(&id);
            self.sets.remove(&id);
        }
    }

    /// Takes back what a set has generated.
    fn forget_generated(&mut self, set: &AppId) {
        let generated = |definition: &Definition| definition.generated.as_ref().is_some_and(|by| by.set == *set);
        let ids: Vec<AppId> = self.definitions.iter().filter(|(_, definition)| generated(definition)).map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.definitions.remove(&id);
            self.in_effect.remove(&id);
        }
    }

    /// Sets that are live and that nothing at this side renders: they go on generating, unless what rendered them is what is left out.
    pub(super) fn take_live_sets(&mut self) {
        for id in self.ground.live.keys() {
            let removed_from_a_parent = self.other_sets.get(id).is_some_and(|before| before.parent.is_some());
            if !self.sets.contains_key(id) && !removed_from_a_parent {
                self.sets.insert(id.clone(), SetSide::new(None, None));
            }
        }
    }

    /// Expands the sets that have not been yet, and defines the Applications that they generate.
    pub(super) fn expand_sets(&mut self) {
        let waiting: Vec<AppId> = self.sets.iter().filter(|(_, set)| set.definition.is_none()).map(|(id, _)| id.clone()).collect();
        let expanded: Vec<(AppId, Option<Expanded>)> = waiting
            .into_par_iter()
            .map(|id| {
                let expanded = self.effective_set(&id).map(|set| {
                    let expansion = self.expand(&set);
                    (set, expansion)
                });
                (id, expanded)
            })
            .collect();
        for (id, expanded) in expanded {
            match expanded {
                Some((set, expansion)) => self.take_expansion(&id, &set, expansion),
                None => {
                    let removed = self.sets.remove(&id).and_then(|side| side.manifest);
                    self.unapplied_sets.extend(removed.map(|manifest| (id, manifest)));
                }
            }
        }
    }

    fn expand(&self, set: &ApplicationSet) -> Expansion {
        let namespace = &set.id.namespace;
        let watch = |live: &LiveState| watch::SETS.watches(live, namespace);
        if self.ground.live_state.map(watch) == Some(Watch::No) && !self.sources.revisions.change_mentions(watch::SETS.parameter) {
            return Expansion::Fails(format!(
                "their controller does not look at namespace {namespace}, which {} does not name",
                watch::SETS.parameter
            ));
        }
        let files = |url: &str, revision: &str| match self.sources.generator_files(url, revision)? {
            None => Ok(Arc::clone(&self.ground.files[usize::from(self.side == Side::Head)])),
            Some(tree) => Ok(self.ground.pinned_files(url, revision, &tree)),
        };
        applicationset::expand(
            set,
            &Surroundings {
                files: &files,
                clusters: &self.ground.clusters[usize::from(self.side == Side::Head)],
                live: self.ground.live_state,
                control_namespace: &self.control_namespace,
                doublestar: self.ground.controller.doublestar,
            },
        )
    }

    /// The set that decides at this side: the live object with what its parent applies from Git by itself. `None` for a file that nothing has
    /// applied.
    fn effective_set(&self, id: &AppId) -> Option<Arc<ApplicationSet>> {
        let side = self.sets.get(id)?;
        let live = self.ground.live.get(id);
        let Some(manifest) = &side.manifest else { return live.map(|(set, _)| Arc::clone(set)) };
        let read = |object: Arc<Value>| ApplicationSet::read(object, &self.control_namespace).ok().map(Arc::new);
        let held = side.parent.as_ref().is_some_and(|parent| self.holds_set(id, parent).is_some());
        let before = self.other_sets.get(id).and_then(|before| before.definition.as_ref());
        match (live, &side.parent) {
            (Some((set, _)), _) if held => Some(Arc::clone(set)),
            (None, _) if held => before.map(|before| Arc::clone(&before.set)),
            (Some((set, object)), Some(parent)) if self.syncs_by_itself(parent, id, 0) => {
                read(self.after_parent_sync(&manifest.object, object.object())).or_else(|| Some(Arc::clone(set)))
            }
            (Some((set, _)), _) => Some(Arc::clone(set)),
            (None, Some(_)) => read(Arc::clone(manifest.object.shared())),
            (None, None) if self.ground.live_state.is_some() => None,
            (None, None) => read(Arc::clone(manifest.object.shared())),
        }
    }

    fn take_expansion(&mut self, id: &AppId, set: &Arc<ApplicationSet>, expansion: Expansion) {
        let Some(side) = self.sets.get_mut(id) else { return };
        let (manifest, parent) = (side.manifest.clone(), side.parent.clone());
        side.ignores = Arc::new(SetIgnores::of(set));
        let mut definition = SetDefinition {
            set: Arc::clone(set),
            manifest: manifest.clone(),
            parent,
            generation: Generation::Done,
            names: BTreeSet::new(),
            rejected: Vec::new(),
            repeated: Vec::new(),
        };
        let origin = manifest.map_or_else(|| nowhere(self.side), |manifest| manifest.origin.clone());
        match expansion {
            Expansion::Applications(generated) => {
                definition.repeated = applicationset::duplicate_names(&generated).into_iter().map(Arc::from).collect();
                self.take_generated(&mut definition, generated, &origin);
            }
            Expansion::Fails(message) => {
                definition.generation = Generation::Frozen(message);
                self.stand_in(&mut definition, &origin);
            }
            Expansion::Unjudged { what, why } => match self.like_live(id, set) {
                Some(Ok(generated)) => {
                    self.notes.push(format!(
                        "ApplicationSet {id}: {what} is not evaluated ({why}); assuming the same {} Applications as live",
                        generated.len()
                    ));
                    definition.generation = Generation::AsBefore { what, why };
                    self.take_generated(&mut definition, generated, &origin);
                }
                Some(Err(problem)) => {
                    definition.generation = Generation::AsBefore { what, why: format!("{why}; {problem}") };
                    self.stand_in(&mut definition, &origin);
                    self.say_unjudged(id, &definition);
                }
                None => {
                    definition.generation = Generation::AsBefore { what, why };
                    self.stand_in(&mut definition, &origin);
                    self.say_unjudged(id, &definition);
                }
            },
        }
        if let Some(side) = self.sets.get_mut(id) {
            side.definition = Some(definition);
        }
    }

    /// What a template that changed makes of the parameters of the live Applications; `None` where nothing changed or nothing is live.
    fn like_live(&self, id: &AppId, set: &ApplicationSet) -> Option<Result<Vec<Generated>, String>> {
        let owned = self.ground.owned_by(id);
        let before = self.other_sets.get(id)?.definition.as_ref()?;
        if owned.is_empty() || before.set.spec == set.spec {
            return None;
        }
        let live: Vec<&Value> = owned.iter().map(|(_, object)| object.object()).collect();
        Some(applicationset::like_live(&before.set, set, &live))
    }

    /// Names what cannot be said of a set that the change touches.
    fn say_unjudged(&mut self, id: &AppId, definition: &SetDefinition) {
        let Generation::AsBefore { what, why } = &definition.generation else { return };
        if self.side == Side::Base {
            return;
        }
        let changes = &self.sources.revisions.changes;
        let before = self.other_sets.get(id).and_then(|before| before.definition.as_ref());
        let differs = before.is_none_or(|before| before.set.object != definition.set.object);
        let touched = definition.manifest.as_ref().is_some_and(|manifest| changes.touches(&manifest.origin.path));
        let reads = applicationset::reads_any(&definition.set, changes.touched());
        if self.ground.all || differs || touched || reads {
            let place = definition.manifest.as_ref().map(|manifest| format!(" ({}:{})", manifest.origin.path, manifest.origin.line));
            self.problems.push(Unjudged {
                application: None,
                what: format!("ApplicationSet {id}{}: {what}", place.unwrap_or_default()),
                why: why.clone(),
            });
        }
    }
}

/// A set as the maker of an Application.
pub(super) fn made_by_set(set: &AppId) -> String {
    format!("ApplicationSet {set}")
}

/// A parent as the maker of an Application.
pub(super) fn made_by_parent(parent: &AppId) -> String {
    format!("Application {parent}")
}

/// Two makers in a fixed order.
pub(super) fn both(one: String, other: String) -> [String; 2] {
    if one <= other { [one, other] } else { [other, one] }
}

/// The place of something that only the cluster has.
fn nowhere(side: Side) -> Origin {
    Origin { path: "".into(), side, document: 0..0, line: 1, within: String::new(), rendered: None }
}
