//! `tracking-changes`: the settings change by which Argo CD tells which objects are an Application's own.

use std::collections::BTreeMap;

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, enumerate, plural};
use crate::argocd::{Settings, Tracking, TrackingMethod};
use crate::manifest::ResourceKey;
use crate::plan::{Action, Change, effective};
use crate::snapshot::LiveObject;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let config = ResourceKey::new("", "ConfigMap", &view.facts.live.settings().namespace, "argocd-cm");
    for (plan, change) in view.changes_of(&config) {
        let Some((before, after)) = trackings(view, change).filter(|(before, after)| before != after) else { continue };
        let marks = Marks::compare(view, &before, &after);
        let mut parts = Vec::new();
        if marks.lost > 0 {
            parts.push(format!(
                "{} {} Application until its next sync marks {} anew, and what leaves Git before that stays behind",
                plural(marks.lost, "live object"),
                if marks.lost == 1 { "loses its" } else { "lose their" },
                if marks.lost == 1 { "it" } else { "them" }
            ));
        }
        if !marks.gained.is_empty() {
            let (verb, rest) = if marks.gained.len() == 1 { ("counts", "is") } else { ("count", "are") };
            parts.push(format!(
                "{} {verb} as an Application's own that did not before, and {rest} pruned if Git does not have {}: {}",
                plural(marks.gained.len(), "live object"),
                if marks.gained.len() == 1 { "it" } else { "them" },
                enumerate(&marks.gained, 6)
            ));
        }
        if view.facts.live.is_assumed() {
            parts = vec![
                "every object loses its Application until its next sync marks it anew, and what leaves Git before that stays behind"
                    .to_owned(),
            ];
        }
        if parts.is_empty() {
            parts.push("no live object in the snapshot changes hands".to_owned());
        }
        let message = format!("Argo CD will track objects by {} in place of {}: {}", called(&after), called(&before), parts.join("; "));
        let draft = Draft::of_change(plan, change, message).grade(marks.prunes.then_some("prunes"));
        findings.push(draft.at(change.target.as_ref().map(|target| &target.origin), "/data", "the new tracking"));
    }
}

/// How objects are tracked before and after the change of `argocd-cm`.
fn trackings(view: &View<'_>, change: &Change) -> Option<(Tracking, Tracking)> {
    let settings = view.facts.live.settings();
    let of = |object: &Value| {
        let data = object.get("data").and_then(Value::as_object).into_iter().flatten();
        let stated = data.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        Settings::new(settings.known_version, &settings.namespace, stated.collect::<BTreeMap<_, _>>()).tracking
    };
    let (live, target) = (change.live_object()?, change.target.as_ref()?);
    let is_written = matches!(change.action, Action::Update | Action::Adopt | Action::Replace | Action::Recreate);
    is_written.then(|| (of(live), of(&effective::after_parent_sync(&target.object, live, &settings.tracking))))
}

/// What another tracking makes of the live objects.
#[derive(Default)]
struct Marks {
    /// Objects of Applications that are nobody's by the new mark.
    lost: usize,
    /// Objects with the Application that has them by the new mark alone.
    gained: Vec<String>,
    /// One of those Applications prunes by itself.
    prunes: bool,
}

impl Marks {
    fn compare(view: &View<'_>, before: &Tracking, after: &Tracking) -> Self {
        let mut marks = Self::default();
        for object in view.facts.live.all() {
            let (old, new) = (before.instance_of(object.object()), after.instance_of(object.object()));
            match (old, new) {
                (Some(old), None) if is_known(view, &old) => marks.lost += 1,
                (old, Some(new)) if old.as_ref() != Some(&new) => marks.gain(view, object, &new),
                _ => {}
            }
        }
        marks
    }

    /// Source: Argo CD `gitops-engine/pkg/cache/cluster.go:GetManagedLiveObjs`: what others own is nobody's.
    fn gain(&mut self, view: &View<'_>, object: &LiveObject, instance: &str) {
        if object.is_owned() || !is_known(view, instance) {
            return;
        }
        self.gained.push(format!("{} ({instance})", object.key.named()));
        let entry = view.entry(&view.application_of(instance));
        let automated = entry.and_then(|entry| entry.effective.as_ref()?.automated_in(view.facts.live.settings().version()));
        self.prunes |= automated.is_some_and(|automated| automated.prune);
    }
}

fn is_known(view: &View<'_>, instance: &str) -> bool {
    view.entry(&view.application_of(instance)).is_some()
}

fn called(tracking: &Tracking) -> String {
    let by = match tracking.method {
        TrackingMethod::Label => format!("the label {}", tracking.label_key),
        _ => "the annotation tracking-id".to_owned(),
    };
    let installation = if tracking.method == TrackingMethod::Label { "" } else { tracking.installation_id.as_str() };
    if installation.is_empty() { by } else { format!("{by} of the installation {installation}") }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::{Finding, Severity};
    use crate::plan::Reason;
    use serde_json::json;

    fn config(entry: &str, value: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm", "namespace": "argocd"}, "data": {entry: value}})
    }

    fn run(before: Value, after: Value, prune: bool) -> Vec<Finding> {
        let mut shop = application_object("shop");
        shop["spec"]["syncPolicy"] = json!({"automated": {"prune": prune}});
        let own = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf", "namespace": "shop",
            "annotations": {"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:shop/conf"}}});
        let copy = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "copy", "namespace": "ops",
            "labels": {"app.kubernetes.io/instance": "shop"}}});
        let change = changed(before.clone(), after, before, Action::Update, Reason::Differs { fields: 1 });
        Run {
            plans: vec![plan("root", vec![change])],
            live: snapshot(&[own, copy]),
            inventory: inventory([(Some(shop.clone()), Some(shop.clone()), Some(shop), None)]),
            ..Run::default()
        }
        .judge(&["tracking-changes"])
    }

    #[test]
    fn another_method_tells_what_is_lost_and_what_is_gained() {
        let method = |value| config("application.resourceTrackingMethod", value);
        let found = run(method("annotation"), method("label"), true);
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!(
            found[0].message,
            "Argo CD will track objects by the label app.kubernetes.io/instance in place of the annotation tracking-id: 1 live object loses its \
             Application until its next sync marks it anew, and what leaves Git before that stays behind; 1 live object counts as an \
             Application's own that did not before, and is pruned if Git does not have it: ConfigMap ops/copy (shop)"
        );
        assert_eq!(run(method("annotation"), method("label"), false)[0].severity, Severity::Warning);
    }

    #[test]
    fn an_installation_id_takes_the_marks_of_all_objects_away() {
        let found = run(config("url", "https://a"), config("installationID", "eu"), true);
        assert!(found[0].message.contains("by the annotation tracking-id of the installation eu in place of"), "{}", found[0].message);
        assert!(found[0].message.contains("1 live object loses its Application"), "{}", found[0].message);
    }

    #[test]
    fn other_settings_are_not_its_business() {
        assert!(run(config("url", "https://a"), config("url", "https://b"), true).is_empty());
    }
}
