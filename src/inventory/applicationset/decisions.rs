//! The clusters that the status of a decision object names, such as a `PlacementDecision`.
//!
//! Source: Argo CD `applicationset/generators/duck_type.go`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::selector;
use crate::argocd::applicationset::DecisionGenerator;
use crate::argocd::names::IN_CLUSTER_SERVER;
use crate::manifest::{ResourceKey, key::group_of};
use crate::snapshot::LiveState;

/// One entry of a status.
pub(super) struct Decision {
    /// The name of the cluster.
    pub(super) cluster: String,
    /// The entry.
    pub(super) fields: Map<String, Value>,
}

/// Why there are no decisions.
pub(super) enum Problem {
    /// Argo CD fails.
    Fails(String),
    /// The snapshot does not hold what is needed.
    NotCaptured(String),
}

/// The decisions that a generator reads.
pub(super) fn decisions(generator: &DecisionGenerator, live: &LiveState, namespace: &str) -> Result<Vec<Decision>, Problem> {
    let key = ResourceKey::new("", "ConfigMap", namespace, &generator.config_map_ref);
    let Some(config) = live.get(IN_CLUSTER_SERVER, &key) else {
        return Err(Problem::NotCaptured(format!("the snapshot has no ConfigMap {namespace}/{}", generator.config_map_ref)));
    };
    let entry = |name: &str| config.object().pointer(&format!("/data/{name}")).and_then(Value::as_str).unwrap_or_default();
    let (resource, group) = (entry("kind"), entry("apiVersion").split_once('/').map_or("", |(group, _)| group));
    if resource.is_empty() || group.is_empty() {
        return Err(Problem::Fails("there is a problem with the apiVersion, kind or resourceName provided".to_owned()));
    }
    if generator.name.is_empty() == generator.label_selector.is_empty() {
        return Err(Problem::Fails("there is a problem with the definition of the ClusterDecisionResource generator".to_owned()));
    }
    let mut objects = Vec::new();
    for object in live.all().iter().filter(|object| &*object.cluster == IN_CLUSTER_SERVER && *object.key.namespace == *namespace) {
        if group_of(object.object()) != group || !is_plural_of(resource, &object.key.kind) {
            continue;
        }
        let labels: BTreeMap<String, String> = object
            .object()
            .pointer("/metadata/labels")
            .and_then(Value::as_object)
            .map(|labels| labels.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect())
            .unwrap_or_default();
        let chosen = if generator.name.is_empty() {
            selector::selects(&generator.label_selector, &labels).map_err(Problem::Fails)?
        } else {
            *object.key.name == *generator.name
        };
        if chosen {
            objects.push(object);
        }
    }
    if objects.is_empty() {
        return Err(Problem::NotCaptured(format!("the snapshot has no such {resource}.{group} in {namespace}")));
    }
    let list = match entry("statusListKey") {
        "" => "clusters",
        other => other,
    };
    let match_key = entry("matchKey");
    let entries = objects.iter().filter_map(|object| object.object().get("status")?.get(list)?.as_array()).flatten();
    let decided = entries.filter_map(Value::as_object).filter_map(|fields| {
        let cluster = fields.get(match_key).filter(|value| !value.is_null())?;
        let cluster = cluster.as_str().map_or_else(|| cluster.to_string(), str::to_owned);
        (!cluster.is_empty()).then(|| Decision { cluster, fields: fields.clone() })
    });
    Ok(decided.collect())
}

/// Whether a resource name, as in a URL of the API, is the plural of a kind.
fn is_plural_of(resource: &str, kind: &str) -> bool {
    let kind = kind.to_lowercase();
    let resource = resource.to_lowercase();
    let stem = kind.strip_suffix('y').unwrap_or(&kind);
    resource == kind || resource == format!("{kind}s") || resource == format!("{kind}es") || resource == format!("{stem}ies")
}
