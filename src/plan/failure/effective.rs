//! The object the API server is asked to store: the target laid over the live object by the rules of each strategy.
//!
//! Takes target and live; hands on the merged object without server defaults (`compare` knows those). Just enough of
//! the three merges to judge fields that may not change; the diff has its own.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::ApplyStrategy;

/// Where client-side apply keeps what it applied last.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The field manager of Argo CD's server-side apply (`common/common.go:ArgoCDSSAManager`).
const ARGOCD_MANAGER: &str = "argocd-controller";
/// Ownership that the migration hands to Argo CD before it applies server-side.
const KUBECTL_MANAGER: &str = "kubectl-client-side-apply";
/// Deeper than any Kubernetes type; below it the target's value is taken whole.
const MAX_DEPTH: usize = 64;

/// The merged object; `lists_by_key` is false for custom resources, whose lists client-side apply replaces whole.
pub(super) fn effective(target: &Value, live: &Value, strategy: ApplyStrategy, lists_by_key: bool) -> Value {
    match strategy {
        ApplyStrategy::Replace => target.clone(),
        ApplyStrategy::ClientSide => {
            let last = last_applied(live);
            three_way(target, last.as_ref(), live, lists_by_key, false, 0)
        }
        ApplyStrategy::ServerSide => owned_merge(target, live, &Scope::of(live), "", 0),
    }
}

/// The merged object over a live object that was never in a cluster: all that it has was applied.
pub(super) fn over_assumed(target: &Value, live: &Value, lists_by_key: bool) -> Value {
    three_way(target, Some(live), live, lists_by_key, false, 0)
}

/// What client-side apply recorded on the live object.
pub(super) fn last_applied(live: &Value) -> Option<Value> {
    let annotations = live.pointer("/metadata/annotations")?;
    serde_json::from_str(annotations.get(LAST_APPLIED)?.as_str()?).ok()
}

/// `kubectl apply`: fields of the target win, fields of last-applied that left the target go, others stay.
///
/// `retain_keys` is the merge of unions (`patchStrategy: retainKeys`): live fields that the target does not name go as well.
fn three_way(target: &Value, last: Option<&Value>, live: &Value, lists_by_key: bool, retain_keys: bool, depth: usize) -> Value {
    if depth >= MAX_DEPTH {
        return target.clone();
    }
    match (target, live) {
        (Value::Object(wanted), Value::Object(present)) => {
            let applied = last.and_then(Value::as_object);
            let mut merged = Map::new();
            for (key, value) in present {
                if !retain_keys && !wanted.contains_key(key) && !applied.is_some_and(|applied| applied.contains_key(key)) {
                    merged.insert(key.clone(), value.clone());
                }
            }
            for (key, value) in wanted {
                if value.is_null() {
                    continue;
                }
                let was = applied.and_then(|applied| applied.get(key));
                let result = match (value, present.get(key)) {
                    (Value::Array(_), Some(found @ Value::Array(_))) if lists_by_key => keyed_three_way(key, value, was, found, depth),
                    (_, Some(found)) => three_way(value, was, found, lists_by_key, lists_by_key && key == "strategy", depth + 1),
                    (_, None) => value.clone(),
                };
                merged.insert(key.clone(), result);
            }
            Value::Object(merged)
        }
        _ => target.clone(),
    }
}

fn keyed_three_way(field: &str, target: &Value, last: Option<&Value>, live: &Value, depth: usize) -> Value {
    let (Some(wanted), Some(present)) = (Keyed::of(field, target), Keyed::of(field, live)) else {
        return target.clone();
    };
    let applied = last.and_then(|last| Keyed::of(field, last)).unwrap_or_default();
    wanted.over(
        &present,
        |key| !applied.items.contains_key(key),
        |key, item, found| three_way(item, applied.items.get(key).copied(), found, true, field == "volumes", depth + 1),
    )
}

/// A list of maps that merges by one key field.
#[derive(Default)]
struct Keyed<'a> {
    order: Vec<String>,
    items: BTreeMap<String, &'a Value>,
}

impl<'a> Keyed<'a> {
    /// `None` when the list has no merge key, or an item lacks it, or two items share it.
    fn of(field: &str, list: &'a Value) -> Option<Self> {
        let list = list.as_array()?;
        let mut keyed = Self::default();
        for item in list {
            let key = key_text(item.get(merge_key(field, item)?)?)?;
            if keyed.items.insert(key.clone(), item).is_some() {
                return None;
            }
            keyed.order.push(key);
        }
        Some(keyed)
    }

