//! What a replace takes away without anybody having asked for it: takes what is sent and the live object, hands on the fields that only
//! live has, or that go back to a default, because `kubectl replace` stores the whole target.

use serde_json::{Map, Value};

use super::owner::{Owner, Owners};
use super::{FieldChange, convert, fields, fill_defaults, normalize, remarshal, without_last_applied};
use crate::argocd::go::is_zero;
use crate::manifest::pointer::escape;
use crate::plan::schema::Schemas;

/// Nesting limit; what is deeper counts as kept.
const DEPTH: usize = 100;

/// Kinds of which controllers or the server write most, so that nothing certain can be said.
const WRITTEN_BY_OTHERS: [(&str, &str); 8] = [
    ("", "Pod"),
    ("", "Node"),
    ("", "Endpoints"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("coordination.k8s.io", "Lease"),
    ("batch", "Job"),
];

/// Annotations and finalizers that the server or the controllers of Kubernetes write, and write again.
const BOOKKEEPING: [&str; 11] = [
    "deployment.kubernetes.io/",
    "deprecated.daemonset.template.generation",
    "control-plane.alpha.kubernetes.io/",
    "autoscaling.alpha.kubernetes.io/",
    "pv.kubernetes.io/",
    "service.kubernetes.io/load-balancer-cleanup",
    "kubernetes.io/change-cause",
    "kubernetes.io/metadata.name",
    "kubernetes.io/pv",
    "foregroundDeletion",
    "orphan",
];

/// Fields that the server keeps or gives again, by kind.
fn is_assigned(group: &str, kind: &str, path: &str) -> bool {
    match (group, kind) {
        ("", "Service") => {
            let fields =
                ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort", "allocateLoadBalancerNodePorts"];
            path.strip_prefix("/spec/").is_some_and(|field| {
                let first = field.split('/').next().unwrap_or_default();
                fields.contains(&first) || (first == "ports" && field.ends_with("/nodePort"))
            })
        }
        // A controller puts the tokens in.
        ("", "ServiceAccount") => path.starts_with("/secrets"),
        ("apps", "StatefulSet") => path.starts_with("/spec/volumeClaimTemplates"),
        ("", "Namespace") => path.starts_with("/spec"),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => path.starts_with("/spec"),
        _ => path.ends_with("/serviceAccount") || path.ends_with("/serviceAccountName"),
    }
}

/// The fields that a replace of `live` with `sent` takes away or sets back to a default, with their owners. `before` is what Git had, if
/// anything: what it set was written by Argo CD and goes with it.
///
/// Without `managedFields` only built-in kinds are judged, whose defaults are known. With them a field of Argo CD's own writes is a default
/// of the server or of a webhook, which comes back.
///
/// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:applyObject` and `pkg/utils/kube/resource_ops.go:ReplaceResource`, `UpdateResource`.
pub fn taken_away(sent: &Value, live: &Value, before: Option<&Value>) -> Vec<FieldChange> {
    let (group, kind) = normalize::group_kind(sent);
    let token = group.is_empty() && kind == "Secret" && sent.get("type").is_some_and(|kind| kind == "kubernetes.io/service-account-token");
    if WRITTEN_BY_OTHERS.contains(&(group, kind)) || token {
        return Vec::new();
    }
    let node = Schemas::builtin().scheme_type(sent);
    let is_managed = live.pointer("/metadata/managedFields").and_then(Value::as_array).is_some_and(|entries| !entries.is_empty());
    if node.is_none() && !is_managed && before.is_none() {
        return Vec::new();
    }
    let (mut target, mut own) = (sent.clone(), live.clone());
    convert::to_version_of(&target, &mut own);
    for side in [&mut target, &mut own] {
        remarshal::unify_numbers(side);
        if let Some(node) = Schemas::builtin().scheme_type(side) {
            remarshal::remarshal(node, side);
        }
        normalize::normalize(side, false);
        without_last_applied(side);
    }
    let mut filled = target.clone();
    if let Some(node) = node {
        fill_defaults(node, &mut filled);
        fill_defaults(node, &mut own);
    }
    let is_aggregated = own.get("aggregationRule").is_some_and(Value::is_object);
    let owners = Owners::within(&own, live);
    let is_lost = |path: &str| {
        if is_assigned(group, kind, path) || (is_aggregated && path.starts_with("/rules")) {
            return false;
        }
        let had = || before.is_some_and(|before| before.pointer(path).is_some());
        match owners.of(path) {
            Some(owner) => !is_of_argocd(&owner) || had(),
            None if is_managed => had(),
            None => node.is_some() || had(),
        }
    };
    let walk = Walk { is_lost: &is_lost };
    let after = walk.top(&own, &target, &filled);
    fields::changes(&own, &after, &owners, (group, kind) == ("", "Secret"))
}

/// Managers under which Argo CD writes: its own, and those of kubectl, which it uses for create and replace.
fn is_of_argocd(owner: &Owner) -> bool {
    owner.manager.starts_with("argocd") || matches!(&*owner.manager, "kubectl-client-side-apply" | "kubectl-create" | "kubectl-replace")
}

struct Walk<'a> {
    is_lost: &'a dyn Fn(&str) -> bool,
}

