//! `live-application-drift`: the live Application says something else than its file, so what happens after the merge is not what the file says.

use serde_json::Value;

use super::application_fields::{Difference, differences, overlaps};
use super::draft::{Draft, Findings};
use super::facts::{View, Writer, short, writer_of};
use crate::argocd::names::LAST_APPLIED;
use crate::inventory::{Definition, Delivery, Entry};
use crate::manifest::annotation;
use crate::plan::{Action, SyncPlan};

/// How many fields one message spells out.
const SPELLED_OUT: usize = 6;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans {
        let Some(entry) = view.entry(&plan.application.id) else { continue };
        let (Some(base), Some(head), Some((application, live))) = (&entry.base, &entry.head, &entry.live) else { continue };
        if is_generated(live.object()) {
            continue;
        }
        let live = live.object();
        let at_head = differences(&head.manifest.object, live);
        // What the change itself brings to the live value is no drift any more.
        let drifted: Vec<Difference> = differences(&base.manifest.object, live)
            .into_iter()
            .filter_map(|old| at_head.iter().find(|new| new.pointer == old.pointer && new.name == old.name).cloned())
            .filter(|found| !is_image_updater(live, found))
            .collect();
        if drifted.is_empty() {
            continue;
        }
        let clauses: Vec<String> = drifted.iter().take(SPELLED_OUT).map(|found| clause(view, entry, plan, live, found)).collect();
        let more = drifted.len().saturating_sub(SPELLED_OUT);
        let more = if more > 0 { format!("; {more} more fields differ") } else { String::new() };
        let message = format!("Live Application {} differs from its file: {}{more}", application.id.name, clauses.join("; "));
        let mut draft = Draft::of_application(application, message)
            .introduced(plan.affected)
            .help(help(entry, head))
            .discriminator(drifted.iter().map(|found| found.name.as_str()).collect::<Vec<_>>().join(" "));
        for found in &drifted {
            draft = draft.at(
                Some(&head.manifest.origin),
                nearest(&head.manifest.object, &found.pointer),
                format!("{} is different live", found.name),
            );
        }
        findings.push(draft);
    }
}

/// Whether an ApplicationSet makes the Application: its controller writes the template over every edit.
fn is_generated(live: &Value) -> bool {
    let owners = live.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
    owners.filter_map(|owner| owner.get("kind")?.as_str()).any(|kind| kind == "ApplicationSet")
}

/// Whether Argo CD Image Updater keeps this field, which is its job and no drift.
fn is_image_updater(live: &Value, found: &Difference) -> bool {
    let is_its_field = ["/kustomize/images", "/helm/parameters"].iter().any(|field| found.pointer.contains(field));
    if !is_its_field {
        return false;
    }
    match writer_of(live, &found.pointer) {
        Some(writer) => writer.manager.contains("image-updater"),
        None => annotation(live, "argocd-image-updater.argoproj.io/image-list").is_some(),
    }
}

/// One field: what is live, what the file says, who wrote it and when, and what happens to it.
fn clause(view: &View<'_>, entry: &Entry, plan: &SyncPlan, live: &Value, found: &Difference) -> String {
    let value = |value: &Option<Value>| match value {
        None => "absent".to_owned(),
        Some(_) if found.hidden => "not shown".to_owned(),
        Some(value) => short(value),
    };
    let by = writer_of(live, &found.pointer).map(|writer: Writer| format!(", set by {}", writer.named())).unwrap_or_default();
    format!(
        "{} is {} live and {} in the file{by}; {}{}",
        found.name,
        value(&found.live),
        value(&found.file),
        effect(found),
        fate(view, entry, plan, live, found)
    )
}

/// What the live value does, where it is not plain.
fn effect(found: &Difference) -> &'static str {
    match found.pointer.as_str() {
        _ if found.live.is_none() => "",
        pointer if pointer.ends_with("/helm/parameters") => "it wins over the values files, and ",
        "/spec/syncPolicy/automated/enabled" => "automated sync is off, and ",
        _ => "",
    }
}

/// What the next apply of the file does to the field.
fn fate(view: &View<'_>, entry: &Entry, plan: &SyncPlan, live: &Value, found: &Difference) -> String {
    let last_applied = annotation(live, LAST_APPLIED).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let was_applied = last_applied.is_some_and(|last| last.pointer(&found.pointer).is_some());
    let named = found.named_in_file || was_applied;
    if let (true, Some(Delivery::Unknown { parent, .. })) = (named, entry.delivery()) {
        return format!("whether `{}` sets it back is not known, because what it renders is not", parent.name);
    }
    let Some(parent) = entry.parent() else {
        let path = entry.definition().map(|definition| definition.manifest.origin.path.to_string()).unwrap_or_default();
        return match named {
            true => format!("nothing applies the file by itself: `kubectl apply -f {path}` sets it back"),
            false => "it stays, because the file does not name the field".to_owned(),
        };
    };
    if !named {
        return format!("it stays: the file does not name the field, so neither a sync nor self-heal of `{}` touches it", parent.name);
    }
    let now = view.change_of_application(&plan.application.id).is_some_and(|(parent, change)| {
        parent.sync.starts && change.action == Action::Update && change.diff.iter().any(|field| overlaps(&field.path, &found.pointer))
    });
    let waits = entry.delivery() == Some(&Delivery::ParentSync);
    match now {
        _ if waits => format!("the next sync of `{}`, which somebody has to start, sets it back", parent.name),
        true => format!("the sync of `{}` that follows this merge sets it back", parent.name),
        false => format!("the next sync of `{}` sets it back", parent.name),
    }
}

