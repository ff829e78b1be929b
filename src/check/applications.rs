//! Finds every Application on both sides: in files, out of parents' sources at any depth, and live.
//!
//! Takes rendered sources and live state; hands on [`Discovered`]: the inventory with each Application as it will be in effect.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use super::delivery::{self, Unrendered};
use super::held::Held;
use super::readings::Readings;
use super::registered::Registered;
use super::sets::{self, SetGround, SetSide};
use super::sources::{Render, Sources};
use super::spokes::Spokes;
use crate::argocd::names::{GROUP, IN_CLUSTER_SERVER};
use crate::argocd::{AppId, Application, Settings};
use crate::finding::Unjudged;
use crate::inventory::scan::{self, Candidate, CandidateKind};
use crate::inventory::{Contested, Definition, Delivery, Entry, Inventory};
use crate::manifest::{Manifest, Side, metadata_str};
use crate::plan::effective;
use crate::render::Rendered;
use crate::snapshot::{LiveObject, LiveState};

/// Rounds of the loop over parents; a chain of Applications longer than this is cut off and said.
pub(super) const MAX_DEPTH: usize = 50;

/// Everything known about Applications.
pub(super) struct Discovered {
    /// All Applications.
    pub(super) inventory: Inventory,
    /// The Applications as they are in effect, by side.
    pub(super) effective: BTreeMap<(Side, AppId), Arc<Application>>,
    /// Applications whose definition the merge alone does not bring into the cluster, as they will be once it is applied.
    pub(super) once_applied: BTreeMap<AppId, Arc<Application>>,
    /// AppProjects that the merge brings in, at head.
    pub(super) projects: Vec<Arc<Manifest>>,
    /// Those that were brought in before.
    pub(super) base_projects: Vec<Arc<Manifest>>,
    /// The names of those that say something else than before.
    pub(super) changed_projects: BTreeSet<String>,
    /// AppProjects at head that come with the next sync of a parent that a person syncs.
    pub(super) later_projects: Vec<Arc<Manifest>>,
    /// Applications whose destination is another cluster than before, or none, because a cluster Secret changes.
    pub(super) redirected: BTreeSet<AppId>,
    /// What could not be looked at.
    pub(super) unjudged: Vec<Unjudged>,
    /// Remarks for people.
    pub(super) notes: Vec<String>,
}

/// One side while it is being found out.
pub(super) struct Finder<'a> {
    pub(super) sources: &'a Sources<'a>,
    pub(super) readings: &'a Readings,
    /// What is known of ApplicationSets at both sides.
    pub(super) ground: &'a SetGround<'a>,
    /// What the syncs of parents do not get to at head.
    pub(super) held: &'a Held,
    pub(super) live: BTreeMap<AppId, (Arc<Application>, Arc<LiveObject>)>,
    pub(super) control_namespace: String,
    pub(super) side: Side,
    /// Files out of which Applications may come, sorted.
    files: Vec<Arc<str>>,
    pub(super) definitions: BTreeMap<AppId, Definition>,
    /// The Applications as they are in effect at this side.
    pub(super) in_effect: BTreeMap<AppId, Arc<Application>>,
    /// Applications that may be parents, of which it is not known what they render.
    pub(super) unrendered: BTreeMap<AppId, Unrendered>,
    pub(super) problems: Vec<Unjudged>,
    /// AppProjects with the Applications that render them; none for a file.
    pub(super) projects: Vec<(Option<AppId>, Arc<Manifest>)>,
    pub(super) other_side: BTreeMap<AppId, Definition>,
    /// The ApplicationSets.
    pub(super) sets: BTreeMap<AppId, SetSide>,
    pub(super) other_sets: BTreeMap<AppId, SetSide>,
    /// ApplicationSets in files that nothing has applied.
    pub(super) unapplied_sets: BTreeMap<AppId, Arc<Manifest>>,
    /// Applications with the two that make them.
    pub(super) twice: BTreeSet<(AppId, [String; 2])>,
    pub(super) notes: Vec<String>,
    /// AppProjects of parents that somebody has to sync first.
    pub(super) later_projects: Vec<Arc<Manifest>>,
    /// What is put into other clusters.
    pub(super) spokes: Spokes,
}

