//! Compares a field that may not change the way the API server sees it: after defaults, with quantities as amounts.
//!
//! Takes the effective and the live value; hands on the places where they truly differ.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::ValueChange;
use super::subject::join;
use crate::plan::schema::quantity;

/// More places than a message can name are not collected.
const MAX_CHANGES: usize = 16;
const MAX_DEPTH: usize = 64;

/// The places below `pointer` where the two values differ, in document order of the keys; empty when they are equal.
pub(super) fn changes(target: Option<&Value>, live: Option<&Value>, pointer: &str) -> Vec<ValueChange> {
    let key = pointer.rsplit('/').next().unwrap_or_default();
    let mut walk = Walk { found: Vec::new() };
    walk.values(target, live, Place { pointer: pointer.to_owned(), key, quantities: false, defaults: true, siblings: None, depth: 0 });
    walk.found
}

/// Where the walk stands.
struct Place<'a> {
    pointer: String,
    key: &'a str,
    quantities: bool,
    /// Off in maps whose keys are the user's: a label `protocol: TCP` is no default.
    defaults: bool,
    /// The map around the field on the side that lacks it: a default may depend on it.
    siblings: Option<&'a Map<String, Value>>,
    depth: usize,
}

struct Walk {
    found: Vec<ValueChange>,
}

impl Walk {
    fn values(&mut self, target: Option<&Value>, live: Option<&Value>, place: Place<'_>) {
        if self.found.len() >= MAX_CHANGES || place.depth >= MAX_DEPTH {
            return;
        }
        match (target, live) {
            (Some(Value::Object(target)), Some(Value::Object(live))) => self.maps(target, live, &place),
            (Some(Value::Array(target)), Some(Value::Array(live))) if target.len() == live.len() => {
                for (index, (target, live)) in target.iter().zip(live).enumerate() {
                    let below = Place {
                        pointer: join(&place.pointer, &index.to_string()),
                        key: "",
                        quantities: false,
                        defaults: place.defaults,
                        siblings: None,
                        depth: place.depth + 1,
                    };
                    self.values(Some(target), Some(live), below);
                }
            }
            (Some(target), Some(live)) if same_scalar(target, live, place.quantities) => {}
            (None, None) => {}
            (None, Some(only)) | (Some(only), None) if is_unset_or_default(&place, only) => {}
            (Some(only), Some(Value::Null)) | (Some(Value::Null), Some(only)) if is_unset_or_default(&place, only) => {}
            _ => self.found.push(ValueChange { pointer: place.pointer, live: live.cloned(), target: target.cloned() }),
        }
    }

    fn maps(&mut self, target: &Map<String, Value>, live: &Map<String, Value>, place: &Place<'_>) {
        let quantities = matches!(place.key, "requests" | "limits" | "capacity" | "hard");
        let defaults = place.defaults && !is_free_form(place.key);
        let keys: BTreeSet<&String> = target.keys().chain(live.keys()).collect();
        for key in keys {
            let below = Place {
                pointer: join(&place.pointer, key),
                key,
                quantities: quantities || matches!(key.as_str(), "sizeLimit" | "divisor"),
                defaults,
                siblings: Some(if target.contains_key(key) { live } else { target }),
                depth: place.depth + 1,
            };
            self.values(target.get(key), live.get(key), below);
        }
    }
}

fn is_free_form(key: &str) -> bool {
    matches!(
        key,
        "matchLabels" | "labels" | "annotations" | "data" | "binaryData" | "parameters" | "nodeSelector" | "volumeAttributes" | "options"
    )
}

fn same_scalar(target: &Value, live: &Value, quantities: bool) -> bool {
    if target == live {
        return true;
    }
    if let (Value::Number(target), Value::Number(live)) = (target, live) {
        return target.as_f64() == live.as_f64();
    }
    quantities && quantity::nanos(target).is_some_and(|amount| quantity::nanos(live) == Some(amount))
}

/// Whether a value that only one side has means the same as its absence.
fn is_unset_or_default(place: &Place<'_>, value: &Value) -> bool {
    if !place.defaults {
        return value.is_null();
    }
    match value {
        Value::Null => true,
        Value::Array(list) if list.is_empty() => true,
        // The API server compares an empty and a missing map as equal, a map of nothing but defaults too.
        Value::Object(map) if matches!(place.key, "status") || map.is_empty() => true,
        Value::Object(map) => {
            matches!(place.key, "securityContext" | "resources" | "metadata")
                && map.iter().all(|(_, value)| value.is_null() || value.as_object().is_some_and(Map::is_empty))
        }
        Value::Bool(false) => {
            matches!(place.key, "hostNetwork" | "hostPID" | "hostIPC" | "stdin" | "stdinOnce" | "tty" | "readOnly" | "immutable")
        }
        Value::String(text) if text.is_empty() => {
            matches!(
                place.key,
                "serviceName" | "subPath" | "nodeName" | "value" | "workingDir" | "hostname" | "subdomain" | "type" | "volumeName"
            )
        }
        Value::String(text) => text_default(place, text),
        Value::Number(number) => number.as_i64().is_some_and(|number| number_default(place.key, number)),
        Value::Bool(true) => matches!(place.key, "enableServiceLinks" | "attachRequired"),
        Value::Array(list) => {
            place.key == "volumeLifecycleModes" && list.len() == 1 && list.first().is_some_and(|mode| mode == "Persistent")
        }
    }
}

