//! `project-removed-in-use`: a project goes that Applications still need, be it to be synced or to finish their own deletion.

use super::draft::{Draft, Findings};
use super::facts::{View, enumerate, plural};
use crate::argocd::names::{GROUP, RESOURCES_FINALIZER};
use crate::manifest::ResourceKey;
use crate::plan::{Action, Change, SyncMode, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let removed = view.changes().filter(|(_, change)| change.action.deletes() && change.key.is(GROUP, "AppProject") && !waits(change));
    for (parent, project) in removed {
        let hanging: Vec<&SyncPlan> = view.facts.plans.iter().filter(|plan| needs(view, plan, parent, project)).collect();
        let staying: Vec<&str> = view
            .facts
            .inventory
            .entries
            .values()
            .filter(|entry| entry.effective.as_ref().is_some_and(|application| application.spec.project == *project.key.name))
            .filter(|entry| view.plan_of(&entry.id).is_none_or(|plan| plan.sync.mode != SyncMode::Deleted))
            .map(|entry| &*entry.id.name)
            .collect();
        let mut parts = Vec::new();
        if !hanging.is_empty() {
            let (noun, verb) = if hanging.len() == 1 { ("Application", "needs") } else { ("Applications", "need") };
            let names: Vec<&str> = hanging.iter().map(|plan| &*plan.application.id.name).collect();
            let deleted = |plan: &&SyncPlan| plan.changes.iter().filter(|change| change.action == Action::Delete).count();
            let objects = plural(hanging.iter().map(deleted).sum(), "live object");
            parts.push(format!("{noun} {} {verb} it to finish the deletion of {objects} and can hang", enumerate(&names, 5)));
        }
        if !staying.is_empty() {
            let (noun, verb) =
                if staying.len() == 1 { ("Application", "stays in it and is") } else { ("Applications", "stay in it and are") };
            parts.push(format!("{noun} {} {verb} not synced any more", enumerate(&staying, 5)));
        }
        if parts.is_empty() {
            continue;
        }
        let message = format!("AppProject {} is deleted too early: {}", project.key.name, parts.join("; "));
        findings.push(Draft::of_change(parent, project, message).at(project.base.as_ref().map(|base| &base.origin), "", "leaves Git"));
    }
}

/// Whether the project's own finalizer keeps it until its Applications are gone.
///
/// Source: Argo CD `controller/appcontroller.go:finalizeProjectDeletion`.
fn waits(project: &Change) -> bool {
    let finalizers = project.live_object().and_then(|live| live.pointer("/metadata/finalizers")).and_then(serde_json::Value::as_array);
    finalizers.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(RESOURCES_FINALIZER)))
}

/// Whether the Application's project may go while the Application still needs it to finish its own deletion.
pub(super) fn hangs(view: &View<'_>, plan: &SyncPlan) -> bool {
    let key = ResourceKey::new(GROUP, "AppProject", &view.facts.live.settings().namespace, &plan.application.spec.project);
    let projects = view.changes_of(&key).iter();
    projects.filter(|(_, project)| project.action.deletes() && !waits(project)).any(|(parent, project)| needs(view, plan, parent, project))
}

/// Whether an Application of the project has a finalizer to work off, and is not surely gone before the project.
///
/// Source: Argo CD `controller/appcontroller.go:finalizeApplicationDeletion`, which reads the project first.
fn needs(view: &View<'_>, plan: &SyncPlan, parent: &SyncPlan, project: &Change) -> bool {
    let deleted = plan.sync.mode == SyncMode::Deleted
        && plan.application.spec.project == *project.key.name
        && plan.application.cascades()
        && plan.changes.iter().any(|change| change.action == Action::Delete);
    deleted
        && view
            .change_of_application(&plan.application.id)
            .is_none_or(|(by, application)| by.application.id != parent.application.id || application.wave >= project.wave)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::{Finding, Severity};
    use crate::plan::Reason;
    use serde_json::{Value, json};

    fn project(finalizers: Value) -> Value {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": {"name": "retail", "namespace": "argocd", "finalizers": finalizers}})
    }

    fn shop() -> Value {
        let mut object = application_object("shop");
        object["spec"]["project"] = json!("retail");
        object["metadata"]["finalizers"] = json!([RESOURCES_FINALIZER]);
        object
    }

    fn pruned(object: Value, wave: i64) -> Change {
        Change { wave, ..removed(object, Action::Prune, Reason::RemovedFromGit { automated: true }) }
    }

    fn run(finalizers: Value, project_wave: i64, application: Option<i64>) -> Vec<Finding> {
        let mut changes = vec![pruned(project(finalizers), project_wave)];
        let mut plans = Vec::new();
        let gone = application.map(|wave| {
            changes.push(pruned(shop(), wave));
            let front = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "front", "namespace": "shop"}});
            let mut plan = plan("shop", vec![removed(front, Action::Delete, Reason::Cascade)]);
            edit_application(&mut plan, |object| *object = shop());
            plan.sync.mode = SyncMode::Deleted;
            plans.push(plan);
        });
        plans.push(plan("root", changes));
        let head = if gone.is_some() { None } else { Some(shop()) };
        let inventory = inventory([(Some(shop()), head, Some(shop()), Some("root"))]);
        Run { plans, inventory, ..Run::default() }.judge(&["project-removed-in-use"])
    }

    #[test]
    fn a_project_that_goes_with_its_application_is_an_error() {
        let found = run(json!([]), 0, Some(0));
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!(
            found[0].message,
            "AppProject retail is deleted too early: Application shop needs it to finish the deletion of 1 live object and can hang"
        );
    }

    #[test]
    fn a_project_of_an_application_that_stays_is_an_error() {
        let found = run(json!([]), 0, None);
        assert_eq!(found[0].message, "AppProject retail is deleted too early: Application shop stays in it and is not synced any more");
    }

    #[test]
    fn a_project_that_waits_or_goes_afterwards_is_fine() {
        assert!(run(json!([RESOURCES_FINALIZER]), 0, Some(0)).is_empty());
        assert!(run(json!([]), 1, Some(0)).is_empty());
    }
}
