//! `appset-drops-application`: an ApplicationSet no longer generates Applications, or goes itself, and their finalizers delete their objects.

use std::collections::BTreeSet;

use super::cascade_delete_application::deleted_with;
use super::draft::{Draft, Findings};
use super::facts::{View, consequences, deleted_by, enumerate, named_with_data_first, plural, set_key, set_origin};
use crate::argocd::AppId;
use crate::inventory::{Generation, SetEntry};
use crate::manifest::ResourceKey;
use crate::plan::{Basis, Change, SyncPlan};

/// How many names one message spells out.
const NAMED: usize = 6;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for set in view.facts.inventory.sets.values().filter(|set| !generates_nothing(set)) {
        let gone: Vec<&SyncPlan> = deleted_by(view, set).into_iter().filter(|plan| plan.application.cascades()).collect();
        if gone.is_empty() {
            continue;
        }
        let deleted: Vec<(&SyncPlan, &Change)> = gone.iter().flat_map(|plan| deleted_with(view, plan)).collect();
        let (what, pointer, label) = happening(view, set, &gone);
        let message = format!("{what}{}", consequence(view, &deleted));
        let waits = !deleted.is_empty() && deleted.iter().all(|(_, change)| !change.reached);
        let message = if waits { format!("{message}; it waits for a person's approval first") } else { message };
        let introduced = match view.changes_of(&set_key(&set.id)).first() {
            Some((_, change)) if goes_itself(view, set) && change.action.deletes() => change.introduced,
            _ => gone.iter().any(|plan| plan.affected),
        };
        let draft = Draft::new(message)
            .resource(set_key(&set.id))
            .introduced(introduced)
            .assumed(gone.iter().any(|plan| plan.basis == Basis::Assumed))
            .grade(waits.then_some("approval"));
        let before = set.base.as_ref().and_then(|base| base.manifest.as_ref()).map(|manifest| &manifest.origin);
        let origin = if goes_itself(view, set) { before.or(set_origin(set)) } else { set_origin(set) };
        findings.push(draft.at(origin, pointer, label));
    }
}

/// Whether the set is deleted, be it that its file stays where nothing renders it any more, or that another parent makes it anew.
fn goes_itself(view: &View<'_>, set: &SetEntry) -> bool {
    set.head.is_none() || view.changes_of(&set_key(&set.id)).iter().any(|(_, change)| change.action.deletes())
}

/// Whether nothing at all is left, which another rule tells.
pub(super) fn generates_nothing(set: &SetEntry) -> bool {
    let empty_now = set.head.as_ref().is_some_and(|head| head.generation == Generation::Done && head.names.is_empty());
    empty_now && set.base.as_ref().is_some_and(|base| !base.names.is_empty())
}

/// What happens to the Applications, where to point, and what stands there.
fn happening(view: &View<'_>, set: &SetEntry, gone: &[&SyncPlan]) -> (String, &'static str, &'static str) {
    let name = &set.id.name;
    let names = enumerate(&gone.iter().map(|plan| plan.application.id.name.to_string()).collect::<Vec<_>>(), NAMED);
    let count = gone.len();
    let are_deleted = if count == 1 { "the Application is deleted" } else { "they are deleted" };
    if goes_itself(view, set) {
        let successor = successor(view, set, gone);
        let also = successor.map(|new| format!(", before {new} makes them anew")).unwrap_or_default();
        let what = format!("ApplicationSet {name} is deleted, and with it {} ({names}){also}", plural(count, "generated Application"));
        return (what, "", "this ApplicationSet goes");
    }
    if is_rename(view, set, gone) {
        let what = format!(
            "The name template of ApplicationSet {name} renames {}: {names}; each old one is deleted and a new one made",
            plural(count, "Application")
        );
        return (what, "/spec/template/metadata/name", "the new names");
    }
    let subject = if count == 1 { names } else { format!("{} ({names})", plural(count, "Application")) };
    (format!("ApplicationSet {name} no longer generates {subject}: {are_deleted}"), "/spec/generators", "no longer generates it")
}

