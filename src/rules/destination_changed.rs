//! `destination-changed`: an Application moves to another namespace or cluster.

use std::sync::Arc;

use super::draft::{Draft, Findings};
use super::facts::{View, plural};
use crate::argocd::Destination;
use crate::argocd::names::{IN_CLUSTER_NAME, IN_CLUSTER_SERVER};
use crate::plan::{Action, Basis, Reason, SyncMode, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let happens = |plan: &&SyncPlan| !matches!(plan.sync.mode, SyncMode::Deleted | SyncMode::Error | SyncMode::Refused);
    for plan in view.facts.plans.iter().filter(happens) {
        let Some(entry) = view.entry(&plan.application.id) else { continue };
        let before = match (&entry.live, &entry.base) {
            (Some((live, _)), _) => live,
            (None, Some(base)) => &base.application,
            (None, None) => continue,
        };
        let (old, new) = (&before.spec.destination, &plan.application.spec.destination);
        let moves_cluster = server(view, old) != server(view, new);
        let (pointer, message) = if moves_cluster {
            ("/spec/destination", Some(to_cluster(plan, old, new)))
        } else if old.namespace != new.namespace {
            ("/spec/destination/namespace", to_namespace(plan, old, new))
        } else {
            continue;
        };
        let Some(message) = message else { continue };
        let in_git = |definition: &crate::inventory::Definition| definition.application.spec.destination.clone();
        let introduced = entry.base.as_ref().map(in_git) != entry.head.as_ref().map(in_git);
        let draft = Draft::of_application(&plan.application, message).introduced(introduced).assumed(plan.basis == Basis::Assumed);
        findings.push(draft.at(plan.origin.as_ref(), pointer, "the new destination"));
    }
}

/// The server of a destination, whether it is given by name or by URL.
fn server(view: &View<'_>, destination: &Destination) -> Arc<str> {
    match (destination.server.trim_end_matches('/'), destination.name.as_str()) {
        ("", name) => match view.facts.live.cluster_by_name(name) {
            Ok(server) => server,
            Err(_) if name == IN_CLUSTER_NAME => IN_CLUSTER_SERVER.into(),
            Err(_) => name.into(),
        },
        (server, _) => server.into(),
    }
}

fn are_made(count: usize) -> String {
    match count {
        1 => "1 object is made".to_owned(),
        count => format!("{count} objects are made"),
    }
}

fn to_cluster(plan: &SyncPlan, old: &Destination, new: &Destination) -> String {
    let label = |destination: &Destination| if destination.name.is_empty() { destination.server.clone() } else { destination.name.clone() };
    let (from, to) = (label(old), label(new));
    let created = plan.changes.iter().filter(|change| change.action == Action::Create).count();
    let left = match plan.changes.iter().filter(|change| change.reason == Reason::DestinationMoved).count() {
        0 => format!("what is live on {from} is"),
        1 => format!("the live object on {from} is"),
        count => format!("the {count} live objects on {from} are"),
    };
    let name = &plan.application.id.name;
    let made = are_made(created);
    format!("Application {name} moves from cluster {from} to {to}: {made} there, and {left} neither deleted nor managed any more")
}

/// `None` where all objects have a namespace of their own, so that nothing moves.
fn to_namespace(plan: &SyncPlan, old: &Destination, new: &Destination) -> Option<String> {
    let moved = |namespace: &str, removed: bool| {
        let all = plan.changes.iter().filter(|change| *change.key.namespace == *namespace);
        all.filter(|change| if removed { change.action.is_removal() } else { change.live.is_none() && change.target.is_some() }).count()
    };
    let (created, gone) = (moved(&new.namespace, false), moved(&old.namespace, true));
    if created + gone == 0 {
        return None;
    }
    let (name, made) = (&plan.application.id.name, are_made(created));
    let (from, to) = (&old.namespace, &new.namespace);
    let left = plural(gone, "object");
    let verb = if gone == 1 { "leaves" } else { "leave" };
    Some(format!("Application {name} moves from namespace {from} to {to}: {made} in the new one, and {left} in the old one {verb} Git"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use serde_json::{Value, json};

    fn run_with(moves: bool, before: Value, after: Value) -> Vec<crate::finding::Finding> {
        let with = |destination: &Value| {
            let mut object = application_object("cache");
            object["spec"]["destination"] = destination.clone();
            object
        };
        let map = |namespace: &Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}});
        let old = removed(map(&before["namespace"]), Action::Prune, Reason::RemovedFromGit { automated: true });
        let mut plan = plan("cache", if moves { vec![added(map(&after["namespace"])), old] } else { Vec::new() });
        edit_spec(&mut plan, |spec| spec["destination"] = after.clone());
        let inventory = inventory([(Some(with(&before)), Some(with(&after)), Some(with(&before)), Some("root"))]);
        Run { plans: vec![plan], inventory, ..Run::default() }.judge(&["destination-changed"])
    }

    fn run(before: Value, after: Value) -> Vec<crate::finding::Finding> {
        run_with(true, before, after)
    }

    #[test]
    fn a_namespace_in_which_nothing_lies_is_no_move() {
        assert!(run_with(false, json!({"server": SERVER, "namespace": "old"}), json!({"server": SERVER, "namespace": "new"})).is_empty());
    }

    #[test]
    fn another_namespace_or_cluster_is_a_warning() {
        let namespace = run(json!({"server": SERVER, "namespace": "old"}), json!({"server": SERVER, "namespace": "new"}));
        assert!(namespace[0].message.starts_with("Application cache moves from namespace old to new"), "{}", namespace[0].message);
        let cluster = run(json!({"server": SERVER, "namespace": "n"}), json!({"server": "https://other.example.test", "namespace": "n"}));
        assert!(
            cluster[0].message.contains("moves from cluster https://kubernetes.default.svc to https://other.example.test"),
            "{}",
            cluster[0].message
        );
    }

    #[test]
    fn the_same_cluster_by_name_and_by_url_is_no_move() {
        assert!(run(json!({"server": SERVER, "namespace": "n"}), json!({"name": "in-cluster", "namespace": "n"})).is_empty());
    }
}
