//! `duplicate-application-name`: two definitions of one Application name; the last one wins, and the first one's objects go.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, application_key};
use crate::argocd::AppId;
use crate::argocd::names::GROUP;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans {
        let repeated = plan.conditions.iter().filter(|condition| condition.kind == "RepeatedResourceWarning");
        for condition in repeated {
            let Some(key) = condition.key.as_ref().filter(|key| key.is(GROUP, "Application")) else { continue };
            let id = AppId::new(&key.namespace, &key.name);
            let winner = view.plan_of(&id).map(|plan| &plan.application).or_else(|| view.entry(&id)?.effective.as_ref());
            let path = winner.and_then(|winner| winner.spec.sources().first()).map(|source| source.path.clone()).unwrap_or_default();
            let points = if path.is_empty() { String::new() } else { format!(", which points it at {path}") };
            let message = format!(
                "Application {} is defined more than once among the objects of {}; Argo CD keeps the last definition{points}, and objects of the others are deleted",
                key.name,
                app_name(plan)
            );
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

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use crate::manifest::ResourceKey;

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
            let mut root = plan("root", Vec::new());
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
}
