//! `application-renamed`: an Application goes and another one takes its objects over, while the first one's cascade deletes them.

use std::collections::BTreeMap;

use super::cascade_delete_application::removal;
use super::draft::Findings;
use super::facts::{View, application_key, deleted_by_set, named_with_data_first, plural, told_apart};
use crate::argocd::{AppId, Application};
use crate::inventory::Entry;
use crate::manifest::ResourceKey;
use crate::plan::{Action, SyncMode, SyncPlan};

/// What to do where only the namespace of the Application is another one.
const MOVE_HELP: &str =
    "Keep the namespace, or move in two steps: take the finalizer off the old Application and let that be synced, then move it.";

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let created = created(view);
    for old in view.facts.plans.iter().filter(|plan| plan.sync.mode == SyncMode::Deleted && deleted_by_set(view, plan).is_none()) {
        let Some((new, shared)) = successor(view, old, &created) else { continue };
        let deleted: Vec<&ResourceKey> = shared.iter().filter(|(_, action)| *action == Action::Delete).map(|(key, _)| *key).collect();
        let (name, new_name) = told_apart(&old.application.id, &new.application.id);
        let moves = old.application.id.name == new.application.id.name;
        let becomes = if moves { "moves to" } else { "is renamed to" };
        let parent = match view.change_of_application(&old.application.id) {
            Some((parent, _)) => parent.application.id.name.to_string(),
            None => "Argo CD".to_owned(),
        };
        let (grade, message) = if deleted.is_empty() {
            let adopted = plural(shared.len(), "live object");
            let why = "no finalizer of the old one deletes them";
            (Some("adopted"), format!("Application {name} {becomes} {new_name}, which takes over {adopted}; {why}"))
        } else {
            let message = format!(
                "Application {name} {becomes} {new_name}: {parent} creates the new one and deletes the old one, whose finalizer deletes the {} \
                 that both have, while the new one takes them over: {}",
                plural(deleted.len(), "live object"),
                named_with_data_first(&deleted, 8)
            );
            (None, message)
        };
        let origin = view.entry(&new.application.id).and_then(|entry| entry.definition()).map(|definition| &definition.manifest.origin);
        let draft = removal(view, old, message).grade(grade).discriminator(application_key(&new.application.id).to_string());
        findings.push(if moves {
            draft.at(origin, "/metadata/namespace", "the new namespace").help(MOVE_HELP)
        } else {
            draft.at(origin, "/metadata/name", "the new name")
        });
    }
}

/// What makes two Applications the same one under another name: who renders them, what they render, and where to.
type Identity = (Option<AppId>, Vec<(String, String, String)>, String);

fn identity(parent: Option<&AppId>, application: &Application, server: &str) -> Identity {
    let sources = application.spec.sources().iter().map(|source| (source.repo_url.clone(), source.path.clone(), source.chart.clone()));
    (parent.cloned(), sources.collect(), server.to_owned())
}

/// The Applications that only head has, by what they are.
fn created<'a>(view: &View<'a>) -> BTreeMap<Identity, Vec<&'a SyncPlan>> {
    let mut created: BTreeMap<Identity, Vec<&SyncPlan>> = BTreeMap::new();
    for plan in view.facts.plans {
        let Some(Entry { base: None, head: Some(head), .. }) = view.entry(&plan.application.id) else { continue };
        created.entry(identity(head.parent.as_ref(), &plan.application, &plan.server)).or_default().push(plan);
    }
    created
}

