//! Autoscalers and what they scale: HorizontalPodAutoscalers and KEDA ScaledObjects, rendered by any Application or only live.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::Facts;
use super::server_of;
use crate::manifest::key::split_api_version;
use crate::manifest::{Origin, ResourceKey, annotation};

const KINDS: [(&str, &str); 2] = [("autoscaling", "HorizontalPodAutoscaler"), ("keda.sh", "ScaledObject")];

/// What an autoscaler scales, and between which numbers.
type Scaled = (ResourceKey, i64, Option<i64>);

/// An autoscaler.
#[derive(Clone, Debug)]
pub(in crate::rules) struct Scaler<'a> {
    /// The autoscaler itself.
    pub(in crate::rules) key: ResourceKey,
    /// Fewest replicas it sets.
    pub(in crate::rules) min: i64,
    /// Most replicas it sets; `None` where it does not say.
    pub(in crate::rules) max: Option<i64>,
    /// Where it stands in the repository.
    pub(in crate::rules) origin: Option<&'a Origin>,
    /// What it did before the change under review; `None` where it is new.
    before: Option<Scaled>,
    /// What it scales.
    target: ResourceKey,
    /// Server of its cluster.
    server: String,
}

impl Scaler<'_> {
    /// Whether it leaves a workload with this number of replicas as it is: it always sets this number, or it does nothing at zero.
    ///
    /// Source: Kubernetes `pkg/controller/podautoscaler/horizontal.go:reconcileAutoscaler`.
    pub(in crate::rules) fn leaves_alone(&self, replicas: i64) -> bool {
        self.would_leave_alone(replicas, self.min, self.max)
    }

    fn would_leave_alone(&self, replicas: i64, min: i64, max: Option<i64>) -> bool {
        let is_off = replicas == 0 && min != 0 && &*self.key.kind == "HorizontalPodAutoscaler";
        is_off || (min == replicas && max == Some(replicas))
    }

    /// Whether it changed this number of replicas before the change under review too; other bounds alone begin no conflict.
    pub(in crate::rules) fn interfered_before(&self, replicas: i64) -> bool {
        let before = self.before.as_ref();
        before.is_some_and(|(target, min, max)| *target == self.target && !self.would_leave_alone(replicas, *min, *max))
    }
}

/// All autoscalers of a run.
#[derive(Debug, Default)]
pub(in crate::rules) struct Scalers<'a> {
    by_target: BTreeMap<ResourceKey, Vec<Scaler<'a>>>,
}

impl<'a> Scalers<'a> {
    /// Collects them: rendered ones first, then live ones that no Application renders and none removes.
    pub(in crate::rules) fn new(facts: &Facts<'a>) -> Self {
        let mut scalers = Self::default();
        let mut planned = std::collections::BTreeSet::new();
        let mut servers: Vec<&str> = facts.plans.iter().map(|plan| &*plan.server).collect();
        for plan in facts.plans {
            for change in plan.changes.iter().filter(|change| is_scaler(&change.key)) {
                let server = server_of(plan, change);
                planned.insert((server, &change.key));
                let Some(target) = change.target.as_ref().filter(|_| change.action.symbol() != '·') else { continue };
                let before = change.base.as_ref().and_then(|base| scaled(&change.key, &base.object));
                scalers.add(&change.key, &target.object, Some(&target.origin), before, server);
            }
        }
        servers.sort_unstable();
        servers.dedup();
        for server in servers {
            let live = KINDS.iter().flat_map(|(group, kind)| facts.live.of_kind(server, group, kind));
            for object in live.filter(|object| !planned.contains(&(server, &object.key))) {
                let before = scaled(&object.key, object.object());
                scalers.add(&object.key, object.object(), None, before, server);
            }
        }
        scalers
    }

    fn add(&mut self, key: &ResourceKey, object: &Value, origin: Option<&'a Origin>, before: Option<Scaled>, server: &str) {
        let Some((target, min, max)) = scaled(key, object) else { return };
        let found = self.by_target.entry(target.clone()).or_default();
        let known = found.iter().any(|other| other.key == *key && other.server == server);
        if !known {
            found.push(Scaler { key: key.clone(), min, max, origin, before, target, server: server.to_owned() });
        }
    }

    /// The autoscaler of an object, if there is one.
    pub(in crate::rules) fn of(&self, server: &str, key: &ResourceKey) -> Option<&Scaler<'a>> {
        self.all_of(server, key).next()
    }

    /// All autoscalers of an object.
    pub(in crate::rules) fn all_of(&self, server: &str, key: &ResourceKey) -> impl Iterator<Item = &Scaler<'a>> {
        self.by_target.get(key).into_iter().flatten().filter(move |scaler| scaler.server == server)
    }
}

/// The workload that an object scales, if it is an autoscaler.
pub fn workload_of(key: &ResourceKey, object: &Value) -> Option<ResourceKey> {
    if is_scaler(key) { scaled(key, object).map(|(workload, ..)| workload) } else { None }
}

fn is_scaler(key: &ResourceKey) -> bool {
    KINDS.iter().any(|(group, kind)| key.is(group, kind))
}

/// What Go's `strconv.ParseBool` takes for true.
const TRUE: [&str; 6] = ["true", "True", "TRUE", "t", "T", "1"];

/// What an autoscaler scales, and between which numbers; a ScaledObject that is paused at a number sets that, and one that is just paused
/// does nothing. Defaults: Kubernetes `autoscaling/v2`, KEDA's ScaledObject.
fn scaled(key: &ResourceKey, object: &Value) -> Option<Scaled> {
    let spec = object.get("spec")?;
    let target = spec.get("scaleTargetRef")?;
    let text = |field: &str| target.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let number = |field: &str| spec.get(field).and_then(Value::as_i64);
    let (group, _) = split_api_version(text("apiVersion").unwrap_or("apps/v1"));
    let (kind, min, max) = if &*key.kind == "ScaledObject" {
        let paused = annotation(object, "autoscaling.keda.sh/paused-replicas").and_then(|text| text.parse::<i64>().ok());
        if let Some(replicas) = paused {
            let kind = text("kind").unwrap_or("Deployment");
            return Some((ResourceKey::new(group, kind, &key.namespace, text("name")?), replicas, Some(replicas)));
        }
        if annotation(object, "autoscaling.keda.sh/paused").is_some_and(|text| TRUE.contains(&text)) {
            return None;
        }
        (text("kind").unwrap_or("Deployment"), number("minReplicaCount").unwrap_or(0), number("maxReplicaCount").or(Some(100)))
    } else {
        (text("kind")?, number("minReplicas").unwrap_or(1), number("maxReplicas"))
    };
    Some((ResourceKey::new(group, kind, &key.namespace, text("name")?), min, max))
}