    /// Lays `self` over `live`: shared items merged, live ones kept where `stays` says so. The live order holds unless the target's differs.
    fn over(&self, live: &Self, stays: impl Fn(&str) -> bool, merge: impl Fn(&str, &Value, &Value) -> Value) -> Value {
        let mut rest = self.order.iter().filter(|key| live.items.contains_key(*key));
        let same_order = live.order.iter().filter(|key| self.items.contains_key(*key)).all(|key| rest.next() == Some(key));
        let mut order: Vec<&String> = Vec::with_capacity(live.order.len() + self.order.len());
        if same_order {
            order.extend(live.order.iter().filter(|key| self.items.contains_key(*key) || stays(key)));
            order.extend(self.order.iter().filter(|key| !live.items.contains_key(*key)));
        } else {
            order.extend(&self.order);
            order.extend(live.order.iter().filter(|key| !self.items.contains_key(*key) && stays(key)));
        }
        let merged = order.into_iter().filter_map(|key| match (self.items.get(key), live.items.get(key)) {
            (Some(item), Some(found)) => Some(merge(key, item, found)),
            (Some(item), None) => Some((*item).clone()),
            (None, found) => found.map(|found| (*found).clone()),
        });
        Value::Array(merged.collect())
    }
}

fn key_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The merge key of a list field (patchMergeKey in the API types of Kubernetes).
fn merge_key(field: &str, item: &Value) -> Option<&'static str> {
    Some(match field {
        "containers" | "initContainers" | "ephemeralContainers" | "volumes" | "env" | "imagePullSecrets" => "name",
        "volumeMounts" => "mountPath",
        "volumeDevices" => "devicePath",
        "topologySpreadConstraints" => "topologyKey",
        "hostAliases" => "ip",
        "ports" if item.get("containerPort").is_some() => "containerPort",
        "ports" => "port",
        _ => return None,
    })
}

/// The owners' field sets below one field, out of `metadata.managedFields`.
#[derive(Default)]
struct Scope<'a> {
    own: Vec<&'a Value>,
    others: Vec<&'a Value>,
}

impl<'a> Scope<'a> {
    fn of(live: &'a Value) -> Self {
        let mut owners = Self::default();
        let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            let Some(fields) = entry.get("fieldsV1") else { continue };
            let manager = entry.get("manager").and_then(Value::as_str);
            let applies = entry.get("operation").and_then(Value::as_str) == Some("Apply");
            match manager {
                Some(ARGOCD_MANAGER) if applies => owners.own.push(fields),
                Some(KUBECTL_MANAGER) if !applies => owners.own.push(fields),
                _ => owners.others.push(fields),
            }
        }
        owners
    }

    fn field(&self, key: &str) -> Self {
        let name = format!("f:{key}");
        let below = |sets: &[&'a Value]| sets.iter().filter_map(|set| set.get(&name)).collect();
        Self { own: below(&self.own), others: below(&self.others) }
    }

    /// The owners below each item of a list that merges by `key_field`.
    fn items(&self, key_field: &str) -> BTreeMap<String, Self> {
        let mut items: BTreeMap<String, Self> = BTreeMap::new();
        for (sets, is_own) in [(&self.own, true), (&self.others, false)] {
            for (name, set) in sets.iter().filter_map(|set| set.as_object()).flatten() {
                let keys = name.strip_prefix("k:").and_then(|json| serde_json::from_str::<Value>(json).ok());
                let Some(key) = keys.and_then(|keys| keys.get(key_field).and_then(key_text)) else { continue };
                let scope = items.entry(key).or_default();
                if is_own { scope.own.push(set) } else { scope.others.push(set) }
            }
        }
        items
    }

    /// Owned as one piece: the owner's set ends here.
    fn is_atomic(&self) -> bool {
        self.own.iter().any(|set| set.as_object().is_some_and(Map::is_empty))
    }

    fn only_own(&self) -> bool {
        !self.own.is_empty() && self.others.is_empty()
    }
}

/// Server-side apply with forced conflicts: fields of the target win, fields that only Argo CD owned and that left the target go.
fn owned_merge(target: &Value, live: &Value, scope: &Scope<'_>, field: &str, depth: usize) -> Value {
    if depth >= MAX_DEPTH {
        return target.clone();
    }
    match (target, live) {
        // Label selectors and node selectors are atomic in the API types.
        (Value::Object(_), Value::Object(_)) if scope.is_atomic() || matches!(field, "selector" | "nodeSelector") => target.clone(),
        (Value::Object(wanted), Value::Object(present)) => {
            let mut merged = Map::new();
            for (key, value) in present {
                if wanted.contains_key(key) {
                    continue;
                }
                let below = scope.field(key);
                if below.own.is_empty() {
                    merged.insert(key.clone(), value.clone());
                } else if let Some(left) = what_is_left(value, &below, key, depth) {
                    merged.insert(key.clone(), left);
                }
            }
            for (key, value) in wanted.iter().filter(|(_, value)| !value.is_null()) {
                let below = scope.field(key);
                let result = match (value, present.get(key)) {
                    (Value::Array(_), Some(found @ Value::Array(_))) => keyed_owned_merge(key, value, found, &below, depth),
                    (_, Some(found)) => owned_merge(value, found, &below, key, depth + 1),
                    (_, None) => value.clone(),
                };
                merged.insert(key.clone(), result);
            }
            Value::Object(merged)
        }
        _ => target.clone(),
    }
}

