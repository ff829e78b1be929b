//! `app-wave-not-gated`: child Applications have waves, and Argo CD does not wait for Applications.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, enumerate};
use crate::argocd::names::{GROUP, IN_CLUSTER_SERVER, SYNC_WAVE};
use crate::manifest::{Manifest, ResourceKey, annotation};
use crate::plan::{Action, Change, Phase};

const POINTER: &str = "/metadata/annotations/argocd.argoproj.io~1sync-wave";
/// Children that one finding points at.
const MAX_PLACES: usize = 5;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    if waits_for_applications(view) != Some(false) {
        return;
    }
    for plan in view.facts.plans {
        let applied = |change: &&Change| change.target.is_some() && change.phase == Phase::Sync && change.action != Action::Skip;
        let Some(last) = plan.changes.iter().filter(applied).map(|change| change.wave).max() else { continue };
        let children = plan.changes.iter().filter(applied).filter(|change| change.key.is(GROUP, "Application") && change.wave < last);
        let waved: Vec<&Change> = children.filter(|change| wave(change.target.as_deref()).is_some()).collect();
        let is_new = |change: &&&Change| wave(change.target.as_deref()) != wave(change.base.as_deref());
        let new: Vec<&Change> = waved.iter().filter(is_new).copied().collect();
        let named = if new.is_empty() { &waved } else { &new };
        let Some(first) = named.first() else { continue };
        let names: Vec<String> = named.iter().map(|change| format!("{} (wave {})", change.key.place(), change.wave)).collect();
        let message = format!(
            "{} does not wait for the child {} {}: {} as soon as created, so the next wave starts at once",
            app_name(plan),
            if named.len() == 1 { "Application" } else { "Applications" },
            enumerate(&names, MAX_PLACES),
            if named.len() == 1 { "it counts as healthy" } else { "they count as healthy" },
        );
        let draft = Draft::of_plan(plan, message).resource(first.key.clone()).introduced(!new.is_empty());
        let places = named.iter().take(MAX_PLACES).map(|change| change.origin());
        findings.push(places.fold(draft, |draft, origin| draft.at(origin, POINTER, "nothing waits for it")));
    }
}

fn wave(manifest: Option<&Manifest>) -> Option<&str> {
    annotation(&manifest?.object, SYNC_WAVE)
}

/// Whether the installation has a health check for Applications; `None` where its settings are not known. A pattern over kinds counts as one.
///
/// Source: Argo CD `util/settings/settings.go:GetResourceOverrides` and `util/lua/lua.go:GetHealthScript`.
fn waits_for_applications(view: &View<'_>) -> Option<bool> {
    let settings = view.facts.live.settings();
    // What else states settings leaves out health checks.
    view.facts.live.get(IN_CLUSTER_SERVER, &ResourceKey::new("", "ConfigMap", &settings.namespace, "argocd-cm"))?;
    Some(settings.entries.iter().any(|(key, text)| match key.strip_prefix("resource.customizations") {
        Some("") => text.contains("argoproj.io/Application") || text.contains('*'),
        Some(rest) => matches!(rest.strip_prefix(".health."), Some("argoproj.io_Application" | "all")) && !text.is_empty(),
        None => false,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use serde_json::{Value, json};

    fn child(wave: &str) -> Value {
        let mut object = application_object("crds");
        object["metadata"]["annotations"] = json!({"argocd.argoproj.io/sync-wave": wave});
        object
    }

    fn run(config: Option<Value>, later: i64) -> Vec<String> {
        let mut first = added(child("-1"));
        first.wave = -1;
        let mut second = added(application_object("operator"));
        second.wave = later;
        let config = config.map(|data| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data, "metadata": {"name": "argocd-cm", "namespace": "argocd",
                "labels": {"app.kubernetes.io/part-of": "argocd"}}})
        });
        let live = snapshot(&config.into_iter().collect::<Vec<_>>());
        let found = Run { plans: vec![plan("root", vec![first, second])], live, ..Run::default() }.judge(&["app-wave-not-gated"]);
        found.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_wave_of_a_child_before_another_wave_is_named() {
        let found = run(Some(json!({"url": "https://argocd.example.test"})), 0);
        assert_eq!(
            found,
            [
                "`root` does not wait for the child Application argocd/crds (wave -1): it counts as healthy as soon as created, so the next wave \
                 starts at once"
            ]
        );
    }

    #[test]
    fn with_a_health_check_with_nothing_later_and_without_settings_it_is_silent() {
        let health = json!({"resource.customizations.health.argoproj.io_Application": "hs = {}"});
        assert!(run(Some(health), 0).is_empty());
        let pattern = json!({"resource.customizations": "\"argoproj.io/*\":\n  health.lua: return {}\n"});
        assert!(run(Some(pattern), 0).is_empty());
        assert!(run(Some(json!({"url": "https://argocd.example.test"})), -1).is_empty());
        assert!(run(None, 0).is_empty());
    }
}
