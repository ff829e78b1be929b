//! What the merge does not bring into the cluster although a parent renders it and syncs by itself: that sync is refused, or does not get to it.
//!
//! Takes the plans of head; hands on [`Held`], with which Applications are found out once more.

use std::collections::{BTreeMap, BTreeSet};

use crate::argocd::AppId;
use crate::argocd::names::GROUP;
use crate::inventory::Inventory;
use crate::plan::{Action, SyncMode, SyncPlan};

/// Why an object that a parent renders is not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    /// The Application that renders it.
    pub(super) parent: AppId,
    /// What keeps the parent's sync from applying it.
    pub(super) why: String,
}

/// The Applications and ApplicationSets that stay as they are live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    applications: BTreeMap<AppId, Hold>,
    sets: BTreeMap<AppId, Hold>,
    /// Applications whose sync does not start now.
    parents: BTreeSet<AppId>,
    /// Names of AppProjects that a sync does not get to.
    projects: BTreeSet<String>,
}

impl Held {
    /// What these plans do not get to.
    ///
    /// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:Sync`: a wave is applied when the ones before it have succeeded.
    pub(super) fn by<'p>(plans: impl Iterator<Item = &'p SyncPlan>, inventory: &Inventory) -> Self {
        let mut held = Self::default();
        for plan in plans {
            match plan.sync.mode {
                SyncMode::Refused => held.all_of(plan, inventory),
                // What waits for a window is planned as it will be.
                SyncMode::Blocked => drop(held.parents.insert(plan.application.id.clone())),
                SyncMode::Automated => held.not_reached(plan),
                _ => {}
            }
        }
        held
    }

    /// The Application with this parent, where it is held.
    pub(super) fn application(&self, id: &AppId, parent: &AppId) -> Option<&Hold> {
        self.applications.get(id).filter(|hold| hold.parent == *parent)
    }

    /// The ApplicationSet with this parent, where it is held.
    pub(super) fn set(&self, id: &AppId, parent: &AppId) -> Option<&Hold> {
        self.sets.get(id).filter(|hold| hold.parent == *parent)
    }

    /// Whether this parent does not bring in this AppProject.
    pub(super) fn project(&self, name: &str, parent: &AppId) -> bool {
        self.parents.contains(parent) || self.projects.contains(name)
    }

    fn all_of(&mut self, plan: &SyncPlan, inventory: &Inventory) {
        let parent = &plan.application.id;
        let hold = Hold { parent: parent.clone(), why: plan.sync.reason.clone() };
        self.parents.insert(parent.clone());
        // What an Application renders of itself is judged by what it was told so far.
        let children = inventory.entries.values().filter(|entry| entry.id != *parent);
        let children = children.filter(|entry| entry.head.as_ref().and_then(|head| head.parent.as_ref()) == Some(parent));
        self.applications.extend(children.map(|entry| (entry.id.clone(), hold.clone())));
        let sets = inventory.sets.values().filter(|set| set.head.as_ref().and_then(|head| head.parent.as_ref()) == Some(parent));
        self.sets.extend(sets.map(|set| (set.id.clone(), hold.clone())));
    }

    fn not_reached(&mut self, plan: &SyncPlan) {
        let parent = &plan.application.id;
        let waiting = plan.changes.iter().filter(|change| change.target.is_some() && (change.action == Action::Fail || !change.reached));
        for change in waiting {
            let id = AppId::new(&change.key.namespace, &change.key.name);
            let why = if change.action == Action::Fail { change.reason.to_string() } else { "its sync does not get that far".to_owned() };
            let hold = Hold { parent: parent.clone(), why };
            if change.key.is(GROUP, "Application") && id != *parent {
                self.applications.insert(id, hold);
            } else if change.key.is(GROUP, "ApplicationSet") {
                self.sets.insert(id, hold);
            } else if change.key.is(GROUP, "AppProject") {
                self.projects.insert(change.key.name.to_string());
            }
        }
    }

    /// Whether these hold what those held as well.
    pub(super) fn takes_in(&mut self, more: Self) -> bool {
        let sizes = |held: &Self| [held.applications.len(), held.sets.len(), held.parents.len(), held.projects.len()];
        let before = sizes(self);
        self.applications.extend(more.applications);
        self.sets.extend(more.sets);
        self.parents.extend(more.parents);
        self.projects.extend(more.projects);
        before == sizes(self)
    }
}
