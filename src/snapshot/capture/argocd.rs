//! Captures all clusters of an Argo CD at once from its API, without any credential of a cluster.
//!
//! Takes options; hands on a [`Captured`]: Applications, ApplicationSets, projects, clusters, settings, and of each Application the live
//! objects that Argo CD compares with Git. What is tracked by nobody is not told by that API, and the snapshot says so.
//!
//! Source: Argo CD `assets/swagger.json`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::captured::{Captured, Missing};
use super::choose::Choice;
use super::client::{Client, JSON, Limits, encoded};
use super::connect::ArgocdServer;
use super::error::CaptureError;
use super::list::{Sink, Watcher, reason};
use super::spool::{Entry, Page};
use crate::argocd::names::IN_CLUSTER_SERVER;
use crate::argocd::{Settings, Version};
use crate::manifest::key::split_api_version;
use crate::manifest::metadata_str;
use crate::snapshot::ApiResource;
use crate::snapshot::clusters::{NamespaceLimit, trim_server};
use crate::snapshot::file::{HeaderCluster, Registration};
use crate::snapshot::redact::SecretNames;

/// Version of Argo CD's own kinds.
const API_VERSION: &str = "argoproj.io/v1alpha1";
/// Where Argo CD runs if it does not say.
const USUAL_NAMESPACE: &str = "argocd";
/// What decides about a sync and is not told by the API.
const NOT_TOLD: &str = "the API of Argo CD tells nothing of objects that no Application manages, such as volumes and autoscalers made by hand, nor \
    resource.exclusions, resource.inclusions and resource.compareoptions, whose defaults are taken";

/// What is captured from the API of Argo CD, and how.
#[derive(Clone, Debug, Default)]
pub struct ArgocdCapture {
    /// The server.
    pub server: ArgocdServer,
    /// Names whose values are secret.
    pub names: SecretNames,
    /// How much is asked of the server.
    pub limits: Limits,
}

/// Captures what an Argo CD manages.
pub(super) async fn capture(options: &ArgocdCapture, watcher: Watcher) -> Result<Captured, CaptureError> {
    let client = options.server.client(options.limits)?;
    let captured_at = super::captured::now();
    let mut told = Missing::default();
    let settings = told.settings(&client).await?;
    let clusters = told.clusters(&client).await?;
    let applications = told.must_list(&client, "/api/v1/applications").await?;
    let projects = told.list(&client, "/api/v1/projects").await?;
    let sets = told.list(&client, "/api/v1/applicationsets").await?;
    if applications.is_empty() {
        told.incomplete.push("the account sees no Application; it needs the right to get them".to_owned());
    }

    let sink = Arc::new(Sink::new(Choice::All, options.names.clone(), options.limits.parallel, watcher)?);
    let mut page = Page::default();
    let home: Arc<str> = IN_CLUSTER_SERVER.into();
    for (kind, objects) in [("Application", &applications), ("AppProject", &projects), ("ApplicationSet", &sets)] {
        for object in objects {
            let mut object = object.clone();
            if let Some(map) = object.as_object_mut() {
                map.insert("kind".to_owned(), kind.into());
                map.insert("apiVersion".to_owned(), API_VERSION.into());
            }
            sink.take(&mut page, &home, object);
        }
    }
    sink.store(&mut page, applications.len() + projects.len() + sets.len()).await?;
    let mut entries = std::mem::take(&mut page.entries);
    told.incomplete.append(&mut page.left_out);
    let managed = told.managed(&client, &sink, &applications, &clusters).await?;
    entries.extend(managed);
    Captured::new("argocd", captured_at, clusters, Some(&settings), told, entries, &HashSet::new(), sink)
}

