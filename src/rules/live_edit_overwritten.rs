//! `live-edit-overwritten`: the sync that this change starts also undoes what somebody changed in the cluster.

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, enumerate, is_person, writer_of};
use crate::argocd::names::GROUP;
use crate::argocd::options::object_has;
use crate::plan::{Action, Change, FieldChange, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans.iter() {
        for change in plan.changes.iter().filter(|change| change.key.group.as_ref() != GROUP) {
            let rewrites = matches!(change.action, Action::Replace | Action::Recreate);
            if !rewrites && change.action != Action::Update {
                continue;
            }
            // Self-heal undoes at once what the comparison sees.
            let edited = |field: &&FieldChange| !plan.sync.self_heal && is_edit(change, field);
            let edits: Vec<&FieldChange> = change.diff.iter().filter(edited).collect();
            let added: Vec<&FieldChange> = change.diff.iter().filter(|field| is_addition(plan, change, field)).collect();
            if let Some(first) = added.first() {
                findings.push(Draft::of_change(plan, change, erased(change, &added)).discriminator(joined(&added)).at(
                    change.target.as_ref().map(|target| &target.origin),
                    first.path.rsplit_once('/').map_or("", |(parent, _)| parent),
                    "the live field is not in Git",
                ));
            }
            let Some(first) = edits.first() else { continue };
            let message = message(plan, change, &edits);
            let others = plan.changes.iter().any(|other| other.introduced && other.action != Action::None);
            findings.push(Draft::of_change(plan, change, message).introduced(others).discriminator(joined(&edits)).at(
                change.target.as_ref().map(|target| &target.origin),
                &first.path,
                "this value comes back",
            ));
        }
    }
}

/// A field that a person added live and that Git never had: only storing the whole target takes it away, and no comparison shows it. That
/// `replicas` drop is another rule's.
fn is_addition(plan: &SyncPlan, change: &Change, field: &FieldChange) -> bool {
    let absent = |object: Option<&Value>| object.is_none_or(|object| object.pointer(&field.path).is_none());
    let scaled_up = field.path == "/spec/replicas" && field.live.as_ref().and_then(Value::as_i64).is_some_and(|live| live > 1);
    matches!(change.action, Action::Replace | Action::Recreate | Action::Update)
        && stores_whole_target(plan, change)
        && absent(change.target_object())
        && absent(change.base.as_ref().map(|base| &*base.object))
        && !scaled_up
        && field.owner.as_deref().is_some_and(is_person)
}

fn stores_whole_target(plan: &SyncPlan, change: &Change) -> bool {
    let on = |object: Option<&Value>| object.is_some_and(|object| object_has(object, "Replace=true"));
    matches!(change.action, Action::Replace | Action::Recreate)
        || plan.application.spec.sync_policy.sync_options.has("Replace=true")
        || on(change.target_object())
        || on(change.live_object())
}

fn joined(fields: &[&FieldChange]) -> String {
    fields.iter().map(|field| field.path.as_str()).collect::<Vec<_>>().join(" ")
}

/// A field that a person wrote live, that Git sets, and that the change under review does not touch.
fn is_edit(change: &Change, field: &FieldChange) -> bool {
    let Some(target) = &field.target else { return false };
    let base = change.base.as_ref().and_then(|base| base.object.pointer(&field.path));
    let untouched =
        base == Some(target) || (base.is_some() && base == change.target_object().and_then(|object| object.pointer(&field.path)));
    untouched && field.owner.as_deref().is_some_and(is_person)
}

fn erased(change: &Change, added: &[&FieldChange]) -> String {
    let how = match change.action {
        Action::Recreate => "deletes it and creates it again as Git has it",
        _ => "stores it as Git has it (Replace=true)",
    };
    let verb = if added.len() == 1 { "is" } else { "are" };
    format!(
        "The sync erases what was added to {} in the cluster: it {how}, and {} {verb} not in Git; the comparison does not show it",
        change.key.named(),
        enumerate(&named(change, added), 4)
    )
}

fn message(plan: &SyncPlan, change: &Change, edits: &[&FieldChange]) -> String {
    let fields = named(change, edits);
    let verb = if fields.len() == 1 { "returns" } else { "return" };
    format!(
        "The sync of {} also undoes a change that was made in the cluster: {} of {} {verb} to Git's value",
        app_name(plan),
        enumerate(&fields, 4),
        change.key.named()
    )
}

/// The fields with who wrote them.
fn named(change: &Change, fields: &[&FieldChange]) -> Vec<String> {
    fields
        .iter()
        .map(|field| {
            let writer = change.live_object().and_then(|live| writer_of(live, &field.path));
            let by = writer.map_or_else(|| field.owner.clone().unwrap_or_default(), |writer| writer.named());
            format!("{} (written by {by})", field.path.trim_start_matches('/').replace('/', ".").replace("~1", "/"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::Reason;
    use serde_json::json;

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

    fn replaced(base: Value, owner: &str, action: Action) -> Vec<Finding> {
        let mut live = map("db");
        live["data"]["byhand"] = "x".into();
        let field =
            FieldChange { path: "/data/byhand".into(), live: Some("x".into()), target: None, owner: Some(owner.into()), owner_time: None };
        let mut change = changed(base, map("db"), live, action, Reason::ReplaceErases { fields: 1 });
        change.diff = vec![field];
        let mut plan = plan("pool", vec![change]);
        plan.sync.self_heal = true;
        Run { plans: vec![plan], ..Run::default() }.judge(&["live-edit-overwritten"])
    }

    #[test]
    fn a_field_that_was_added_live_is_erased_by_a_replace_even_under_self_heal() {
        let found = replaced(map("db"), "kubectl-edit", Action::Replace);
        assert_eq!(
            found[0].message,
            "The sync erases what was added to ConfigMap shop/pool in the cluster: it stores it as Git has it (Replace=true), and data.byhand (written by \
             kubectl-edit) is not in Git; the comparison does not show it"
        );
        assert!(replaced(map("db"), "kubectl-edit", Action::Recreate)[0].message.contains("deletes it and creates it again"));
    }

    #[test]
    fn an_apply_leaves_added_fields_and_fields_of_controllers_and_of_git_are_fine() {
        assert!(replaced(map("db"), "kubectl-edit", Action::Update).is_empty());
        assert!(replaced(map("db"), "some-controller", Action::Replace).is_empty());
        let mut base = map("db");
        base["data"]["byhand"] = "x".into();
        assert!(replaced(base, "kubectl-edit", Action::Replace).is_empty());
    }
}
