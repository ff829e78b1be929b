//! `unmanaged-application`: nobody applies the Application's definition, so editing Git does not change it.

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, application_key, set_key};
use crate::argocd::AppId;
use crate::inventory::{Delivery, Entry, SetEntry};
use crate::plan::{ONCE_APPLIED, SyncMode};
use crate::snapshot::LiveObject;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (id, entry) in &view.facts.inventory.entries {
        if entry.parent().is_some()
            || entry.generated().is_some()
            || entry.base.as_ref().is_some_and(|base| base.parent.is_some())
            || matches!(entry.delivery(), Some(Delivery::Unknown { .. }))
            || entry.live.as_ref().is_some_and(|(_, live)| is_applied_by_another(view, live, id))
        {
            continue;
        }
        let plan = view.plan_of(id);
        // What goes is somebody's.
        if plan.is_some_and(|plan| plan.sync.mode == SyncMode::Deleted) {
            continue;
        }
        let Some(mut message) = message(entry, plan.is_some_and(|plan| plan.affected)) else { continue };
        let differently = plan.and_then(|plan| plan.conditions.iter().find(|condition| condition.kind == ONCE_APPLIED));
        if let Some(condition) = differently {
            message = format!("{message}; {}", condition.message);
        }
        let draft = Draft::new(message).application(id.to_string()).resource(application_key(id));
        let draft = draft.at(entry.definition().map(|definition| &definition.manifest.origin), "", "applied by nobody");
        findings.push(match (&entry.base, &entry.head) {
            (_, Some(head)) => draft.help(help(&head.manifest.origin.path)),
            (Some(_), None) => draft.help(format!(
                "If it is meant to go, delete the live Application after the merge (`argocd app delete {id}`); otherwise keep its file."
            )),
            (None, None) => draft,
        });
    }
    for set in view.facts.inventory.sets.values() {
        findings.extend(edited_set(view, set));
    }
}

/// That the edit of a set's file which no Application renders changes nothing.
fn edited_set(view: &View<'_>, set: &SetEntry) -> Option<Draft> {
    let (_, live) = set.live.as_ref()?;
    let (base, head) = (set.base.as_ref()?, set.head.as_ref()?);
    let (before, after) = (base.manifest.as_ref()?, head.manifest.as_ref()?);
    let renders = base.parent.is_some() || head.parent.is_some();
    if renders || before.object == after.object || is_applied_by_another(view, live, &set.id) {
        return None;
    }
    let (path, name) = (&after.origin.path, &set.id.name);
    let message = format!(
        "Editing {path} changes nothing by itself: no Application renders it, and the live ApplicationSet {name} stays as it is, with its Applications"
    );
    let draft = Draft::new(message).resource(set_key(&set.id)).at(Some(&after.origin), "", "applied by nobody");
    Some(draft.help(help(path)))
}

fn help(path: &str) -> String {
    format!("Apply the file by hand after the merge (`kubectl apply -f {path}`), or let a parent Application render it.")
}

fn message(entry: &Entry, affected: bool) -> Option<String> {
    let name = &entry.id.name;
    if entry.live.is_none() {
        let (None, Some(head)) = (&entry.base, &entry.head) else { return None };
        let path = &head.manifest.origin.path;
        return Some(format!(
            "{path} defines Application {name}, but no Application renders it: the merge does not create it, nor anything of it"
        ));
    }
    let path = entry.definition().map(|definition| definition.manifest.origin.path.to_string()).unwrap_or_default();
    match (&entry.base, &entry.head) {
        (None, None) => affected.then(|| {
            format!("Application {name} is not defined anywhere in this repository: there is no file, no parent and no ApplicationSet, so its settings are nowhere but in the cluster")
        }),
        (Some(_), None) => Some(format!("Removing {path} deletes nothing: no Application renders it, and the live Application {name} stays")),
        (None, Some(_)) => Some(format!("{path} changes nothing by itself: no Application renders it, and the live Application {name} stays as it is")),
        (Some(_), Some(_)) => entry
            .definition_changes()
            .then(|| format!("Editing {path} changes nothing by itself: no Application renders it, and the live Application {name} stays as it is")),
    }
}

