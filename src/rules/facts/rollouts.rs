//! Whether the pods that read a ConfigMap or Secret are started anew when it changes: by another pod template, or by a controller that
//! watches for that.

use serde_json::Value;

use super::{View, pod_template};
use crate::manifest::ResourceKey;
use crate::plan::{Action, Change, SyncPlan};

/// Whether the workload's pods are replaced anyway, a controller restarts them, or there are none.
pub(in crate::rules) fn is_restarted(view: &View<'_>, plan: &SyncPlan, content: &Change, key: &ResourceKey) -> bool {
    let has_reloader = |object: Option<&Value>| has_reloader(object, &content.key.name);
    let has_none = |object: Option<&Value>| object.and_then(|object| object.pointer("/spec/replicas")).and_then(Value::as_i64) == Some(0);
    let rendered = view.changes_of(key).iter().find(|(other, change)| other.server == plan.server && change.target.is_some());
    match rendered {
        Some((_, change)) => {
            let (Some(target), live) = (change.target_object(), change.live_object()) else { return false };
            let rolls = change.diff.iter().any(|field| field.path.starts_with("/spec/template"))
                || change.base.as_ref().is_some_and(|base| pod_template(&base.object) != pod_template(target));
            change.action == Action::Create || rolls || has_none(live) || has_reloader(Some(target)) || has_reloader(live)
        }
        None => {
            let live = view.facts.live.get(&plan.server, key).map(|live| live.object());
            has_none(live) || has_reloader(live)
        }
    }
}

/// Whether annotations say that a controller restarts pods when an object of this name changes.
pub(in crate::rules) fn has_reloader(object: Option<&Value>, name: &str) -> bool {
    let Some(object) = object else { return false };
    let annotations = [Some(object), pod_template(object)].into_iter().flatten().filter_map(|part| part.pointer("/metadata/annotations"));
    annotations.filter_map(Value::as_object).flatten().any(|(annotation, value)| {
        let value = value.as_str().unwrap_or_default();
        let is_known = ["reloader.stakater.com", "wave.pusher.com", "reload-"].iter().any(|known| annotation.contains(known));
        let names_it = || value.split(',').any(|one| one.trim() == name);
        is_known && value != "false" && (!annotation.ends_with("reloader.stakater.com/reload") || names_it())
    })
}
