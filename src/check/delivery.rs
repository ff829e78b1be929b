//! Whether a definition in Git gets into the cluster: by the merge alone, when somebody syncs its parent, by hand, or nobody can say.
//!
//! Takes what one side has found out; hands on the [`Delivery`] of each definition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::applications::{Finder, MAX_DEPTH};
use super::held::Hold;
use super::sources::Render;
use crate::argocd::{AppId, Application};
use crate::finding::Unjudged;
use crate::inventory::{Definition, Delivery};
use crate::manifest::{Manifest, Side};
use crate::render::Inputs;
use crate::snapshot::LiveObject;

/// An Application of which it is not known what it renders.
pub(super) struct Unrendered {
    /// Why.
    pub(super) why: String,
    /// What it reads in this repository.
    pub(super) inputs: Arc<Inputs>,
}

/// Why it is not known what an Application renders; `None` where it is known.
pub(super) fn why_not_rendered(render: &Render) -> Option<String> {
    match render {
        Render::Done(_) | Render::Failed(_) => None,
        Render::Unjudged(what, why) => Some(format!("{what}: {why}")),
        Render::NotTracked(revision) => Some(format!("it follows the revision {revision}, which is not in this clone")),
    }
}

impl Finder<'_> {
    /// Whether a sync of this Application starts without a person, so that a merge brings in what it renders.
    ///
    /// Source: Argo CD `controller/appcontroller.go:autoSync`.
    pub(super) fn syncs_by_itself(&self, parent: &AppId, child: &AppId, depth: usize) -> bool {
        let version = self.ground.live_state.map_or(crate::argocd::Version::ASSUMED, |live| live.settings().version());
        let decides = if parent == child {
            // What it renders of itself is applied as it was told so far.
            let before = || self.other_side.get(parent).or_else(|| self.definitions.get(parent));
            let live = self.live.get(parent).map(|(live, _)| Arc::clone(live));
            live.or_else(|| before().map(|definition| Arc::clone(&definition.application)))
        } else {
            self.in_effect.get(parent).cloned().or_else(|| self.effective(parent, depth + 1))
        };
        decides.is_none_or(|application| application.automated_in(version).is_some() && !application.is_skipped())
    }

    /// Whether an Application is in the cluster; without live state, whether base has it.
    pub(super) fn is_there(&self, id: &AppId) -> bool {
        self.live.contains_key(id) || (self.ground.live_state.is_none() && self.other_side.contains_key(id))
    }

    /// Whether an Application is there, or comes into the cluster by the merge alone.
    fn is_brought_in(&self, id: &AppId) -> bool {
        let (mut current, mut seen) = (id, BTreeSet::new());
        while !self.is_there(current) && seen.insert(current) {
            let Some(above) = self.definitions.get(current).and_then(|definition| definition.parent.as_ref()) else { break };
            if !self.syncs_by_itself(above, current, 0) {
                return false;
            }
            current = above;
        }
        true
    }

    /// Why the sync of a parent does not apply this Application, where it is so.
    pub(super) fn holds_application(&self, id: &AppId, parent: &AppId) -> Option<&Hold> {
        self.held.application(id, parent).filter(|_| self.side == Side::Head)
    }

    /// Why the sync of a parent does not apply this ApplicationSet, where it is so.
    pub(super) fn holds_set(&self, id: &AppId, parent: &AppId) -> Option<&Hold> {
        self.held.set(id, parent).filter(|_| self.side == Side::Head)
    }

    /// The AppProjects that the merge alone brings in; a file that no Application renders counts as applied.
    pub(super) fn projects_brought_in(&mut self) -> Vec<Arc<Manifest>> {
        let projects = std::mem::take(&mut self.projects);
        let name = |manifest: &Manifest| manifest.key.name.to_string();
        let rendered: BTreeSet<String> =
            projects.iter().filter(|(parent, _)| parent.is_some()).map(|(_, manifest)| name(manifest)).collect();
        if self.ground.live_state.is_some() {
            let touched = self.sources.revisions.changes.touched();
            let by_hand = projects.iter().filter(|(parent, manifest)| {
                parent.is_none() && !rendered.contains(&name(manifest)) && touched.contains(&manifest.origin.path)
            });
            self.notes.extend(by_hand.map(|(_, manifest)| {
                let (name, place) = (&manifest.key.name, manifest.origin.place());
                format!("AppProject {name} ({place}): no Application renders it; it counts as applied when this is merged")
            }));
        }
        let mut brought_in = Vec::new();
        for (parent, manifest) in projects {
            match parent {
                Some(parent) if self.held.project(&name(&manifest), &parent) => {}
                Some(parent) if !self.syncs_by_itself(&parent, &AppId::new("", &name(&manifest)), 0) => self.later_projects.push(manifest),
                None if rendered.contains(&name(&manifest)) => {}
                _ => brought_in.push(manifest),
            }
        }
        brought_in
    }

    /// Works out how each definition of this side gets into the cluster.
    pub(super) fn settle_deliveries(&mut self) {
        let all = self.definitions.iter().filter(|(_, definition)| definition.generated.is_none());
        let found: Vec<(AppId, Delivery)> = all.map(|(id, definition)| (id.clone(), self.delivery(id, definition))).collect();
        for (id, delivery) in found {
            if let Some(definition) = self.definitions.get_mut(&id) {
                definition.delivery = delivery;
            }
        }
    }

    fn delivery(&self, id: &AppId, definition: &Definition) -> Delivery {
        if let Some(parent) = &definition.parent {
            if let Some(hold) = self.holds_application(id, parent) {
                return Delivery::HeldBack { parent: parent.clone(), why: hold.why.clone() };
            }
            return if self.syncs_by_itself(parent, id, 0) && self.is_brought_in(parent) { Delivery::Merge } else { Delivery::ParentSync };
        }
        let live = self.live.get(id).map(|(_, object)| &**object);
        match self.unknown_parent(id, &definition.manifest.origin.path, live) {
            Some((parent, why)) => Delivery::Unknown { parent, why },
            None if self.ground.live_state.is_some() => Delivery::ByHand,
            // Without live state nobody knows who applies it, and it stands as applied.
            None => Delivery::Merge,
        }
    }

    /// The Application that may render an object which no known manifests contain, and why that is not known: it tracks the live object, or
    /// reads the file.
    pub(super) fn unknown_parent(&self, id: &AppId, path: &str, live: Option<&LiveObject>) -> Option<(AppId, String)> {
        let instance = live.and_then(|object| self.ground.live_state?.is_tracked(object));
        let tracker = instance.map(|instance| AppId::of_instance(instance, &self.control_namespace));
        if let Some(tracker) = tracker.filter(|tracker| tracker != id) {
            let why = match self.in_effect.get(&tracker) {
                Some(application) => why_not_rendered(&self.sources.render(application, self.side)),
                None => Some("neither the snapshot nor this repository has it".to_owned()),
            };
            if let Some(why) = why {
                return Some((tracker, why));
            }
        }
        let reads = |unrendered: &Unrendered| unrendered.inputs.contain_any(&[Arc::from(path)]);
        let reader = self.unrendered.iter().find(|(parent, unrendered)| *parent != id && reads(unrendered));
        reader.map(|(parent, unrendered)| (parent.clone(), unrendered.why.clone()))
    }

    /// The Applications in effect whose parents have to be looked at again, because what those render is not settled yet: with each one that is
    /// missing, its children at every level.
    pub(super) fn forget_below(&mut self, missing: &mut BTreeSet<AppId>) {
        for _ in 0..MAX_DEPTH {
            let is_below = |definition: &Definition| definition.parent.as_ref().is_some_and(|parent| missing.contains(parent));
            let below = self.definitions.iter().filter(|(id, definition)| !missing.contains(*id) && is_below(definition));
            let below: Vec<AppId> = below.map(|(id, _)| id.clone()).collect();
            if below.is_empty() {
                break;
            }
            for id in below {
                self.in_effect.remove(&id);
                missing.insert(id);
            }
        }
    }
}