/// Whether an ApplicationSet owns the live Application, or another Application tracks it: its definition is in another repository then.
fn is_applied_by_another(view: &View<'_>, live: &LiveObject, own: &AppId) -> bool {
    let owners = live.object().pointer("/metadata/ownerReferences").and_then(Value::as_array).is_some_and(|owners| !owners.is_empty());
    let tracked = view.facts.live.is_tracked(live).is_some_and(|instance| view.application_of(instance) != *own);
    owners || tracked
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::{Finding, Severity};
    use serde_json::json;

    fn run(base: Option<Value>, head: Option<Value>, live: Value, parent: Option<&'static str>, affected: bool) -> Vec<Finding> {
        let mut plan = plan("handmade", Vec::new());
        plan.affected = affected;
        let run = Run { plans: vec![plan], inventory: inventory([(base, head, Some(live), parent)]), ..Run::default() };
        run.judge(&["unmanaged-application"])
    }

    fn object() -> Value {
        application_object("handmade")
    }

    fn edited() -> Value {
        let mut object = object();
        object["spec"]["source"]["path"] = "elsewhere".into();
        object
    }

    #[test]
    fn a_live_application_without_any_definition_is_named_once_if_the_change_reaches_it() {
        let found = run(None, None, object(), None, true);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Info));
        assert!(found[0].message.starts_with("Application handmade is not defined anywhere"), "{}", found[0].message);
        assert!(run(None, None, object(), None, false).is_empty());
    }

    #[test]
    fn editing_or_removing_a_file_that_nobody_applies_changes_nothing() {
        let found = run(Some(object()), Some(edited()), object(), None, true);
        assert!(found[0].message.starts_with("Editing apps/handmade.yaml changes nothing"), "{}", found[0].message);
        assert!(found[0].help.contains("kubectl apply -f apps/handmade.yaml"));
        assert!(run(Some(object()), None, object(), None, false)[0].message.starts_with("Removing apps/handmade.yaml deletes nothing"));
    }

    #[test]
    fn a_new_file_that_nobody_applies_creates_nothing() {
        let run = Run { inventory: inventory([(None, Some(object()), None, None)]), live: snapshot(&[]), ..Run::default() };
        let found = run.judge(&["unmanaged-application"]);
        assert_eq!(
            found[0].message,
            "apps/handmade.yaml defines Application handmade, but no Application renders it: the merge does not create it, nor anything of it"
        );
        let applied = Run { inventory: inventory([(None, Some(object()), None, Some("root"))]), live: snapshot(&[]), ..Run::default() };
        assert!(applied.judge(&["unmanaged-application"]).is_empty());
    }

    #[test]
    fn what_comes_of_an_edit_once_it_is_applied_is_said() {
        let mut plan = plan("handmade", Vec::new());
        plan.conditions =
            vec![condition(ONCE_APPLIED, "once somebody applies its file, other things happen: prune ConfigMap a", "Application")];
        let inventory = inventory([(Some(object()), Some(edited()), Some(object()), None)]);
        let found = Run { plans: vec![plan], inventory, ..Run::default() }.judge(&["unmanaged-application"]);
        assert!(found[0].message.ends_with("stays as it is; once somebody applies its file, other things happen: prune ConfigMap a"));
    }

    #[test]
    fn a_bootstrap_file_that_is_not_edited_a_parent_and_another_owner_are_fine() {
        assert!(run(Some(object()), Some(object()), object(), None, true).is_empty());
        assert!(run(Some(object()), Some(edited()), object(), Some("root"), true).is_empty());
        let mut tracked = object();
        tracked["metadata"]["annotations"] = json!({"argocd.argoproj.io/tracking-id": "other:argoproj.io/Application:argocd/handmade"});
        assert!(run(None, None, tracked, None, true).is_empty());
    }
}
