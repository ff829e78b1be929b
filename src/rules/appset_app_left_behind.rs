//! `appset-app-left-behind`: an Application is no longer generated, but its ApplicationSet may not delete it.

use super::draft::{Draft, Findings};
use super::facts::{View, application_key, set_origin};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for set in view.facts.inventory.sets.values().filter(|set| !set.policy.deletes) {
        for id in set.no_longer_generated() {
            let is_there = view.entry(&id).is_some_and(|entry| entry.live.is_some() || view.facts.live.is_assumed());
            let is_defined = view.entry(&id).is_some_and(|entry| entry.head.is_some());
            if !is_there || is_defined {
                continue;
            }
            let own = set.head.as_ref().and_then(|head| head.set.spec.sync_policy.applications_sync.as_deref());
            let policy = own.map_or_else(|| "the controller's policy".to_owned(), |policy| format!("applicationsSync: {policy}"));
            let message = format!("{} is no longer generated but stays ({policy}); it is not updated any more", id.name);
            let draft = Draft::new(message).application(id.to_string()).resource(application_key(&id));
            findings.push(draft.assumed(view.facts.live.is_assumed()).at(set_origin(set), "/spec/generators", "no longer generates it"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use crate::argocd::ApplicationsSync;
    use crate::finding::Severity;

    #[test]
    fn it_stays_where_the_policy_forbids_deletion_and_only_there() {
        let run = |policy: &str| {
            let mut run = Run { inventory: generated_inventory(Some(&["amber", "cobalt"]), Some(&["amber"])), ..Run::default() };
            run.inventory.sets.values_mut().for_each(|set| set.policy = ApplicationsSync::parse(policy).unwrap());
            run.judge(&["appset-app-left-behind"])
        };
        let found = run("create-update");
        assert_eq!(found[0].message, "cobalt is no longer generated but stays (the controller's policy); it is not updated any more");
        assert_eq!((found.len(), found[0].severity), (1, Severity::Info));
        assert_eq!(run("create-only").len(), 1);
        assert!(run("sync").is_empty());
        assert!(run("create-delete").is_empty());
    }
}
