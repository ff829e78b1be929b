//! Where two states differ: takes normalised live and predicted live, hands on the leaf differences as JSON pointers with both values
//! and the live owner of the field.

use serde_json::Value;

use super::owner::Owners;
use crate::manifest::pointer::escape;
use crate::plan::change::FieldChange;

/// What stands in place of a Secret's value.
pub const REDACTED: &str = "(redacted)";

/// Deeper differences are reported as one.
const DEPTH: usize = 100;

/// The differences, in the order of the fields' names.
pub(super) fn changes(live: &Value, predicted: &Value, owners: &Owners<'_>, secret: bool) -> Vec<FieldChange> {
    let mut found = Vec::new();
    compare(Some(live), Some(predicted), &mut String::new(), DEPTH, &mut |path, live, target| {
        let hide = |value: &Value| if secret && is_secret_value(path) { Value::from(REDACTED) } else { value.clone() };
        let (owner, owner_time) = owners.of(path).map_or((None, None), |owner| (Some(owner.manager), owner.time));
        found.push(FieldChange { path: path.to_owned(), live: live.map(hide), target: target.map(hide), owner, owner_time });
    });
    found
}

fn is_secret_value(path: &str) -> bool {
    ["/data", "/stringData"].iter().any(|prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

type Report<'r> = &'r mut dyn FnMut(&str, Option<&Value>, Option<&Value>);

fn compare(live: Option<&Value>, target: Option<&Value>, path: &mut String, depth: usize, report: Report<'_>) {
    match (live, target) {
        (Some(left), Some(right)) if left == right => {}
        (Some(Value::Object(left)), Some(Value::Object(right))) if depth > 0 => {
            let mut keys: Vec<_> = left.keys().chain(right.keys().filter(|key| !left.contains_key(*key))).collect();
            keys.sort_unstable();
            for key in keys {
                let length = path.len();
                path.push('/');
                path.push_str(&escape(key));
                compare(left.get(key), right.get(key), path, depth - 1, report);
                path.truncate(length);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) if depth > 0 && left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                let length = path.len();
                path.push('/');
                path.push_str(&index.to_string());
                compare(Some(left), Some(right), path, depth - 1, report);
                path.truncate(length);
            }
        }
        _ => report(path, live, target),
    }
}
