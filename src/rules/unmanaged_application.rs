//! `unmanaged-application`: nobody applies the Application's definition, so editing Git does not change it.

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, application_key};
use crate::argocd::AppId;
use crate::inventory::Entry;
use crate::snapshot::LiveObject;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (id, entry) in &view.facts.inventory.entries {
        let Some((_, live)) = &entry.live else { continue };
        if entry.parent().is_some()
            || entry.generated().is_some()
            || entry.base.as_ref().is_some_and(|base| base.parent.is_some())
            || is_applied_by_another(view, live, id)
        {
            continue;
        }
        let affected = view.plan_of(id).is_some_and(|plan| plan.affected);
        let Some(message) = message(entry, affected) else { continue };
        let draft = Draft::new(message).application(id.to_string()).resource(application_key(id));
        let draft = draft.at(entry.definition().map(|definition| &definition.manifest.origin), "", "applied by nobody");
        findings.push(match entry.definition() {
            Some(definition) => draft.help(format!(
                "Apply the file by hand after the merge (`kubectl apply -f {}`), or let a parent Application render it.",
                definition.manifest.origin.path
            )),
            None => draft,
        });
    }
}

fn message(entry: &Entry, affected: bool) -> Option<String> {
    let name = &entry.id.name;
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
    fn a_bootstrap_file_that_is_not_edited_a_parent_and_another_owner_are_fine() {
        assert!(run(Some(object()), Some(object()), object(), None, true).is_empty());
        assert!(run(Some(object()), Some(edited()), object(), Some("root"), true).is_empty());
        let mut tracked = object();
        tracked["metadata"]["annotations"] = json!({"argocd.argoproj.io/tracking-id": "other:argoproj.io/Application:argocd/handmade"});
        assert!(run(None, None, tracked, None, true).is_empty());
    }
}
