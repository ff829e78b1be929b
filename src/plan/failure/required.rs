//! Fields that Argo CD's own kinds must have: an Application without `spec.project` is refused.
//!
//! Takes one object as the API server is asked to store it; hands on the first place where such fields are missing. Other custom resources are
//! not looked at: an admission webhook may fill in what their manifests leave out, before the API server asks.

use serde_json::Value;

use super::subject::{Subject, dotted, join};
use super::{Certainty, FailureKind, Problem};
use crate::argocd::names::GROUP;
use crate::plan::schema::Schemas;

const KINDS: &[&str] = &["Application", "ApplicationSet", "AppProject"];

/// The first place of an object that lacks what it must have. What the live object lacks as well was accepted.
///
/// Source: Argo CD `manifests/crds`.
pub(super) fn problem(subject: &Subject<'_>, object: &Value, live: Option<&Value>, schemas: &Schemas) -> Option<Problem> {
    if subject.group != GROUP || !KINDS.contains(&subject.kind) {
        return None;
    }
    let missing = schemas.missing_fields(object);
    let accepted = live.filter(|_| !missing.is_empty()).map(|live| schemas.missing_fields(live)).unwrap_or_default();
    let missing = missing.into_iter().find(|missing| !accepted.contains(missing))?;
    let names: Vec<String> = missing.fields.iter().map(|field| dotted(&join(&missing.pointer, field))).collect();
    let reason = format!("{subject} has no {}, without which the API server does not accept it", names.join(" and no "));
    let kind = FailureKind::MissingFields { pointer: missing.pointer, fields: missing.fields };
    Some(Problem::new(kind, Certainty::Likely, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn application(spec: Value) -> Value {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"}, "spec": spec})
    }

    fn message(object: &Value, live: Option<&Value>, schemas: &Schemas) -> Option<String> {
        problem(&Subject::of(object, live), object, live, schemas).map(|problem| problem.into_failure().message)
    }

    #[test]
    fn all_that_is_missing_at_one_place_is_named() {
        assert_eq!(
            message(&application(json!({"source": {"repoURL": "r"}})), None, Schemas::builtin()).as_deref(),
            Some(
                "Application a has no spec.destination and no spec.project, without which the API server does not accept it: the sync will likely fail at this object"
            )
        );
        assert!(
            message(&application(json!(null)), None, Schemas::builtin()).is_some_and(|text| text.starts_with("Application a has no spec,"))
        );
    }

    #[test]
    fn what_is_live_without_the_field_may_stay_so() {
        let bare = application(json!({"destination": {}, "source": {"repoURL": "r"}}));
        let whole = application(json!({"project": "p", "destination": {}, "source": {"repoURL": "r"}}));
        assert_eq!(message(&bare, Some(&bare), Schemas::builtin()), None);
        assert!(message(&bare, Some(&whole), Schemas::builtin()).is_some());
        assert_eq!(message(&whole, None, Schemas::builtin()), None);
    }

    #[test]
    fn the_definition_of_the_cluster_decides_where_it_is_known() {
        let definition = |kind: &str, spec: Value| {
            json!({"spec": {"group": "argoproj.io", "scope": "Namespaced", "names": {"kind": kind}, "versions": [{"name": "v1alpha1", "served": true,
                "schema": {"openAPIV3Schema": {"type": "object", "required": ["metadata", "spec"], "properties": {"spec": spec}}}}]}})
        };
        let spec = json!({"type": "object", "required": ["project", "team", "tier", "note"], "properties": {"project": {"type": "string", "default": "default"},
            "team": {"type": "string"}, "tier": {"type": "string", "nullable": true}, "note": {"type": "string"}}});
        let crds = [definition("Application", spec.clone()), definition("Rollout", spec)];
        let schemas = Schemas::with_crds(&crds);
        let found = message(&application(json!({"note": "x", "source": {}})), None, &schemas);
        assert!(found.is_some_and(|text| text.starts_with("Application a has no spec.team, without")));
        let mut other = application(json!({}));
        other["kind"] = json!("Rollout");
        assert_eq!(message(&other, None, &schemas), None);
    }
}