fn help(entry: &Entry, head: &Definition) -> String {
    let path = &head.manifest.origin.path;
    if let Delivery::Unknown { parent, why } = &head.delivery {
        return format!(
            "Write the live value into {path} if it is meant. If not, look first whether `{}` manages this Application, and sync that one ({why}).",
            parent.name
        );
    }
    match entry.parent() {
        Some(parent) => format!(
            "Write the live value into {path} if it is meant, or take it away: sync `{}` for fields that the file names, and use `argocd app unset` or \
             `kubectl edit` for those that it does not name.",
            parent.name
        ),
        None => format!("Write the live value into {path} if it is meant, or apply the file: `kubectl apply -f {path}`."),
    }
}

/// The deepest part of a pointer that the file has.
fn nearest<'p>(object: &Value, pointer: &'p str) -> &'p str {
    let mut pointer = pointer;
    while !pointer.is_empty() && object.pointer(pointer).is_none() {
        pointer = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use serde_json::json;

    fn with(build: impl FnOnce(&mut Value)) -> Value {
        let mut object = application_object("cart");
        build(&mut object);
        object
    }

    fn run(base: Value, head: Value, live: Value, parent: Option<&'static str>) -> Vec<Finding> {
        let run = Run {
            plans: vec![plan("cart", Vec::new())],
            inventory: inventory([(Some(base), Some(head), Some(live), parent)]),
            ..Run::default()
        };
        run.judge(&["live-application-drift"])
    }

    fn parameter(object: &mut Value) {
        object["spec"]["source"]["helm"] = json!({"parameters": [{"name": "max", "value": "40"}]});
        object["metadata"]["managedFields"] = json!([{"manager": "argocd-server", "time": "2026-11-02T08:00:00Z",
            "fieldsV1": {"f:spec": {"f:source": {"f:helm": {"f:parameters": {}}}}}}]);
    }

    #[test]
    fn a_field_that_git_does_not_name_stays_and_the_message_says_who_set_it() {
        let found = run(with(|_| ()), with(|_| ()), with(parameter), Some("root"));
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "Live Application cart differs from its file: helm parameter max is 40 live and absent in the file, set by argocd-server on 2026-11-02; it wins \
             over the values files, and it stays: the file does not name the field, so neither a sync nor self-heal of `root` touches it"
        );
        assert_eq!(found[0].places[0].pointer, "/spec/source");
    }

    #[test]
    fn a_field_that_git_names_is_set_back_by_the_parent_or_by_a_person() {
        let off = with(|object| object["spec"]["syncPolicy"]["automated"]["prune"] = false.into());
        let managed = run(with(|_| ()), with(|_| ()), off.clone(), Some("root"));
        assert!(managed[0].message.contains("the next sync of `root` sets it back"), "{}", managed[0].message);
        assert_eq!(managed[0].places[0].pointer, "/spec/syncPolicy/automated/prune");
        let alone = run(with(|_| ()), with(|_| ()), off, None);
        assert!(alone[0].message.contains("`kubectl apply -f apps/cart.yaml` sets it back"), "{}", alone[0].message);
    }

    #[test]
    fn what_a_parent_does_that_is_not_rendered_or_does_not_sync_by_itself_is_not_promised() {
        let off = || with(|object| object["spec"]["syncPolicy"]["automated"]["prune"] = false.into());
        let delivered = |delivery: Delivery, parent| {
            let mut inventory = inventory([(Some(with(|_| ())), Some(with(|_| ())), Some(off()), parent)]);
            for entry in inventory.entries.values_mut() {
                entry.head.as_mut().unwrap().delivery = delivery.clone();
            }
            let run = Run { plans: vec![plan("cart", Vec::new())], inventory, ..Run::default() };
            run.judge(&["live-application-drift"]).remove(0)
        };
        let parent = crate::argocd::AppId::new("argocd", "root");
        let unknown = delivered(Delivery::Unknown { parent, why: "kustomize is missing".into() }, None);
        assert!(
            unknown.message.ends_with("whether `root` sets it back is not known, because what it renders is not"),
            "{}",
            unknown.message
        );
        assert!(!unknown.help.contains("kubectl apply"), "{}", unknown.help);
        let by_hand = delivered(Delivery::ParentSync, Some("root"));
        assert!(by_hand.message.ends_with("the next sync of `root`, which somebody has to start, sets it back"), "{}", by_hand.message);
    }

    #[test]
    fn a_change_that_brings_the_file_to_the_live_value_and_a_file_that_is_not_applied_yet_are_no_drift() {
        let off = with(|object| object["spec"]["syncPolicy"]["automated"]["prune"] = false.into());
        assert!(run(with(|_| ()), off.clone(), off.clone(), Some("root")).is_empty());
        // Live still says what base says: that is the change itself.
        assert!(run(with(|_| ()), off, with(|_| ()), Some("root")).is_empty());
    }

    #[test]
    fn image_updater_and_applicationsets_are_no_drift() {
        let updated = with(|object| {
            object["spec"]["source"]["kustomize"] = json!({"images": ["a:9"]});
            object["metadata"]["annotations"] = json!({"argocd-image-updater.argoproj.io/image-list": "a=a"});
        });
        assert!(run(with(|_| ()), with(|_| ()), updated, Some("root")).is_empty());
        let generated = with(|object| {
            parameter(object);
            object["metadata"]["ownerReferences"] =
                json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "s", "uid": "u"}]);
        });
        assert!(run(with(|_| ()), with(|_| ()), generated, None).is_empty());
    }
}
