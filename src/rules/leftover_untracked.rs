//! `leftover-untracked`: objects leave Git, but no Application tracks the live ones, so that they stay whatever the sync prunes.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, is_rendered_by_any, named_with_data_first, plural};
use crate::manifest::ResourceKey;
use crate::plan::change::UNTRACKED_LEFT;
use crate::plan::{Condition, SyncMode};

/// Objects that one finding names.
const MAX_NAMED: usize = 5;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    // Where prune is off, nobody expects that anything goes.
    for plan in view.facts.plans.iter().filter(|plan| plan.sync.prune || plan.sync.mode == SyncMode::Manual) {
        let is_left = |condition: &&Condition| {
            condition.kind == UNTRACKED_LEFT && condition.key.as_ref().is_some_and(|key| !is_rendered_by_any(view, key))
        };
        let left: Vec<&Condition> = plan.conditions.iter().filter(is_left).collect();
        let keys: Vec<&ResourceKey> = left.iter().filter_map(|condition| condition.key.as_ref()).collect();
        let Some(first) = keys.first() else { continue };
        let (them, are) = if keys.len() == 1 { ("it", "is") } else { ("them", "are") };
        let message = format!(
            "{} that {} removed from Git {} not tracked by any Application, so {} does not delete {them}: {}",
            plural(keys.len(), "live object"),
            are,
            are,
            app_name(plan),
            named_with_data_first(&keys, MAX_NAMED)
        );
        let draft = Draft::of_plan(plan, message).resource((*first).clone()).introduced(plan.affected);
        let places = left.iter().take(MAX_NAMED).map(|condition| condition.origin.as_ref());
        findings.push(places.fold(draft, |draft, origin| draft.at(origin, "", "leaves Git")));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Severity;
    use serde_json::json;

    #[test]
    fn untracked_objects_that_leave_git_are_one_finding_and_those_that_go_on_elsewhere_are_left_out() {
        let mut old = plan("web", Vec::new());
        old.conditions = vec![condition(UNTRACKED_LEFT, "it stays", "ConfigMap"), condition(UNTRACKED_LEFT, "it stays", "Service")];
        let found = Run { plans: vec![old.clone()], ..Run::default() }.judge(&["leftover-untracked"]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "2 live objects that are removed from Git are not tracked by any Application, so `web` does not delete them: ConfigMap shop/x and \
             Service shop/x"
        );
        assert_eq!((found[0].severity, found[0].introduced), (Severity::Warning, true));
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "shop"}});
        let found = Run { plans: vec![old, plan("other", vec![added(map)])], ..Run::default() }.judge(&["leftover-untracked"]);
        assert!(found[0].message.starts_with("1 live object that is removed from Git is not tracked"), "{}", found[0].message);
        let mut off = plan("web", Vec::new());
        off.conditions = vec![condition(UNTRACKED_LEFT, "it stays", "ConfigMap")];
        off.sync.prune = false;
        assert!(Run { plans: vec![off], ..Run::default() }.judge(&["leftover-untracked"]).is_empty());
    }
}
