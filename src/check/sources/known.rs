//! What was found out about Applications: what each reads and what it renders to, at each side, once.
//!
//! Takes an Application and a side; hands on the place of its results.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

use super::Render;
use crate::argocd::{AppId, Application, Destination, Source};
use crate::manifest::Side;
use crate::render::Inputs;

/// The paths of this repository that an Application reads.
#[derive(Clone, Debug)]
pub(super) struct Reads {
    /// All of them.
    pub(super) all: Arc<Inputs>,
    /// Those at revisions that the change reaches.
    pub(super) reached: Arc<Inputs>,
}

/// The results of one Application at one side. Whoever asks first works them out.
#[derive(Debug)]
pub(super) struct Results {
    project: String,
    destination: Destination,
    sources: Vec<Source>,
    hydrator: Option<Value>,
    pub(super) reads: OnceLock<Reads>,
    pub(super) render: OnceLock<Render>,
}

/// An Application may be looked at in several forms: as its file has it, as it is live.
type Forms = Vec<Arc<Results>>;

/// The results of all Applications.
#[derive(Debug, Default)]
pub(super) struct Known {
    by_id: Mutex<HashMap<(Side, AppId), Forms>>,
}

impl Known {
    /// The results of an Application in the form in which it is given.
    pub(super) fn of(&self, application: &Application, side: Side) -> Arc<Results> {
        let mut by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let forms = by_id.entry((side, application.id.clone())).or_default();
        if let Some(known) = forms.iter().find(|form| form.is_of(application)) {
            return Arc::clone(known);
        }
        let results = Arc::new(Results::new(application));
        forms.push(Arc::clone(&results));
        results
    }
}

impl Results {
    fn new(application: &Application) -> Self {
        let spec = &application.spec;
        Self {
            project: spec.project.clone(),
            destination: spec.destination.clone(),
            sources: spec.sources().to_vec(),
            hydrator: spec.source_hydrator.clone(),
            reads: OnceLock::new(),
            render: OnceLock::new(),
        }
    }

    /// Whether all that decides a render is the same.
    fn is_of(&self, application: &Application) -> bool {
        let spec = &application.spec;
        self.sources == spec.sources()
            && self.destination == spec.destination
            && self.project == spec.project
            && self.hydrator == spec.source_hydrator
    }
}