impl Missing {
    /// A JSON answer; `None` where the account has no right to it or there is no such thing.
    async fn get(&mut self, client: &Client, path: &str) -> Result<Option<Value>, CaptureError> {
        let reply = client.get(path, JSON).await?;
        let shown = path.split('?').next().unwrap_or_default();
        match reply.status {
            200 => match serde_json::from_slice(&reply.body) {
                Ok(answer) => return Ok(Some(answer)),
                Err(_) => self.incomplete.push(format!("{shown}: the answer is no JSON")),
            },
            401 => return Err(CaptureError::Unauthorized { server: client.server().to_owned() }),
            _ => self.incomplete.push(format!("{shown}: {}", reason(&reply))),
        }
        Ok(None)
    }

    async fn list(&mut self, client: &Client, path: &str) -> Result<Vec<Value>, CaptureError> {
        let answer = self.get(client, path).await?;
        Ok(answer.and_then(|mut answer| answer["items"].as_array_mut().map(std::mem::take)).unwrap_or_default())
    }

    /// A list without which there is nothing to capture.
    async fn must_list(&mut self, client: &Client, path: &str) -> Result<Vec<Value>, CaptureError> {
        let before = self.incomplete.len();
        let list = self.list(client, path).await?;
        match self.incomplete.get(before) {
            Some(why) => Err(CaptureError::Nothing { server: client.server().to_owned(), why: why.clone() }),
            None => Ok(list),
        }
    }

