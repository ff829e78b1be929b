//! Captures one cluster from its Kubernetes API server.
//!
//! Takes options; hands on a [`Captured`]. Only reads, and says what it could not read.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use tokio::task::JoinSet;

use super::captured::{Captured, Missing};
use super::choose::Choice;
use super::client::{Client, JSON, Limits};
use super::connect::KubernetesServer;
use super::discovery::{Discovered, Served, discover, json};
use super::error::CaptureError;
use super::list::{Listing, Sink, Watcher, list, reason};
use crate::argocd::names::{IN_CLUSTER_NAME, IN_CLUSTER_SERVER};
use crate::argocd::{Settings, Version};
use crate::manifest::metadata_str;
use crate::snapshot::KindName;
use crate::snapshot::clusters::{SecretLimit, trim_server};
use crate::snapshot::file::HeaderCluster;
use crate::snapshot::redact::{REDACTED, SecretNames, redact_named};
use crate::snapshot::settings::{CONFIG, CONTROLLER, PART_OF, version_of_image};

/// Where Argo CD is looked for if it is in no other place.
const USUAL_NAMESPACE: &str = "argocd";

/// What is captured from a Kubernetes API server, and how.
#[derive(Clone, Debug, Default)]
pub struct KubernetesCapture {
    /// The server.
    pub server: KubernetesServer,
    /// The URL under which Argo CD knows the cluster; else the in-cluster one where Argo CD runs there, or the server's own.
    pub cluster: Option<String>,
    /// The name under which Argo CD knows it.
    pub cluster_name: Option<String>,
    /// The namespace Argo CD runs in.
    pub argocd_namespace: Option<String>,
    /// Only these namespaces; all if empty.
    pub namespaces: Vec<String>,
    /// All objects, and not only what Argo CD manages and rules need.
    pub all: bool,
    /// Names whose values are secret.
    pub names: SecretNames,
    /// How much is asked of the server.
    pub limits: Limits,
}

/// Captures a cluster.
pub(super) async fn capture(options: &KubernetesCapture, watcher: Watcher) -> Result<Captured, CaptureError> {
    let client = options.server.client(options.limits).await?;
    let captured_at = super::captured::now();
    let version = json(&client, "/version", JSON).await?;
    let mut incomplete = Vec::new();
    let argocd = find_argocd(&client, options, &mut incomplete).await?;
    let own_server = trim_server(client.server()).to_owned();
    let server: Arc<str> = match (&options.cluster, &argocd) {
        (Some(server), _) => trim_server(server).into(),
        (None, Some(_)) => IN_CLUSTER_SERVER.into(),
        (None, None) => own_server.as_str().into(),
    };
    let name = options.cluster_name.clone();
    let name = name.unwrap_or_else(|| if &*server == IN_CLUSTER_SERVER { IN_CLUSTER_NAME.to_owned() } else { String::new() });

    let discovered = discover(&client).await?;
    let filter = argocd.as_ref().map_or_else(Settings::default, Settings::clone).filter;
    let kinds: Vec<Served> = discovered.kinds();
    let kinds = kinds.into_iter().filter(|kind| !filter.excludes(&kind.resource.group, &kind.resource.kind, &server)).collect();
    let choice = if options.all { Choice::All } else { Choice::Managed(argocd.clone().map(Box::new)) };
    let sink = Arc::new(Sink::new(choice, options.names.clone(), options.limits.parallel, watcher)?);
    let listed = list_all(&client, &sink, &server, kinds, &options.namespaces).await?;

    let mut cluster = HeaderCluster {
        server: server.to_string(),
        name,
        kubernetes_version: version["gitVersion"].as_str().map(str::to_owned),
        api_resources: Some(without_gone(&discovered, &listed)),
        ..HeaderCluster::default()
    };
    for (api_version, why) in &discovered.unavailable {
        incomplete.push(format!("{server}: the kinds of {api_version} are not known: {why}"));
    }
    if !options.namespaces.is_empty() {
        incomplete.push(format!("{server}: only the namespaces {} were listed", options.namespaces.join(", ")));
    }
    let mut entries = Vec::new();
    let mut wanted = HashSet::new();
    let refused = listed.iter().all(|(_, listing)| listing.missing.is_some() && listing.entries.is_empty());
    if let (true, Some((_, first))) = (refused, listed.first()) {
        return Err(CaptureError::Nothing { server: own_server, why: first.missing.clone().unwrap_or_default() });
    }
    let mut limits = Vec::new();
    for (kind, listing) in listed {
        let resource = &kind.resource;
        let named = if resource.group.is_empty() { kind.plural.clone() } else { format!("{}.{}", kind.plural, resource.group) };
        if let Some(why) = listing.missing {
            incomplete.push(format!("{server}: {named}: {why}"));
            cluster.unlisted.push(KindName { group: resource.group.clone(), kind: resource.kind.clone() });
        } else if listing.is_gone {
            incomplete.push(format!("{server}: {named} is not served any more; its definition went while the cluster was read"));
        }
        incomplete.extend(listing.left_out.into_iter().map(|why| format!("{server}: {named}: {why}")));
        entries.extend(listing.entries);
        wanted.extend(listing.wanted);
        limits.extend(listing.limits);
    }
    if !options.namespaces.is_empty() {
        // In the other namespaces there may be more of every kind.
        let all = discovered.kinds().into_iter().filter(|kind| kind.resource.namespaced == Some(true));
        cluster.unlisted = all.map(|kind| KindName { group: kind.resource.group, kind: kind.resource.kind }).collect();
    }
    cluster.unlisted.sort();
    cluster.unlisted.dedup();
    let missing = Missing { incomplete, ..Missing::default() };
    let control = argocd.as_ref().map(|settings| settings.namespace.as_str());
    let limits = limits.into_iter().filter(|limit| control == Some(limit.secret_namespace.as_str()));
    Captured::new("kubernetes", captured_at, limited(cluster, limits), argocd.as_ref(), missing, entries, &wanted, sink)
}

