//! `live-edit-overwritten`: the sync that this change starts also undoes what somebody changed in the cluster.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, enumerate, is_person, writer_of};
use crate::argocd::names::GROUP;
use crate::plan::{Action, Change, FieldChange, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans.iter().filter(|plan| !plan.sync.self_heal) {
        for change in plan.changes.iter().filter(|change| change.action == Action::Update && change.key.group.as_ref() != GROUP) {
            let edits: Vec<&FieldChange> = change.diff.iter().filter(|field| is_edit(change, field)).collect();
            let Some(first) = edits.first() else { continue };
            let message = message(plan, change, &edits);
            let others = plan.changes.iter().any(|other| other.introduced && other.action != Action::None);
            findings.push(
                Draft::of_change(plan, change, message)
                    .introduced(others)
                    .discriminator(edits.iter().map(|field| field.path.as_str()).collect::<Vec<_>>().join(" "))
                    .at(change.target.as_ref().map(|target| &target.origin), &first.path, "this value comes back"),
            );
        }
    }
}

/// A field that a person wrote live, that Git sets, and that the change under review does not touch.
fn is_edit(change: &Change, field: &FieldChange) -> bool {
    let Some(target) = &field.target else { return false };
    let base = change.base.as_ref().and_then(|base| base.object.pointer(&field.path));
    let untouched =
        base == Some(target) || (base.is_some() && base == change.target_object().and_then(|object| object.pointer(&field.path)));
    untouched && field.owner.as_deref().is_some_and(is_person)
}

fn message(plan: &SyncPlan, change: &Change, edits: &[&FieldChange]) -> String {
    let fields: Vec<String> = edits
        .iter()
        .map(|field| {
            let writer = change.live_object().and_then(|live| writer_of(live, &field.path));
            let by = writer.map_or_else(|| field.owner.clone().unwrap_or_default(), |writer| writer.named());
            format!("{} (written by {by})", field.path.trim_start_matches('/').replace('/', ".").replace("~1", "/"))
        })
        .collect();
    let verb = if fields.len() == 1 { "returns" } else { "return" };
    format!(
        "The sync of {} also undoes a change that was made in the cluster: {} of {} {verb} to Git's value",
        app_name(plan),
        enumerate(&fields, 4),
        change.key.named()
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::Reason;
    use serde_json::{Value, json};

    fn map(host: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "pool", "namespace": "shop"}, "data": {"DB_HOST": host}})
    }

    fn run(base: &str, target: &str, owner: &str, self_heal: bool) -> Vec<Finding> {
        let field = FieldChange {
            path: "/data/DB_HOST".into(),
            live: Some("pgbouncer".into()),
            target: Some(target.into()),
            owner: Some(owner.into()),
            owner_time: None,
        };
        let mut update = changed(map(base), map(target), map("pgbouncer"), Action::Update, Reason::Differs { fields: 1 });
        (update.diff, update.introduced) = (vec![field], false);
        let other = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "shop"}});
        let mut plan = plan("pool", vec![update, added(other)]);
        plan.sync.self_heal = self_heal;
        Run { plans: vec![plan], ..Run::default() }.judge(&["live-edit-overwritten"])
    }

    #[test]
    fn an_edit_that_the_sync_undoes_is_a_warning_of_this_change() {
        let found = run("db-old", "db-old", "kubectl-edit", false);
        assert_eq!(
            found[0].message,
            "The sync of `pool` also undoes a change that was made in the cluster: data.DB_HOST (written by kubectl-edit) of ConfigMap shop/pool returns to \
             Git's value"
        );
        assert!(found[0].introduced);
    }

    #[test]
    fn fields_that_the_change_sets_other_writers_and_self_heal_are_fine() {
        assert!(run("db-old", "db-new", "kubectl-edit", false).is_empty());
        assert!(run("db-old", "db-old", "argocd-controller", false).is_empty());
        assert!(run("db-old", "db-old", "kubectl-edit", true).is_empty());
    }
}
