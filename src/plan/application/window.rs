//! Sync windows: whether the sync may start at the time of the merge.

use jiff::Timestamp;

use super::Planner;
use crate::argocd::window::{self, Gate};
use crate::plan::change::{SyncDecision, SyncMode};

impl Planner<'_> {
    /// The decision after the project's sync windows have been asked. Windows delay a sync, they do not cancel it.
    ///
    /// Source: Argo CD `controller/appcontroller.go:processAppRefreshQueueItem` and `controller/sync.go:syncWindowPreventsSync`.
    pub(super) fn after_windows(&self, sync: SyncDecision) -> SyncDecision {
        match sync.mode {
            SyncMode::Automated if sync.starts => match self.held(false) {
                Some((because, Some(until))) => {
                    SyncDecision { mode: SyncMode::Blocked, reason: format!("{because}: merging now means it waits until {until}"), ..sync }
                }
                Some((because, None)) => {
                    let reason = format!("{because}: merging now means it waits until the project's windows are changed");
                    SyncDecision { mode: SyncMode::Blocked, reason, ..sync }
                }
                None => sync,
            },
            SyncMode::Manual => match self.held(true) {
                Some((because, until)) => {
                    let until = until.map_or_else(|| "the project's windows are changed".to_owned(), |until| until.to_string());
                    SyncDecision { reason: format!("{}; {because}, so nobody can sync it until {until}", sync.reason), ..sync }
                }
                None => sync,
            },
            _ => sync,
        }
    }

    /// What holds a sync at the time of the merge, and until when.
    fn held(&self, manual: bool) -> Option<(String, Option<Timestamp>)> {
        let application = &self.input.application;
        let project = self.world.projects.get(&application.spec.project)?;
        let windows = project.windows_for(&application.id.name, &application.spec.destination, self.settings().version());
        match window::gate(&windows, manual, self.world.now?) {
            Gate::Open => None,
            Gate::Closed { because, until } => Some((format!("in project {}, {because}", project.name), until)),
        }
    }
}
