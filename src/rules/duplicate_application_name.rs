//! `duplicate-application-name`: two definitions of one Application name; the last one wins, and the first one's objects go.

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, application_key};
use crate::argocd::AppId;
use crate::argocd::names::GROUP;
use crate::plan::Action;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans {
        let repeated = plan.conditions.iter().filter(|condition| condition.kind == "RepeatedResourceWarning");
        for condition in repeated {
            let Some(key) = condition.key.as_ref().filter(|key| key.is(GROUP, "Application")) else { continue };
            let id = AppId::new(&key.namespace, &key.name);
            let last = plan.changes.iter().find(|change| change.key == *key);
            let outcome = match last {
                Some(change) if change.action == Action::Fail => {
                    "Argo CD keeps the last definition, the API server refuses that one, and none of them is applied".to_owned()
                }
                _ => {
                    let path = last.and_then(|change| change.target.as_ref()).map(|target| path_of(&target.object)).unwrap_or_default();
                    let points = if path.is_empty() { String::new() } else { format!(", which points it at {path}") };
                    format!("Argo CD keeps the last definition{points}, and objects of the others are deleted")
                }
            };
            let message = format!("Application {} is defined more than once among the objects of {}; {outcome}", key.name, app_name(plan));
            let draft = Draft::of_plan(plan, message).resource(key.clone()).application(id.to_string());
            let introduced = view.change_of_application(&id).is_none_or(|(_, change)| change.introduced);
            findings.push(draft.introduced(introduced).at(condition.origin.as_ref(), "/metadata/name", "this one counts"));
        }
    }
    for contested in &view.facts.inventory.contested {
        let id = &contested.application;
        let message = format!(
            "Application {} is made by {}: they overwrite each other or the later one is refused, and what one of them deletes is gone for both",
            id.name,
            contested.by.join(" and by ")
        );
        let origin = view.entry(id).and_then(|entry| entry.definition()).map(|definition| &definition.manifest.origin);
        let draft = Draft::new(message).resource(application_key(id)).application(id.to_string()).introduced(contested.introduced);
        findings.push(draft.at(origin, "/metadata/name", "makes this name").discriminator("makers"));
    }
}

/// The path of a definition's first source.
fn path_of(definition: &Value) -> &str {
    ["/spec/source/path", "/spec/sources/0/path"]
        .into_iter()
        .find_map(|pointer| definition.pointer(pointer).and_then(Value::as_str))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use crate::manifest::ResourceKey;
    use crate::plan::Action;

    #[test]
    fn an_application_that_two_make_is_an_error() {
        let contested = crate::inventory::Contested {
            application: crate::argocd::AppId::new("argocd", "core"),
            by: vec!["ApplicationSet argocd/a".to_owned(), "ApplicationSet argocd/b".to_owned()],
            introduced: true,
        };
        let inventory = crate::inventory::Inventory { contested: vec![contested], ..Default::default() };
        let found = Run { inventory, ..Run::default() }.judge(&["duplicate-application-name"]);
        assert!(found[0].message.starts_with("Application core is made by ApplicationSet argocd/a and by ApplicationSet argocd/b"));
        assert!(Run::default().judge(&["duplicate-application-name"]).is_empty());
    }

    #[test]
    fn a_repeated_application_is_an_error_and_other_repeated_objects_are_not_its_business() {
        let run = |group: &str, kind: &str| {
            let mut root = plan("root", vec![added(application_object("core"))]);
            let mut repeated = condition("RepeatedResourceWarning", "appears 2 times", kind);
            repeated.key = Some(ResourceKey::new(group, kind, "argocd", "core"));
            root.conditions = vec![repeated];
            Run { plans: vec![plan("core", Vec::new()), root], ..Run::default() }.judge(&["duplicate-application-name"])
        };
        let found = run("argoproj.io", "Application");
        assert_eq!(
            found[0].message,
            "Application core is defined more than once among the objects of `root`; Argo CD keeps the last definition, which points it at apps/core, and \
             objects of the others are deleted"
        );
        assert!(run("", "ConfigMap").is_empty());
    }

    #[test]
    fn a_last_definition_that_is_refused_or_has_no_path_points_at_nothing() {
        let message = |edit: &dyn Fn(&mut crate::plan::Change)| {
            let mut definition = application_object("core");
            definition["spec"]["source"] = serde_json::json!({"targetRevision": "v2"});
            let mut change = added(definition);
            edit(&mut change);
            let mut repeated = condition("RepeatedResourceWarning", "appears 2 times", "Application");
            repeated.key = Some(change.key.clone());
            let mut root = plan("root", vec![change]);
            root.conditions = vec![repeated];
            let found = Run { plans: vec![plan("core", Vec::new()), root], ..Run::default() }.judge(&["duplicate-application-name"]);
            found.into_iter().next().unwrap().message
        };
        assert!(message(&|_| {}).ends_with("Argo CD keeps the last definition, and objects of the others are deleted"));
        let refused = message(&|change| change.action = Action::Fail);
        assert!(refused.ends_with("Argo CD keeps the last definition, the API server refuses that one, and none of them is applied"));
    }
}
