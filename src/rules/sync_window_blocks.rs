//! `sync-window-blocks`: a sync window holds the automatic sync back at the time of the run.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name};
use crate::plan::SyncMode;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans.iter().filter(|plan| plan.sync.mode == SyncMode::Blocked) {
        let message = format!("{} is not synced when this is merged now: {}", app_name(plan), plan.sync.reason.trim_end_matches('.'));
        let introduced = plan.changes.iter().any(|change| change.introduced);
        findings.push(Draft::of_application(&plan.application, message).introduced(introduced).at(
            plan.origin.as_ref(),
            "/spec/project",
            "has the window",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use crate::plan::SyncMode;
    use serde_json::json;

    #[test]
    fn an_application_that_waits_for_its_window_is_named_with_the_reason() {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "shop"}});
        let mut waits = plan("web", vec![added(map)]);
        waits.sync.mode = SyncMode::Blocked;
        waits.sync.reason = "a deny window is active until 06:00Z.".to_owned();
        let found = Run { plans: vec![waits, plan("other", Vec::new())], ..Run::default() }.judge(&["sync-window-blocks"]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].message, "`web` is not synced when this is merged now: a deny window is active until 06:00Z");
        assert!(found[0].introduced);
    }
}
