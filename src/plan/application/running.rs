//! A sync of the Application that is still running when the change is merged.

use jiff::{SignedDuration, Timestamp};

use super::Planner;
use crate::plan::change::{Condition, SYNC_NEEDS_APPROVAL, SYNC_RUNNING, SyncDecision, SyncMode};
use crate::plan::operation::{self, Operation, Progress};

/// A sync that started less than this before the snapshot was captured has likely ended by the time of the merge.
const USUAL: SignedDuration = SignedDuration::from_hours(1);

impl Planner<'_> {
    /// The decision where another sync of the Application has to end first, with a remark where that may take long: a sync that waits for
    /// health, a hook or an approval has no end of its own.
    ///
    /// Source: Argo CD `controller/appcontroller.go:autoSync` (another operation is in progress), `util/argo/argo.go:SetAppOperation`.
    pub(super) fn after_running(&self, sync: SyncDecision, out_of_sync: bool) -> (SyncDecision, Option<Condition>) {
        let by_itself = sync.mode == SyncMode::Automated && sync.starts;
        if !by_itself && (sync.mode != SyncMode::Manual || !out_of_sync) {
            return (sync, None);
        }
        let Some(running) = operation::of(&self.input.application.object) else { return (sync, None) };
        let waits =
            if by_itself { "merging now means it waits until that one has ended" } else { "nobody can start another until it has ended" };
        let (kind, about) = match self.lasting(&running) {
            Some(lasting) => lasting,
            None => {
                let reason = format!("{}; a sync that was running when the snapshot was captured ends first", sync.reason);
                return (SyncDecision { reason, ..sync }, None);
            }
        };
        let reason = match running.progress {
            Progress::Retrying { takes_newest: true } => format!("{about}; its next attempt is to the merged revision, {}", own(&running)),
            _ => format!("{about}; {waits}"),
        };
        let remark = Condition { kind, message: reason.clone(), key: None, origin: self.input.origin.clone() };
        let reason = if by_itself { reason } else { format!("{}; {reason}", sync.reason) };
        (SyncDecision { reason, ..sync }, Some(remark))
    }

    /// What there is to say about a sync that does not simply end by itself.
    fn lasting(&self, running: &Operation) -> Option<(&'static str, String)> {
        let since = running.since?;
        if let Progress::NeedsApproval { waits } = &running.progress {
            return Some((SYNC_NEEDS_APPROVAL, format!("a sync has been running since {since} and needs a person ({waits})")));
        }
        let captured =
            self.world.live.sources().iter().filter_map(|source| source.captured_at.as_deref()?.parse::<Timestamp>().ok()).min()?;
        if since.duration_until(captured) < USUAL {
            return None;
        }
        let about = match &running.progress {
            Progress::Running { waits: Some(waits) } => format!("a sync has been running since {since} ({waits})"),
            Progress::Running { waits: None } => format!("a sync has been running since {since}"),
            Progress::Retrying { .. } => format!("a sync has failed since {since} and is tried again"),
            Progress::NeedsApproval { .. } | Progress::Asked | Progress::Ending => return None,
        };
        Some((SYNC_RUNNING, about))
    }
}

/// With what a sync goes on: the list of its own replaces that of the Application.
fn own(running: &Operation) -> String {
    let prune = if running.prune { "on" } else { "off" };
    let options = running.options.0.join(", ");
    let options = if options.is_empty() { "no options".to_owned() } else { options };
    format!("with prune {prune} and the options that it was started with ({options})")
}