/// The clusters of the header: the captured one, and those that cluster Secrets limit.
fn limited(cluster: HeaderCluster, limits: impl Iterator<Item = SecretLimit>) -> Vec<HeaderCluster> {
    let mut clusters = vec![cluster];
    for SecretLimit { server, limit, .. } in limits {
        let position = clusters.iter().position(|cluster| cluster.server == server).unwrap_or_else(|| {
            clusters.push(HeaderCluster { server, ..HeaderCluster::default() });
            clusters.len() - 1
        });
        if let Some(cluster) = clusters.get_mut(position) {
            (cluster.namespaces, cluster.cluster_resources) = (limit.namespaces, limit.cluster_resources);
        }
    }
    clusters.sort_by(|a, b| a.server.cmp(&b.server));
    clusters
}

/// What the cluster serves, without what vanished meanwhile.
fn without_gone(discovered: &Discovered, listed: &[(Served, Listing)]) -> Vec<crate::snapshot::ApiResource> {
    let gone = |group: &str, kind: &str| {
        listed.iter().any(|(served, listing)| listing.is_gone && served.resource.group == group && served.resource.kind == kind)
    };
    discovered.resources().into_iter().filter(|one| !gone(&one.group, &one.kind)).collect()
}

/// Lists all kinds. Of namespaces given, one list each.
async fn list_all(
    client: &Client,
    sink: &Arc<Sink>,
    server: &Arc<str>,
    kinds: Vec<Served>,
    namespaces: &[String],
) -> Result<Vec<(Served, Listing)>, CaptureError> {
    let mut lists = Vec::new();
    for kind in kinds {
        if namespaces.is_empty() || kind.resource.namespaced != Some(true) {
            lists.push((kind, None));
        } else {
            lists.extend(namespaces.iter().map(|namespace| (kind.clone(), Some(namespace.clone()))));
        }
    }
    sink.all.store(lists.len(), Ordering::Relaxed);
    let mut running = JoinSet::new();
    for (index, (kind, namespace)) in lists.into_iter().enumerate() {
        let (client, sink, server) = (client.clone(), Arc::clone(sink), Arc::clone(server));
        running.spawn(async move {
            let listing = list(&client, &sink, &server, &kind, namespace.as_deref()).await;
            sink.done.fetch_add(1, Ordering::Relaxed);
            sink.tell();
            listing.map(|listing| (index, kind, listing))
        });
    }
    let mut done = Vec::new();
    while let Some(joined) = running.join_next().await {
        let joined = joined.map_err(|error| CaptureError::Request {
            server: client.server().to_owned(),
            path: String::new(),
            why: format!("a list ended early: {error}"),
        })?;
        done.push(joined?);
    }
    done.sort_by_key(|(index, ..)| *index);
    Ok(done.into_iter().map(|(_, kind, listing)| (kind, listing)).collect())
}

