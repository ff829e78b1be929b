//! The safe edits of findings: what in which file does away with them.
//!
//! Takes findings with the facts; gives those that an edit settles a [`Fix`]. An edit is safe where it does what the finding's help says, and
//! nothing is decided by it that only a person can decide.

use serde_json::{Value, json};

use super::facts::{View, misspelled};
use super::field_owned_by_other;
use crate::argocd::AppId;
use crate::argocd::names::{RESOURCES_FINALIZER, SYNC_OPTIONS};
use crate::argocd::schema::unknown_fields;
use crate::finding::{Finding, Fix, Judged, Operation, Step};
use crate::manifest::{Manifest, Side, annotation};
use crate::plan::{Change, SyncPlan};

const OPTIONS: &str = "/metadata/annotations/argocd.argoproj.io~1sync-options";
const REPLICAS: &str = "/spec/replicas";
/// What the last client-side apply wrote.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Gives findings their edits.
pub(super) fn attach(findings: &mut [Finding], view: &View<'_>) {
    for finding in findings {
        finding.fix = steps(finding, view).filter(|steps| !steps.is_empty()).map(|steps| Fix { steps });
        finding.fixable = finding.fix.as_ref().is_some_and(Fix::is_possible);
    }
}

fn steps(finding: &Finding, view: &View<'_>) -> Option<Vec<Step>> {
    if &*finding.rule == "non-string-metadata" {
        let place = finding.places.iter().find(|place| place.pointer.starts_with("/metadata/"))?;
        return Some(vec![Step {
            origin: place.origin.clone(),
            pointer: place.pointer.clone(),
            operation: Operation::Quote,
            judged: None,
        }]);
    }
    if &*finding.rule == "finalizer-missing" {
        let (namespace, name) = finding.application.as_deref()?.split_once('/')?;
        let definition = view.entry(&AppId::new(namespace, name))?.head.as_ref()?;
        return Some(vec![step(&definition.manifest, "/metadata/finalizers", Operation::Add(json!(RESOURCES_FINALIZER)))]);
    }
    if &*finding.rule == "unknown-field" {
        return moved_to_its_place(finding, view);
    }
    let (plan, change) = subject(finding, view)?;
    match &*finding.rule {
        "pvc-unprotected" => {
            let target = change.target.as_ref()?;
            Some(vec![step(target, OPTIONS, Operation::Set(protected(&target.object)?))])
        }
        "protection-misspelled" => {
            let target = change.target.as_ref()?;
            target.object.pointer(OPTIONS)?;
            Some(vec![step(target, OPTIONS, Operation::Set(corrected(&target.object)?))])
        }
        "protection-misplaced" => {
            let target = change.target.as_ref()?;
            let place = finding.places.iter().find(|place| place.origin.side == Side::Head && place.pointer.ends_with(OPTIONS))?;
            let value = target.object.pointer(&place.pointer)?.as_str()?;
            match annotation(&target.object, SYNC_OPTIONS) {
                Some(own) if !own.trim().is_empty() => {
                    let both = Operation::Set(format!("{own},{value}"));
                    Some(vec![step(target, &place.pointer, Operation::Remove), step(target, OPTIONS, both)])
                }
                Some(_) => None,
                None => Some(vec![step(target, &place.pointer, Operation::Move(OPTIONS.to_owned()))]),
            }
        }
        "replicas-owned-by-autoscaler" => {
            let target = change.target.as_ref()?;
            if view.ignores(plan, &target.object, REPLICAS) {
                return respect(plan, view);
            }
            if drops_when_removed(change) {
                return ignore(plan, change, &[REPLICAS.to_owned()], view);
            }
            Some(vec![step(target, REPLICAS, Operation::Remove)])
        }
        "ignored-field-reset-on-sync" => respect(plan, view),
        "field-owned-by-other" => {
            let paths: Vec<String> = field_owned_by_other::fought_over(change).map(|field| field.path.clone()).collect();
            ignore(plan, change, &paths, view)
        }
        _ => None,
    }
}

/// A field that does not exist where it stands is taken to the one place where it does, if the map that it belongs into is there.
fn moved_to_its_place(finding: &Finding, view: &View<'_>) -> Option<Vec<Step>> {
    let key = finding.resource.as_ref()?;
    let id = AppId::new(&key.namespace, &key.name);
    let manifest = match &*key.kind {
        "Application" => view.entry(&id).and_then(|entry| entry.head.as_ref()).map(|head| &*head.manifest),
        "ApplicationSet" => view.facts.inventory.sets.get(&id).and_then(|set| set.head.as_ref()?.manifest.as_deref()),
        _ => view.changes_of(key).iter().find_map(|(_, change)| change.target.as_deref()),
    }?;
    let pointer = &finding.places.iter().find(|place| place.origin == manifest.origin)?.pointer;
    let field = unknown_fields(&manifest.object).into_iter().find(|field| **pointer == *field.pointer && field.is_only_place)?;
    let to = format!("/{}", field.belongs?.replace('.', "/"));
    let (parent, _) = to.rsplit_once('/')?;
    // A `syncPolicy` that is not there says the same as an empty one; `automated`, `helm` and the like say something by being there.
    let is_ready = manifest.object.pointer(parent).map_or(parent == "/spec/syncPolicy", Value::is_object);
    is_ready.then_some(())?;
    Some(vec![step(manifest, pointer, Operation::Move(to))])
}

