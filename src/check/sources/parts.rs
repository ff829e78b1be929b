//! What the sources of an Application are made of: the values of charts, the files of kustomizations.
//!
//! Takes an Application and a side. Nothing is rendered.

use super::{Sources, is_nothing};
use crate::argocd::Application;
use crate::manifest::Side;
use crate::render::{Identity, Job, Outline, Values};

impl Sources<'_> {
    /// The values of each source that is a chart, with its position among the sources.
    pub(in crate::check) fn values(&self, application: &Application, side: Side) -> Vec<(usize, Values)> {
        self.of_jobs(application, side, |job| job.values())
    }

    /// What each source that is a kustomization is made of.
    pub(in crate::check) fn outlines(&self, application: &Application, side: Side) -> Vec<Outline> {
        self.of_jobs(application, side, |job| job.outline()).into_iter().map(|(_, outline)| outline).collect()
    }

    /// Something of each source that a job can be made for, with the source's position.
    fn of_jobs<T>(&self, application: &Application, side: Side, take: impl Fn(&Job<'_>) -> Option<T>) -> Vec<(usize, T)> {
        let identity = Identity::of(application, &self.workshop.settings);
        let sources = self.sources_of(application);
        let references = self.references(application, &sources, side);
        let rendered = sources.iter().enumerate().filter(|(_, source)| !is_nothing(application, source));
        let taken = rendered.filter_map(|(index, source)| {
            let job = self.job(application, source, side, &identity, &references).ok()?;
            Some((index, take(&job)?))
        });
        taken.collect()
    }
}
