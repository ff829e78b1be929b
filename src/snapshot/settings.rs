//! What a snapshot says about Argo CD itself: a live `argocd-cm`, a snapshot's header, or a `settings.yaml` beside the objects.

use std::collections::BTreeMap;

use serde_json::Value;

use super::clusters::{ClusterInfo, NamespaceLimit, trim_server};
use super::kinds::ApiResource;
use super::live::Body;
use super::peek::Peek;
use crate::argocd::{Settings, Version};
use crate::manifest::key::split_api_version;

/// Label and value of Argo CD's own objects. It does not see an `argocd-cm` without it.
pub(super) const PART_OF: (&str, &str) = ("app.kubernetes.io/part-of", "argocd");

/// Name of the ConfigMap with the settings.
pub(super) const CONFIG: &str = "argocd-cm";
/// Name of the ConfigMap with what Argo CD's programs are started with.
pub(super) const PARAMETERS: &str = "argocd-cmd-params-cm";
/// Key of the kinds that Argo CD does not see.
const EXCLUSIONS: &str = "resource.exclusions";
/// Name of the workload that runs the syncs.
pub(super) const CONTROLLER: &str = "argocd-application-controller";
/// Name of the workload that expands ApplicationSets.
pub(super) const SETS_CONTROLLER: &str = "argocd-applicationset-controller";

/// Settings as sources state them, before the live `argocd-cm` is looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stated {
    /// Argo CD's version, as written.
    pub(super) version: Option<String>,
    /// The namespace it runs in.
    pub(super) namespace: Option<String>,
    /// Keys of `argocd-cm`.
    pub(super) entries: BTreeMap<String, String>,
}

impl Stated {
    /// Takes over what another source states besides; says where both contradict each other.
    pub(super) fn merge(&mut self, other: Self, from: &str, incomplete: &mut Vec<String>) {
        let mut take = |mine: &mut Option<String>, theirs: Option<String>, what: &str| match (&*mine, theirs) {
            (Some(known), Some(new)) if *known != new => {
                incomplete.push(format!(
                    "{from} states another {what} of Argo CD ({new}) than a source before it ({known}); the first one counts"
                ));
            }
            (None, new) => *mine = new,
            _ => {}
        };
        take(&mut self.version, other.version, "version");
        take(&mut self.namespace, other.namespace, "namespace");
        for (key, value) in other.entries {
            match self.entries.get(&key) {
                Some(known) if *known != value => {
                    incomplete.push(format!("{from} states another value of `{key}` than a source before it; the first one counts"));
                }
                Some(_) => {}
                None => drop(self.entries.insert(key, value)),
            }
        }
    }

    /// The settings: a live `argocd-cm` decides what it can, the rest is as stated; the version is that of the live controller where
    /// nothing states it. `None` where nothing is known of an Argo CD.
    pub(super) fn settings<'a>(
        self,
        objects: impl Iterator<Item = (&'a Body, &'a Peek<'a>)>,
        incomplete: &mut Vec<String>,
    ) -> Option<Settings> {
        let (mut configs, mut controllers) = (BTreeMap::<&str, &Body>::new(), BTreeMap::<&str, &Body>::new());
        for (body, peek) in objects.filter(|(_, peek)| peek.metadata.labels.get(PART_OF.0) == Some(PART_OF.1)) {
            match (&*peek.api_version, &*peek.kind, &*peek.metadata.name) {
                ("v1", "ConfigMap", CONFIG) => drop(configs.insert(&peek.metadata.namespace, body)),
                ("apps/v1", "StatefulSet" | "Deployment", CONTROLLER) => drop(controllers.insert(&peek.metadata.namespace, body)),
                _ => {}
            }
        }
        let found = if configs.is_empty() { &controllers } else { &configs };
        if found.is_empty() && self == Self::default() {
            return None;
        }
        let namespace = match &self.namespace {
            Some(namespace) => namespace.clone(),
            None if found.is_empty() || found.contains_key("argocd") => "argocd".to_owned(),
            None => found.keys().next().map_or_else(String::new, |first| (*first).to_owned()),
        };
        if self.namespace.is_none() && found.len() > 1 {
            let all: Vec<&str> = found.keys().copied().collect();
            incomplete.push(format!("Argo CD is there in several namespaces ({}); the one in {namespace} counts", all.join(", ")));
        }
        let mut entries = self.entries;
        if let Some(body) = configs.get(namespace.as_str()) {
            let config = body.glance();
            let data = config.get("data").and_then(Value::as_object).into_iter().flatten();
            entries.extend(data.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))));
            // The list that Argo CD ships stands in this very ConfigMap: who has taken it out excludes nothing.
            let exclusions = entries.entry(EXCLUSIONS.to_owned()).or_default();
            if exclusions.trim().is_empty() {
                "[]".clone_into(exclusions);
            }
        }
        let stated = self.version.as_deref().and_then(Version::parse);
        let version = stated.or_else(|| version_of_image(&controllers.get(namespace.as_str())?.glance()));
        Some(Settings::new(version, &namespace, entries))
    }
}