/// Another set that only head has and that generates Applications of the same names.
fn successor(view: &View<'_>, set: &SetEntry, gone: &[&SyncPlan]) -> Option<String> {
    let names: BTreeSet<&str> = gone.iter().map(|plan| &*plan.application.id.name).collect();
    let others = view.facts.inventory.sets.values().filter(|other| other.base.is_none() && other.id.namespace == set.id.namespace);
    let mut taking = others.filter(|other| other.head.as_ref().is_some_and(|head| head.names.iter().any(|name| names.contains(&**name))));
    taking.next().map(|other| format!("ApplicationSet {}", other.id.name))
}

/// Whether each Application that goes comes back under another name: same sources, same destination.
fn is_rename(view: &View<'_>, set: &SetEntry, gone: &[&SyncPlan]) -> bool {
    let of = |id: &AppId, at_head: bool| {
        let entry = view.entry(id)?;
        let definition = if at_head { entry.head.as_ref() } else { entry.base.as_ref() }?;
        let spec = &definition.application.spec;
        let sources: Vec<_> = spec.sources().iter().map(|source| (&source.repo_url, &source.path, &source.chart)).collect();
        Some(format!("{sources:?} {:?}", spec.destination))
    };
    let created: Vec<Option<String>> = set.newly_generated().iter().map(|id| of(id, true)).collect();
    gone.iter().all(|plan| {
        let before = of(&plan.application.id, false);
        before.is_some() && created.contains(&before)
    })
}

fn consequence(view: &View<'_>, deleted: &[(&SyncPlan, &Change)]) -> String {
    if deleted.is_empty() {
        return String::new();
    }
    let keys: Vec<&ResourceKey> = deleted.iter().map(|(_, change)| &change.key).collect();
    let data = consequences(view, deleted);
    format!(", and by the live finalizer {}: {}{data}", plural(keys.len(), "object"), named_with_data_first(&keys, 8))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use crate::finding::Severity;
    use crate::plan::{Action, Reason};
    use serde_json::json;

    fn run(head: Option<&[&str]>, gone: &[&str]) -> Run {
        let claim =
            |name: &str| json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": name}});
        let plans = gone.iter().map(|name| dropped(name, vec![removed(claim(name), Action::Delete, Reason::Cascade)]));
        let mut run = Run { plans: plans.collect(), ..Run::default() };
        run.inventory = generated_inventory(Some(&["amber", "cobalt"]), head);
        run
    }

    #[test]
    fn an_application_that_is_no_longer_generated_is_told_with_its_objects() {
        let run = run(Some(&["amber"]), &["cobalt"]);
        let found = run.judge(&["appset-drops-application"]);
        assert_eq!(
            found[0].message,
            "ApplicationSet tenants no longer generates cobalt: the Application is deleted, and by the live finalizer 1 object: \
             PersistentVolumeClaim cobalt/data; data goes with them, whatever Prune=false says (PersistentVolumeClaim cobalt/data, reclaim \
             policy unknown)"
        );
        assert_eq!(run.loud(), [("appset-drops-application".to_owned(), Severity::Error)]);
    }

    #[test]
    fn a_set_that_goes_takes_all_along_in_one_finding() {
        let found = run(None, &["amber", "cobalt"]).judge(&["appset-drops-application"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.starts_with("ApplicationSet tenants is deleted, and with it 2 generated Applications (amber and cobalt)"));
    }

    #[test]
    fn a_renaming_template_is_one_finding() {
        let mut run = run(Some(&["prod-amber", "prod-cobalt"]), &["amber", "cobalt"]);
        for entry in run.inventory.entries.values_mut() {
            for definition in entry.base.iter_mut().chain(&mut entry.head) {
                let name = definition.application.id.name.trim_start_matches("prod-").to_owned();
                let mut object = (*definition.application.object).clone();
                object["spec"]["source"]["path"] = json!(format!("apps/{name}"));
                definition.application = application(object);
            }
        }
        let found = run.judge(&["appset-drops-application", "application-renamed"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.starts_with("The name template of ApplicationSet tenants renames 2 Applications"), "{}", found[0].message);
    }

    #[test]
    fn without_a_finalizer_nothing_is_deleted_but_the_application() {
        let mut run = run(Some(&["amber"]), &["cobalt"]);
        edit_application(&mut run.plans[0], |object| object["metadata"]["finalizers"] = json!([]));
        assert!(run.judge(&["appset-drops-application"]).is_empty());
    }
}
