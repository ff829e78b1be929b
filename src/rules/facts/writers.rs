//! Who wrote a field of a live object, and when, by its `managedFields`.

use serde_json::{Map, Value};

/// A field manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::rules) struct Writer {
    /// Its name, for example `kubectl-edit`.
    pub(in crate::rules) manager: String,
    /// When it wrote last, RFC 3339; `None` where it is not said.
    pub(in crate::rules) time: Option<String>,
}

impl Writer {
    /// `argocd-server on 2026-11-02`, as messages name it.
    pub(in crate::rules) fn named(&self) -> String {
        match self.time.as_deref().and_then(|time| time.get(..10)) {
            Some(day) => format!("{} on {day}", self.manager),
            None => self.manager.clone(),
        }
    }
}

/// The manager that wrote a field; of several the one that wrote last. A manager of a whole map or list has written all below it, and
/// for a field that was taken away nobody is named.
pub(in crate::rules) fn writer_of(object: &Value, pointer: &str) -> Option<Writer> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array)?;
    let text = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
    entries
        .iter()
        .filter(|entry| entry.get("fieldsV1").and_then(Value::as_object).is_some_and(|fields| covers(fields, object, pointer)))
        .filter_map(|entry| Some(Writer { manager: text(entry, "manager")?, time: text(entry, "time") }))
        .max_by(|a, b| a.time.cmp(&b.time))
}

/// Whether a manager is a person's tool: what it writes is a change by hand.
pub(in crate::rules) fn is_person(manager: &str) -> bool {
    let by_hand = [
        "kubectl-edit",
        "kubectl-patch",
        "kubectl-scale",
        "kubectl-set",
        "kubectl-label",
        "kubectl-annotate",
        "kubectl-replace",
        "kubectl-rollout",
    ];
    let tools = ["k9s", "lens", "octant", "headlamp", "dashboard", "argocd-server"];
    manager == "kubectl" || by_hand.contains(&manager) || tools.iter().any(|tool| manager.to_lowercase().starts_with(tool))
}

/// Whether a manager is Argo CD, or `kubectl apply`, under whose name it writes client-side.
pub(in crate::rules) fn is_argocd(manager: &str) -> bool {
    (manager.starts_with("argocd") && !manager.contains("image-updater"))
        || matches!(manager, "kubectl-client-side-apply" | "kubectl-create")
}

fn covers(fields: &Map<String, Value>, object: &Value, pointer: &str) -> bool {
    let (mut fields, mut value) = (fields, Some(object));
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let next = match value {
            Some(Value::Array(items)) => {
                let element = token.parse::<usize>().ok().and_then(|index| items.get(index));
                value = element;
                fields.iter().find(|(name, _)| element.is_some_and(|element| is_element(name, element))).map(|(_, below)| below)
            }
            _ => {
                value = value.and_then(|value| value.get(&token));
                fields.get(&format!("f:{token}"))
            }
        };
        match next.and_then(Value::as_object) {
            // Nothing below: the manager has written this field as a whole.
            Some(below) if below.is_empty() => return true,
            Some(below) => fields = below,
            None => return false,
        }
    }
    true
}

/// Whether `k:{"name":"x"}` or `v:"x"` is about this element.
fn is_element(name: &str, element: &Value) -> bool {
    if let Some(keys) = name.strip_prefix("k:") {
        let Ok(Value::Object(keys)) = serde_json::from_str(keys) else { return false };
        return keys.iter().all(|(field, value)| element.get(field) == Some(value));
    }
    name.strip_prefix("v:").is_some_and(|value| serde_json::from_str::<Value>(value).is_ok_and(|value| value == *element))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_manager_of_a_field_is_named_also_below_a_whole_list_and_in_a_list_with_keys() {
        let object = json!({
            "metadata": {"managedFields": [
                {"manager": "kubectl-edit", "time": "2026-11-03T10:00:00Z", "fieldsV1": {"f:spec": {"f:parameters": {}}}},
                {"manager": "older", "time": "2026-11-01T10:00:00Z", "fieldsV1": {"f:spec": {"f:parameters": {}}}},
                {"manager": "webhook", "fieldsV1": {"f:hooks": {"k:{\"name\":\"b\"}": {"f:caBundle": {}}}}},
            ]},
            "spec": {"parameters": [{"name": "a"}]},
            "hooks": [{"name": "a"}, {"name": "b", "caBundle": "x"}],
        });
        assert_eq!(writer_of(&object, "/spec/parameters/0/name").unwrap().named(), "kubectl-edit on 2026-11-03");
        assert_eq!(writer_of(&object, "/hooks/1/caBundle").unwrap().named(), "webhook");
        assert_eq!(writer_of(&object, "/hooks/0/caBundle"), None);
        assert_eq!(writer_of(&object, "/spec/other"), None);
    }
}