/// Finds every Application on both sides.
pub(super) fn discover(sources: &Sources<'_>, live: Option<&LiveState>, all: bool, held: &Held, registered: &Registered) -> Discovered {
    let control_namespace = live.map_or_else(|| "argocd".to_owned(), |live| live.settings().namespace.clone());
    let mut problems = Vec::new();
    let live_applications = live.map(|live| live_applications(live, &mut problems)).unwrap_or_default();
    // One after the other: each goes through its files in parallel, and the second one knows what the first one has read.
    let mut base_files = scan::scan(&sources.revisions.base, Side::Base, &sources.workshop.parser);
    let mut head_files = scan::scan(&sources.revisions.head, Side::Head, &sources.workshop.parser);
    let is_root = |candidate: &Candidate| {
        let defines = matches!(candidate.kind, CandidateKind::Application | CandidateKind::ApplicationSet);
        !defines || sources.roots.is_empty() || sources.roots.any([&*candidate.manifest.origin.path])
    };
    base_files.retain(is_root);
    head_files.retain(is_root);
    let ground = SetGround::new(sources, live, registered, &live_applications, all, &mut problems);
    let readings = Readings::default();
    let finder = |side: Side, other_side: BTreeMap<AppId, Definition>, other_sets: BTreeMap<AppId, SetSide>| Finder {
        sources,
        readings: &readings,
        ground: &ground,
        held,
        sets: BTreeMap::new(),
        other_sets,
        unapplied_sets: BTreeMap::new(),
        twice: BTreeSet::new(),
        notes: Vec::new(),
        later_projects: Vec::new(),
        spokes: Spokes::default(),
        live: live_applications.clone(),
        control_namespace: control_namespace.clone(),
        side,
        files: scan::mentioning(sources.revisions.tree(side), &sources.workshop.parser),
        definitions: BTreeMap::new(),
        in_effect: BTreeMap::new(),
        unrendered: BTreeMap::new(),
        problems: Vec::new(),
        projects: Vec::new(),
        other_side,
    };
    let mut base = finder(Side::Base, BTreeMap::new(), BTreeMap::new());
    base.find(&base_files);
    base.settle_deliveries();
    let mut head = finder(Side::Head, base.definitions.clone(), base.sets.clone());
    head.find(&head_files);
    head.settle_deliveries();
    problems.append(&mut head.problems);
    let mut discovered = Discovered {
        effective: BTreeMap::new(),
        once_applied: delivery::once_applied(&head),
        base_projects: base.projects_brought_in(),
        changed_projects: BTreeSet::new(),
        projects: head.projects_brought_in(),
        later_projects: std::mem::take(&mut head.later_projects),
        redirected: registered.redirects(live, head.in_effect.values()),
        unjudged: problems,
        notes: std::mem::take(&mut head.notes),
        inventory: Inventory { contested: contested(&base, &head), ..Inventory::default() },
    };
    discovered.unjudged.extend(unreadable_files(sources, all));
    discovered.unjudged.extend(delivery::removed(&base, &head));
    discovered.unjudged.extend(delivery::unknown_sets(&base, &head));
    discovered.unjudged.extend(std::mem::take(&mut base.spokes).unjudged(std::mem::take(&mut head.spokes)));
    let ids: BTreeSet<AppId> = base.definitions.keys().chain(head.definitions.keys()).chain(live_applications.keys()).cloned().collect();
    for id in ids {
        for side in [&base, &head] {
            if let Some(application) = side.in_effect.get(&id) {
                discovered.effective.insert((side.side, id.clone()), Arc::clone(application));
            }
        }
        let entry = Entry {
            base: base.definitions.get(&id).cloned(),
            head: head.definitions.get(&id).cloned(),
            live: live_applications.get(&id).cloned(),
            effective: discovered.effective.get(&(Side::Head, id.clone())).cloned(),
            id: id.clone(),
        };
        discovered.inventory.entries.insert(id, entry);
    }
    discovered.changed_projects = changed_projects(&discovered.base_projects, &discovered.projects);
    discovered.inventory.sets = sets::entries(&ground, std::mem::take(&mut base.sets), std::mem::take(&mut head.sets));
    discovered
}

