//! `protection-misspelled`: a text in `sync-options` that looks like a protection and is none.

use super::draft::{Draft, Findings};
use super::facts::{Misspelling, View, enumerate, misspelled};
use crate::argocd::names::SYNC_OPTIONS;
use crate::plan::{Action, Change, SyncMode, SyncPlan};

const POINTER: &str = "/metadata/annotations/argocd.argoproj.io~1sync-options";

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, change) in view.changes() {
        let deleted = change.action.deletes() || matches!((change.action, plan.sync.mode), (Action::Leftover, SyncMode::Manual));
        let found = if deleted { on_deleted(change) } else { on_edited(change) };
        if found.is_empty() {
            continue;
        }
        let draft = Draft::of_change(plan, change, message(plan, change, &found, deleted))
            .discriminator(found.iter().map(|one| one.written.as_str()).collect::<Vec<_>>().join(" "))
            .help(help(&found, deleted));
        let manifest = change.target.as_ref().or(change.base.as_ref());
        findings.push(match manifest.filter(|manifest| manifest.object.pointer(POINTER).is_some()) {
            Some(manifest) => draft.at(Some(&manifest.origin), POINTER, "not recognised"),
            None => draft.at(change.origin().or(plan.origin.as_ref()), "", "not recognised on the live object"),
        });
    }
}

/// The live object decides; without a snapshot base stands in for it.
fn on_deleted(change: &Change) -> Vec<Misspelling> {
    let wanted = if change.action == Action::Delete { "Delete" } else { "Prune" };
    let Some(object) = change.live_object() else { return Vec::new() };
    misspelled(object).into_iter().filter(|one| one.meant.starts_with(wanted)).collect()
}

/// What the change under review writes.
fn on_edited(change: &Change) -> Vec<Misspelling> {
    let Some(target) = &change.target else { return Vec::new() };
    if change.base.as_ref().is_some_and(|base| base.object == target.object) {
        return Vec::new();
    }
    misspelled(&target.object)
}

fn message(plan: &SyncPlan, change: &Change, found: &[Misspelling], deleted: bool) -> String {
    let written: Vec<String> = found.iter().map(|one| format!("`{}` (exactly `{}` is needed)", one.written, one.meant)).collect();
    let verb = if found.len() == 1 { "is" } else { "are" };
    let end = match (deleted, change.action, plan.sync.mode) {
        (true, Action::Delete, _) => "it will be deleted with its Application".to_owned(),
        (true, Action::Leftover, _) => format!("a manual sync of `{}` with prune deletes it", plan.application.id.name),
        (true, ..) => format!("it will be deleted by the sync of `{}`", plan.application.id.name),
        (false, ..) => "the object is not protected, whatever the annotation seems to say".to_owned(),
    };
    format!("{} on {} {verb} not recognised: {end}", enumerate(&written, 3), change.key.named())
}

fn help(found: &[Misspelling], deleted: bool) -> String {
    let mut meant: Vec<&str> = found.iter().map(|one| one.meant).collect();
    meant.dedup();
    let value = meant.join(",");
    match deleted {
        true => format!(
            "Write `{SYNC_OPTIONS}: {value}` on the live object, by a change of its own that is synced first, and remove the manifest afterwards."
        ),
        false => format!("Write `{SYNC_OPTIONS}: {value}`; items are separated by commas, and case and spelling count."),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::{Finding, Severity};
    use crate::plan::Reason;
    use serde_json::{Value, json};

    fn claim(options: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "one", "namespace": "shop", "annotations": {SYNC_OPTIONS: options}}})
    }

    fn run(change: Change) -> Vec<Finding> {
        Run { plans: vec![plan("archive", vec![change])], ..Run::default() }.judge(&["protection-misspelled"])
    }

    #[test]
    fn a_pruned_object_with_a_misspelled_protection_is_an_error() {
        for text in ["Prune=False", "prune=false", "Prune: false", "Prune = false"] {
            let found = run(removed(claim(text), Action::Prune, Reason::RemovedFromGit { automated: true }));
            assert_eq!(found[0].severity, Severity::Error);
            assert_eq!(
                found[0].message,
                format!(
                    "`{text}` (exactly `Prune=false` is needed) on PersistentVolumeClaim shop/one is not recognised: it will be deleted by the sync of `archive`"
                )
            );
            assert_eq!(found[0].places[0].pointer, POINTER);
        }
    }

    #[test]
    fn a_misspelling_that_the_change_writes_is_found_and_an_old_one_is_left_alone() {
        assert_eq!(run(added(claim("Prune=False"))).len(), 1);
        let untouched = changed(claim("Prune=False"), claim("Prune=False"), claim("Prune=False"), Action::None, Reason::InSync);
        assert!(run(untouched).is_empty());
    }

    #[test]
    fn kept_objects_and_right_spellings_are_fine() {
        assert!(
            run(removed(claim("Validate=false, Prune=false"), Action::Retain, Reason::PruneFalse { on_application: false })).is_empty()
        );
        assert!(run(removed(claim("Prune=true"), Action::Prune, Reason::RemovedFromGit { automated: true })).is_empty());
        assert!(run(removed(claim("Delete=False"), Action::Prune, Reason::RemovedFromGit { automated: true })).is_empty());
    }
}
