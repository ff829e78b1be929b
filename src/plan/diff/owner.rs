//! Who owns a live field: takes a live object with its managedFields, hands on the manager of a JSON pointer, and when it wrote.

use serde_json::{Map, Value};

/// The managedFields of one live object.
pub struct Owners<'v> {
    live: &'v Value,
    entries: Vec<&'v Map<String, Value>>,
}

/// Who owns a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The field manager.
    pub manager: String,
    /// When it last wrote anything of the object, as it stands there; `None` where that is not noted.
    pub time: Option<String>,
}

/// How well an entry names a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    /// It owns something below the field.
    Below,
    /// It owns the field, or a value that contains it.
    Exact,
}

impl<'v> Owners<'v> {
    /// Reads `metadata.managedFields` of a live object.
    pub fn new(live: &'v Value) -> Owners<'v> {
        let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array);
        Owners { live, entries: entries.into_iter().flatten().filter_map(Value::as_object).collect() }
    }

    /// As [`Owners::new`] of `managed`, for pointers into a form of it that was evened out for a comparison.
    pub(super) fn within(form: &'v Value, managed: &'v Value) -> Owners<'v> {
        Owners { live: form, ..Owners::new(managed) }
    }

    /// As [`Owners::new`], with the entries of one manager alone.
    pub fn of_manager(live: &'v Value, manager: &str) -> Owners<'v> {
        let mut owners = Owners::new(live);
        owners.entries.retain(|entry| entry.get("manager").is_some_and(|own| own == manager));
        owners
    }

    /// The manager that owns the field at a JSON pointer: of several, the one that wrote last (an entry of the `scale` subresource counts
    /// as any other). A container that nobody owns itself belongs to who owns a field below it.
    pub fn of(&self, pointer: &str) -> Option<Owner> {
        let steps = self.steps(pointer);
        let text = |entry: &Map<String, Value>, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let owner = self.entries.iter().filter_map(|entry| {
            let found = matches(entry.get("fieldsV1")?.as_object()?, &steps)?;
            Some((found, text(entry, "time"), text(entry, "manager")))
        });
        let (_, time, manager) = owner.max().filter(|(_, _, manager)| !manager.is_empty())?;
        Some(Owner { manager, time: Some(time).filter(|time| !time.is_empty()) })
    }

    /// Each step of the pointer with the live value it leads to.
    fn steps(&self, pointer: &str) -> Vec<(String, Option<&'v Value>, bool)> {
        let mut at = Some(self.live);
        let tokens = pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"));
        let steps = tokens.map(|token| {
            let in_list = at.is_some_and(Value::is_array);
            at = match at {
                Some(Value::Object(map)) => map.get(&token),
                Some(Value::Array(items)) => token.parse::<usize>().ok().and_then(|index| items.get(index)),
                _ => None,
            };
            (token, at, in_list)
        });
        steps.collect()
    }
}

fn matches(fields: &Map<String, Value>, steps: &[(String, Option<&Value>, bool)]) -> Option<Match> {
    let Some(((token, value, in_list), rest)) = steps.split_first() else {
        return Some(if fields.is_empty() || fields.contains_key(".") { Match::Exact } else { Match::Below });
    };
    if fields.is_empty() {
        // Owned as one value with everything in it.
        return Some(Match::Exact);
    }
    let inner = if *in_list { element(fields, token, (*value)?)? } else { fields.get(&format!("f:{token}"))? };
    matches(inner.as_object()?, rest)
}

/// The entry of a list element: by key fields, by value, or by index.
fn element<'f>(fields: &'f Map<String, Value>, index: &str, value: &Value) -> Option<&'f Value> {
    fields.iter().find_map(|(name, inner)| {
        let (form, text) = name.split_once(':')?;
        let same = match form {
            "i" => text == index,
            "v" => serde_json::from_str::<Value>(text).is_ok_and(|own| own == *value),
            "k" => serde_json::from_str::<Map<String, Value>>(text)
                .is_ok_and(|keys| keys.iter().all(|(key, own)| value.get(key).is_none_or(|found| found == own))),
            _ => false,
        };
        same.then_some(inner)
    })
}

#[cfg(test)]
mod tests {
    use super::Owners;
    use serde_json::json;

    #[test]
    fn owners_are_found_by_field_key_value_and_subresource() {
        let live = json!({
            "metadata": {"finalizers": ["a"], "managedFields": [
                {"manager": "argocd-controller", "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1":
                    {"f:spec": {"f:replicas": {}, "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}}},
                {"manager": "scaler", "operation": "Update", "subresource": "scale", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
                {"manager": "keeper", "operation": "Update", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:metadata": {"f:finalizers": {"v:\"a\"": {}}}}},
                {"manager": "args", "operation": "Update", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {"f:args": {}}}},
            ]},
            "spec": {"replicas": 3, "ports": [{"port": 80, "protocol": "TCP", "name": "web"}], "args": ["x"]}});
        let owners = Owners::new(&live);
        for (pointer, owner) in [
            ("/spec/replicas", Some("scaler")),
            ("/spec/ports/0/port", Some("argocd-controller")),
            ("/spec/ports/0/name", None),
            ("/spec/ports", Some("argocd-controller")),
            ("/metadata/finalizers/0", Some("keeper")),
            ("/spec/args/0", Some("args")),
            ("/spec/other", None),
        ] {
            assert_eq!(owners.of(pointer).as_ref().map(|owner| owner.manager.as_str()), owner, "{pointer}");
        }
        assert_eq!(owners.of("/spec/replicas").unwrap().time.as_deref(), Some("2026-01-02T00:00:00Z"));
    }
}
