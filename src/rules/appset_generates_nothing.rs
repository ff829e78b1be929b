//! `appset-generates-nothing`: an ApplicationSet generates no Application any more, which deletes all that it had.

use super::appset_drops_application::generates_nothing;
use super::cascade_delete_application::deleted_with;
use super::draft::{Draft, Findings};
use super::facts::{View, deleted_by, plural, set_key, set_origin};
use crate::plan::{Basis, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for set in view.facts.inventory.sets.values().filter(|set| generates_nothing(set) && set.policy.deletes) {
        let before = set.base.as_ref().map_or(0, |base| base.names.len());
        let gone: Vec<&SyncPlan> = deleted_by(view, set);
        let objects: usize = gone.iter().map(|plan| deleted_with(view, plan).len()).sum();
        let fate = match (gone.len(), objects) {
            (0, _) => "nothing of it is live".to_owned(),
            (1, 0) => "it is deleted".to_owned(),
            (1, _) => format!("it is deleted with {}", plural(objects, "live object")),
            (2, 0) => "both are deleted".to_owned(),
            (2, _) => format!("both are deleted with {}", plural(objects, "live object")),
            (_, 0) => "all are deleted".to_owned(),
            (_, _) => format!("all are deleted with {}", plural(objects, "live object")),
        };
        let message = format!("ApplicationSet {} generates 0 Applications at head ({before} at base): {fate}", set.id.name);
        let draft = Draft::new(message).resource(set_key(&set.id)).assumed(gone.iter().any(|plan| plan.basis == Basis::Assumed));
        findings.push(draft.at(set_origin(set), "/spec/generators", "these give nothing"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use crate::argocd::ApplicationsSync;
    use crate::finding::Severity;
    use crate::inventory::Generation;
    use crate::plan::{Action, Reason};
    use serde_json::json;

    fn run() -> Run {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "amber"}});
        let plans = vec![dropped("amber", vec![removed(map, Action::Delete, Reason::Cascade)]), dropped("cobalt", Vec::new())];
        Run { plans, inventory: generated_inventory(Some(&["amber", "cobalt"]), Some(&[])), ..Run::default() }
    }

    #[test]
    fn nothing_is_told_once_with_what_goes() {
        let run = run();
        let found = run.judge(&["appset-generates-nothing"]);
        assert_eq!(
            found[0].message,
            "ApplicationSet tenants generates 0 Applications at head (2 at base): both are deleted with 1 live object"
        );
        assert_eq!(run.loud(), [("appset-generates-nothing".to_owned(), Severity::Error)]);
    }

    #[test]
    fn an_error_a_policy_and_an_empty_base_are_not_nothing() {
        let with = |edit: fn(&mut crate::inventory::SetEntry)| {
            let mut run = Run { plans: Vec::new(), ..run() };
            run.inventory.sets.values_mut().for_each(edit);
            run.judge(&["appset-generates-nothing"]).len()
        };
        assert_eq!(with(|_| {}), 1);
        assert_eq!(with(|set| set.head.as_mut().unwrap().generation = Generation::Frozen("no".to_owned())), 0);
        assert_eq!(with(|set| set.policy = ApplicationsSync::parse("create-update").unwrap()), 0);
        assert_eq!(with(|set| set.base.as_mut().unwrap().names.clear()), 0);
    }
}
