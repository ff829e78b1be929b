//! `ignored-field-reset-on-sync`: a field is ignored in the comparison only, so the sync writes Git's value over the live one.

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, enumerate, is_applied, respects_ignored, short};
use crate::plan::{Action, Change, SyncPlan};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans.iter().filter(|plan| !respects_ignored(plan) && view.has_ignore_rules(plan)) {
        for change in plan.changes.iter().filter(|change| is_applied(plan, change) && change.action != Action::Create) {
            let (Some(target), Some(live)) = (&change.target, change.live_object()) else { continue };
            let fields: Vec<Reset<'_>> = differing(&target.object, live)
                .into_iter()
                .filter(|reset| view.ignores(plan, &target.object, &reset.pointer) || view.ignores(plan, live, &reset.pointer))
                .collect();
            if let Some(first) = fields.first() {
                let draft = Draft::of_change(plan, change, message(plan, change, &fields))
                    .introduced(plan.changes.iter().any(|change| change.introduced))
                    .discriminator(fields.iter().map(|reset| reset.pointer.as_str()).collect::<Vec<_>>().join(" "))
                    .at(Some(&target.origin), &first.pointer, "this value is written");
                findings.push(draft.at(plan.origin.as_ref(), "/spec/ignoreDifferences", "ignored only in the comparison"));
            }
        }
    }
}

/// A field that gets Git's value.
struct Reset<'v> {
    pointer: String,
    live: &'v Value,
    target: &'v Value,
}

fn message(plan: &SyncPlan, change: &Change, fields: &[Reset<'_>]) -> String {
    let secret = change.key.is("", "Secret");
    let changes: Vec<String> = fields
        .iter()
        .map(|Reset { pointer, live, target }| match secret {
            true => pointer.clone(),
            false => format!("{pointer} from {} back to {}", short(live), short(target)),
        })
        .collect();
    format!(
        "The sync of {} that this change starts sets {} of {}: ignoreDifferences hides the field in the comparison only, and without RespectIgnoreDifferences=true \
         the whole manifest is applied",
        app_name(plan),
        enumerate(&changes, 4),
        change.key.named()
    )
}

/// The fields of the target, leaves and lists of another length, whose live value is another one. Fields that are not live are left out: the
/// API server may have dropped them.
fn differing<'v>(target: &'v Value, live: &'v Value) -> Vec<Reset<'v>> {
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), target, live)];
    while let Some((pointer, target, live)) = pending.pop() {
        match (target, live) {
            (Value::Object(target), Value::Object(live)) => {
                let both = target.iter().filter_map(|(name, value)| Some((name, value, live.get(name)?)));
                pending.extend(
                    both.map(|(name, value, live)| (format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")), value, live)),
                );
            }
            (Value::Array(target), Value::Array(live)) if target.len() == live.len() => {
                pending
                    .extend(target.iter().zip(live).enumerate().map(|(index, (value, live))| (format!("{pointer}/{index}"), value, live)));
            }
            (target, live) if target != live => found.push(Reset { pointer, live, target }),
            _ => {}
        }
    }
    found.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    found
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::Reason;
    use serde_json::json;

    fn deployment(replicas: i64, image: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api", "namespace": "shop"},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"name": "main", "image": image}]}}}})
    }

    fn run(action: Action, build: impl FnOnce(&mut Value)) -> Vec<Finding> {
        let reason = if action == Action::None { Reason::InSync } else { Reason::Differs { fields: 1 } };
        let deployment = changed(deployment(2, "app:1"), deployment(2, "app:2"), deployment(7, "app:1"), action, reason);
        let other = added(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}}));
        let mut plan = plan("api", vec![other, deployment]);
        edit_spec(&mut plan, |spec| {
            spec["ignoreDifferences"] = json!([{"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}]);
            build(spec);
        });
        Run { plans: vec![plan], ..Run::default() }.judge(&["ignored-field-reset-on-sync"])
    }

    #[test]
    fn an_ignored_field_that_is_live_with_another_value_is_reset_by_the_sync() {
        let found = run(Action::Update, |_| ());
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("sets /spec/replicas from 7 back to 2 of Deployment shop/api"), "{}", found[0].message);
        assert!(found[0].introduced);
        assert_eq!(found[0].places[0].pointer, "/spec/replicas");
    }

    #[test]
    fn a_full_sync_resets_unmodified_objects_as_well_unless_only_those_out_of_sync_are_applied() {
        assert_eq!(run(Action::None, |_| ()).len(), 1);
        let only = |spec: &mut Value| spec["syncPolicy"]["syncOptions"] = json!(["ApplyOutOfSyncOnly=true"]);
        assert!(run(Action::None, only).is_empty());
        assert_eq!(run(Action::Update, only).len(), 1);
    }

    #[test]
    fn respected_and_unignored_fields_are_fine() {
        assert!(run(Action::Update, |spec| spec["syncPolicy"]["syncOptions"] = json!(["RespectIgnoreDifferences=true"])).is_empty());
        assert!(run(Action::Update, |spec| spec["ignoreDifferences"] = json!([])).is_empty());
        assert!(run(Action::Update, |spec| spec["ignoreDifferences"][0]["kind"] = "StatefulSet".into()).is_empty());
    }
}
