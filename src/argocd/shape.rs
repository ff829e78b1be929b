//! What keeps an object from being read as an Application: a field that is missing, or that has another type than Argo CD's schema says.
//!
//! Source: Argo CD `manifests/crds/application-crd.yaml`.

use serde_json::Value;

use super::schema::unknown_fields;

/// Why the spec of an Application cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SpecProblem {
    /// JSON pointer to the field; to what should hold it where it is missing.
    pub pointer: String,
    /// In words, with the field.
    pub message: String,
}

/// The type that a field has.
#[derive(Clone, Copy)]
enum Kind {
    Map,
    List,
    Text,
    Flag,
}

use Kind::{Flag, List, Map, Text};

/// Where the types that decide something must be right. `*` stands for every item of a list.
const TYPES: [(&str, Kind); 43] = [
    ("/spec/project", Text),
    ("/spec/destination", Map),
    ("/spec/destination/server", Text),
    ("/spec/destination/name", Text),
    ("/spec/destination/namespace", Text),
    ("/spec/source", Map),
    ("/spec/source/repoURL", Text),
    ("/spec/source/path", Text),
    ("/spec/source/targetRevision", Text),
    ("/spec/source/chart", Text),
    ("/spec/source/ref", Text),
    ("/spec/source/helm", Map),
    ("/spec/source/helm/parameters", List),
    ("/spec/source/helm/valueFiles", List),
    ("/spec/source/kustomize", Map),
    ("/spec/source/plugin", Map),
    ("/spec/source/directory", Map),
    ("/spec/source/directory/recurse", Flag),
    ("/spec/source/directory/include", Text),
    ("/spec/source/directory/exclude", Text),
    ("/spec/sources", List),
    ("/spec/sources/*", Map),
    ("/spec/sources/*/repoURL", Text),
    ("/spec/sources/*/path", Text),
    ("/spec/sources/*/targetRevision", Text),
    ("/spec/sources/*/chart", Text),
    ("/spec/sources/*/ref", Text),
    ("/spec/sources/*/helm", Map),
    ("/spec/sources/*/helm/parameters", List),
    ("/spec/sources/*/helm/valueFiles", List),
    ("/spec/sources/*/kustomize", Map),
    ("/spec/sources/*/plugin", Map),
    ("/spec/sources/*/directory", Map),
    ("/spec/sources/*/directory/recurse", Flag),
    ("/spec/sourceHydrator", Map),
    ("/spec/syncPolicy", Map),
    ("/spec/syncPolicy/automated", Map),
    ("/spec/syncPolicy/automated/enabled", Flag),
    ("/spec/syncPolicy/automated/prune", Flag),
    ("/spec/syncPolicy/automated/selfHeal", Flag),
    ("/spec/syncPolicy/automated/allowEmpty", Flag),
    ("/spec/syncPolicy/syncOptions", List),
    ("/spec/syncPolicy/syncOptions/*", Text),
];

/// What is wrong with the spec of an Application; `None` where it can be read.
pub fn spec_problem(object: &Value) -> Option<SpecProblem> {
    let problem = |pointer: &str, message: String| Some(SpecProblem { pointer: pointer.to_owned(), message });
    let Some(spec) = object.get("spec").filter(|spec| !spec.is_null()) else { return problem("", "spec is missing".to_owned()) };
    let Some(fields) = spec.as_object() else { return problem("/spec", format!("spec is {}, not a map", type_of(spec))) };
    if let Some(wrong) = TYPES.iter().find_map(|(pattern, kind)| wrong_type(object, pattern, *kind)) {
        return Some(wrong);
    }
    let is_there = |field: &str| fields.get(field).is_some_and(|value| !value.is_null());
    let missing = if !is_there("destination") {
        "spec.destination is missing"
    } else if ["source", "sources", "sourceHydrator"].iter().any(|field| is_there(field)) {
        return None;
    } else {
        "there is no spec.source, spec.sources or spec.sourceHydrator"
    };
    let top = |pointer: &str| pointer.strip_prefix("/spec/").is_some_and(|rest| !rest.contains('/'));
    match unknown_fields(object).into_iter().find(|field| top(&field.pointer)) {
        Some(unknown) => problem(&unknown.pointer, format!("{missing}, and {} is no field of an Application", dotted(&unknown.pointer))),
        None => problem("/spec", missing.to_owned()),
    }
}