/// Defaults that the API server writes (`pkg/apis/*/v1/defaults.go` of Kubernetes), by field name.
fn text_default(place: &Place<'_>, text: &str) -> bool {
    let sibling = |key: &str| place.siblings.and_then(|siblings| siblings.get(key)).and_then(Value::as_str);
    let default = match place.key {
        "protocol" => "TCP",
        "scheme" => "HTTP",
        "path" => "/",
        "restartPolicy" => "Always",
        "dnsPolicy" => "ClusterFirst",
        "schedulerName" => "default-scheduler",
        "terminationMessagePath" => "/dev/termination-log",
        "terminationMessagePolicy" => "File",
        "volumeMode" => "Filesystem",
        "podManagementPolicy" => "OrderedReady",
        "completionMode" => "NonIndexed",
        "reclaimPolicy" => "Delete",
        "volumeBindingMode" => "Immediate",
        "preemptionPolicy" => "PreemptLowerPriority",
        "apiGroup" => "rbac.authorization.k8s.io",
        "apiVersion" => "v1",
        "kind" => "PersistentVolumeClaim",
        "creationTimestamp" => return true,
        "serviceAccount" => sibling("serviceAccountName").unwrap_or_default(),
        "imagePullPolicy" => pull_policy(sibling("image").unwrap_or_default()),
        _ => return false,
    };
    text == default
}

fn number_default(key: &str, number: i64) -> bool {
    match key {
        "terminationGracePeriodSeconds" => number == 30,
        "timeoutSeconds" | "successThreshold" => number == 1,
        "periodSeconds" => number == 10,
        "failureThreshold" => number == 3,
        "initialDelaySeconds" => number == 0,
        "defaultMode" => number == 0o644,
        _ => false,
    }
}

fn pull_policy(image: &str) -> &'static str {
    let last = image.rsplit('/').next().unwrap_or(image);
    match last.split_once(':') {
        Some((_, tag)) if tag != "latest" => "IfNotPresent",
        _ if last.contains('@') => "IfNotPresent",
        _ => "Always",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn differ(target: Value, live: Value) -> Vec<String> {
        changes(Some(&target), Some(&live), "/spec").into_iter().map(|change| change.pointer).collect()
    }

    #[test]
    fn a_default_written_out_is_no_change() {
        let target = json!({"volumeMode": "Filesystem", "ports": [{"port": 80}], "image": "a:1", "tolerations": []});
        let live = json!({"ports": [{"port": 80, "protocol": "TCP"}], "image": "a:1", "imagePullPolicy": "IfNotPresent", "dnsPolicy": "ClusterFirst"});
        assert_eq!(differ(target, live), Vec::<String>::new());
    }

    #[test]
    fn another_value_than_the_default_is_a_change() {
        assert_eq!(differ(json!({"image": "a"}), json!({"image": "a", "imagePullPolicy": "Never"})), ["/spec/imagePullPolicy"]);
        assert_eq!(differ(json!({"volumeMode": "Block"}), json!({"volumeMode": "Filesystem"})), ["/spec/volumeMode"]);
        assert_eq!(differ(json!({"storageClassName": ""}), json!({})), ["/spec/storageClassName"]);
    }

    #[test]
    fn quantities_compare_as_amounts_only_where_quantities_stand() {
        assert!(differ(json!({"requests": {"storage": "102400Mi"}}), json!({"requests": {"storage": "100Gi"}})).is_empty());
        assert_eq!(differ(json!({"labels": {"size": "1000m"}}), json!({"labels": {"size": "1"}})), ["/spec/labels/size"]);
    }

    #[test]
    fn a_label_that_looks_like_a_default_is_a_change() {
        assert_eq!(
            differ(json!({"matchLabels": {"a": "b", "protocol": "TCP"}}), json!({"matchLabels": {"a": "b"}})),
            ["/spec/matchLabels/protocol"]
        );
    }

    #[test]
    fn a_longer_list_is_one_change() {
        assert_eq!(differ(json!({"args": ["a", "b"]}), json!({"args": ["a"]})), ["/spec/args"]);
    }
}
