//! Which Applications exist at a revision, and which a change touches.
//!
//! Takes trees, rendered parents and live state; hands on an [`Inventory`]: every Application with its definitions, its live object and its parent.

pub mod applicationset;
pub mod scan;
mod sets;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::argocd::{AppId, Application};
use crate::manifest::Manifest;
use crate::snapshot::LiveObject;

/// How a definition gets into the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// By the merge alone.
    #[default]
    Merge,
    /// Only when somebody syncs its parent, which does not sync by itself.
    ParentSync,
    /// Not by this merge: the sync of its parent does not get to it.
    HeldBack {
        /// The Application that renders it.
        parent: AppId,
        /// What keeps that one's sync from applying it.
        why: String,
    },
    /// Only when somebody applies the file.
    ByHand,
    /// It cannot be said.
    Unknown {
        /// The Application that may render it.
        parent: AppId,
        /// Why it is not known what that one renders.
        why: String,
    },
}

pub use sets::{Contested, GeneratedBy, Generation, Rejected, SetDefinition, SetEntry};

/// An Application as one side of the change defines it.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The Application.
    pub application: Arc<Application>,
    /// The document that defines it.
    pub manifest: Arc<Manifest>,
    /// The Application whose source renders it; `None` where it only lies in a file.
    pub parent: Option<AppId>,
    /// The ApplicationSet that generates it, if one does.
    pub generated: Option<GeneratedBy>,
    /// How it gets into the cluster.
    pub delivery: Delivery,
    /// Why the document cannot be read as an Application; `application` is then what stood there before.
    pub broken: Option<Broken>,
}

/// What keeps a document from being read as an Application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// File and line of the field.
    pub place: String,
    /// Why, with the field.
    pub why: String,
}

/// Everything known about one Application.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Namespace and name.
    pub id: AppId,
    /// Its definition before the change.
    pub base: Option<Definition>,
    /// Its definition after the change.
    pub head: Option<Definition>,
    /// Its live object.
    pub live: Option<(Arc<Application>, Arc<LiveObject>)>,
    /// The Application that decides after the merge, as [`effective`](crate::plan) rules make it; `None` where it goes.
    pub effective: Option<Arc<Application>>,
}

impl Entry {
    /// The definition to point at: head, else base.
    pub fn definition(&self) -> Option<&Definition> {
        self.head.as_ref().or(self.base.as_ref())
    }

    /// The parent that renders it: at head, else at base.
    pub fn parent(&self) -> Option<&AppId> {
        self.definition()?.parent.as_ref()
    }

    /// How its definition gets into the cluster: at head, else at base.
    pub fn delivery(&self) -> Option<&Delivery> {
        Some(&self.definition()?.delivery)
    }

    /// The ApplicationSet that generates it: at head, else at base.
    pub fn generated(&self) -> Option<&GeneratedBy> {
        self.definition()?.generated.as_ref()
    }

    /// Whether the change edits, adds or removes its definition.
    pub fn definition_changes(&self) -> bool {
        match (&self.base, &self.head) {
            (Some(base), Some(head)) => base.manifest.object != head.manifest.object,
            (None, None) => false,
            _ => true,
        }
    }
}

/// All Applications and ApplicationSets, by id.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// The Applications.
    pub entries: BTreeMap<AppId, Entry>,
    /// The ApplicationSets, by id.
    pub sets: BTreeMap<AppId, SetEntry>,
    /// Applications that more than one makes.
    pub contested: Vec<Contested>,
}