/// The names of AppProjects that say something else than before.
fn changed_projects(before: &[Arc<Manifest>], after: &[Arc<Manifest>]) -> BTreeSet<String> {
    let before: BTreeMap<&str, &Arc<Manifest>> = before.iter().map(|manifest| (&*manifest.key.name, manifest)).collect();
    let differs = |after: &&Arc<Manifest>| match before.get(&*after.key.name) {
        Some(before) => before.object != after.object && before.object.get("spec") != after.object.get("spec"),
        None => true,
    };
    after.iter().filter(differs).map(|after| after.key.name.to_string()).collect()
}

/// Applications that more than one makes at head.
fn contested(base: &Finder<'_>, head: &Finder<'_>) -> Vec<Contested> {
    let of = |(application, by): &(AppId, [String; 2])| Contested {
        application: application.clone(),
        by: by.to_vec(),
        introduced: !base.twice.contains(&(application.clone(), by.clone())),
    };
    head.twice.iter().map(of).collect()
}

/// Files with Argo CD objects that the change touches and that are broken: nothing is known of what they define.
fn unreadable_files(sources: &Sources<'_>, all: bool) -> Vec<Unjudged> {
    let changes = &sources.revisions.changes;
    let files = scan::unreadable(&sources.revisions.head, &sources.workshop.parser, |path| all || changes.touches(path));
    let named = files.into_iter().map(|file| Unjudged {
        application: None,
        what: format!("Argo CD objects in {}:{}", file.path, file.line),
        why: format!("the file cannot be read: {}", file.why),
    });
    named.collect()
}

fn live_applications(live: &LiveState, problems: &mut Vec<Unjudged>) -> BTreeMap<AppId, (Arc<Application>, Arc<LiveObject>)> {
    let mut found = BTreeMap::new();
    let read: Vec<_> = live
        .of_kind(IN_CLUSTER_SERVER, GROUP, "Application")
        .par_iter()
        .map(|object| (object, Application::read(Arc::new(object.object().clone()), &live.settings().namespace)))
        .collect();
    for (object, application) in read {
        match application {
            Ok(application) => {
                found.insert(application.id.clone(), (Arc::new(application), Arc::clone(object)));
            }
            Err(error) => problems.push(Unjudged {
                application: Some(object.key.place()),
                what: "live Application".to_owned(),
                why: error.to_string(),
            }),
        }
    }
    found
}

