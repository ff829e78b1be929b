//! What keeps an object from being read as an Application: a field that is missing, or that has another type than Argo CD's schema says.
//!
//! Source: Argo CD `manifests/crds/application-crd.yaml`.

use std::fmt;

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

/// The type that a field has, and those of the fields and items in it that decide something.
enum Shape {
    Map(&'static [(&'static str, Shape)]),
    List(&'static Shape),
    Text,
    Flag,
    Any,
}

use Shape::{Any, Flag, List, Map, Text};

const SOURCE: Shape = Map(&[
    ("repoURL", Text),
    ("path", Text),
    ("targetRevision", Text),
    ("chart", Text),
    ("ref", Text),
    ("helm", Map(&[("parameters", List(&Any)), ("valueFiles", List(&Any))])),
    ("kustomize", Map(&[])),
    ("plugin", Map(&[])),
    ("directory", Map(&[("recurse", Flag), ("include", Text), ("exclude", Text)])),
]);

/// Where the types that decide something must be right.
const SPEC: Shape = Map(&[
    ("project", Text),
    ("destination", Map(&[("server", Text), ("name", Text), ("namespace", Text)])),
    ("source", SOURCE),
    ("sources", List(&SOURCE)),
    ("sourceHydrator", Map(&[])),
    (
        "syncPolicy",
        Map(&[
            ("automated", Map(&[("enabled", Flag), ("prune", Flag), ("selfHeal", Flag), ("allowEmpty", Flag)])),
            ("syncOptions", List(&Text)),
        ]),
    ),
]);

/// What every object's metadata has.
const METADATA: Shape =
    Map(&[("name", Text), ("namespace", Text), ("labels", Map(&[])), ("annotations", Map(&[])), ("finalizers", List(&Text))]);

/// What is wrong with the spec of an Application; `None` where it can be read.
pub fn spec_problem(object: &Value) -> Option<SpecProblem> {
    let problem = |pointer: &str, message: String| Some(SpecProblem { pointer: pointer.to_owned(), message });
    let Some(spec) = object.get("spec").filter(|spec| !spec.is_null()) else { return problem("", "spec is missing".to_owned()) };
    if let Some(WrongType { pointer, wanted }) = wrong_type(object) {
        let value = object.pointer(&pointer).unwrap_or(&Value::Null);
        return problem(&pointer, format!("{} is {}, not {wanted}", dotted(&pointer), type_of(value)));
    }
    let is_there = |field: &str| spec.get(field).is_some_and(|value| !value.is_null());
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

/// A value of another type than Argo CD's schema says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongType {
    /// JSON pointer to the value.
    pub pointer: String,
    /// The type that it must have, in words.
    pub wanted: &'static str,
}

/// The first value of an Application's spec that has another type than it must have.
pub fn wrong_type(object: &Value) -> Option<WrongType> {
    let (mut path, wanted) = wrong(object.get("spec")?, &SPEC)?;
    path.push("/spec".to_owned());
    path.reverse();
    Some(WrongType { pointer: path.concat(), wanted })
}

/// The first value of an object's metadata that has another type than it must have.
pub fn wrong_metadata_type(object: &Value) -> Option<WrongType> {
    let metadata = object.get("metadata")?;
    let found = wrong(metadata, &METADATA).or_else(|| {
        let texts = ["labels", "annotations"].into_iter().filter_map(|field| Some((field, metadata.get(field)?.as_object()?)));
        let mut values = texts.flat_map(|(field, texts)| texts.iter().map(move |(name, value)| (field, name, value)));
        let (field, name, _) = values.find(|(_, _, value)| wrong(value, &Text).is_some())?;
        Some((vec![format!("/{name}"), format!("/{field}")], "a text"))
    });
    let (mut path, wanted) = found?;
    path.push("/metadata".to_owned());
    path.reverse();
    Some(WrongType { pointer: path.concat(), wanted })
}

/// The way to the first value that has not the type that it must have, last step first, and that type.
fn wrong(value: &Value, shape: &Shape) -> Option<(Vec<String>, &'static str)> {
    let below = |step: &dyn fmt::Display, found: Option<(Vec<String>, &'static str)>| {
        found.map(|(mut path, wanted)| {
            path.push(format!("/{step}"));
            (path, wanted)
        })
    };
    let wanted = match (shape, value) {
        (Any, _) | (_, Value::Null) | (Text, Value::String(_)) | (Flag, Value::Bool(_)) => return None,
        (Map(shapes), Value::Object(fields)) => {
            return shapes.iter().find_map(|(name, shape)| below(name, wrong(fields.get(*name)?, shape)));
        }
        (List(shape), Value::Array(items)) => {
            return items.iter().enumerate().find_map(|(index, item)| below(&index, wrong(item, shape)));
        }
        (Map(_), _) => "a map",
        (List(_), _) => "a list",
        (Text, _) => "a text",
        (Flag, _) => "true or false",
    };
    Some((Vec::new(), wanted))
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