/// The first place of a pattern where another type stands.
fn wrong_type(object: &Value, pattern: &str, kind: Kind) -> Option<SpecProblem> {
    let Some((list, rest)) = pattern.split_once("/*") else { return wrong_at(object, pattern, kind) };
    let length = lookup(object, list)?.as_array()?.len();
    (0..length).find_map(|index| wrong_at(object, &format!("{list}/{index}{rest}"), kind))
}

fn wrong_at(object: &Value, pointer: &str, kind: Kind) -> Option<SpecProblem> {
    let value = lookup(object, pointer).filter(|value| !value.is_null())?;
    let (fits, wanted) = match kind {
        Map => (value.is_object(), "a map"),
        List => (value.is_array(), "a list"),
        Text => (value.is_string(), "a text"),
        Flag => (value.is_boolean(), "true or false"),
    };
    let message = || format!("{} is {}, not {wanted}", dotted(pointer), type_of(value));
    (!fits).then(|| SpecProblem { pointer: pointer.to_owned(), message: message() })
}

/// What a pointer without escapes leads to. Each Application is asked for all of them, so nothing is copied on the way.
fn lookup<'o>(object: &'o Value, pointer: &str) -> Option<&'o Value> {
    pointer.split('/').skip(1).try_fold(object, |value, token| match value {
        Value::Object(fields) => fields.get(token),
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        _ => None,
    })
}

fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(spec: Value) -> Option<(String, String)> {
        let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"}, "spec": spec});
        spec_problem(&object).map(|problem| (problem.pointer, problem.message))
    }

    #[test]
    fn a_misspelt_or_missing_field_is_named_with_its_place() {
        let destination = json!({"server": "s"});
        let source = json!({"repoURL": "r"});
        let named = |spec: Value| problem(spec).unwrap();
        assert_eq!(
            named(json!({"destination": destination, "soruce": source})),
            (
                "/spec/soruce".to_owned(),
                "there is no spec.source, spec.sources or spec.sourceHydrator, and spec.soruce is no field of an Application".to_owned()
            )
        );
        assert_eq!(named(json!({"source": source})), ("/spec".to_owned(), "spec.destination is missing".to_owned()));
        assert_eq!(named(json!([])).1, "spec is a list, not a map");
        assert_eq!(named(Value::Null).1, "spec is missing");
        assert_eq!(problem(json!({"destination": destination, "source": source})), None);
    }

    #[test]
    fn a_field_of_another_type_is_named_at_every_level() {
        let with = |pointer: &str, value: Value| {
            let mut spec = json!({"destination": {}, "source": {"directory": {}}, "sources": [{}], "syncPolicy": {"automated": {}}});
            *spec.pointer_mut(pointer).unwrap() = value;
            problem(spec).unwrap()
        };
        assert_eq!(with("/source", json!([])), ("/spec/source".to_owned(), "spec.source is a list, not a map".to_owned()));
        assert_eq!(with("/sources", json!({})).1, "spec.sources is a map, not a list");
        assert_eq!(
            with("/sources/0", json!({"path": 5})),
            ("/spec/sources/0/path".to_owned(), "spec.sources.0.path is a number, not a text".to_owned())
        );
        assert_eq!(with("/syncPolicy/automated", json!([])).1, "spec.syncPolicy.automated is a list, not a map");
        assert_eq!(
            with("/syncPolicy/automated", json!({"prune": "true"})).1,
            "spec.syncPolicy.automated.prune is a text, not true or false"
        );
        assert_eq!(with("/destination", json!("x")).1, "spec.destination is a text, not a map");
    }
}
