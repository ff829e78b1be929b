//! Live objects whose secret values a snapshot left out, completed for the comparison.
//!
//! Takes a live object with markers and what Git rendered before and after; hands on the live object in which what Git had before the
//! change stands in for what nobody knows. So a change of a Secret in Git is seen, and drift inside a Secret is not guessed at.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::argocd::names::LAST_APPLIED;
use crate::manifest::annotation;
use crate::manifest::base64;
use crate::snapshot::is_redacted;

/// The live object with every marker replaced: by the base target's value, else by the target's own.
pub fn completed<'a>(live: &'a Value, base: Option<&Value>, target: &Value) -> Cow<'a, Value> {
    let applied = annotation(live, LAST_APPLIED);
    let is_secret = live.get("kind").is_some_and(|kind| kind == "Secret");
    let marked = has_marker(live);
    let lacks_applied = is_secret && applied.is_none();
    if !marked && !lacks_applied {
        return Cow::Borrowed(live);
    }
    let known = with_data(base.unwrap_or(target));
    let own = with_data(target);
    let mut object = live.clone();
    fill(&mut object, Some(&known), Some(&own));
    let applied = match applied {
        Some(text) if text.contains(crate::snapshot::REDACTED) => serde_json::from_str(text).ok().map(|mut applied: Value| {
            fill(&mut applied, Some(&known), Some(&own));
            applied.to_string()
        }),
        // A snapshot drops what was applied of a Secret; without it nothing that leaves Git would be noticed.
        None if is_secret && marked => base.map(Value::to_string),
        _ => None,
    };
    if let Some(applied) = applied {
        set_last_applied(&mut object, applied);
    }
    Cow::Owned(object)
}

fn has_marker(value: &Value) -> bool {
    match value {
        Value::String(_) => is_redacted(value),
        Value::Array(items) => items.iter().any(has_marker),
        Value::Object(fields) => fields.iter().any(|(name, value)| name != "managedFields" && has_marker(value)),
        _ => false,
    }
}

/// A Secret with its `stringData` merged into `data`, as the API server stores it; other objects as they are.
fn with_data(object: &Value) -> Cow<'_, Value> {
    let Some(plain) =
        object.get("stringData").and_then(Value::as_object).filter(|_| object.get("kind").is_some_and(|kind| kind == "Secret"))
    else {
        return Cow::Borrowed(object);
    };
    let mut merged = object.clone();
    if let Some(fields) = merged.as_object_mut() {
        let data = fields.entry("data").or_insert_with(|| Value::Object(Map::new()));
        if data.is_null() {
            *data = Value::Object(Map::new());
        }
        if let Some(data) = data.as_object_mut() {
            data.extend(
                plain.iter().filter_map(|(name, value)| Some((name.clone(), Value::String(base64::encode(value.as_str()?.as_bytes()))))),
            );
        }
    }
    Cow::Owned(merged)
}

fn fill(live: &mut Value, base: Option<&Value>, target: Option<&Value>) {
    match live {
        Value::String(_) if is_redacted(live) => {
            if let Some(known) = base.or(target) {
                *live = known.clone();
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut().filter(|(name, _)| *name != "managedFields" && *name != "annotations") {
                fill(value, base.and_then(|base| base.get(name)), target.and_then(|target| target.get(name)));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let (before, after) = (counterpart(item, index, base), counterpart(item, index, target));
                fill(item, before, after);
            }
        }
        _ => {}
    }
}

/// The element of another list that goes with this one: the one of the same name, else the one at the same place.
fn counterpart<'v>(item: &Value, index: usize, list: Option<&'v Value>) -> Option<&'v Value> {
    let list = list?.as_array()?;
    match item.get("name") {
        Some(name) => list.iter().find(|other| other.get("name") == Some(name)),
        None => list.get(index),
    }
}

fn set_last_applied(object: &mut Value, text: String) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(LAST_APPLIED.to_owned(), Value::String(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::REDACTED;
    use serde_json::json;

    fn secret(data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": data})
    }

    #[test]
    fn what_git_had_before_stands_in_for_a_secret_value() {
        let live = secret(json!({"a": REDACTED}));
        let completed = completed(&live, Some(&secret(json!({"a": "b2xk"}))), &secret(json!({"a": "bmV3"})));
        assert_eq!(completed["data"]["a"], "b2xk");
        assert!(annotation(&completed, LAST_APPLIED).unwrap().contains("b2xk"));
    }

    #[test]
    fn without_a_base_the_value_counts_as_unchanged() {
        let live = secret(json!({"a": REDACTED}));
        let target = json!({"kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "new"}});
        assert_eq!(completed(&live, None, &target)["data"]["a"], "bmV3");
    }

    #[test]
    fn variables_are_matched_by_name_and_other_objects_are_not_copied() {
        let env =
            |value: &str| json!({"kind": "Pod", "spec": {"containers": [{"name": "c", "env": [{"name": "PASSWORD", "value": value}]}]}});
        let live = json!({"kind": "Pod", "spec": {"containers": [{"name": "sidecar"}, {"name": "c", "env": [{"name": "PASSWORD", "value": REDACTED}]}]}});
        let filled = completed(&live, Some(&env("old")), &env("new"));
        assert_eq!(filled["spec"]["containers"][1]["env"][0]["value"], "old");
        assert!(matches!(completed(&env("x"), None, &env("y")), Cow::Borrowed(_)));
    }
}