/// The version in the tag of a workload's first image that has one.
pub(super) fn version_of_image(workload: &Value) -> Option<Version> {
    let containers = workload.pointer("/spec/template/spec/containers")?.as_array()?;
    containers.iter().find_map(|container| {
        let image = container.get("image")?.as_str()?.split('@').next()?;
        Version::parse(image.rsplit_once(':')?.1)
    })
}

/// What a `settings.yaml` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SettingsFile {
    /// About Argo CD.
    pub(super) stated: Stated,
    /// When the objects were read, RFC 3339.
    pub(super) captured_at: Option<String>,
    /// Server URL of the cluster that the objects beside the file are from.
    pub(super) cluster: Option<String>,
    /// Names and server URLs of clusters.
    pub(super) clusters: BTreeMap<String, String>,
    /// To what Argo CD is limited on a cluster, by its name.
    pub(super) limits: BTreeMap<String, NamespaceLimit>,
    /// The kinds that the clusters serve.
    pub(super) api_resources: Option<Vec<ApiResource>>,
    /// Whether there is such a file: then the kinds seen are all there are, where it lists none.
    pub(super) is_there: bool,
}

impl SettingsFile {
    /// Reads the file's document.
    ///
    /// # Errors
    /// In words, where a key has a shape that cannot be understood.
    pub(super) fn read(document: &Value) -> Result<Self, String> {
        let mut file = Self { is_there: true, ..Self::default() };
        let Some(map) = document.as_object() else {
            return if document.is_null() { Ok(file) } else { Err("a map of settings is expected".to_owned()) };
        };
        for (key, value) in map {
            match key.as_str() {
                "argocdVersion" => {
                    let version = text_of(value);
                    if Version::parse(&version).is_none() {
                        return Err(format!("`argocdVersion: {version}` is no version such as `3.5`"));
                    }
                    file.stated.version = Some(version);
                }
                "argocdNamespace" => file.stated.namespace = Some(text_of(value)),
                "capturedAt" => file.captured_at = Some(text_of(value)),
                "cluster" => file.cluster = Some(trim_server(&text_of(value)).to_owned()),
                "clusters" => file.add_clusters(value)?,
                "apiResources" => file.api_resources = Some(api_resources(value)?),
                other => drop(file.stated.entries.insert(config_key(other).to_owned(), text_of(value))),
            }
        }
        Ok(file)
    }

    /// Server URLs and limits of clusters, by name: a cluster is its server URL, or a map with what its Secret says.
    fn add_clusters(&mut self, value: &Value) -> Result<(), String> {
        let expected =
            || "`clusters` is expected to map names to server URLs, or to `server`, `namespaces` and `clusterResources`".to_owned();
        for (name, cluster) in value.as_object().ok_or_else(expected)? {
            let server = cluster.as_str().or_else(|| cluster.get("server")?.as_str()).ok_or_else(expected)?;
            self.clusters.insert(name.clone(), server.to_owned());
            let namespaces = cluster.get("namespaces").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let cluster_resources = cluster.get("clusterResources").and_then(Value::as_bool).unwrap_or(false);
            self.limits.extend(NamespaceLimit::of(namespaces, cluster_resources).map(|limit| (name.clone(), limit)));
        }
        Ok(())
    }