    /// The settings, as `argocd-cm` would hold them.
    async fn settings(&mut self, client: &Client) -> Result<Settings, CaptureError> {
        let version = self.get(client, "/api/version").await?.unwrap_or_default();
        let told = self.get(client, "/api/v1/settings").await?.unwrap_or_default();
        self.incomplete.push(NOT_TOLD.to_owned());
        let text = |field: &str| told[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let mut entries: BTreeMap<String, String> = BTreeMap::new();
        for (field, key) in [
            ("appLabelKey", "application.instanceLabelKey"),
            ("trackingMethod", "application.resourceTrackingMethod"),
            ("installationID", "installationID"),
        ] {
            entries.extend(text(field).map(|value| (key.to_owned(), value)));
        }
        if let Some(options) = told["kustomizeOptions"]["buildOptions"].as_str().filter(|options| !options.is_empty()) {
            entries.insert("kustomize.buildOptions".to_owned(), options.to_owned());
        }
        let customizations = customizations(&told["resourceOverrides"]);
        if !customizations.is_empty() {
            entries.insert("resource.customizations".to_owned(), json!(customizations).to_string());
        }
        let version = version["Version"].as_str().and_then(Version::parse);
        let namespace = text("controllerNamespace").unwrap_or_else(|| USUAL_NAMESPACE.to_owned());
        Ok(Settings::new(version, &namespace, entries))
    }

    /// The clusters that Argo CD knows.
    async fn clusters(&mut self, client: &Client) -> Result<Vec<HeaderCluster>, CaptureError> {
        let mut clusters: Vec<HeaderCluster> = self.list(client, "/api/v1/clusters").await?.iter().map(cluster).collect();
        if !clusters.iter().any(|cluster| cluster.server == IN_CLUSTER_SERVER) {
            let home = HeaderCluster { server: IN_CLUSTER_SERVER.to_owned(), only_managed: true, ..HeaderCluster::default() };
            clusters.push(home);
        }
        clusters.sort_by(|a, b| (&a.server, &a.name).cmp(&(&b.server, &b.name)));
        Ok(clusters)
    }

    /// The live objects of all Applications.
    async fn managed(
        &mut self,
        client: &Client,
        sink: &Arc<Sink>,
        applications: &[Value],
        clusters: &[HeaderCluster],
    ) -> Result<Vec<Entry>, CaptureError> {
        sink.all.store(applications.len(), Ordering::Relaxed);
        let mut running = JoinSet::new();
        for (index, application) in applications.iter().enumerate() {
            let text = |field: &str| metadata_str(application, field).unwrap_or_default().to_owned();
            let (namespace, name) = (text("namespace"), text("name"));
            let id = format!("{namespace}/{name}");
            let Some(server) = server_of(application, clusters) else {
                self.incomplete.push(format!("{id}: no cluster has the name of its destination, so its objects were not asked for"));
                self.applications.insert(id);
                continue;
            };
            let project = application["spec"]["project"].as_str().unwrap_or_default();
            let query = format!("appNamespace={}&project={}", encoded(&namespace), encoded(project));
            let path = format!("/api/v1/applications/{}/managed-resources?{query}", encoded(&name));
            let (client, sink) = (client.clone(), Arc::clone(sink));
            running.spawn(async move {
                let mut told = Missing::default();
                let entries = managed_of(&client, &sink, &mut told, &server, &path, &id).await;
                sink.done.fetch_add(1, Ordering::Relaxed);
                sink.tell();
                entries.map(|entries| (index, told, entries))
            });
        }
        let mut done = Vec::new();
        while let Some(joined) = running.join_next().await {
            let joined = joined.map_err(|error| CaptureError::Request {
                server: client.server().to_owned(),
                path: String::new(),
                why: format!("a request ended early: {error}"),
            })?;
            done.push(joined?);
        }
        done.sort_by_key(|(index, ..)| *index);
        let mut entries = Vec::new();
        for (_, told, of_one) in done {
            self.incomplete.extend(told.incomplete);
            self.applications.extend(told.applications);
            entries.extend(of_one);
        }
        Ok(entries)
    }
}

/// The live objects of one Application.
async fn managed_of(
    client: &Client,
    sink: &Sink,
    told: &mut Missing,
    server: &Arc<str>,
    path: &str,
    id: &str,
) -> Result<Vec<Entry>, CaptureError> {
    let _place = sink.pages.acquire().await;
    let mut page = Page::default();
    let before = told.incomplete.len();
    let items = told.list(client, path).await?;
    if told.incomplete.len() > before {
        told.applications.insert(id.to_owned());
    }
    for item in &items {
        match item["liveState"].as_str().unwrap_or_default() {
            "" | "null" => {}
            text => match serde_json::from_str::<Value>(text) {
                Ok(object) => sink.take(&mut page, server, object),
                Err(_) => {
                    let word = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
                    told.incomplete.push(format!("{id}: the live state of {} {} cannot be read", word("kind"), word("name")));
                    told.applications.insert(id.to_owned());
                }
            },
        }
    }
    sink.store(&mut page, items.len()).await?;
    told.incomplete.append(&mut page.left_out);
    Ok(page.entries)
}

/// The server URL of an Application's destination.
fn server_of(application: &Value, clusters: &[HeaderCluster]) -> Option<Arc<str>> {
    let destination = &application["spec"]["destination"];
    if let Some(server) = destination["server"].as_str().filter(|server| !server.is_empty()) {
        return Some(trim_server(server).into());
    }
    let name = destination["name"].as_str()?;
    clusters.iter().find(|cluster| cluster.name == name).map(|cluster| cluster.server.as_str().into())
}

/// A cluster as the API tells it.
fn cluster(told: &Value) -> HeaderCluster {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let strings = |map: &Value| {
        let entries = map.as_object().into_iter().flatten();
        entries.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect::<BTreeMap<_, _>>()
    };
    let server = trim_server(told["server"].as_str().unwrap_or_default()).to_owned();
    let registration =
        Registration { project: text(&told["project"]), labels: strings(&told["labels"]), annotations: strings(&told["annotations"]) };
    let is_there_by_itself = server == IN_CLUSTER_SERVER && registration == Registration::default();
    let namespaces = told["namespaces"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let limit = NamespaceLimit::of(namespaces, told["clusterResources"].as_bool().unwrap_or(false));
    let version = told["info"]["serverVersion"].as_str().or(told["serverVersion"].as_str());
    HeaderCluster {
        name: text(&told["name"]),
        kubernetes_version: version.filter(|version| !version.is_empty()).map(str::to_owned),
        api_resources: api_resources(&told["info"]["apiVersions"]),
        only_managed: true,
        namespaces: limit.as_ref().map(|limit| limit.namespaces.clone()).unwrap_or_default(),
        cluster_resources: limit.is_some_and(|limit| limit.cluster_resources),
        registration: (!is_there_by_itself).then_some(registration),
        server,
        ..HeaderCluster::default()
    }
}

/// The kinds of a cluster, from a list such as `apps/v1`, `apps/v1/Deployment`. Kinds that cannot be watched are not in it.
fn api_resources(told: &Value) -> Option<Vec<ApiResource>> {
    let entries = told.as_array()?.iter().filter_map(Value::as_str);
    let kinds = entries.filter_map(|entry| {
        let (api_version, kind) = entry.rsplit_once('/')?;
        let (group, version) = split_api_version(api_version);
        let is_kind = kind.starts_with(|first: char| first.is_ascii_uppercase());
        is_kind.then(|| ApiResource { group: group.into(), version: version.into(), kind: kind.into(), namespaced: None })
    });
    let kinds: BTreeSet<ApiResource> = kinds.collect();
    (!kinds.is_empty()).then(|| kinds.into_iter().collect())
}

/// The overrides of kinds as `resource.customizations` of `argocd-cm` states them, as far as they decide what differs.
fn customizations(overrides: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for (kind, told) in overrides.as_object().into_iter().flatten() {
        let mut one = BTreeMap::new();
        match &told["ignoreDifferences"] {
            Value::String(text) if !text.is_empty() => drop(one.insert("ignoreDifferences", Value::String(text.clone()))),
            Value::Object(lists) if lists.values().any(|list| !list.is_null()) => {
                one.insert("ignoreDifferences", Value::String(Value::Object(lists.clone()).to_string()));
            }
            _ => {}
        }
        if told["knownTypeFields"].as_array().is_some_and(|fields| !fields.is_empty()) {
            one.insert("knownTypeFields", told["knownTypeFields"].clone());
        }
        if !one.is_empty() {
            found.insert(kind.clone(), json!(one));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_from_the_list_that_mixes_them_with_versions() {
        let kinds = api_resources(&json!(["v1", "v1/ConfigMap", "apps/v1", "apps/v1/Deployment"])).unwrap();
        let named: Vec<_> = kinds.iter().map(|kind| (kind.group.as_str(), kind.version.as_str(), kind.kind.as_str())).collect();
        assert_eq!(named, [("", "v1", "ConfigMap"), ("apps", "v1", "Deployment")]);
        assert_eq!(api_resources(&json!([])), None);
    }

    #[test]
    fn overrides_become_customizations_in_both_forms() {
        let told = json!({"apps/Deployment": {"health.lua": "x", "ignoreDifferences": "jsonPointers: [/spec/replicas]\n"},
            "*/*": {"ignoreDifferences": {"managedFieldsManagers": ["hpa"], "jsonPointers": null}}, "batch/Job": {"health.lua": "x"}});
        let settings = customizations(&told);
        assert_eq!(settings["apps/Deployment"], json!({"ignoreDifferences": "jsonPointers: [/spec/replicas]\n"}));
        assert!(settings["*/*"]["ignoreDifferences"].as_str().unwrap().contains("hpa"));
        assert!(!settings.contains_key("batch/Job"));
    }

    #[test]
    fn a_destination_is_found_by_url_or_by_name() {
        let eu = HeaderCluster { server: "https://eu.test".into(), name: "eu".into(), ..HeaderCluster::default() };
        let server = |destination: Value| server_of(&json!({"spec": {"destination": destination}}), std::slice::from_ref(&eu));
        assert_eq!(server(json!({"server": "https://us.test/"})).as_deref(), Some("https://us.test"));
        assert_eq!(server(json!({"name": "eu"})).as_deref(), Some("https://eu.test"));
        assert_eq!(server(json!({"name": "nowhere"})), None);
    }
}