fn step(manifest: &Manifest, pointer: &str, operation: Operation) -> Step {
    let judged = Some(Judged::of(&manifest.object, pointer));
    Step { origin: manifest.origin.clone(), pointer: pointer.to_owned(), operation, judged }
}

/// The plan and the change that a finding is about.
fn subject<'a>(finding: &Finding, view: &View<'a>) -> Option<(&'a SyncPlan, &'a Change)> {
    let key = finding.resource.as_ref()?;
    let (namespace, name) = finding.application.as_deref()?.split_once('/')?;
    let id = AppId::new(namespace, name);
    view.changes_of(key).iter().find(|(plan, _)| plan.application.id == id).copied()
}

/// The sync options of an object with what protects it; `None` where it says the contrary.
fn protected(object: &Value) -> Option<String> {
    // What is misspelled has an edit of its own, and must not stay beside what was meant.
    if !misspelled(object).is_empty() {
        return None;
    }
    let mut entries: Vec<&str> =
        annotation(object, SYNC_OPTIONS).unwrap_or_default().split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    for (key, wanted) in [("Prune=", "Prune=false"), ("Delete=", "Delete=false")] {
        match entries.iter().find_map(|entry| entry.strip_prefix(key)) {
            None => entries.push(wanted),
            Some("false" | "confirm") => {}
            Some(_) => return None,
        }
    }
    Some(entries.join(","))
}

/// The sync options of an object with the words that were meant.
fn corrected(object: &Value) -> Option<String> {
    let text = annotation(object, SYNC_OPTIONS)?;
    let wrong = misspelled(object);
    if wrong.is_empty() {
        return None;
    }
    let entries = text.split([',', ';', '\n', '|']).map(str::trim).filter(|entry| !entry.is_empty());
    let mended = entries.map(|entry| wrong.iter().find(|one| one.written == entry).map_or(entry, |one| one.meant));
    Some(mended.collect::<Vec<_>>().join(","))
}

/// Whether the number falls to one when Git stops naming it: a client-side apply takes out what the last one wrote.
fn drops_when_removed(change: &Change) -> bool {
    let Some(live) = change.live_object() else { return false };
    let last = annotation(live, LAST_APPLIED).and_then(|text| serde_json::from_str::<Value>(text).ok());
    // Without a last apply that can be read, nobody knows who wrote the number.
    last.is_none_or(|last| last.pointer(REPLICAS).is_some())
}

/// The definition of an Application that can be edited: one that a set generates stands in a template.
fn file_of<'a>(plan: &SyncPlan, view: &View<'a>) -> Option<&'a Manifest> {
    plan.origin.as_ref().filter(|origin| origin.side == Side::Head)?;
    let definition = view.entry(&plan.application.id)?.head.as_ref()?;
    definition.generated.is_none().then_some(&definition.manifest)
}

/// Ignored fields are kept by the sync as well.
fn respect(plan: &SyncPlan, view: &View<'_>) -> Option<Vec<Step>> {
    let option = Operation::Add(json!("RespectIgnoreDifferences=true"));
    Some(vec![step(file_of(plan, view)?, "/spec/syncPolicy/syncOptions", option)])
}

