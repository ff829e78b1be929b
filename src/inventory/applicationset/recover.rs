//! What a set makes of the parameters that its live Applications were rendered with, where only the network knows the parameters.
//!
//! Takes the set before and after a change of its template, and its live Applications; hands on the Applications that the new template makes of
//! the same parameters. They are read off the live Applications where the template holds nothing but plain placeholders.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use regex::Regex;
use serde_json::Value as Json;

use super::params::{Dict, Params, Value};
use super::render::Renderer;
use super::{Generated, patch, template};
use crate::argocd::ApplicationSet;
use crate::argocd::applicationset::Template;

/// A text between placeholders, or the name of a placeholder.
enum Part<'t> {
    Text(&'t str),
    Name(String),
}

/// The Applications that `after` makes of the parameters of the live Applications of `before`. Both have the same generators.
///
/// # Errors
/// Why the parameters cannot be read off, in words.
pub fn like_live(before: &ApplicationSet, after: &ApplicationSet, live: &[&Json]) -> Result<Vec<Generated>, String> {
    if before.spec.generators != after.spec.generators || before.spec.go_template != after.spec.go_template {
        return Err("its generators change, and what they give is not known".to_owned());
    }
    if after.spec.generators.iter().flat_map(super::generators::own_templates).any(|own| *own != Template::default()) {
        return Err("its generators have templates of their own".to_owned());
    }
    let renderer = Renderer::new(&after.spec).map_err(|error| error.to_string())?;
    let go = after.spec.go_template;
    let old = template::application(&before.spec.template);
    let new = template::application(&after.spec.template);
    let mut needed = BTreeSet::new();
    names_in(&new, go, &mut needed)?;
    for part in after.spec.template_patch.as_deref().map(|text| parts(text, go)).transpose()?.unwrap_or_default() {
        if let Part::Name(name) = part {
            needed.insert(name);
        }
    }
    let mut generated = Vec::new();
    for live in live {
        let mut known = BTreeMap::new();
        read_off(&old, live, go, &mut known);
        if let Some(name) = needed.iter().find(|name| !known.contains_key(*name)) {
            return Err(format!("the parameter {name} cannot be read off the live Applications"));
        }
        let params = as_params(&known, go);
        let rendered = renderer.deep(&new, &params).map_err(|error| error.to_string())?;
        let mut object = rendered;
        template::add_finalizer(&mut object, after.spec.sync_policy.preserve_resources_on_deletion);
        if let Some(text) = &after.spec.template_patch {
            object = patch::apply(object, &renderer.text(text, &params).map_err(|error| error.to_string())?)?;
        }
        template::place(&mut object, &after.id.namespace);
        generated.push(Generated { object, parameters: Value::Map(params).to_json() });
    }
    Ok(generated)
}

/// The parts of a template text.
///
/// # Errors
/// Where it holds more than plain placeholders.
fn parts(text: &str, go: bool) -> Result<Vec<Part<'_>>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once("{{") {
        let Some((tag, tail)) = tail.split_once("}}") else { break };
        found.push(Part::Text(before));
        let tag = tag.trim();
        let name = if go { tag.strip_prefix('.').unwrap_or_default() } else { tag };
        let plain =
            |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_') || (!go && matches!(letter, '-' | '/' | '[' | ']'));
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!("the template holds {{{{{tag}}}}}, from which parameters cannot be read off"));
        }
        found.push(Part::Name(name.to_owned()));
        rest = tail;
    }
    found.push(Part::Text(rest));
    Ok(found)
}

/// The placeholders of a value.
fn names_in(json: &Json, go: bool, names: &mut BTreeSet<String>) -> Result<(), String> {
    let mut of_text = |text: &str| -> Result<(), String> {
        names.extend(parts(text, go)?.into_iter().filter_map(|part| match part {
            Part::Name(name) => Some(name),
            Part::Text(_) => None,
        }));
        Ok(())
    };
    match json {
        Json::String(text) => of_text(text),
        Json::Array(items) => items.iter().try_for_each(|item| names_in(item, go, names)),
        Json::Object(fields) => {
            fields.keys().try_for_each(|key| of_text(key))?;
            fields.values().try_for_each(|value| names_in(value, go, names))
        }
        _ => Ok(()),
    }
}

/// Reads parameters off a live Application, along the template that made it. What contradicts itself is not known.
fn read_off(template: &Json, live: &Json, go: bool, known: &mut BTreeMap<String, String>) {
    match (template, live) {
        (Json::String(template), Json::String(live)) => {
            let Ok(parts) = parts(template, go) else { return };
            let names: Vec<String> = parts
                .iter()
                .filter_map(|part| match part {
                    Part::Name(name) => Some(name.clone()),
                    Part::Text(_) => None,
                })
                .collect();
            // With two placeholders side by side or more it would be a guess which letter belongs to which.
            let [name] = names.as_slice() else { return };
            let pattern: String = parts
                .iter()
                .map(|part| match part {
                    Part::Text(text) => regex::escape(text),
                    Part::Name(_) => "(?s)(.*)".to_owned(),
                })
                .collect();
            let value = Regex::new(&format!("^{pattern}$")).ok().and_then(|pattern| {
                let captures = pattern.captures(live)?;
                captures.get(1).map(|value| value.as_str().to_owned())
            });
            if let Some(value) = value {
                known.entry(name.clone()).or_insert(value);
            }
        }
        (Json::Array(template), Json::Array(live)) if template.len() == live.len() => {
            for (template, live) in template.iter().zip(live) {
                read_off(template, live, go, known);
            }
        }
        (Json::Object(template), Json::Object(live)) => {
            for (key, template) in template {
                if let Some(live) = live.get(key) {
                    read_off(template, live, go, known);
                }
            }
        }
        _ => {}
    }
}

/// Parameters with dotted names, as nested maps for Go templates.
fn as_params(known: &BTreeMap<String, String>, go: bool) -> Params {
    let root = Rc::new(Dict::default());
    for (name, value) in known {
        if !go {
            root.entries.borrow_mut().insert(name.as_str().into(), Value::text(value));
            continue;
        }
        let mut at = Rc::clone(&root);
        let mut names = name.split('.').peekable();
        while let Some(part) = names.next() {
            if names.peek().is_none() {
                at.entries.borrow_mut().insert(part.into(), Value::text(value));
                break;
            }
            let next = match at.get(part) {
                Some(Value::Map(next)) => next,
                _ => Rc::new(Dict::default()),
            };
            at.entries.borrow_mut().insert(part.into(), Value::Map(Rc::clone(&next)));
            at = next;
        }
    }
    root
}
