//! What pods read by name: ConfigMaps, Secrets, claims and ServiceAccounts, and how.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::View;
use crate::manifest::ResourceKey;
use crate::plan::{Action, SyncMode, SyncPlan};

/// How a pod reads an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::rules) enum Way {
    /// A single environment variable; fixed when the container starts.
    Env,
    /// All environment variables; fixed when the container starts.
    EnvFrom,
    /// A volume with `subPath`; never updated.
    SubPath,
    /// A volume; follows changes by itself.
    Volume,
    /// By name in another field, such as `serviceAccountName`.
    Name,
}

impl Way {
    /// As messages name it.
    pub(in crate::rules) fn as_str(self) -> &'static str {
        match self {
            Self::Env => "env",
            Self::EnvFrom => "envFrom",
            Self::SubPath => "a volume with subPath",
            Self::Volume => "a volume",
            Self::Name => "its pod template",
        }
    }

    /// The word by which expressions know it.
    pub(in crate::rules) fn word(self) -> &'static str {
        match self {
            Self::Env => "env",
            Self::EnvFrom => "envFrom",
            Self::SubPath => "subPath",
            Self::Volume => "volume",
            Self::Name => "name",
        }
    }

    /// Whether running pods keep the old content.
    pub(in crate::rules) fn is_fixed_at_start(self) -> bool {
        matches!(self, Self::Env | Self::EnvFrom | Self::SubPath)
    }
}

/// One reference of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::rules) struct Reference {
    /// Kind of the object, in the core group.
    pub(in crate::rules) kind: &'static str,
    /// Its name.
    pub(in crate::rules) name: String,
    /// How it is read.
    pub(in crate::rules) way: Way,
    /// The one key of it that is read; `None` where all are.
    pub(in crate::rules) reads: Option<String>,
    /// The pod starts without it.
    pub(in crate::rules) optional: bool,
}

/// The pod template of a workload, or the pod itself: the object that has `spec.containers`.
pub(in crate::rules) fn pod_template(object: &Value) -> Option<&Value> {
    ["/spec/jobTemplate/spec/template", "/spec/template", ""]
        .iter()
        .filter_map(|pointer| object.pointer(pointer))
        .find(|template| template.pointer("/spec/containers").is_some_and(Value::is_array))
}

/// Everything that the pods of a workload read by name.
pub(in crate::rules) fn references_of(object: &Value) -> Vec<Reference> {
    let Some(spec) = pod_template(object).and_then(|template| template.get("spec")) else { return Vec::new() };
    let mut found = Vec::new();
    let mut add = |kind, source: Option<&Value>, field: &str, way, reads: Option<&str>| {
        if let Some(name) = source.and_then(|source| source.get(field)).and_then(Value::as_str) {
            let optional = source.and_then(|source| source.get("optional")).and_then(Value::as_bool).unwrap_or(false);
            found.push(Reference { kind, name: name.to_owned(), way, reads: reads.map(str::to_owned), optional });
        }
    };
    let list = |value: &'_ Value, field: &str| value.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &'_ Value, field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    // Volumes with what is mounted of them: a path in them, or all.
    let mut mounts: Vec<(String, Option<String>)> = Vec::new();
    for container in ["initContainers", "containers"].iter().flat_map(|field| list(spec, field)) {
        for env in list(&container, "env") {
            for (kind, pointer) in [("ConfigMap", "/valueFrom/configMapKeyRef"), ("Secret", "/valueFrom/secretKeyRef")] {
                let source = env.pointer(pointer);
                add(kind, source, "name", Way::Env, source.and_then(|source| source.get("key")).and_then(Value::as_str));
            }
        }
        for source in list(&container, "envFrom") {
            add("ConfigMap", source.get("configMapRef"), "name", Way::EnvFrom, None);
            add("Secret", source.get("secretRef"), "name", Way::EnvFrom, None);
        }
        for mount in list(&container, "volumeMounts") {
            if let (Some(name), true) = (text(&mount, "name"), ["subPath", "subPathExpr"].iter().any(|field| mount.get(field).is_some())) {
                mounts.push((name, text(&mount, "subPath")));
            }
        }
    }
    for volume in list(spec, "volumes") {
        let name = text(&volume, "name").unwrap_or_default();
        let mut ways: Vec<(Way, Option<&str>)> =
            mounts.iter().filter(|(mounted, _)| *mounted == name).map(|(_, path)| (Way::SubPath, path.as_deref())).collect();
        if ways.is_empty() {
            ways.push((Way::Volume, None));
        }
        for (way, path) in ways {
            let mut add_source = |kind, source: Option<&Value>, field: &str| {
                add(kind, source, field, way, path.and_then(|path| key_at(source?, path)).as_deref());
            };
            add_source("ConfigMap", volume.get("configMap"), "name");
            add_source("Secret", volume.get("secret"), "secretName");
            for source in volume.get("projected").map(|projected| list(projected, "sources")).unwrap_or_default() {
                add_source("ConfigMap", source.get("configMap"), "name");
                add_source("Secret", source.get("secret"), "name");
            }
        }
        add("PersistentVolumeClaim", volume.get("persistentVolumeClaim"), "claimName", Way::Volume, None);
    }
    for secret in list(spec, "imagePullSecrets") {
        add("Secret", Some(&secret), "name", Way::Name, None);
    }
    add("ServiceAccount", Some(spec), "serviceAccountName", Way::Name, None);
    found
}