/// The Applications that a merge does not bring into the cluster, as they will be once that is made up for.
pub(super) fn once_applied(finder: &Finder<'_>) -> BTreeMap<AppId, Arc<Application>> {
    let waiting = finder.definitions.iter().filter(|(_, definition)| definition.delivery != Delivery::Merge && definition.broken.is_none());
    let applied = waiting.filter_map(|(id, definition)| {
        let application = finder.applied(id, definition)?;
        let in_effect = finder.in_effect.get(id)?;
        (finder.side == Side::Head && application.object.get("spec") != in_effect.object.get("spec")).then(|| (id.clone(), application))
    });
    applied.collect()
}

/// The Applications whose definition the change removes, where it cannot be said what becomes of them.
pub(super) fn removed(base: &Finder<'_>, head: &Finder<'_>) -> Vec<Unjudged> {
    let gone = base.definitions.iter().filter(|(id, before)| before.generated.is_none() && !head.definitions.contains_key(*id));
    let unjudged = gone.filter_map(|(id, before)| {
        let parent = |parent: &AppId| {
            let application = head.in_effect.get(parent)?;
            Some((parent.clone(), why_not_rendered(&head.sources.render(application, Side::Head))?))
        };
        let path = &before.manifest.origin.path;
        let live = base.live.get(id);
        let unknown = match &before.parent {
            Some(known) => parent(known),
            None => head.unknown_parent(id, path, live.map(|(_, object)| &**object)),
        };
        let application = live.map_or(&before.application, |(live, _)| live);
        let objects = if application.cascades() { "its objects are deleted with it" } else { "its objects stay, unmanaged" };
        let why = match unknown {
            Some((parent, why)) => {
                format!("whether Application {parent} deletes it is not known ({why}); if it does, {objects}")
            }
            None if before.parent.is_none() && before.delivery == Delivery::Merge => format!(
                "no Application of this repository renders it: if it was applied by hand, nothing happens and it stays as it is; if something else deletes it, {objects}"
            ),
            None => return None,
        };
        Some(Unjudged { application: Some(id.to_string()), what: format!("removal of the definition in {}", before.manifest.origin.place()), why })
    });
    unjudged.chain(removed_sets(base, head)).collect()
}

