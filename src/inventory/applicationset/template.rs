//! The Application that a set's template makes before and after it is rendered.

use serde_json::{Map, Value, json};

use crate::argocd::applicationset::{Template, TemplateMetadata};
use crate::argocd::go;
use crate::argocd::names::{GROUP, RESOURCES_FINALIZER};

/// A generator's template with what it leaves empty from the set's.
///
/// Source: Argo CD `applicationset/generators/generator_spec_processor.go:mergeGeneratorTemplate` (`mergo.Merge` without override): maps are
/// joined, lists are not.
pub(super) fn merged(own: Option<&Template>, set: &Template) -> Template {
    let Some(own) = own else { return set.clone() };
    let mut metadata = own.metadata.clone();
    if metadata.name.is_empty() {
        metadata.name.clone_from(&set.metadata.name);
    }
    if metadata.finalizers.is_empty() {
        metadata.finalizers.clone_from(&set.metadata.finalizers);
    }
    for (mine, theirs) in [(&mut metadata.labels, &set.metadata.labels), (&mut metadata.annotations, &set.metadata.annotations)] {
        for (key, value) in theirs {
            let slot = mine.entry(key.clone()).or_default();
            if slot.is_empty() {
                slot.clone_from(value);
            }
        }
    }
    Template { metadata, spec: filled(&own.spec, &set.spec, "") }
}

/// `mine`, with what is empty in it from `theirs`. Values for Helm are one thing.
fn filled(mine: &Value, theirs: &Value, field: &str) -> Value {
    match (mine, theirs) {
        (Value::Object(mine), Value::Object(theirs)) if field != "valuesObject" => {
            let mut both: Map<String, Value> = theirs.clone();
            for (key, value) in mine {
                let merged = theirs.get(key).map_or_else(|| value.clone(), |other| filled(value, other, key));
                both.insert(key.clone(), merged);
            }
            Value::Object(both)
        }
        _ if go::is_zero(mine) => theirs.clone(),
        _ => mine.clone(),
    }
}

/// The Application of a template, not rendered.
pub(super) fn application(template: &Template) -> Value {
    let TemplateMetadata { name, labels, annotations, finalizers } = &template.metadata;
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(name));
    for (field, texts) in [("labels", labels), ("annotations", annotations)] {
        if !texts.is_empty() {
            metadata.insert(field.to_owned(), json!(texts));
        }
    }
    if !finalizers.is_empty() {
        metadata.insert("finalizers".to_owned(), json!(finalizers));
    }
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "Application", "metadata": metadata, "spec": template.spec})
}

/// Without finalizers of its own, an Application gets the one that deletes its objects, unless the set preserves them.
///
/// Source: Argo CD `applicationset/utils/utils.go:RenderTemplateParams`.
pub(super) fn add_finalizer(object: &mut Value, preserves: bool) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if !preserves && !metadata.contains_key("finalizers") {
        metadata.insert("finalizers".to_owned(), json!([RESOURCES_FINALIZER]));
    }
}

/// Puts an Application into the namespace of its set, whatever the template says.
pub(super) fn place(object: &mut Value, namespace: &str) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
}
