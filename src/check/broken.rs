//! Applications whose documents cannot be read: with what stood there before they stay known, so that nobody takes them for removed.
//!
//! Takes documents of one side; adds definitions that say what is wrong.

use std::sync::Arc;

use super::applications::Finder;
use crate::argocd::{AppId, Application, ApplicationError};
use crate::finding::Unjudged;
use crate::inventory::scan;
use crate::inventory::{Broken, Definition, Delivery};
use crate::manifest::span::{line_column, locate_nearest};
use crate::manifest::{Manifest, Origin, Pointer, Side, metadata_str, reader};

impl Finder<'_> {
    /// Records a document that should be an Application and cannot be read as one.
    pub(super) fn define_broken(&mut self, manifest: &Arc<Manifest>, parent: Option<&AppId>, error: &ApplicationError) {
        let broken = Broken { place: self.place(&manifest.origin, error), why: error.to_string() };
        let id = self.id_of(manifest);
        let Some(application) = id.as_ref().and_then(|id| self.before(id)) else {
            if self.side == Side::Head {
                let application = id.map(|id| id.to_string());
                let named = application.clone().unwrap_or_else(|| manifest.key.place());
                let what = format!("Application {named} ({})", broken.place);
                let problem = Unjudged { application, what, why: broken.why };
                // The same document may come from an Application and from its file.
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
            }
            return;
        };
        let known = self.definitions.get(&application.id);
        if parent.is_none() && known.is_some() {
            return;
        }
        let id = application.id.clone();
        self.in_effect.remove(&id);
        let definition = Definition {
            application,
            manifest: Arc::clone(manifest),
            parent: parent.cloned(),
            generated: None,
            delivery: Delivery::Merge,
            broken: Some(broken),
        };
        self.definitions.insert(id, definition);
    }

    /// Records what lacks something that an Application must have, where it is no piece of something else: it was complete before, or the
    /// change brings it and nothing near it builds on it.
    pub(super) fn define_incomplete(&mut self, manifest: &Arc<Manifest>) {
        let Some(id) = self.id_of(manifest).filter(|id| !self.definitions.contains_key(id)) else { return };
        let origin = &manifest.origin;
        let was_complete = self.other_side.get(&id).is_some_and(|before| before.manifest.origin.path == origin.path);
        let tree = self.sources.revisions.tree(self.side);
        let is_new = self.sources.revisions.changes.touches(&origin.path) && !scan::is_beside_kustomization(tree, &origin.path);
        if self.side == Side::Base || !(was_complete || is_new) {
            return;
        }
        if let Err(error) = Application::read(Arc::clone(manifest.object.shared()), &self.control_namespace) {
            self.define_broken(manifest, None, &error);
        }
    }

    fn id_of(&self, manifest: &Manifest) -> Option<AppId> {
        let text = |field: &str| metadata_str(&manifest.object, field).filter(|text| !text.is_empty());
        Some(AppId::new(text("namespace").unwrap_or(&self.control_namespace), text("name")?))
    }

    /// What the Application was before: live, or at the other side.
    fn before(&self, id: &AppId) -> Option<Arc<Application>> {
        let live = self.live.get(id).map(|(live, _)| Arc::clone(live));
        live.or_else(|| self.other_side.get(id).map(|before| Arc::clone(&before.application)))
    }

    /// File and line of the field that is wrong.
    fn place(&self, origin: &Origin, error: &ApplicationError) -> String {
        let pointer = match error {
            ApplicationError::Spec(problem) => problem.pointer.as_str(),
            ApplicationError::NoName => "/metadata",
        };
        let line = || {
            let bytes = self.sources.revisions.tree(origin.side).read(&origin.path).ok()?;
            let text = reader::decode(&bytes).text;
            let document = if origin.document.is_empty() { 0..text.len() } else { origin.document.clone() };
            let found = locate_nearest(&text, document, &Pointer::parse(&format!("{}{pointer}", origin.within)).ok()?)?;
            let start = found.key.as_ref().map_or(found.value.start, |key| key.start);
            Some(line_column(&text, start).0)
        };
        // What a renderer made need not stand in the file as it is.
        let line = if origin.rendered.is_none() { line() } else { None };
        format!("{}:{}", origin.path, line.unwrap_or(origin.line))
    }
}
