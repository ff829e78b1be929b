//! Names and labels that the API server refuses.
//!
//! Takes one manifest; hands on the first. A name that is not there is the business of the dry run.

use serde_json::Value;

use super::subject::{Subject, join, shown, text};
use super::{Certainty, FailureKind, Problem};
use crate::manifest::label::{MAX_LABEL, MAX_SUBDOMAIN, is_dns_label, is_label_key, is_qualified};

/// A name or label of the object, or a label of its Pods, that is not spelt as it must be.
pub(super) fn problem(subject: &Subject<'_>, object: &Value) -> Option<Problem> {
    name(subject, object).or_else(|| {
        let pods = subject.pod_spec().and_then(|spec| spec.strip_suffix("/spec"));
        let places = ["/metadata/labels".to_owned(), format!("{}/metadata/labels", pods.unwrap_or_default())];
        places.iter().find_map(|place| labels(subject, object, place))
    })
}

fn invalid(pointer: String, reason: String) -> Problem {
    Problem::new(FailureKind::InvalidValue { pointer }, Certainty::Likely, reason)
}

/// Most kinds are named like DNS subdomains; RBAC's are not (Kubernetes `NameIsDNSSubdomain`, `NameIsDNSLabel`, `NameIsDNS1035Label`).
fn name(subject: &Subject<'_>, object: &Value) -> Option<Problem> {
    let (name, generated) = (text(object, "/metadata/name"), text(object, "/metadata/generateName"));
    let checked = matches!(subject.group, "" | "apps" | "batch" | "autoscaling" | "policy" | "networking.k8s.io" | "storage.k8s.io");
    if name.is_empty() || !checked {
        return None;
    }
    let is_label = matches!((subject.group, subject.kind), ("", "Service" | "Namespace"));
    let limit = if is_label { MAX_LABEL } else { MAX_SUBDOMAIN };
    let fits = name.len() <= limit && name.split('.').all(is_dns_label) && !(is_label && name.contains('.'));
    (!fits && generated.is_empty()).then(|| {
        let what = if is_label { "no dots" } else { "dots" };
        let reason = format!(
            "metadata.name of {subject} is no valid name: at most {limit} lower-case letters, digits, hyphens and {what}, with a letter or digit at both ends"
        );
        invalid("/metadata/name".to_owned(), reason)
    })
}

fn labels(subject: &Subject<'_>, object: &Value, place: &str) -> Option<Problem> {
    let labels = object.pointer(place)?.as_object()?;
    labels.iter().find_map(|(key, value)| {
        let pointer = join(place, key);
        let field = super::dotted(&pointer);
        if !is_label_key(key) {
            return Some(invalid(pointer, format!("{field} of {subject} is no valid label key")));
        }
        let value = value.as_str()?;
        let why = if value.len() > MAX_LABEL {
            format!("{} characters, and a label has at most {MAX_LABEL}", value.chars().count())
        } else if !value.is_empty() && !is_qualified(value) {
            "which is no valid label value".to_owned()
        } else {
            return None;
        };
        Some(invalid(pointer, format!("{field} of {subject} is {}, {why}", shown(Some(&Value::from(value))))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(object: &Value) -> Option<String> {
        problem(&Subject::of(object, None), object).map(|problem| problem.into_failure().message)
    }

    #[test]
    fn a_label_that_is_too_long_or_misspelt_will_likely_fail() {
        let with = |labels: Value| message(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": labels}}));
        assert!(
            with(json!({"app": "x".repeat(64)})).is_some_and(|text| text.contains("64 characters") && text.contains("will likely fail"))
        );
        assert_eq!(with(json!({"app": "x".repeat(63), "example.test/part": "A_b.c-1", "empty": ""})), None);
        for (key, value) in [("app", "a b"), ("app", "-a"), ("a b", "x"), ("a/b/c", "x"), ("Example.test/a", "x"), ("", "x")] {
            assert!(with(json!({key: value})).is_some(), "{key}={value}");
        }
    }

    #[test]
    fn labels_of_pods_count_as_well() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"template": {"metadata": {"labels": {"app": "a/b"}}}}});
        assert!(message(&object).is_some_and(|text| text.starts_with("spec.template.metadata.labels.app of Deployment a is a/b")));
    }

    #[test]
    fn names_follow_the_rules_of_their_kind() {
        let named = |api: &str, kind: &str, name: &str| message(&json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}}));
        for (api, kind, name) in [
            ("v1", "ConfigMap", "a.b-1"),
            ("rbac.authorization.k8s.io/v1", "Role", "system:Reader"),
            ("example.test/v1", "Shelf", "X_y"),
            ("v1", "Service", "web-1"),
        ] {
            assert_eq!(named(api, kind, name), None, "{kind} {name}");
        }
        for (api, kind, name) in [
            ("v1", "ConfigMap", "Upper"),
            ("apps/v1", "Deployment", "a_b"),
            ("v1", "Service", "a.b"),
            ("v1", "Secret", "a-"),
            ("v1", "Pod", "a..b"),
        ] {
            assert!(named(api, kind, name).is_some(), "{kind} {name}");
        }
    }
}
