//! `stateful-identity-changed`: a StatefulSet gets another name or namespace, and its successor starts on empty claims.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, are_related_names, claims_going, claims_of, enumerate, server_of, takes_unknown_claims, templates};
use crate::manifest::ResourceKey;
use crate::plan::{Action, Change, SyncPlan};
use crate::snapshot::LiveObject;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, old) in view.changes().filter(|(_, change)| change.action == Action::Prune && change.key.is("apps", "StatefulSet")) {
        let Some(new) = plan.changes.iter().find(|new| succeeds(old, new)) else { continue };
        if has_claims(view, plan, new) {
            continue;
        }
        findings.push(
            Draft::of_change(plan, old, message(view, plan, old, new))
                .at(new.target.as_ref().map(|target| &target.origin), "/metadata/name", "starts on empty claims")
                .at(old.base.as_ref().map(|base| &base.origin), "/metadata/name", "leaves Git"),
        );
    }
}

/// Whether a new StatefulSet takes the place of an old one: the same claim templates, and the same service, images, or a related name.
fn succeeds(old: &Change, new: &Change) -> bool {
    if new.action != Action::Create || !new.key.is("apps", "StatefulSet") {
        return false;
    }
    let (Some(before), Some(after)) = (old.live_object(), new.target_object()) else { return false };
    let own: BTreeSet<&str> = templates(before).collect();
    let same_claims = !own.is_empty() && own == templates(after).collect();
    let same = |pointer: &str| before.pointer(pointer).is_some() && before.pointer(pointer) == after.pointer(pointer);
    let related = are_related_names(&old.key.name, &new.key.name);
    same_claims && (related || same("/spec/serviceName") || images(before) == images(after))
}

/// Whether somebody has prepared the first claims of the new StatefulSet: it starts on those.
fn has_claims(view: &View<'_>, plan: &SyncPlan, new: &Change) -> bool {
    let mut first = first_claims(new).peekable();
    first.peek().is_some()
        && first.all(|claim| {
            let key = ResourceKey::new("", "PersistentVolumeClaim", &new.key.namespace, &claim);
            view.facts.live.get(server_of(plan, new), &key).is_some()
        })
}

fn first_claims(new: &Change) -> impl Iterator<Item = String> {
    new.target_object().into_iter().flat_map(templates).map(|template| format!("{template}-{}-0", new.key.name))
}

fn images(object: &Value) -> BTreeSet<&str> {
    let containers = object.pointer("/spec/template/spec/containers").and_then(Value::as_array).into_iter().flatten();
    containers.filter_map(|container| container.get("image")?.as_str()).collect()
}

fn message(view: &View<'_>, plan: &SyncPlan, old: &Change, new: &Change) -> String {
    let first: Vec<String> = first_claims(new).collect();
    let names = |claims: Vec<Arc<LiveObject>>| claims.iter().map(|claim| claim.key.name.to_string()).collect::<Vec<_>>();
    let going = names(claims_going(view, old));
    let all = names(old.live.as_ref().map(|live| claims_of(view, live)).unwrap_or_default());
    let data = if !going.is_empty() {
        format!("{} are deleted with the old set", enumerate(&going, 4))
    } else if takes_unknown_claims(plan, old) {
        "the old claims are deleted with the old set".to_owned()
    } else {
        format!("the data stays in {}", if all.is_empty() { "the old claims".to_owned() } else { enumerate(&all, 4) })
    };
    format!(
        "{} becomes {}: the sync of `{}` deletes the old set, and the new one starts on new, empty claims ({}); {data}",
        old.key.named(),
        new.key.place(),
        plan.application.id.name,
        enumerate(&first, 3)
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::Reason;
    use serde_json::json;

    fn set(name: &str, template: &str, service: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name, "namespace": "shop"},
            "spec": {"serviceName": service, "volumeClaimTemplates": [{"metadata": {"name": template}}]}})
    }

    fn claim(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "shop"}})
    }

    fn run(new: Value) -> Vec<Finding> {
        run_with(new, claim("data-ledger-0"))
    }

    fn run_with(new: Value, claim: Value) -> Vec<Finding> {
        let old = set("ledger", "data", "ledger");
        let changes = vec![removed(old.clone(), Action::Prune, Reason::RemovedFromGit { automated: true }), added(new)];
        Run { plans: vec![plan("ledger", changes)], live: snapshot(&[claim, old]), ..Run::default() }.judge(&["stateful-identity-changed"])
    }

    #[test]
    fn a_renamed_set_starts_on_empty_claims_and_the_old_ones_stay() {
        let found = run(set("ledger-db", "data", "ledger"));
        assert_eq!(
            found[0].message,
            "StatefulSet shop/ledger becomes shop/ledger-db: the sync of `ledger` deletes the old set, and the new one starts on new, empty claims \
             (data-ledger-db-0); the data stays in data-ledger-0"
        );
    }

    #[test]
    fn a_set_whose_first_claim_is_there_already_starts_on_that() {
        assert!(run_with(set("ledger-db", "data", "ledger"), claim("data-ledger-db-0")).is_empty());
    }

    #[test]
    fn another_set_with_other_claims_or_without_relation_is_no_successor() {
        assert!(run(set("ledger-db", "cache", "ledger")).is_empty());
        let mut other = set("search", "data", "search");
        other["spec"]["template"] = json!({"spec": {"containers": [{"name": "main", "image": "search:1"}]}});
        assert!(run(other).is_empty());
    }
}