/// The settings of the Argo CD in this cluster, where there is one.
async fn find_argocd(client: &Client, options: &KubernetesCapture, incomplete: &mut Vec<String>) -> Result<Option<Settings>, CaptureError> {
    let mut configs = match &options.argocd_namespace {
        Some(namespace) => config_in(client, namespace, incomplete).await?,
        None => {
            let selector = super::client::encoded(&format!("{}={}", PART_OF.0, PART_OF.1));
            let path = format!("/api/v1/configmaps?labelSelector={selector}&fieldSelector=metadata.name%3D{CONFIG}&limit=500");
            let reply = client.get(&path, JSON).await?;
            match reply.status {
                200 => {
                    let list: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
                    list["items"].as_array().cloned().unwrap_or_default()
                }
                401 => return Err(CaptureError::Unauthorized { server: client.server().to_owned() }),
                _ => config_in(client, USUAL_NAMESPACE, incomplete).await?,
            }
        }
    };
    let has_name = |config: &Value| metadata_str(config, "name") == Some(CONFIG);
    configs.retain(has_name);
    let namespaces: Vec<String> = configs.iter().filter_map(|config| metadata_str(config, "namespace").map(str::to_owned)).collect();
    let usual = namespaces.iter().position(|namespace| namespace == USUAL_NAMESPACE).unwrap_or(0);
    let Some(namespace) = namespaces.get(usual).cloned() else { return Ok(None) };
    if namespaces.len() > 1 {
        incomplete.push(format!("Argo CD is there in several namespaces ({}); the one in {namespace} counts", namespaces.join(", ")));
    }
    let mut config = configs.swap_remove(usual);
    // Items of a list do not say their kind, and without it nothing would be redacted.
    if let Some(config) = config.as_object_mut() {
        config.insert("kind".to_owned(), "ConfigMap".into());
        config.insert("apiVersion".to_owned(), "v1".into());
    }
    redact_named(&mut config, &options.names);
    let entries = config["data"].as_object().into_iter().flatten();
    let entries = entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    let entries: BTreeMap<String, String> = entries.filter(|(_, value)| value != REDACTED).collect();
    let version = argocd_version(client, &namespace).await?;
    Ok(Some(Settings::new(version, &namespace, entries)))
}

/// The settings in one namespace, as a list with one entry.
async fn config_in(client: &Client, namespace: &str, incomplete: &mut Vec<String>) -> Result<Vec<Value>, CaptureError> {
    let path = format!("/api/v1/namespaces/{}/configmaps/{CONFIG}", super::client::encoded(namespace));
    let reply = client.get(&path, JSON).await?;
    match reply.status {
        200 => Ok(serde_json::from_slice(&reply.body).ok().into_iter().collect()),
        404 => Ok(Vec::new()),
        _ => {
            incomplete.push(format!("the settings of Argo CD in {namespace} cannot be read: {}", reason(&reply)));
            Ok(Vec::new())
        }
    }
}

/// Argo CD's version, from the image of its controller.
async fn argocd_version(client: &Client, namespace: &str) -> Result<Option<Version>, CaptureError> {
    for plural in ["statefulsets", "deployments"] {
        let path = format!("/apis/apps/v1/namespaces/{}/{plural}/{CONTROLLER}", super::client::encoded(namespace));
        let reply = client.get(&path, JSON).await?;
        if reply.status == 200 {
            return Ok(serde_json::from_slice(&reply.body).ok().and_then(|workload: Value| version_of_image(&workload)));
        }
    }
    Ok(None)
}
