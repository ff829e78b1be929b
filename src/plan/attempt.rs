//! Whether Argo CD has tried the wanted state before, as the live Application's status tells.
//!
//! Takes the Application and whether its revision is new; hands on an [`Attempt`].

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use crate::argocd::{Application, Source, Version};

/// What the last sync says about the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The wanted state was not tried yet.
    New,
    /// It was synced. Only self-heal starts again, after this time.
    Succeeded {
        /// How long self-heal waits after its former attempts.
        wait: SignedDuration,
    },
    /// It failed, and nothing but a person tries it again.
    Failed {
        /// What the last sync said.
        message: String,
    },
}

/// What is known about the revision that is wanted now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Revision {
    /// It is another one than that of the last sync.
    #[default]
    New,
    /// The last sync was to the same one, or nothing that the Application reads has changed since.
    Synced,
}

/// What the live Application's last operation says.
///
/// Source: Argo CD `controller/appcontroller.go:alreadyAttemptedSync`.
pub fn of(application: &Application, revision: Revision, version: Version, now: Option<Timestamp>) -> Attempt {
    let Some(state) = application.object.pointer("/status/operationState").filter(|state| !state.is_null()) else { return Attempt::New };
    let text = |pointer: &str| state.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let phase = text("/phase");
    // A sync that is still running ends before the next one starts; what it comes to is not known.
    if !matches!(phase, "Succeeded" | "Failed" | "Error") || application.object.get("operation").is_some_and(|one| !one.is_null()) {
        return Attempt::New;
    }
    let attempted = match state.get("syncResult").filter(|result| !result.is_null()) {
        None => version.counts_syncs_without_result(),
        Some(result) => revision == Revision::Synced && (ignores_parameters(application, version) || same_sources(application, result)),
    };
    match (attempted, phase) {
        (false, _) => Attempt::New,
        (true, "Succeeded") => Attempt::Succeeded { wait: remaining(state, now) },
        (true, _) => Attempt::Failed { message: text("/message").to_owned() },
    }
}

/// Before 3.2 several sources with self-heal off were synced again for a new revision only, whatever their parameters.
fn ignores_parameters(application: &Application, version: Version) -> bool {
    let self_heals = application.automated_in(version).is_some_and(|automated| automated.self_heal);
    application.spec.is_multi_source() && !self_heals && !version.syncs_changed_parameters_of_several_sources()
}

fn same_sources(application: &Application, result: &Value) -> bool {
    let read = |value: &Value| Source::deserialize(value).map(Source::normalised).ok();
    let before: Option<Vec<Source>> = if application.spec.is_multi_source() {
        result.get("sources").and_then(Value::as_array).and_then(|sources| sources.iter().map(read).collect())
    } else {
        result.get("source").and_then(|source| Some(vec![read(source)?]))
    };
    before.is_some_and(|before| before == application.spec.sources())
}

/// What is left of the time that self-heal waits: two seconds after its first attempt, three times as long after each further one, at most
/// five minutes.
///
/// Source: Argo CD `controller/appcontroller.go:selfHealRemainingBackoff` with the controller's default flags.
fn remaining(state: &Value, now: Option<Timestamp>) -> SignedDuration {
    let attempts = state.pointer("/operation/sync/autoHealAttemptsCount").and_then(Value::as_u64).unwrap_or(0);
    let finished = state.get("finishedAt").and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok());
    let wait = SignedDuration::from_secs(self_heal_wait(attempts));
    match finished.zip(now) {
        Some((finished, now)) => (wait - finished.duration_until(now)).max(SignedDuration::ZERO),
        None => wait,
    }
}

