//! Takes secret values out of objects, before anything of them is kept.
//!
//! Takes a parsed object; hands back the same object with a marker in place of each secret value. Which values are meant: the data of
//! Secrets wherever they stand, environment variables and Helm parameters whose names say so, passwords in URLs beside them, the
//! connection settings in `argocd-cm`, and what Helm stores of its releases.

mod scan;
mod secret;
mod values;

use memchr::memmem;
use serde_json::{Map, Value};

use crate::argocd::names::{GROUP, LAST_APPLIED};

use crate::manifest::key::split_api_version;
pub use values::{SecretNames, may_be_secret};

/// Stands where a secret value stood. It never says that two values are equal.
pub const REDACTED: &str = "presync:redacted";

/// Keys of `argocd-cm` that hold connection settings with secrets.
const ARGOCD_CM_SECRETS: [&str; 4] = ["dex.config", "oidc.config", "repositories", "repository.credentials"];

/// Whether a value of a live object is the marker for a secret value: nobody knows what it was.
pub fn is_redacted(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains(REDACTED))
}

/// Whether an object's JSON may hold anything that [`redact`] takes out. Escapes might hide a name, so they count as well.
pub(super) fn may_hold_secrets(text: &[u8]) -> bool {
    const SIGNS: [&[u8]; 6] = [b"Secret", b"last-applied-configuration", b"\"argoproj.io", b"argocd-cm", b"\"helm\"", b"\\u00"];
    let has = |sign: &[u8]| memmem::find(text, sign).is_some();
    SIGNS.into_iter().any(has) || has(b"\"env\"") && scan::finds_named_secret(text)
}

/// Replaces every secret value in an object by [`REDACTED`]. Returns whether anything changed.
pub(super) fn redact(object: &mut Value) -> bool {
    redact_named(object, &SecretNames::default())
}

/// The same with names of secret values besides the built-in ones.
pub(super) fn redact_named(object: &mut Value, names: &SecretNames) -> bool {
    walk(object, false, names)
}

/// Whether text holds what may be a Secret, in whatever object.
pub(super) fn may_hold_a_secret_object(text: &[u8]) -> bool {
    memmem::find(text, b"\"Secret").is_some() || memmem::find(text, b"\\u00").is_some()
}

fn walk(value: &mut Value, in_argocd: bool, names: &SecretNames) -> bool {
    match value {
        Value::Array(items) => items.iter_mut().fold(false, |changed, item| walk(item, in_argocd, names) | changed),
        Value::Object(map) => walk_map(map, in_argocd, names),
        _ => false,
    }
}

fn walk_map(map: &mut Map<String, Value>, in_argocd: bool, names: &SecretNames) -> bool {
    let text = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = split_api_version(text("apiVersion"));
    let in_argocd = in_argocd || group == GROUP;
    let core = |kind: &str| group.is_empty() && version == "v1" && text("kind") == kind;
    if core("Secret") {
        return secret::redact(map);
    }
    let mut changed = core("ConfigMap") && redact_config_map(map);
    for (name, value) in map.iter_mut() {
        changed |= match (name.as_str(), &mut *value) {
            ("annotations", Value::Object(annotations)) => redact_last_applied(annotations, names),
            ("env", Value::Array(variables)) => names.redact_named(variables),
            ("parameters", Value::Array(parameters)) if in_argocd => names.redact_named(parameters),
            ("helm", Value::Object(helm)) if in_argocd => names.redact_helm(helm),
            _ => false,
        };
        changed |= walk(value, in_argocd, names);
    }
    changed
}

/// What was applied holds the same values once more.
fn redact_last_applied(annotations: &mut Map<String, Value>, names: &SecretNames) -> bool {
    let Some(Value::String(applied)) = annotations.get_mut(LAST_APPLIED) else { return false };
    let replacement = match serde_json::from_str::<Value>(applied) {
        Ok(mut object) => match walk(&mut object, false, names) {
            true => object.to_string(),
            false => return false,
        },
        Err(_) if applied == REDACTED => return false,
        Err(_) => REDACTED.to_owned(),
    };
    *applied = replacement;
    true
}

fn redact_config_map(map: &mut Map<String, Value>) -> bool {
    let metadata = |field: &str| map.get("metadata").and_then(|metadata| metadata.get(field));
    let is_helm_release = metadata("labels").and_then(|labels| labels.get("owner")).and_then(Value::as_str) == Some("helm");
    let is_settings = metadata("name").and_then(Value::as_str) == Some("argocd-cm");
    let Some(data) = map.get_mut("data").and_then(Value::as_object_mut) else { return false };
    if is_helm_release {
        return data.remove("release").is_some();
    }
    let mut changed = false;
    for key in ARGOCD_CM_SECRETS.iter().filter(|_| is_settings) {
        if let Some(value) = data.get_mut(*key) {
            changed |= mark(value);
        }
    }
    changed
}

/// Puts the marker in place of a value.
fn mark(value: &mut Value) -> bool {
    let changes = value.as_str() != Some(REDACTED);
    *value = REDACTED.into();
    changes
}

#[cfg(test)]
mod tests;