/// The key behind a path in a volume: the path itself, or what `items` put there. `None` for a folder.
fn key_at(source: &Value, path: &str) -> Option<String> {
    let Some(items) = source.get("items").and_then(Value::as_array) else { return Some(path.to_owned()) };
    let item = items.iter().find(|item| item.get("path").and_then(Value::as_str) == Some(path))?;
    item.get("key").and_then(Value::as_str).map(str::to_owned)
}

/// A workload that will read an object after the sync.
#[derive(Clone, Debug)]
pub(in crate::rules) struct Consumer {
    /// The workload.
    pub(in crate::rules) key: ResourceKey,
    /// The Application that has it, as an id; `None` where nothing tracks it.
    pub(in crate::rules) application: Option<String>,
    /// How it reads the object.
    pub(in crate::rules) reference: Reference,
}

const WORKLOADS: [(&str, &str); 7] = [
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("apps", "ReplicaSet"),
    ("batch", "CronJob"),
    ("batch", "Job"),
    ("", "Pod"),
];

/// Who reads what after the syncs: by cluster and object.
#[derive(Debug, Default)]
pub(in crate::rules) struct References {
    by_object: BTreeMap<(Arc<str>, ResourceKey), Vec<Consumer>>,
}

impl References {
    /// Of the workloads as they will be: rendered ones by their targets, others as they are live. Removed ones read nothing any more, and
    /// objects that a workload owns are left to it.
    pub(in crate::rules) fn new(view: &View<'_>) -> Self {
        let mut references = Self::default();
        let mut decided = std::collections::BTreeSet::new();
        for (plan, change) in view.changes().filter(|(_, change)| is_workload(&change.key)) {
            let server = super::server_of(plan, change);
            decided.insert((server.to_owned(), change.key.clone()));
            let stays = match change.action {
                Action::Prune | Action::Delete => None,
                Action::Leftover | Action::Retain | Action::Confirm | Action::Orphan => change.live_object(),
                _ if plan.sync.mode == SyncMode::Deleted => None,
                _ => change.target_object(),
            };
            if let Some(object) = stays {
                references.add(server, &change.key, object, Some(plan.application.id.to_string()));
            }
        }
        let mut servers: Vec<&str> = view.facts.plans.iter().map(|plan| &*plan.server).collect();
        servers.sort_unstable();
        servers.dedup();
        for server in servers {
            for live in WORKLOADS.iter().flat_map(|(group, kind)| view.facts.live.of_kind(server, group, kind)) {
                if live.is_owned() || decided.contains(&(server.to_owned(), live.key.clone())) {
                    continue;
                }
                let application = view.facts.live.is_tracked(live).map(|instance| view.application_of(instance).to_string());
                references.add(server, &live.key, live.object(), application);
            }
        }
        references
    }

    fn add(&mut self, server: &str, key: &ResourceKey, object: &Value, application: Option<String>) {
        for reference in references_of(object) {
            let of = ResourceKey::new("", reference.kind, &key.namespace, &reference.name);
            let consumers = self.by_object.entry((server.into(), of)).or_default();
            let covers = |other: &Reference| other.way <= reference.way && (other.reads.is_none() || other.reads == reference.reads);
            if !consumers.iter().any(|other| other.key == *key && covers(&other.reference)) {
                consumers.push(Consumer { key: key.clone(), application: application.clone(), reference });
            }
        }
    }

    /// The workloads that will read an object.
    pub(in crate::rules) fn of(&self, server: &str, key: &ResourceKey) -> &[Consumer] {
        self.by_object.get(&(server.into(), key.clone())).map(Vec::as_slice).unwrap_or_default()
    }
}

/// `Deployment shop/report (Application `report`) reads it through envFrom`, for the first few; the plan's own Application is not named.
pub(in crate::rules) fn use_by(plan: &SyncPlan, consumers: &[Consumer]) -> String {
    let own = plan.application.id.to_string();
    let users: Vec<String> = consumers
        .iter()
        .map(|consumer| {
            let of = match &consumer.application {
                Some(application) if *application == own => String::new(),
                Some(application) => format!(" (Application `{}`)", application.rsplit('/').next().unwrap_or(application)),
                None => " (of no Application)".to_owned(),
            };
            format!("{}{of} reads it through {}", consumer.key.named(), consumer.reference.way.as_str())
        })
        .collect();
    super::enumerate(&users, 4)
}

fn is_workload(key: &ResourceKey) -> bool {
    WORKLOADS.iter().any(|(group, kind)| key.is(group, kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_of_containers_volumes_and_accounts_are_found_in_workloads_and_cron_jobs() {
        let spec = json!({
            "serviceAccountName": "robot",
            "containers": [{
                "envFrom": [{"secretRef": {"name": "login", "optional": true}}],
                "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "conf", "key": "a"}}}],
                "volumeMounts": [{"name": "files", "mountPath": "/f", "subPath": "x"}],
            }],
            "volumes": [{"name": "files", "configMap": {"name": "files"}}, {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        });
        let found = |object: Value| {
            references_of(&object).into_iter().map(|one| format!("{} {} {}", one.kind, one.name, one.way.as_str())).collect::<Vec<_>>()
        };
        let expected = [
            "ConfigMap conf env",
            "Secret login envFrom",
            "ConfigMap files a volume with subPath",
            "PersistentVolumeClaim data a volume",
            "ServiceAccount robot its pod template",
        ];
        assert_eq!(found(json!({"spec": {"template": {"spec": spec}}})), expected);
        assert_eq!(found(json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}})), expected);
        assert_eq!(found(json!({"spec": spec})), expected);
        assert!(found(json!({"spec": {"template": {"spec": {}}}})).is_empty());
    }
}