/// Seconds that self-heal waits after so many attempts.
fn self_heal_wait(attempts: u64) -> i64 {
    let mut wait: i64 = 0;
    for _ in 0..attempts.min(8) {
        wait = if wait == 0 { 2 } else { wait.saturating_mul(3).min(300) };
    }
    wait
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn application(spec: Value, state: Value) -> Application {
        let mut object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"}, "spec": {
            "destination": {}, "source": {"repoURL": "r", "path": "p"}, "syncPolicy": {"automated": {"selfHeal": true}}}});
        for (name, value) in spec.as_object().unwrap() {
            object["spec"][name] = value.clone();
        }
        object["status"]["operationState"] = state;
        Application::read(object.into(), "argocd").unwrap()
    }

    fn attempt(spec: Value, state: Value, revision: Revision) -> Attempt {
        of(&application(spec, state), revision, Version::ASSUMED, None)
    }

    fn done(phase: &str) -> Value {
        json!({"phase": phase, "message": "boom", "syncResult": {"revision": "1", "source": {"repoURL": "r", "path": "p"}}})
    }

    #[test]
    fn s9_32_a_revision_that_failed_is_not_tried_again_unless_its_parameters_change() {
        assert_eq!(attempt(json!({}), done("Failed"), Revision::Synced), Attempt::Failed { message: "boom".into() });
        assert_eq!(attempt(json!({}), done("Failed"), Revision::New), Attempt::New);
        let parameters = json!({"source": {"repoURL": "r", "path": "p", "helm": {"parameters": [{"name": "a", "value": "1"}]}}});
        assert_eq!(attempt(parameters, done("Failed"), Revision::Synced), Attempt::New);
        assert_eq!(
            attempt(json!({"source": {"repoURL": "r", "path": "p", "helm": {}}}), done("Failed"), Revision::Synced),
            attempt(json!({}), done("Failed"), Revision::Synced)
        );
    }

    #[test]
    fn a_sync_that_ended_without_a_result_counts_as_tried_whatever_the_revision() {
        let state = json!({"phase": "Error", "message": "boom"});
        assert_eq!(attempt(json!({}), state.clone(), Revision::New), Attempt::Failed { message: "boom".into() });
        let old = Version { major: 3, minor: 1 };
        assert_eq!(of(&application(json!({}), state), Revision::New, old, None), Attempt::New, "counted from 3.2 on");
        assert!(matches!(attempt(json!({}), json!({"phase": "Succeeded"}), Revision::New), Attempt::Succeeded { .. }));
        assert_eq!(attempt(json!({}), json!({"phase": "Running"}), Revision::New), Attempt::New);
        assert_eq!(attempt(json!({}), json!(null), Revision::Synced), Attempt::New);
    }

    #[test]
    fn several_sources_are_compared_in_order_and_before_3_2_not_at_all_without_self_heal() {
        let sources = |path: &str| json!([{"repoURL": "r", "path": path}, {"repoURL": "s", "path": "q"}]);
        let state = json!({"phase": "Succeeded", "syncResult": {"revisions": ["1", "2"], "sources": sources("p")}});
        let spec = |path: &str, heals: bool| json!({"sources": sources(path), "syncPolicy": {"automated": {"selfHeal": heals}}});
        assert!(matches!(attempt(spec("p", true), state.clone(), Revision::Synced), Attempt::Succeeded { .. }));
        assert_eq!(attempt(spec("other", false), state.clone(), Revision::Synced), Attempt::New);
        let old = Version { major: 3, minor: 1 };
        assert!(matches!(of(&application(spec("other", false), state), Revision::Synced, old, None), Attempt::Succeeded { .. }));
    }

    #[test]
    fn s9_78_self_heal_waits_longer_after_each_attempt() {
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 100].map(self_heal_wait), [0, 2, 6, 18, 54, 162, 300, 300]);
        let mut state = done("Succeeded");
        state["operation"] = json!({"sync": {"autoHealAttemptsCount": 3}});
        state["finishedAt"] = json!("2026-11-30T10:00:00Z");
        let now = Some("2026-11-30T10:00:08Z".parse().unwrap());
        let attempt = of(&application(json!({}), state), Revision::Synced, Version::ASSUMED, now);
        assert_eq!(attempt, Attempt::Succeeded { wait: SignedDuration::from_secs(10) });
    }
}