impl Finder<'_> {
    /// Takes what lies in files, then renders parents until nothing new appears.
    fn find(&mut self, candidates: &[Candidate]) {
        let complete = candidates.par_iter().filter(|candidate| candidate.kind == CandidateKind::Application);
        self.readings.read_ahead(complete.map(|candidate| candidate.manifest.object.shared()), &self.control_namespace);
        for candidate in candidates {
            match candidate.kind {
                CandidateKind::Application => self.define(&candidate.manifest, None),
                CandidateKind::Incomplete => {}
                CandidateKind::Project => self.projects.push((None, Arc::clone(&candidate.manifest))),
                CandidateKind::ApplicationSet => self.define_set(&candidate.manifest, None),
            }
        }
        for candidate in candidates.iter().filter(|candidate| candidate.kind == CandidateKind::Incomplete) {
            self.define_incomplete(&candidate.manifest);
        }
        // By the sources that were looked at: an Application may come into effect with others later.
        let mut considered: HashMap<AppId, Vec<Arc<Application>>> = HashMap::new();
        let mut took_live_sets = false;
        for _ in 0..MAX_DEPTH {
            self.expand_sets();
            self.bring_into_effect();
            let fresh = self.in_effect.iter().map(|(id, application)| (id.clone(), Arc::clone(application)));
            let fresh: Vec<(AppId, Arc<Application>)> = fresh
                .filter(|(id, application)| {
                    let forms = considered.entry(id.clone()).or_default();
                    let is_new = !forms.iter().any(|form| reads_the_same(form, application));
                    if is_new {
                        forms.push(Arc::clone(application));
                    }
                    is_new
                })
                .collect();
            if fresh.is_empty() {
                if !took_live_sets {
                    took_live_sets = true;
                    self.take_live_sets();
                    continue;
                }
                if self.reconsider_rejections() {
                    continue;
                }
                return;
            }
            let parents = fresh.par_iter().filter(|(_, application)| self.sources.may_be_parent(application, self.side, &self.files));
            let renders: Vec<(&AppId, &Arc<Application>, Render)> =
                parents.map(|(id, application)| (id, application, self.sources.render(application, self.side))).collect();
            let mut rendered: Vec<(&AppId, &Arc<Application>, Arc<Rendered>)> = Vec::new();
            let mut as_before: Vec<(&Arc<Application>, Vec<Arc<Manifest>>)> = Vec::new();
            for (id, application, render) in renders {
                // Where nothing can be rendered Argo CD syncs nothing, and what the parent had before stays.
                if matches!((self.side, &render), (Side::Head, Render::Failed(_))) {
                    as_before.push((application, self.sources.rendered(application, Side::Base)));
                }
                match (delivery::why_not_rendered(&render), render) {
                    (Some(why), _) => {
                        let inputs = self.sources.inputs(application, self.side);
                        self.unrendered.insert(id.clone(), Unrendered { why, inputs });
                    }
                    (None, Render::Done(done)) => rendered.push((id, application, done)),
                    (None, _) => {}
                }
            }
            for (application, manifests) in as_before {
                self.adopt_children(application, &manifests);
            }
            let mut raw = self.drop_raw_material(rendered.iter().map(|(_, application, _)| &***application));
            raw.extend(self.drop_former_raw_material());
            considered.retain(|id, _| !raw.contains_key(id));
            for (_, application, rendered) in rendered.into_iter().filter(|(id, ..)| !raw.contains_key(*id)) {
                match self.spoke(application) {
                    None => self.adopt_children(application, &rendered.manifests),
                    Some(cluster) => {
                        let raw = self.leave_to_spoke(application, cluster, &rendered.manifests);
                        considered.retain(|id, _| !raw.contains_key(id));
                        self.define_from_other_files(candidates, &raw);
                    }
                }
            }
        }
        self.problems.push(Unjudged {
            application: None,
            what: format!("Applications more than {MAX_DEPTH} levels deep"),
            why: "the chain of Applications that render Applications is too long".to_owned(),
        });
    }

    /// Another file may define an Application of this cluster under the name of one that was forgotten.
    fn define_from_other_files(&mut self, candidates: &[Candidate], forgotten: &BTreeMap<AppId, Arc<str>>) {
        for candidate in candidates.iter().filter(|candidate| candidate.kind == CandidateKind::Application) {
            let manifest = &candidate.manifest;
            let namespace = metadata_str(&manifest.object, "namespace").unwrap_or(&self.control_namespace);
            let id = AppId::new(namespace, &manifest.key.name);
            if forgotten.get(&id).is_some_and(|file| *file != manifest.origin.path) {
                self.define(manifest, None);
            }
        }
    }

    /// Works out the Applications in effect that are not known yet, or whose definition has changed since.
    fn bring_into_effect(&mut self) {
        let all = self.definitions.keys().chain(self.live.keys());
        let mut ids: BTreeSet<AppId> = all.filter(|id| !self.in_effect.contains_key(*id)).cloned().collect();
        self.forget_below(&mut ids);
        let fresh: Vec<(AppId, Arc<Application>)> =
            ids.into_par_iter().filter_map(|id| Some((id.clone(), self.effective(&id, 0)?))).collect();
        self.in_effect.extend(fresh);
    }

    /// Forgets Applications that lie in a file out of which a kustomization of one of these makes its own; hands on which.
    fn drop_raw_material<'p>(&mut self, parents: impl Iterator<Item = &'p Application>) -> BTreeMap<AppId, Arc<str>> {
        let files: BTreeSet<Arc<str>> = parents.flat_map(|parent| self.sources.raw_material(parent, self.side)).collect();
        self.drop_raw(&files)
    }

    /// Forgets the same of Applications of which is only known what they made before.
    fn drop_former_raw_material(&mut self) -> BTreeMap<AppId, Arc<str>> {
        if self.side == Side::Base {
            return BTreeMap::new();
        }
        let before = self.unrendered.keys().filter_map(|id| self.other_side.get(id));
        let files: BTreeSet<Arc<str>> =
            before.flat_map(|definition| self.sources.raw_material(&definition.application, Side::Base)).collect();
        self.drop_raw(&files)
    }

    /// Forgets what merely lies in some files; hands on the Applications among it, with their files.
    pub(super) fn drop_raw(&mut self, files: &BTreeSet<Arc<str>>) -> BTreeMap<AppId, Arc<str>> {
        let is_raw = |definition: &Definition| {
            definition.parent.is_none() && definition.generated.is_none() && files.contains(&definition.manifest.origin.path)
        };
        let all = self.definitions.iter().filter(|(_, definition)| is_raw(definition));
        let raw: BTreeMap<AppId, Arc<str>> =
            all.map(|(id, definition)| (id.clone(), Arc::clone(&definition.manifest.origin.path))).collect();
        for id in raw.keys() {
            self.definitions.remove(id);
            self.in_effect.remove(id);
        }
        self.drop_raw_sets(files);
        raw
    }

    /// The Applications among a parent's manifests are its children.
    fn adopt_children(&mut self, parent: &Application, manifests: &[Arc<Manifest>]) {
        for manifest in manifests {
            let is = |kind: &str| manifest.key.is(GROUP, kind);
            if is("AppProject") {
                self.projects.push((Some(parent.id.clone()), Arc::clone(manifest)));
            }
            if is("ApplicationSet") {
                self.define_set(manifest, Some(parent));
                continue;
            }
            if !is("Application") {
                continue;
            }
            let namespace = match metadata_str(&manifest.object, "namespace") {
                Some(namespace) if !namespace.is_empty() => namespace,
                _ => &parent.spec.destination.namespace,
            };
            let placed = in_namespace(manifest, namespace);
            self.forget_elsewhere(manifest, namespace);
            self.define(&placed, Some(&parent.id));
        }
    }

    /// Forgets what a file without a namespace seemed to define in Argo CD's own, as its parent brings it into another one.
    fn forget_elsewhere(&mut self, manifest: &Manifest, namespace: &str) {
        let own = AppId::new(&self.control_namespace, &manifest.key.name);
        let same_text = |definition: &Definition| {
            let (known, origin) = (&definition.manifest.origin, &manifest.origin);
            definition.parent.is_none() && definition.generated.is_none() && known.path == origin.path && known.document == origin.document
        };
        let unplaced = metadata_str(&manifest.object, "namespace").is_none_or(str::is_empty);
        if unplaced && namespace != self.control_namespace && self.definitions.get(&own).is_some_and(same_text) {
            self.definitions.remove(&own);
            self.in_effect.remove(&own);
        }
    }

    /// Records a definition; one that a parent renders wins over one that merely lies in a file.
    fn define(&mut self, manifest: &Arc<Manifest>, parent: Option<&AppId>) {
        match self.readings.read(manifest.object.shared(), &self.control_namespace) {
            Ok(application) => {
                let id = application.id.clone();
                if !self.is_there(&id) && parent.is_some_and(|parent| self.holds_application(&id, parent).is_some()) {
                    // Its file is what the parent renders.
                    self.definitions.remove(&id);
                    self.in_effect.remove(&id);
                    return;
                }
                let definition = Definition {
                    application,
                    manifest: Arc::clone(manifest),
                    parent: parent.cloned(),
                    generated: None,
                    delivery: Delivery::Merge,
                    broken: None,
                };
                let known = self.definitions.get(&id);
                if let (Some(parent), Some(by)) = (parent, known.and_then(|known| known.generated.as_ref())) {
                    self.twice.insert((id, sets::both(sets::made_by_set(&by.set), sets::made_by_parent(parent))));
                    return;
                }
                if parent.is_some() || known.is_none_or(|known| known.parent.is_none() && known.generated.is_none()) {
                    self.in_effect.remove(&id);
                    self.definitions.insert(id, definition);
                }
            }
            Err(error) => self.define_broken(manifest, parent, &error),
        }
    }

    /// The Application that decides at this side: the live one with what its parent applies from Git by itself. What only a person would apply
    /// does not count.
    pub(super) fn effective(&self, id: &AppId, depth: usize) -> Option<Arc<Application>> {
        let definition = self.definitions.get(id);
        let live = self.live.get(id);
        let Some(definition) = definition else { return live.map(|(live, _)| Arc::clone(live)) };
        if let (Some(by), Some((live, object))) = (&definition.generated, live) {
            return self.effective_generated(definition, by, (live, object)).or_else(|| Some(Arc::clone(live)));
        }
        if definition.broken.is_some() {
            return live.map(|(live, _)| Arc::clone(live)).or_else(|| Some(Arc::clone(&definition.application)));
        }
        let is_applied = match &definition.parent {
            Some(parent) => self.holds_application(id, parent).is_none() && (depth >= MAX_DEPTH || self.syncs_by_itself(parent, id, depth)),
            None => definition.generated.is_some(),
        };
        if is_applied {
            return self.applied(id, definition);
        }
        match (live, self.other_side.get(id)) {
            (Some((live, _)), _) => Some(Arc::clone(live)),
            // Without live state what base has stands for it.
            (None, Some(before)) if definition.parent.is_some() && self.ground.live_state.is_none() => {
                Some(Arc::clone(&before.application))
            }
            (None, _) => Some(Arc::clone(&definition.application)),
        }
    }

    /// The Application once its definition is applied.
    pub(super) fn applied(&self, id: &AppId, definition: &Definition) -> Option<Arc<Application>> {
        let Some((live, object)) = self.live.get(id) else { return Some(Arc::clone(&definition.application)) };
        let object = self.after_parent_sync(&definition.manifest.object, object.object());
        Application::read(object, &self.control_namespace).ok().map(Arc::new).or_else(|| Some(Arc::clone(live)))
    }

    /// A live object of Argo CD's once its parent's sync has applied what Git has.
    pub(super) fn after_parent_sync(&self, target: &Value, live: &Value) -> Arc<Value> {
        let tracking = self.ground.live_state.map(|live| live.settings().tracking.clone()).unwrap_or_else(|| Settings::default().tracking);
        effective::after_parent_sync(target, live, &tracking)
    }
}

/// What decides what an Application renders to.
fn reads_the_same(one: &Application, other: &Application) -> bool {
    one.spec.sources() == other.spec.sources() && one.spec.source_hydrator == other.spec.source_hydrator
}

/// A rendered Application in the namespace that it lands in.
pub(super) fn in_namespace(manifest: &Arc<Manifest>, namespace: &str) -> Arc<Manifest> {
    if &*manifest.key.namespace == namespace {
        return Arc::clone(manifest);
    }
    let mut object = Value::clone(&manifest.object);
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("namespace".to_owned(), Value::String(namespace.to_owned()));
    }
    Arc::new(Manifest { key: manifest.key.in_namespace(namespace), object: object.into(), origin: manifest.origin.clone() })
}