/// A field that left the target: gone, or what other owners hold of it.
fn what_is_left(live: &Value, scope: &Scope<'_>, field: &str, depth: usize) -> Option<Value> {
    if scope.is_atomic() || !live.is_object() {
        return (!scope.only_own()).then(|| live.clone());
    }
    let left = owned_merge(&Value::Object(Map::new()), live, scope, field, depth + 1);
    let emptied = left.as_object().is_some_and(Map::is_empty);
    (!emptied).then_some(left)
}

fn keyed_owned_merge(field: &str, target: &Value, live: &Value, scope: &Scope<'_>, depth: usize) -> Value {
    let key_field = target.as_array().and_then(|list| list.first()).and_then(|item| merge_key(field, item));
    let (Some(wanted), Some(present), Some(key_field)) = (Keyed::of(field, target), Keyed::of(field, live), key_field) else {
        return target.clone();
    };
    let items = scope.items(key_field);
    let unowned = Scope::default();
    let stays = |key: &str| items.get(key).is_none_or(|owners| !owners.only_own());
    wanted.over(&present, stays, |key, item, found| owned_merge(item, found, items.get(key).unwrap_or(&unowned), "", depth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn live_with_last(spec: Value, last: &Value) -> Value {
        json!({"metadata": {"annotations": {LAST_APPLIED: last.to_string()}}, "spec": spec})
    }

    #[test]
    fn client_side_apply_removes_what_it_applied_and_keeps_what_it_did_not() {
        let live = live_with_last(json!({"a": 1, "b": 2, "c": 3}), &json!({"spec": {"a": 1, "b": 2}}));
        let merged = effective(&json!({"spec": {"a": 9}}), &live, ApplyStrategy::ClientSide, true);
        assert_eq!(merged["spec"], json!({"a": 9, "c": 3}));
    }

    #[test]
    fn client_side_apply_merges_containers_by_name_in_live_order() {
        let live = live_with_last(
            json!({"containers": [{"name": "sidecar"}, {"name": "main", "image": "a", "imagePullPolicy": "Always"}, {"name": "old"}]}),
            &json!({"spec": {"containers": [{"name": "main"}, {"name": "old"}]}}),
        );
        let target = json!({"spec": {"containers": [{"name": "main", "image": "b"}]}});
        let merged = effective(&target, &live, ApplyStrategy::ClientSide, true);
        let expected = json!([{"name": "sidecar"}, {"name": "main", "image": "b", "imagePullPolicy": "Always"}]);
        assert_eq!(merged["spec"]["containers"], expected);
        assert_eq!(effective(&target, &live, ApplyStrategy::ClientSide, false)["spec"], target["spec"]);
    }

    #[test]
    fn client_side_apply_drops_the_rolling_update_of_a_deployment_that_recreates() {
        let live = live_with_last(json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}), &json!({}));
        let target = json!({"spec": {"strategy": {"type": "Recreate"}}});
        assert_eq!(effective(&target, &live, ApplyStrategy::ClientSide, true)["spec"], target["spec"]);
    }

    #[test]
    fn server_side_apply_removes_only_fields_that_argocd_alone_owned() {
        let owned = |manager: &str, fields: Value| json!({"manager": manager, "operation": "Apply", "fieldsV1": {"f:data": fields}});
        let live = json!({
            "metadata": {"managedFields": [owned("argocd-controller", json!({"f:a": {}, "f:b": {}, "f:c": {}})), owned("other", json!({"f:c": {}}))]},
            "data": {"a": "1", "b": "2", "c": "3", "d": "4"},
        });
        let merged = effective(&json!({"data": {"a": "1"}}), &live, ApplyStrategy::ServerSide, true);
        assert_eq!(merged["data"], json!({"a": "1", "c": "3", "d": "4"}));
        let emptied = effective(&json!({}), &live, ApplyStrategy::ServerSide, true);
        assert_eq!(emptied["data"], json!({"c": "3", "d": "4"}));
    }

    #[test]
    fn replace_takes_the_target_as_it_is() {
        let target = json!({"spec": {"a": 1}});
        assert_eq!(effective(&target, &json!({"spec": {"b": 1}}), ApplyStrategy::Replace, true), target);
    }
}
