//! Fields that an object must have: a Deployment without `spec.selector` and an Application without `spec.project` are refused.
//!
//! Takes one object as the API server is asked to store it; hands on the first place where such fields are missing. Custom resources other than
//! Argo CD's are not looked at: an admission webhook may fill in what their manifests leave out, before the API server asks.

use serde_json::Value;

use super::subject::{Subject, dotted, join};
use super::{Certainty, FailureKind, Problem};
use crate::argocd::names::GROUP;
use crate::plan::schema::Schemas;

const KINDS: &[&str] = &["Application", "ApplicationSet", "AppProject"];

/// The first place of an object that lacks what it must have. What the live object lacks as well was accepted.
///
/// Source: Argo CD `manifests/crds`, and [`Schemas::missing_fields`] for the kinds of Kubernetes.
pub(super) fn problem(subject: &Subject<'_>, object: &Value, live: Option<&Value>, schemas: &Schemas) -> Option<Problem> {
    let is_argocd = subject.group == GROUP && KINDS.contains(&subject.kind);
    if !is_argocd && !Schemas::builtin().has_type(object) {
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
    use super::super::{Apply, ApplyStrategy, Context, Outcome, foresee_apply, foresee_create};
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

    fn deployment(spec: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": spec})
    }

    #[test]
    fn kinds_of_kubernetes_need_what_their_validation_asks_for_after_defaults() {
        let missing = |object: &Value| message(object, None, Schemas::builtin());
        let container = json!({"name": "web", "image": "web:1"});
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}});
        let whole = deployment(json!({"selector": {"matchLabels": {"app": "web"}}, "template": template}));
        assert_eq!(missing(&whole), None);
        let found = missing(&deployment(json!({"template": template}))).unwrap();
        assert!(found.starts_with("Deployment shop/web has no spec.selector, without which the API server does not accept it"), "{found}");
        let mut nameless = whole.clone();
        nameless["spec"]["template"]["spec"]["containers"] = json!([{"image": "web:1", "ports": [{"name": "http"}]}]);
        assert!(missing(&nameless).is_some_and(|text| text.contains("has no spec.template.spec.containers[0].name,")));
        let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web"},
            "spec": {"rules": [{"http": {"paths": [{"path": "/", "backend": {"service": {"name": "web", "port": {"number": 80}}}}]}}]}});
        assert!(missing(&ingress).is_some_and(|text| text.contains("has no spec.rules[0].http.paths[0].pathType,")));
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"targetPort": 80}]}});
        assert!(missing(&service).is_some_and(|text| text.contains("has no spec.ports[0].port,")));
    }

    #[test]
    fn what_the_server_fills_in_or_takes_as_nothing_may_be_left_out() {
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "x"},
            "roleRef": {"kind": "Role", "name": "x"}, "subjects": [{"kind": "ServiceAccount", "name": "x"}]});
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"},
            "spec": {"template": {"spec": {"containers": [{"name": "x"}], "restartPolicy": "Never"}}}});
        let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "x"}});
        let policy =
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "x"}, "spec": {"ingress": [{}]}});
        let account =
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x"}, "secrets": [{}], "imagePullSecrets": [{}]});
        for object in [binding, job, class, policy, account] {
            assert_eq!(message(&object, None, Schemas::builtin()), None, "{object}");
        }
        let patch = deployment(
            json!({"selector": {}, "template": {"spec": {"containers": [{"$patch": "delete", "name": "x"}, {"$patch": "replace"}]}}}),
        );
        assert_eq!(message(&patch, None, Schemas::builtin()), None, "a directive is no container");
    }

    #[test]
    fn a_part_that_is_applied_server_side_may_be_meant_for_an_object_that_nobody_has_shown() {
        let part = deployment(json!({"replicas": 3}));
        let unknown = Context { may_be_live: true, ..Context::default() };
        let apply = |strategy| Apply { strategy, force: false };
        assert!(foresee_create(&part, apply(ApplyStrategy::ServerSide), &unknown).is_none());
        assert!(foresee_create(&part, apply(ApplyStrategy::ServerSide), &Context::default()).is_some());
        assert!(foresee_create(&part, apply(ApplyStrategy::ClientSide), &unknown).is_some());
        let live = deployment(json!({"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web"}]}}}));
        let update = foresee_apply(&part, &live, apply(ApplyStrategy::ServerSide), &Context::default());
        assert_eq!(update, Outcome::Update, "the live object has the rest");
    }
}