    /// What the file says about clusters; the cluster of the objects is among them.
    pub(super) fn statements(&self, own: &str) -> Vec<ClusterInfo> {
        let about = |name: &str, server: &str| ClusterInfo {
            server: trim_server(server).into(),
            name: name.into(),
            api_resources: self.api_resources.clone(),
            kinds_complete: self.is_there,
            limit: self.limits.get(name).cloned(),
            ..ClusterInfo::default()
        };
        let named = self.clusters.iter().map(|(name, server)| about(name, server));
        named.chain([about("", own)]).collect()
    }
}

/// The key of `argocd-cm` that a short key of `settings.yaml` stands for.
fn config_key(key: &str) -> &str {
    match key {
        "resourceTrackingMethod" => "application.resourceTrackingMethod",
        "instanceLabelKey" => "application.instanceLabelKey",
        other => other,
    }
}

/// A value as `argocd-cm` would hold it: texts as they are, everything else as JSON, which is YAML too.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn api_resources(value: &Value) -> Result<Vec<ApiResource>, String> {
    let expected = || "`apiResources` is expected to list kinds such as `apps/v1/Deployment`".to_owned();
    let list = value.as_array().ok_or_else(expected)?;
    let read = |item: &Value| match item.as_str() {
        Some(text) => {
            let (api_version, kind) = text.rsplit_once('/')?;
            let (group, version) = split_api_version(api_version);
            let (group, version, kind) = (group.to_owned(), version.to_owned(), kind.to_owned());
            Some(ApiResource { group, version, kind, namespaced: None })
        }
        None => serde_json::from_value(item.clone()).ok(),
    };
    list.iter().map(|item| read(item).ok_or_else(expected)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argocd::TrackingMethod;
    use serde_json::json;

    #[test]
    fn short_keys_stand_for_keys_of_argocd_cm_and_all_others_are_kept() {
        let file = SettingsFile::read(&json!({
            "argocdVersion": "2.14", "resourceTrackingMethod": "label", "instanceLabelKey": "team/app", "installationID": "i1",
            "applicationSetPolicyOverride": true, "resource.exclusions": [{"kinds": ["Pod"]}], "capturedAt": "2026-11-30T04:00:00Z",
            "apiResources": ["v1/ConfigMap", "apps/v1/Deployment"], "clusters": {"eu-1": "https://eu-1.example.test/", "us": {"server": "https://us.test", "namespaces": ["shop"], "clusterResources": true}}
        }))
        .unwrap();
        assert_eq!(file.stated.entries["applicationSetPolicyOverride"], "true");
        assert_eq!(file.captured_at.as_deref(), Some("2026-11-30T04:00:00Z"));
        assert_eq!(file.api_resources.as_ref().map(Vec::len), Some(2));
        assert_eq!(&*file.statements("https://x")[0].server, "https://eu-1.example.test");
        let limit = NamespaceLimit { namespaces: vec!["shop".into()], cluster_resources: true };
        assert_eq!(file.statements("https://x")[1].limit, Some(limit));
        let settings = file.stated.settings(std::iter::empty(), &mut Vec::new()).unwrap();
        assert_eq!(settings.tracking.method, TrackingMethod::Label);
        assert_eq!((settings.tracking.label_key.as_str(), settings.tracking.installation_id.as_str()), ("team/app", "i1"));
        assert!(settings.filter.excludes("", "Pod", "https://x"));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(SettingsFile::read(&json!({"clusters": ["a"]})).unwrap_err().contains("clusters"));
        assert!(SettingsFile::read(&json!({"apiResources": ["ConfigMap"]})).unwrap_err().contains("apiResources"));
        assert!(SettingsFile::read(&json!({"argocdVersion": "latest"})).unwrap_err().contains("argocdVersion"));
        assert!(SettingsFile::read(&json!([])).is_err());
        assert_eq!(SettingsFile::read(&Value::Null), Ok(SettingsFile { is_there: true, ..SettingsFile::default() }));
    }
}
