//! `definition-too-late`: objects leave Git, and only an edit of their Application in the same change keeps them.

use super::draft::{Draft, Findings};
use super::facts::{View, named_with_data_first, plural};
use super::hook_deletes_data;
use crate::argocd::AppId;
use crate::argocd::names::GROUP;
use crate::manifest::ResourceKey;
use crate::plan::{Change, SyncPlan};

/// How many objects one message spells out.
const NAMED: usize = 5;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans.iter().filter(|plan| plan.affected) {
        let mut others: Vec<&ResourceKey> = Vec::new();
        for change in &plan.too_early {
            let Some((grade, loss)) = loss(view, plan, change) else {
                others.push(&change.key);
                continue;
            };
            let message = format!("{} may be deleted: {}; {loss}", change.key.named(), order(view, plan, "prunes it"));
            let draft = Draft::of_change(plan, change, message).introduced(true).grade(grade);
            let removed = change.base.as_ref().map(|base| &base.origin);
            findings.push(draft.at(plan.origin.as_ref(), "/spec", "may come too late").at(removed, "", "leaves Git"));
        }
        if !others.is_empty() {
            let objects = format!("{} ({})", plural(others.len(), "object"), named_with_data_first(&others, NAMED));
            let message = format!("{objects} may be deleted: {}", order(view, plan, "prunes what left Git"));
            let draft = Draft::of_application(&plan.application, message).grade(Some("objects"));
            findings.push(draft.at(plan.origin.as_ref(), "/spec", "may come too late"));
        }
    }
}

/// What has to happen first, and what happens otherwise.
fn order(view: &View<'_>, plan: &SyncPlan, otherwise: &str) -> String {
    let name = &plan.application.id.name;
    let entry = view.entry(&plan.application.id);
    let who = match entry.and_then(|entry| entry.parent()) {
        Some(parent) if *parent == plan.application.id => {
            return format!("`{name}` applies its own edited definition, and the sync that does so {otherwise} by the one that is live");
        }
        Some(parent) => format!("`{}`", parent.name),
        None => "its ApplicationSet".to_owned(),
    };
    format!("{who} has to apply the edited definition of `{name}` first, and a sync of `{name}` that starts before that {otherwise}")
}

/// What is lost with an object that has more behind it than itself, and how bad that is.
fn loss(view: &View<'_>, plan: &SyncPlan, change: &Change) -> Option<(Option<&'static str>, String)> {
    let key = &change.key;
    if key.is(GROUP, "Application") {
        let (application, _) = view.entry(&AppId::new(&key.namespace, &key.name))?.live.as_ref()?;
        return application.cascades().then(|| (None, "its finalizer deletes every object that it tracks".to_owned()));
    }
    hook_deletes_data::loss(view, plan, change)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::{Finding, Severity};
    use crate::plan::{Action, Reason};
    use serde_json::{Value, json};

    fn object(kind: &str, name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}})
    }

    fn run(early: Vec<Value>) -> Vec<Finding> {
        let too_early =
            early.into_iter().map(|object| removed(object, Action::Prune, Reason::RemovedFromGit { automated: true })).collect();
        let plan = SyncPlan { too_early, ..plan("orders", Vec::new()) };
        let inventory = inventory([(None, Some(application_object("orders")), None, Some("root"))]);
        Run { plans: vec![plan], inventory, ..Run::default() }.judge(&["definition-too-late"])
    }

    #[test]
    fn a_claim_that_only_the_edited_definition_keeps_is_told() {
        let found = run(vec![object("PersistentVolumeClaim", "data")]);
        assert_eq!(found[0].severity, Severity::Error);
        let expected = "PersistentVolumeClaim shop/data may be deleted: `root` has to apply the edited definition of `orders` first, and a sync of \
                        `orders` that starts before that prunes it; ";
        assert!(found[0].message.starts_with(expected), "{}", found[0].message);
    }

    #[test]
    fn objects_without_data_are_told_together() {
        let found = run(vec![object("ConfigMap", "a"), object("Service", "b")]);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        assert!(found[0].message.starts_with("2 objects (ConfigMap shop/a and Service shop/b) may be deleted: "), "{}", found[0].message);
    }

    #[test]
    fn an_application_whose_edit_keeps_nothing_is_fine() {
        assert!(run(Vec::new()).is_empty());
    }
}