/// Fields of an object are ignored by comparison and sync.
fn ignore(plan: &SyncPlan, change: &Change, paths: &[String], view: &View<'_>) -> Option<Vec<Step>> {
    if paths.is_empty() {
        return None;
    }
    let key = &change.key;
    let mut entry = json!({"kind": &*key.kind, "name": &*key.name, "jsonPointers": paths});
    for (name, value) in [("group", &key.group), ("namespace", &key.namespace)] {
        if !value.is_empty() {
            entry[name] = json!(&**value);
        }
    }
    let mut steps = vec![step(file_of(plan, view)?, "/spec/ignoreDifferences", Operation::Add(entry))];
    steps.extend(respect(plan, view)?);
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::plan::{Action, Reason};
    use crate::rules::RuleSet;

    fn with_options(text: &str) -> Value {
        json!({"metadata": {"annotations": {SYNC_OPTIONS: text}}})
    }

    #[test]
    fn options_are_merged_and_a_contrary_one_is_left_to_a_person() {
        assert_eq!(protected(&json!({})).as_deref(), Some("Prune=false,Delete=false"));
        assert_eq!(protected(&with_options("Validate=false, Prune=confirm")).as_deref(), Some("Validate=false,Prune=confirm,Delete=false"));
        assert_eq!(protected(&with_options("Prune=true")), None);
        assert_eq!(corrected(&with_options("Validate=false; prune=False")).as_deref(), Some("Validate=false,Prune=false"));
        assert_eq!(corrected(&with_options("Prune=false")), None);
        for misspelled in ["prune=false", "Prune = false", "Prune: false"] {
            assert_eq!(protected(&with_options(misspelled)), None, "{misspelled}");
            assert_eq!(corrected(&with_options(misspelled)).as_deref(), Some("Prune=false"), "{misspelled}");
        }
    }

    fn deployment(last_applied: Option<&str>) -> Value {
        let annotations = last_applied.map_or_else(|| json!({}), |text| json!({LAST_APPLIED: text}));
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2},
            "metadata": {"name": "api", "namespace": "shop", "annotations": annotations}})
    }

    #[test]
    fn replicas_are_taken_out_only_where_that_does_not_scale_down() {
        let git = deployment(None);
        let steps = |last: Option<&str>| {
            let change = changed(git.clone(), git.clone(), deployment(last), Action::Update, Reason::Differs { fields: 1 });
            let object = Some(application_object("a"));
            let inventory = inventory(vec![(object.clone(), object, None, None)]);
            let run = Run { plans: vec![plan("a", vec![change])], inventory, ..Run::default() };
            let facts = run.facts();
            let view = View::new(facts);
            let mut finding = finding("replicas-owned-by-autoscaler", "api");
            finding.application = Some("argocd/a".to_owned());
            finding.resource = Some(run.plans[0].changes[0].key.clone());
            attach(std::slice::from_mut(&mut finding), &view);
            finding.fix.unwrap().steps.into_iter().map(|step| (step.origin.path.to_string(), step.pointer)).collect::<Vec<_>>()
        };
        let application = |pointer: &str| ("apps/a.yaml".to_owned(), pointer.to_owned());
        let kept = [application("/spec/ignoreDifferences"), application("/spec/syncPolicy/syncOptions")];
        assert_eq!(steps(None), kept);
        assert_eq!(steps(Some(r#"{"spec": {"replicas": 2}}"#)), kept);
        assert_eq!(steps(Some(r#"{"spec": {}}"#)), [("apps/api.yaml".to_owned(), REPLICAS.to_owned())]);
    }

    #[test]
    fn a_field_is_moved_where_only_one_place_has_it_and_the_place_is_there() {
        let moved = |edit: &dyn Fn(&mut Value)| {
            let mut wrong = application_object("shop");
            edit(&mut wrong);
            let inventory = inventory([(None, Some(wrong), None, Some("root"))]);
            let found = Run { inventory, ..Run::default() }.judge(&["unknown-field"]).remove(0);
            found.fix.map(|fix| (fix.steps[0].pointer.clone(), fix.steps[0].operation.clone()))
        };
        let to = |from: &str, to: &str| Some((from.to_owned(), Operation::Move(to.to_owned())));
        let prune = |object: &mut Value| object["spec"]["syncPolicy"]["prune"] = json!(true);
        assert_eq!(moved(&prune), to("/spec/syncPolicy/prune", "/spec/syncPolicy/automated/prune"));
        let unsynced = |object: &mut Value| {
            object["spec"]["syncPolicy"] = json!({"prune": true});
        };
        assert_eq!(moved(&unsynced), None, "that would switch automated syncs on");
        let options = |object: &mut Value| {
            object["spec"]["syncOptions"] = json!(["CreateNamespace=true"]);
            object["spec"].as_object_mut().unwrap().remove("syncPolicy");
        };
        assert_eq!(moved(&options), to("/spec/syncOptions", "/spec/syncPolicy/syncOptions"));
        let name = |object: &mut Value| object["spec"]["name"] = json!("eu");
        assert_eq!(moved(&name), None, "several fields are called so");
    }

    #[test]
    fn the_definitions_say_which_rules_have_edits() {
        const EDITED: [&str; 9] = [
            "field-owned-by-other",
            "finalizer-missing",
            "ignored-field-reset-on-sync",
            "non-string-metadata",
            "protection-misplaced",
            "protection-misspelled",
            "pvc-unprotected",
            "replicas-owned-by-autoscaler",
            "unknown-field",
        ];
        let rules = RuleSet::builtin().unwrap();
        let fixable: Vec<&str> =
            rules.definitions().filter(|definition| definition.fixable).map(|definition| definition.id.as_str()).collect();
        assert_eq!(fixable, EDITED);
    }
}
