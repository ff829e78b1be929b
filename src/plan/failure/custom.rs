//! CustomResourceDefinitions, and custom resources whose definition forbids changes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::subject::{Subject, join, text};
use super::{Certainty, Change, FailureKind, Problem};

/// Deeper schemas are not followed.
const MAX_DEPTH: usize = 32;

/// A change of a definition or of a custom resource that the API server refuses.
pub(super) fn problem(change: &Change<'_>) -> Option<Problem> {
    if change.subject.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        return definition_name(&change.subject, change.target).or_else(|| definition(change)).or_else(|| stored_versions(change));
    }
    let key = (change.subject.group.to_owned(), change.subject.kind.to_owned());
    let definition = change.context.custom_resources.get(&key)?;
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array)?;
    let version = versions.iter().find(|version| text(version, "/name") == change.subject.version)?;
    frozen_field(change, version.pointer("/schema/openAPIV3Schema")?, "", 0)
}

/// A definition that cannot be created.
pub(super) fn creation_problem(subject: &Subject<'_>, target: &Value) -> Option<Problem> {
    subject.is("apiextensions.k8s.io", "CustomResourceDefinition").then(|| definition_name(subject, target)).flatten()
}

fn definition_name(subject: &Subject<'_>, target: &Value) -> Option<Problem> {
    let (plural, group, name) = (text(target, "/spec/names/plural"), text(target, "/spec/group"), text(target, "/metadata/name"));
    if plural.is_empty() || group.is_empty() || name == format!("{plural}.{group}") {
        return None;
    }
    let reason = format!("metadata.name of {subject} has to be {plural}.{group}");
    Some(Problem::new(FailureKind::InvalidValue { pointer: "/metadata/name".to_owned() }, Certainty::Likely, reason))
}

/// Scope and names stay once the definition is established (apiextensions `ValidateCustomResourceDefinitionUpdate`).
fn definition(change: &Change<'_>) -> Option<Problem> {
    let conditions = change.live.pointer("/status/conditions").and_then(Value::as_array);
    // A live object without conditions is one that presync assumes: taken as established.
    let established = conditions
        .is_none_or(|all| all.iter().any(|condition| text(condition, "/type") == "Established" && text(condition, "/status") == "True"));
    if !established {
        return None;
    }
    change.immutable(&["/spec/group", "/spec/scope", "/spec/names/kind", "/spec/names/plural"], Certainty::Likely)
}

fn stored_versions(change: &Change<'_>) -> Option<Problem> {
    let stored = change.live.pointer("/status/storedVersions").and_then(Value::as_array)?;
    let versions = change.merged.pointer("/spec/versions").and_then(Value::as_array)?;
    let kept: BTreeSet<&str> = versions.iter().map(|version| text(version, "/name")).collect();
    let gone = stored.iter().filter_map(Value::as_str).find(|version| !kept.contains(version))?;
    let reason = format!("{} drops version {gone}, which its status.storedVersions still lists", change.subject);
    let kind = FailureKind::InvalidValue { pointer: "/spec/versions".to_owned() };
    // Deleting the definition would pass, and take every custom resource with it; kubectl's --force does just that.
    Some(Problem::new(kind, Certainty::Likely, reason))
}

/// A field under a rule like `self == oldSelf` that changes. List items are left out: they need correlation.
fn frozen_field(change: &Change<'_>, schema: &Value, pointer: &str, depth: usize) -> Option<Problem> {
    // Such a rule is only asked where both objects have the field.
    if depth > MAX_DEPTH || change.live.pointer(pointer).is_none() || change.merged.pointer(pointer).is_none() {
        return None;
    }
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    for rule in rules {
        for field in frozen_by(text(rule, "/rule")) {
            let at = field.split('.').filter(|part| !part.is_empty()).fold(pointer.to_owned(), |at, part| join(&at, part));
            let changes = change.at(&at);
            if changes.is_empty() {
                continue;
            }
            let mut problem = Problem::immutable(&change.subject, &[&at], changes, Certainty::Likely);
            let message = text(rule, "/message");
            if !message.is_empty() {
                problem.reason = format!("{} ({message})", problem.reason);
            }
            return Some(problem);
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.into_iter().find_map(|(name, below)| frozen_field(change, below, &join(pointer, name), depth + 1))
}

/// The fields that a rule freezes, relative to `self` (empty for all of it): `a == b` parts joined by `&&`, nothing else.
fn frozen_by(rule: &str) -> Vec<&str> {
    let mut fields = Vec::new();
    for part in rule.split("&&") {
        let part = part.trim();
        let Some((left, right)) = part.trim_start_matches('(').trim_end_matches(')').split_once("==") else { return Vec::new() };
        let (left, right) = (left.trim(), right.trim());
        let (new, old) = if left.starts_with("oldSelf") { (right, left) } else { (left, right) };
        let (Some(new), Some(old)) = (new.strip_prefix("self"), old.strip_prefix("oldSelf")) else { return Vec::new() };
        let plain = |path: &str| {
            path.is_empty()
                || (path.starts_with('.') && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_')))
        };
        if new != old || !plain(new) {
            return Vec::new();
        }
        fields.push(new);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_transition_rules_are_read() {
        assert_eq!(frozen_by("self == oldSelf"), [""]);
        assert_eq!(frozen_by("oldSelf.zone==self.zone"), [".zone"]);
        assert_eq!(frozen_by("(self.a == oldSelf.a) && self.b.c == oldSelf.b.c"), [".a", ".b.c"]);
        for rule in [
            "self >= oldSelf",
            "self == oldSelf || self == ''",
            "has(self.a) == has(oldSelf.a)",
            "self.a == oldSelf.b",
            "self.size() == oldSelf.size()",
            "",
        ] {
            assert_eq!(frozen_by(rule), Vec::<&str>::new(), "{rule}");
        }
    }
}
