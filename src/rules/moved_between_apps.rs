//! `moved-between-apps`: one Application loses an object and another one takes it over; whichever syncs first decides.

use super::draft::{Draft, Findings};
use super::facts::{View, holds_data, is_claim_template_owner, plural, server_of, takes_unknown_claims, told_apart};
use crate::plan::{Action, Change, SyncMode, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (old, lost) in view.changes() {
        let leaves = matches!(lost.action, Action::Prune | Action::Leftover | Action::Retain | Action::Confirm);
        if !leaves || old.sync.mode == SyncMode::Deleted {
            continue;
        }
        let Some((new, taken)) = view.changes_of(&lost.key).iter().find(|(new, taken)| takes_over(old, lost, new, taken)) else { continue };
        let (from, to) = told_apart(&old.application.id, &new.application.id);
        let named = lost.key.named();
        let moves = format!("{named} moves from `{from}` to `{to}`");
        let race = format!("{moves}, and whichever syncs first decides: if `{from}` does, the object is deleted");
        let data = lost.cascade.iter().find(|dependent| holds_data(&dependent.key)).map(|dependent| dependent.key.named());
        let (grade, message) = match lost.action {
            Action::Prune if data.is_some() => {
                let data = data.unwrap_or_default();
                let along = match lost.cascade.len() {
                    1 => format!("{data} below it goes along with its data"),
                    count => format!("the {} below it go along, {data} and its data among them", plural(count, "object")),
                };
                (None, format!("{race}, {along}, and everything is made anew"))
            }
            Action::Prune if is_claim_template_owner(&lost.key) && !takes_unknown_claims(old, lost) => {
                (None, format!("{race} and made anew; its claims stay"))
            }
            Action::Prune if holds_data(&lost.key) => (None, format!("{race} with its data and made anew")),
            Action::Prune => (Some("stateless"), format!("{race} and made anew")),
            Action::Confirm => (Some("kept"), format!("{moves}; `{from}` deletes it only if a person approves that")),
            _ => (Some("kept"), format!("{moves}; `{from}` does not delete it, so `{to}` takes it over")),
        };
        let target = taken.target.as_ref().map(|target| &target.origin);
        let draft = Draft::of_change(old, lost, message).grade(grade).at(target, "", format!("`{to}` takes it over"));
        findings.push(draft.at(lost.base.as_ref().map(|base| &base.origin), "", format!("leaves `{from}`")));
    }
}

fn takes_over(old: &SyncPlan, lost: &Change, new: &SyncPlan, taken: &Change) -> bool {
    new.application.id != old.application.id
        && taken.target.is_some()
        && taken.action != Action::Skip
        && server_of(new, taken) == server_of(old, lost)
        && new.sync.mode != SyncMode::Deleted
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Severity;
    use crate::plan::{Dependent, Reason, Tie};
    use serde_json::{Value, json};

    fn object(kind: &str) -> Value {
        let version = if kind == "StatefulSet" { "apps/v1" } else { "v1" };
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": "queue", "namespace": "shop"}})
    }

    fn run(kind: &str, action: Action, reason: Reason) -> Run {
        let adopt = changed(object(kind), object(kind), object(kind), Action::Adopt, Reason::TrackedBy { application: "alpha".into() });
        let plans = vec![plan("alpha", vec![removed(object(kind), action, reason)]), plan("beta", vec![adopt])];
        Run { plans, live: snapshot(&[object(kind)]), ..Run::default() }
    }

    fn gone() -> Reason {
        Reason::RemovedFromGit { automated: true }
    }

    #[test]
    fn a_statefulset_that_leaves_its_claims_behind_moves_without_its_data() {
        let found = run("StatefulSet", Action::Prune, Reason::RemovedFromGit { automated: true }).judge(&["moved-between-apps"]);
        assert!(found[0].message.ends_with("the object is deleted and made anew; its claims stay"), "{}", found[0].message);
        assert_eq!(found[0].severity, Severity::Error);
    }

    #[test]
    fn a_claim_that_moves_is_one_error() {
        let run = run("PersistentVolumeClaim", Action::Prune, gone());
        assert_eq!(run.loud(), [("moved-between-apps".to_owned(), Severity::Error)]);
        let message = &run.judge(&["moved-between-apps"])[0].message;
        assert!(message.starts_with("PersistentVolumeClaim shop/queue moves from `alpha` to `beta`"), "{message}");
    }

    #[test]
    fn an_object_without_data_is_a_warning_and_one_that_is_kept_a_remark() {
        assert_eq!(run("ConfigMap", Action::Prune, gone()).judge(&["moved-between-apps"])[0].severity, Severity::Warning);
        let kept = run("PersistentVolumeClaim", Action::Retain, Reason::PruneFalse { on_application: false });
        assert_eq!(kept.judge(&["moved-between-apps"])[0].severity, Severity::Info);
    }

    #[test]
    fn what_goes_along_is_counted_and_applications_of_one_name_are_told_apart() {
        let message = |below: &[&str]| {
            let mut run = run("Deployment", Action::Prune, gone());
            let cascade = &mut run.plans[0].changes[0].cascade;
            let key = |kind: &&str| crate::manifest::ResourceKey::new("", kind, "shop", "queue");
            cascade.extend(below.iter().map(|kind| Dependent::direct(key(kind), Tie::Owned, None)));
            edit_application(&mut run.plans[0], |object| *object = application_object("web"));
            edit_application(&mut run.plans[1], |object| {
                *object = application_object("web");
                object["metadata"]["namespace"] = json!("team-a");
            });
            run.judge(&["moved-between-apps"])[0].message.clone()
        };
        let one = message(&["PersistentVolumeClaim"]);
        assert!(one.starts_with("Deployment shop/queue moves from `argocd/web` to `team-a/web`, and "), "{one}");
        let end = "the object is deleted, PersistentVolumeClaim shop/queue below it goes along with its data, and everything is made anew";
        assert!(one.ends_with(end), "{one}");
        let two = message(&["Pod", "PersistentVolumeClaim"]);
        assert!(two.contains("the 2 objects below it go along, PersistentVolumeClaim shop/queue and its data among them"), "{two}");
    }

    #[test]
    fn an_object_that_nobody_takes_over_does_not_move() {
        let run = Run { plans: vec![plan("alpha", vec![removed(object("ConfigMap"), Action::Prune, gone())])], ..Run::default() };
        assert!(run.judge(&["moved-between-apps"]).is_empty());
    }
}