/// A new Application, and the objects that it has in common with an old one, with what happens to them there.
type Successor<'a> = (&'a SyncPlan, Vec<(&'a ResourceKey, Action)>);

/// The new Application that an old one becomes, with the objects that both have: the one that shares most.
fn successor<'a>(view: &View<'a>, old: &'a SyncPlan, created: &BTreeMap<Identity, Vec<&'a SyncPlan>>) -> Option<Successor<'a>> {
    let base = view.entry(&old.application.id)?.base.as_ref()?;
    let candidates = created.get(&identity(base.parent.as_ref(), &base.application, &old.server))?;
    let mut shared: BTreeMap<&AppId, Successor<'a>> = BTreeMap::new();
    for change in &old.changes {
        for (plan, other) in view.changes_of(&change.key) {
            if other.target.is_some() && candidates.iter().any(|candidate| candidate.application.id == plan.application.id) {
                shared.entry(&plan.application.id).or_insert_with(|| (plan, Vec::new())).1.push((&change.key, change.action));
            }
        }
    }
    shared.into_values().max_by_key(|(_, keys)| keys.len())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Severity;
    use crate::plan::Reason;
    use serde_json::{Value, json};

    fn claim() -> Value {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"}})
    }

    fn application_at(name: &str, path: &str) -> Value {
        let mut object = application_object(name);
        object["spec"]["source"]["path"] = json!(path);
        object
    }

    fn run(action: Action, reason: Reason, new_path: &str, new_parent: &'static str) -> Run {
        let mut old = plan("payments", vec![removed(claim(), action, reason)]);
        old.sync.mode = SyncMode::Deleted;
        edit_application(&mut old, |object| *object = application_at("payments", "apps/payments"));
        let adopt = changed(claim(), claim(), claim(), Action::Adopt, Reason::TrackedBy { application: "payments".into() });
        let mut new = plan("payments-api", vec![adopt]);
        edit_application(&mut new, |object| *object = application_at("payments-api", new_path));
        let before = application_at("payments", "apps/payments");
        let inventory = inventory([
            (Some(before.clone()), None, Some(before), Some("root")),
            (None, Some(application_at("payments-api", new_path)), None, Some(new_parent)),
        ]);
        Run { plans: vec![old, new], live: snapshot(&[claim()]), inventory, ..Run::default() }
    }

    #[test]
    fn a_rename_is_one_finding_and_not_a_cascade_and_a_creation() {
        let run = run(Action::Delete, Reason::Cascade, "apps/payments", "root");
        assert_eq!(run.loud(), [("application-renamed".to_owned(), Severity::Error)]);
        let found = run.judge(&["application-renamed"]);
        assert!(found[0].message.contains("is renamed to payments-api") && found[0].message.ends_with("PersistentVolumeClaim shop/data"));
    }

    #[test]
    fn an_application_of_the_same_name_in_another_namespace_moves() {
        let at_home = |namespace: &str| {
            let mut object = application_at("payments", "apps/payments");
            object["metadata"]["namespace"] = json!(namespace);
            object
        };
        let mut old = plan("payments", vec![removed(claim(), Action::Delete, Reason::Cascade)]);
        old.sync.mode = SyncMode::Deleted;
        edit_application(&mut old, |object| *object = at_home("team-a"));
        let tracked = Reason::TrackedBy { application: "team-a_payments".into() };
        let mut new = plan("payments", vec![changed(claim(), claim(), claim(), Action::Adopt, tracked)]);
        edit_application(&mut new, |object| *object = at_home("argocd"));
        let before = at_home("team-a");
        let inventory =
            inventory([(Some(before.clone()), None, Some(before), Some("root")), (None, Some(at_home("argocd")), None, Some("root"))]);
        let run = Run { plans: vec![old, new], live: snapshot(&[claim()]), inventory, ..Run::default() };
        let found = run.judge(&["application-renamed"]);
        assert!(found[0].message.starts_with("Application team-a/payments moves to argocd/payments: "), "{}", found[0].message);
        assert!(found[0].help.starts_with("Keep the namespace"), "{}", found[0].help);
        assert!(found[0].places.iter().any(|place| place.pointer == "/metadata/namespace"));
    }

    #[test]
    fn without_a_finalizer_it_is_a_remark_and_nothing_is_orphaned() {
        let run = run(Action::Orphan, Reason::NoFinalizer, "apps/payments", "root");
        assert_eq!(run.judge(&["application-renamed"])[0].severity, Severity::Info);
        assert!(run.loud().is_empty(), "{:?}", run.loud());
    }

    #[test]
    fn another_source_or_another_parent_is_no_rename() {
        assert!(run(Action::Delete, Reason::Cascade, "apps/other", "root").judge(&["application-renamed"]).is_empty());
        assert!(run(Action::Delete, Reason::Cascade, "apps/payments", "second").judge(&["application-renamed"]).is_empty());
    }

    #[test]
    fn an_application_that_was_there_before_is_no_new_name() {
        let mut run = run(Action::Delete, Reason::Cascade, "apps/payments", "root");
        let same = application_at("payments-api", "apps/payments");
        let before = application_at("payments", "apps/payments");
        run.inventory =
            inventory([(Some(before.clone()), None, Some(before), Some("root")), (Some(same.clone()), Some(same), None, Some("root"))]);
        assert!(run.judge(&["application-renamed"]).is_empty());
    }
}
