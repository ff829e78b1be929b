//! Which kinds an API server serves: aggregated discovery, and the older form, one request a group and version.
//!
//! Takes a client; hands on [`Discovered`].

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use tokio::task::JoinSet;

use super::client::{Client, JSON};
use super::error::CaptureError;
use crate::manifest::key::split_api_version;
use crate::snapshot::ApiResource;

/// What asks for aggregated discovery and takes the older form as well.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// A kind in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) resource: ApiResource,
    /// Its name in paths.
    pub(super) plural: String,
    /// Whether it can be listed and watched: Argo CD sees no other kinds.
    pub(super) listable: bool,
}

/// What a server serves.
#[derive(Debug, Default)]
pub(super) struct Discovered {
    /// All kinds in all versions; of a group the preferred version first.
    pub(super) all: Vec<Served>,
    /// Groups and versions that are registered and do not answer, with the reason.
    pub(super) unavailable: Vec<(String, String)>,
}

impl Discovered {
    /// Each kind that Argo CD could manage, in the version it is listed in.
    ///
    /// Source: Argo CD `gitops-engine/pkg/utils/kube/ctl.go:GetAPIResources`.
    pub(super) fn kinds(&self) -> Vec<Served> {
        let mut seen = BTreeSet::new();
        let listable = self.all.iter().filter(|one| one.listable);
        listable.filter(|one| seen.insert((&one.resource.group, &one.resource.kind))).cloned().collect()
    }

    /// All kinds in all versions, as a snapshot states them.
    pub(super) fn resources(&self) -> Vec<ApiResource> {
        let all: BTreeSet<ApiResource> = self.all.iter().map(|one| one.resource.clone()).collect();
        all.into_iter().collect()
    }
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
struct Group {
    metadata: Name,
    versions: Vec<GroupVersion>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Name {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GroupVersion {
    version: String,
    resources: Vec<Aggregated>,
    freshness: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Aggregated {
    resource: String,
    response_kind: ResponseKind,
    scope: String,
    verbs: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseKind {
    group: String,
    version: String,
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Plain {
    name: String,
    kind: String,
    group: String,
    version: String,
    namespaced: bool,
    verbs: Vec<String>,
}

/// Asks a server what it serves.
///
/// # Errors
/// Where it does not say. Single groups that do not answer are no error.
pub(super) async fn discover(client: &Client) -> Result<Discovered, CaptureError> {
    let mut found = Discovered::default();
    let mut pending = Vec::new();
    for root in ["/api", "/apis"] {
        let answer = json(client, root, AGGREGATED).await?;
        match answer["kind"].as_str() {
            Some("APIGroupDiscoveryList") => {
                let groups: Vec<Group> = read(client, root, answer["items"].clone())?;
                groups.into_iter().for_each(|group| found.add_group(group));
            }
            Some("APIVersions") => {
                let versions: Vec<String> = read(client, root, answer["versions"].clone())?;
                pending.extend(versions);
            }
            Some("APIGroupList") => pending.extend(group_versions(&answer)),
            _ => return Err(unusable(client, root, "the answer is no list of API groups")),
        }
    }
    found.ask_each(client, pending).await?;
    Ok(found)
}

/// Groups with versions, the preferred one of each group first.
fn group_versions(list: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for group in list["groups"].as_array().into_iter().flatten() {
        let preferred = group["preferredVersion"]["groupVersion"].as_str();
        let others = group["versions"].as_array().into_iter().flatten().filter_map(|version| version["groupVersion"].as_str());
        all.extend(preferred.into_iter().chain(others.filter(|one| Some(*one) != preferred)).map(str::to_owned));
    }
    all
}

impl Discovered {
    fn add_group(&mut self, group: Group) {
        let name = group.metadata.name;
        for version in group.versions {
            let api_version = if name.is_empty() { version.version.clone() } else { format!("{name}/{}", version.version) };
            if version.freshness == "Stale" {
                self.unavailable.push((api_version.clone(), "its backend does not answer".to_owned()));
            }
            for one in version.resources {
                let kind = one.response_kind;
                let own = |text: String, default: &str| if text.is_empty() { default.to_owned() } else { text };
                self.all.push(Served {
                    resource: ApiResource {
                        group: own(kind.group, &name),
                        version: own(kind.version, &version.version),
                        kind: kind.kind,
                        namespaced: Some(one.scope == "Namespaced"),
                    },
                    plural: one.resource,
                    // What a stale group served a while ago is not there to be listed now.
                    listable: version.freshness != "Stale" && can_be_listed(&one.verbs),
                });
            }
        }
    }

    /// The older form: asks each group and version for its kinds.
    async fn ask_each(&mut self, client: &Client, pending: Vec<String>) -> Result<(), CaptureError> {
        let mut asked = JoinSet::new();
        for (index, api_version) in pending.into_iter().enumerate() {
            let client = client.clone();
            asked.spawn(async move {
                let path = if api_version.contains('/') { format!("/apis/{api_version}") } else { format!("/api/{api_version}") };
                let answer = client.get(&path, JSON).await;
                (index, api_version, answer)
            });
        }
        let mut answers = Vec::new();
        while let Some(joined) = asked.join_next().await {
            answers.extend(joined.ok());
        }
        answers.sort_by_key(|(index, ..)| *index);
        for (_, api_version, answer) in answers {
            let reply = answer?;
            let resources = (reply.status == 200).then(|| serde_json::from_slice::<Value>(&reply.body).ok()).flatten();
            match resources.and_then(|mut list| serde_json::from_value::<Vec<Plain>>(list["resources"].take()).ok()) {
                Some(resources) => self.add_plain(&api_version, resources),
                None => self.unavailable.push((api_version, format!("it answers with {}", reply.status))),
            }
        }
        Ok(())
    }

    fn add_plain(&mut self, api_version: &str, resources: Vec<Plain>) {
        let (group, version) = split_api_version(api_version);
        for one in resources.into_iter().filter(|one| !one.name.contains('/')) {
            let own = |text: String, default: &str| if text.is_empty() { default.to_owned() } else { text };
            self.all.push(Served {
                listable: can_be_listed(&one.verbs),
                resource: ApiResource {
                    group: own(one.group, group),
                    version: own(one.version, version),
                    kind: one.kind,
                    namespaced: Some(one.namespaced),
                },
                plural: one.name,
            });
        }
    }
}

fn can_be_listed(verbs: &[String]) -> bool {
    ["list", "watch"].iter().all(|verb| verbs.iter().any(|one| one == verb))
}

/// A JSON answer with status 200.
pub(super) async fn json(client: &Client, path: &str, accept: &str) -> Result<Value, CaptureError> {
    let reply = client.get(path, accept).await?;
    match reply.status {
        200 => serde_json::from_slice(&reply.body).map_err(|_| unusable(client, path, "the answer is no JSON")),
        401 => Err(CaptureError::Unauthorized { server: client.server().to_owned() }),
        status => Err(unusable(client, path, &format!("the answer has status {status}"))),
    }
}

fn read<T: serde::de::DeserializeOwned>(client: &Client, path: &str, value: Value) -> Result<T, CaptureError> {
    serde_json::from_value(value).map_err(|_| unusable(client, path, "the answer has another shape than discovery has"))
}

fn unusable(client: &Client, path: &str, why: &str) -> CaptureError {
    CaptureError::Request { server: client.server().to_owned(), path: path.to_owned(), why: why.to_owned() }
}