/// The ApplicationSets whose file the change removes, where no Application renders it and no live state tells what is deployed.
fn removed_sets(base: &Finder<'_>, head: &Finder<'_>) -> impl Iterator<Item = Unjudged> {
    let gone =
        base.sets.iter().filter(|(id, set)| set.parent.is_none() && !head.sets.contains_key(*id) && head.ground.live_state.is_none());
    gone.filter_map(|(id, set)| Some((id, set.manifest.as_ref()?))).map(|(id, manifest)| Unjudged {
        application: None,
        what: format!("removal of ApplicationSet {id} ({})", manifest.origin.place()),
        why: "no Application of this repository renders it: if it was applied by hand, nothing happens and its Applications stay; if something \
              else deletes it, its Applications go with it"
            .to_owned(),
    })
}

/// The ApplicationSets whose files the change edits or adds, where nothing applies them or nobody knows whether anything does.
pub(super) fn unknown_sets(base: &Finder<'_>, head: &Finder<'_>) -> Vec<Unjudged> {
    let mut unjudged = Vec::new();
    for (id, set) in &head.sets {
        let Some(manifest) = set.manifest.as_ref().filter(|_| set.parent.is_none()) else { continue };
        let before = base.sets.get(id).and_then(|before| before.manifest.as_ref());
        let is_edited = before.is_some_and(|before| before.object != manifest.object);
        let live = head.ground.live.get(id).map(|(_, object)| &**object);
        let unknown = is_edited.then(|| head.unknown_parent(id, &manifest.origin.path, live)).flatten();
        unjudged.extend(unknown.map(|(parent, why)| Unjudged {
            application: None,
            what: format!("ApplicationSet {id} ({})", manifest.origin.place()),
            why: format!("whether Application {parent} applies the edit is not known ({why}); it is planned as it is live"),
        }));
    }
    let tree = head.sources.revisions.tree(Side::Head);
    for (id, manifest) in
        head.unapplied_sets.iter().filter(|(id, _)| !head.sets.contains_key(*id) && !base.unapplied_sets.contains_key(*id))
    {
        if crate::inventory::scan::is_beside_kustomization(tree, &manifest.origin.path) {
            continue;
        }
        let known = head.unknown_parent(id, &manifest.origin.path, None);
        let why = match known {
            Some((parent, why)) => {
                format!("whether Application {parent} creates it is not known ({why}); its Applications are not planned")
            }
            None => {
                "no Application renders it and the snapshot does not have it: the merge creates neither it nor its Applications".to_owned()
            }
        };
        unjudged.push(Unjudged { application: None, what: format!("ApplicationSet {id} ({})", manifest.origin.place()), why });
    }
    unjudged
}