impl Walk<'_> {
    /// The live object after the replace, as far as fields of Git do not say otherwise.
    fn top(&self, live: &Value, target: &Value, filled: &Value) -> Value {
        let Some(map) = live.as_object() else { return live.clone() };
        let mut after = map.clone();
        for (name, value) in &mut after {
            let path = format!("/{}", escape(name));
            match name.as_str() {
                "apiVersion" | "kind" | "status" => {}
                "metadata" => self.metadata(value, target.get(name)),
                _ => {
                    let sides = (target.get(name), filled.get(name));
                    *value = self.left(value.take(), sides, &path, DEPTH).unwrap_or(Value::Null);
                }
            }
        }
        let lost = |name: &str, value: &Value| value.is_null() && map.get(name).is_some_and(|live| !live.is_null());
        after.retain(|name, value| !lost(name, value));
        Value::Object(after)
    }

    fn metadata(&self, live: &mut Value, target: Option<&Value>) {
        for name in ["labels", "annotations"] {
            let Some(texts) = live.get_mut(name).and_then(Value::as_object_mut) else { continue };
            let wanted = target.and_then(|target| target.get(name));
            texts.retain(|key, _| {
                let path = format!("/metadata/{name}/{}", escape(key));
                wanted.is_some_and(|wanted| wanted.get(key).is_some())
                    || is_bookkeeping(key)
                    || is_of_tracking(key)
                    || !(self.is_lost)(&path)
            });
        }
        let Some(finalizers) = live.get_mut("finalizers").and_then(Value::as_array_mut) else { return };
        let wanted = target.and_then(|target| target.get("finalizers")).and_then(Value::as_array);
        let kept = finalizers.iter().enumerate().filter(|(index, finalizer)| {
            wanted.is_some_and(|wanted| wanted.contains(finalizer))
                || finalizer.as_str().is_none_or(is_bookkeeping)
                || !(self.is_lost)(&format!("/metadata/finalizers/{index}"))
        });
        *finalizers = kept.map(|(_, finalizer)| finalizer.clone()).collect();
    }

    /// What stays of a live value; `None` where it goes altogether.
    fn left(&self, live: Value, (target, filled): (Option<&Value>, Option<&Value>), path: &str, depth: usize) -> Option<Value> {
        let target = target.filter(|value| !value.is_null());
        if depth == 0 {
            return Some(live);
        }
        match (live, target) {
            (Value::Object(map), Some(Value::Object(_)) | None) => {
                let was_empty = map.is_empty();
                let kept: Map<String, Value> = map
                    .into_iter()
                    .filter_map(|(name, value)| {
                        let path = format!("{path}/{}", escape(&name));
                        let sides = (target.and_then(|target| target.get(&name)), filled.and_then(|filled| filled.get(&name)));
                        Some((name, self.left(value, sides, &path, depth - 1)?))
                    })
                    .collect();
                (was_empty || !kept.is_empty() || target.is_some()).then_some(Value::Object(kept))
            }
            (Value::Array(items), Some(Value::Array(wanted))) => Some(Value::Array(self.items(items, wanted, filled, path, depth))),
            // What Git sets, the comparison sees.
            (live, Some(_)) => Some(live),
            (live, None) if filled == Some(&live) || (filled.is_none() && is_zero(&live)) || !(self.is_lost)(path) => Some(live),
            (_, None) => filled.cloned(),
        }
    }

    /// The items that Git names too, by their name or by their place; what else a list holds, the comparison sees or the replace takes.
    fn items(&self, items: Vec<Value>, wanted: &[Value], filled: Option<&Value>, path: &str, depth: usize) -> Vec<Value> {
        let name = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
        let is_named = |all: &[Value]| all.iter().all(|item| name(item).is_some());
        let by_name = is_named(&items) && is_named(wanted);
        if !by_name && items.len() != wanted.len() {
            return items;
        }
        let place = |index: usize, item: &Value| match by_name {
            true => wanted.iter().position(|other| name(other) == name(item)),
            false => Some(index),
        };
        let kept = items.into_iter().enumerate().filter_map(|(index, item)| {
            let own = format!("{path}/{index}");
            match place(index, &item) {
                Some(place) => {
                    let sides = (wanted.get(place), filled.and_then(|filled| filled.get(place)));
                    self.left(item, sides, &own, depth - 1)
                }
                None => (!(self.is_lost)(&own)).then_some(item),
            }
        });
        kept.collect()
    }
}

fn is_bookkeeping(key: &str) -> bool {
    BOOKKEEPING.iter().any(|prefix| key.starts_with(prefix))
}

/// Argo CD's own marks are no part of what somebody set.
fn is_of_tracking(key: &str) -> bool {
    use crate::argocd::names::{DEFAULT_INSTANCE_LABEL, INSTALLATION_ID, REFRESH, TRACKING_ID};
    [TRACKING_ID, INSTALLATION_ID, DEFAULT_INSTANCE_LABEL, REFRESH].contains(&key)
}

#[cfg(test)]
mod tests;
